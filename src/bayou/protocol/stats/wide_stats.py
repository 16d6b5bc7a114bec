# SPDX-License-Identifier: Apache-2.0
"""Mark the bounds of a file as wide after rows were deleted, since they then include deleted rows.

Values are copied as strings, so that numbers keep their digits. Sources: PROTOCOL.md, "Per-file Statistics"; delta-spark's
`StatisticsCollection.updateStatsToWideBounds`.
"""

from __future__ import annotations

import json
import re
from json import JSONDecodeError, JSONDecoder
from typing import Any, Final

_DECODER: Final = JSONDecoder()
_SPACE: Final = " \t\r\n"
# A number of rows has no more digits, and Python refuses to parse very long numbers.
_COUNT: Final = re.compile(r"[0-9]{1,19}")


def num_records(stats: str | None) -> int | None:
    """Return the number of rows in a file, including deleted ones; None if its statistics do not have it."""
    text = _members(stats).get("numRecords")
    return int(text) if text is not None and _COUNT.fullmatch(text) else None


def with_wide_bounds(stats: str | None, rows: int, deleted: int = 0) -> str:
    """Return a file's statistics with `numRecords`, and with `tightBounds` false.

    Args:
        stats: its statistics as in the log.
        rows: the number of its rows, including deleted ones.
        deleted: the number of rows that its old deletion vector deletes. Null counts of tight statistics exclude these.
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
    """Return null counts that still show which columns are all NULL: these count the deleted rows too."""
    if isinstance(counts, dict):
        return {name: _all_null(each, live, rows) for name, each in counts.items()}
    return rows if counts == live and live > 0 else counts


def _members(stats: str | None) -> dict[str, str]:
    """Return the members of a JSON object as unparsed strings; nothing if it is not a JSON object."""
    text = stats or ""
    try:
        return _scan(text)
    except (ValueError, RecursionError, IndexError, TypeError):
        return {}


def _scan(text: str) -> dict[str, str]:
    """Return the members of a JSON object as unparsed strings; empty if the text has something before or after the object.

    Raises:
        JSONDecodeError: the object is not valid JSON.
        IndexError: the text ends too early.
    """
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
