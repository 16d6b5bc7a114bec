# SPDX-License-Identifier: Apache-2.0
"""Plans and counts of row changes: what they print, and what they tell the history."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bayou.plan.row_changes import FileTotals, RowChangeCounts, RowChangePlan, Way, aligned_text, files_by_outcome

SIZES = pa.chunked_array([[10, 20], [30, 40]])


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, FileTotals(4, 100)),
        (pa.array([0, 3]), FileTotals(2, 50)),
        (pa.array([True, False, True, False]), FileTotals(2, 40)),
        (pa.array([], pa.int64()), FileTotals(0, 0)),
    ],
)
def test_totals_are_of_the_files_that_are_chosen(chosen, expected):
    assert FileTotals.of(SIZES, chosen) == expected


def test_a_plan_prints_as_a_small_table():
    plan = RowChangePlan(
        "DELETE",
        "/t",
        7,
        "(id = 3)",
        Way.REWRITE,
        FileTotals(10, 1000),
        pruned_by_partition=FileTotals(4, 400),
        pruned_by_statistics=FileTotals(3, 300),
        wholly_matched=FileTotals(1, 100),
        to_read=FileTotals(2, 200),
        may_rewrite=FileTotals(2, 200),
    )
    assert str(plan).splitlines() == [
        "DELETE on /t at version 7, by rewriting files: (id = 3)",
        "                        files  bytes",
        "  table                    10   1000",
        "  pruned by partition       4    400",
        "  pruned by statistics      3    300",
        "  deleted unread            1    100",
        "  to read                   2    200",
        "  may be rewritten          2    200",
    ]


def test_a_plan_prints_its_steps_last():
    plan = RowChangePlan("MERGE", "/t", 7, "(t.id = s.id)", Way.VECTORS, FileTotals(1, 10), steps=("one thing", "another one"))
    assert str(plan).splitlines()[-2:] == ["  one thing", "  another one"]


@pytest.mark.parametrize(("rewrites", "read"), [(True, "may be rewritten"), (False, "read")])
def test_each_file_has_one_outcome(rewrites, read):
    files = pa.table({"path": list("abcde"), "size": [1, 2, 3, 4, 5]})
    positions = {name: pa.array(values, pa.int64()) for name, values in {"in": [4, 1, 2, 3], "read": [2, 1], "unread": [4]}.items()}
    found = files_by_outcome(
        files, in_partitions=positions["in"], to_read=positions["read"], unread=positions["unread"], rewrites=rewrites
    )
    assert found.to_pydict() == {
        "path": ["a", "b", "c", "d", "e"],
        "outcome": ["pruned by partition", read, read, "pruned by statistics", "deleted unread"],
        "size": [1, 2, 3, 4, 5],
    }
    none = pa.array([], pa.int64())
    empty = files_by_outcome(files.slice(0, 0), in_partitions=none, to_read=none, unread=none, rewrites=rewrites)
    assert empty.schema == RowChangePlan("DELETE", "/t", 0, None, Way.NOTHING, FileTotals()).files().schema


def test_a_million_files_are_told_column_by_column():
    files = pa.table({"path": pa.array(np.arange(1_000_000)).cast(pa.string()), "size": np.arange(1_000_000)})
    some = pa.array(np.arange(0, 1_000_000, 2))
    none = some.slice(0, 0)
    found = files_by_outcome(files, in_partitions=some, to_read=some, unread=none, rewrites=True)
    assert found["outcome"].value_counts().to_pylist() == [
        {"values": "may be rewritten", "counts": 500_000},
        {"values": "pruned by partition", "counts": 500_000},
    ]


def test_a_plan_without_a_condition_says_all_rows():
    assert "all rows" in str(RowChangePlan("UPDATE", "/t", 0, None, Way.NOTHING, FileTotals()))


def test_rows_that_nobody_counted_are_no_metric():
    known = RowChangeCounts(changed_rows=3, copied_rows=4, removed_files=1).metrics("numDeletedRows", {"scanTimeMs": 5})
    assert (known["numDeletedRows"], known["numCopiedRows"], known["scanTimeMs"]) == (3, 4, 5)
    unknown = RowChangeCounts(changed_rows=None, copied_rows=None).metrics("numDeletedRows", {})
    assert "numDeletedRows" not in unknown
    assert "numCopiedRows" not in unknown
    assert set(known) - set(unknown) == {"numDeletedRows", "numCopiedRows", "scanTimeMs"}


def test_texts_are_aligned_names_left_and_numbers_right():
    assert aligned_text([("a", "1"), ("long", "100")]) == "  a       1\n  long  100"


def test_a_notebook_shows_a_plan_as_a_table_with_its_condition_escaped():
    plan = RowChangePlan(
        "DELETE", "/t", 3, "a < 'b'", Way.VECTORS, FileTotals(7, 2048), to_read=FileTotals(1, 1024), steps=("one job",)
    )
    shown = plan._repr_html_()
    assert "a &lt; &#x27;b&#x27;" in shown
    assert "2.0 KiB" in shown
    assert "one job" in shown
