# SPDX-License-Identifier: Apache-2.0
"""Plans and counts of row changes: what they print, and what they tell the history."""

from __future__ import annotations

import pyarrow as pa
import pytest

from bayou.plan.row_changes import FileTotals, RowChangeCounts, RowChangePlan, Way, aligned_text

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
