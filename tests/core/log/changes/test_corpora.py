# SPDX-License-Identifier: Apache-2.0
"""Change feeds of other projects' tables: how many rows of which kind each version has, as other readers say.

The cases lie outside the repository; without them these tests are skipped.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support.cases import check_each

from bayou.log.changes.feed import ChangeBounds, ChangeFeed
from bayou.log.delta_log import open_log
from bayou.protocol.actions.paths import decode

CORPORA = Path(__file__).resolve().parents[5] / "shared" / "corpora" / "open"


def cases() -> list[Any]:
    manifest = CORPORA / "manifest.jsonl"
    if not manifest.exists():
        pytest.skip("the acceptance corpora are not here")
    found = [json.loads(line) for line in manifest.read_text(encoding="utf-8").splitlines()]
    return [case for case in found if case["op"] == "cdf" and (CORPORA / case["path"]).is_dir()]


def rows_by_kind(feed: ChangeFeed, folder: Path) -> Counter[tuple[str, int]]:
    """How many rows there are by change type and version, from the files' footers and the vectors."""
    found: Counter[tuple[str, int]] = Counter()
    changed = feed.changed_rows()
    for row, rows in zip(changed.files.to_pylist(), changed.rows, strict=True):
        version, count = row["commit_version"], 0 if rows is None else rows.cardinality
        file = folder / decode(row["path"])
        if row["kind"] == "cdc":
            kinds = Counter(pq.read_table(file, columns=["_change_type"])["_change_type"].to_pylist())
            found.update({(kind, version): number for kind, number in kinds.items()})
        else:
            whole = pq.read_metadata(file).num_rows
            found[row["kind"], version] += count if row["is_difference"] else whole - count
    return +found


def test_a_feed_has_the_rows_that_other_readers_agree_on() -> None:
    check_each(cases(), _has_the_rows, name_of=lambda case: str(case["id"]))


def _has_the_rows(case: dict[str, Any]) -> None:
    folder = CORPORA / case["path"]
    bounds = ChangeBounds(starting_version=case["start_version"], ending_version=case["end_version"])
    feed = open_log(folder).change_feed(bounds)
    found = rows_by_kind(feed, folder)
    expected = case["expect"]
    assert found.total() == expected["rows"]
    assert [name for name, *_ in expected["columns"]] == [*feed.schema.names[:-1]]
    if "rows_file" in expected:
        lines = (CORPORA / expected["rows_file"]).read_text(encoding="utf-8").splitlines()
        wanted = Counter((json.loads(kind), int(version)) for *_, kind, version in (line.split("\t") for line in lines))
        assert found == wanted
