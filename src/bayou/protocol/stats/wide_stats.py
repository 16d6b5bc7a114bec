# SPDX-License-Identifier: Apache-2.0
"""Statistics of a file once rows of it are deleted: they hold for all rows that it has, so that its live rows' are wide.

Numbers keep their digits: values are taken over as text, since a decimal is no float. Sources: PROTOCOL.md, "Per-file
Statistics"; delta-spark's `StatisticsCollection.updateStatsToWideBounds`.
"""

from __future__ import annotations

import json
import re
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

_DECODER: Final = JSONDecoder()
_SPACE: Final = " \t\r\n"
# More digits are no number of rows, and Python refuses to read very many.
_COUNT: Final = re.compile(r"[0-9]{1,19}")


def num_records(stats: str | None) -> int | None:
    """How many rows a file has, deleted ones included, as its statistics say; None where they do not."""
    text = _members(stats).get("numRecords")
    return int(text) if text is not None and _COUNT.fullmatch(text) else None


def with_wide_bounds(stats: str | None, rows: int, deleted: int = 0) -> str:
    """A file's statistics for a deletion vector that is new.

    Args:
        stats: its statistics as in the log.
        rows: how many rows it has, deleted ones included.
        deleted: how many of them its deletion vector deletes before the change. Where the statistics are tight, they count
            the NULLs among the others.

    Returns:
        The statistics with `numRecords` and `tightBounds` false, all else as it was.
    """
    members = _members(stats)
    was_tight = members.get("tightBounds", "true") != "false"
    members.pop("numRecords", None)
    members["tightBounds"] = "false"
    if was_tight and deleted and "nullCount" in members:
        counts = _all_null(json.loads(members["nullCount"]), rows - deleted, rows)
        members["nullCount"] = json.dumps(counts, separators=(",", ":"), ensure_ascii=False)
    texts = [f'"numRecords":{rows}', *(f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in members.items())]
    return "{" + ",".join(texts) + "}"


def _all_null(counts: Any, live: int, rows: int) -> Any:
    """Null counts under which a column of NULLs alone is still known to be one: its count is that of all rows."""
    if isinstance(counts, dict):
        return {name: _all_null(each, live, rows) for name, each in counts.items()}
    return rows if counts == live and live > 0 else counts


def _members(stats: str | None) -> dict[str, str]:
    """The members of a JSON object as they are written; nothing where the text is none."""
    text = stats or ""
    try:
        return _scan(text)
    except (ValueError, RecursionError, IndexError, TypeError):
        return {}


def _scan(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    place = _after_space(text, 0)
    if text[place] != "{":
        return {}
    place = _after_space(text, place + 1)
    while text[place] != "}":
        if text[place] != '"':
            raise JSONDecodeError("no name", text, place)
        name, place = _DECODER.raw_decode(text, place)
        place = _after_space(text, place)
        if text[place] != ":":
            raise JSONDecodeError("no colon", text, place)
        start = _after_space(text, place + 1)
        _, place = _DECODER.raw_decode(text, start)
        found[name] = text[start:place]
        place = _after_space(text, place)
        if text[place] == ",":
            place = _after_space(text, place + 1)
        elif text[place] != "}":
            raise JSONDecodeError("no comma", text, place)
    return {} if text[place + 1 :].strip(_SPACE) else found


def _after_space(text: str, place: int) -> int:
    while text[place] in _SPACE:
        place += 1
    return place
