# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.plan.maintenance import compaction
from bayou.plan.maintenance.compaction import (
    ALONE,
    CLEAN,
    DELETED_ROWS,
    LARGE,
    NOT_CHOSEN,
    OPTIMIZED,
    SMALL,
    FileFacts,
    SizeRules,
    partition_numbers,
    plan_compaction,
    target_size,
)

MIB, TIB = 1 << 20, 1 << 40
SIZES = SizeRules(target=100, small=75)


def facts(sizes, *, partitions=None, rows=None, deleted=None, targets=None, compacted=None):
    count = len(sizes)
    nothing = [None] * count
    return FileFacts(
        pa.array([f"f{i}" for i in range(count)], pa.string()),
        pa.array(sizes, pa.int64()),
        pa.array(partitions or [0] * count, pa.int64()),
        pa.array(rows or nothing, pa.int64()),
        pa.array(deleted or nothing, pa.int64()),
        pa.array(targets or nothing, pa.int64()),
        pa.array(compacted or [False] * count, pa.bool_()),
    )


def bins_of(plan):
    found: dict[int, list[int]] = {}
    for position, number in zip(*(each.to_pylist() for each in plan.positions()), strict=True):
        found.setdefault(number, []).append(position)
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize(
    ("table", "target"),
    [(0, 256 * MIB), (int(2.5 * TIB), 256 * MIB), (int(6.25 * TIB), 640 * MIB), (10 * TIB, 1024 * MIB), (50 * TIB, 1024 * MIB)],
)
def test_the_size_of_new_files_follows_that_of_the_table(table, target):
    assert target_size(table) == target
    assert SizeRules.of(table).small == target * 3 // 4
    assert SizeRules.of(table, target=8, small=5) == SizeRules(8, 5)


def test_small_files_of_a_partition_fill_bins_best_fit():
    plan = plan_compaction(facts([60, 50, 50, 40, 10, 90], partitions=[1, 1, 1, 1, 2, 1]), SIZES)
    assert bins_of(plan) == [[0, 3], [1, 2]]
    assert plan.files["reason"].to_pylist() == [SMALL, SMALL, SMALL, SMALL, ALONE, LARGE]
    assert (plan.num_bins, plan.num_files, plan.num_bytes, plan.considered, plan.partitions) == (2, 4, 200, 5, 1)
    assert plan.untouched == {ALONE: 1, LARGE: 1}


@pytest.mark.parametrize("seed", range(10))
def test_bins_do_not_depend_on_how_the_open_bins_are_kept(seed, monkeypatch):
    rng = random.Random(seed)
    given_facts = facts([rng.randrange(1, 75) for _ in range(300)])
    expected = bins_of(plan_compaction(given_facts, SIZES))
    monkeypatch.setattr(compaction, "_LONGEST_RUN", 4)
    assert bins_of(plan_compaction(given_facts, SIZES)) == expected


def test_files_that_were_filled_or_not_chosen_stay():
    given_facts = facts([60, 60, 10, 10, 10], targets=[100, 99, None, None, None])
    plan = plan_compaction(given_facts, SIZES, pa.array([True, True, True, True, False]))
    assert bins_of(plan) == [[1, 2, 3]]
    assert plan.files["reason"].to_pylist() == [OPTIMIZED, SMALL, SMALL, SMALL, NOT_CHOSEN]


@pytest.mark.parametrize(
    ("rows", "deleted", "is_rewritten"),
    [(95, 5, False), (94, 6, True), (0, 1, True), (None, 1, True), (100, None, False), (None, None, False)],
)
def test_a_large_file_is_rewritten_for_its_deleted_rows(rows, deleted, is_rewritten):
    plan = plan_compaction(facts([500], rows=[rows], deleted=[deleted], targets=[100]), SIZES)
    assert plan.files["reason"].to_pylist() == [DELETED_ROWS if is_rewritten else OPTIMIZED]
    assert bins_of(plan) == ([[0]] if is_rewritten else [])


def test_a_compacted_file_joins_a_bin_that_it_makes_up_half_of():
    assert bins_of(plan_compaction(facts([20, 10, 10], compacted=[True, False, False]), SIZES)) == [[0, 1, 2]]
    assert bins_of(plan_compaction(facts([21, 10, 10], compacted=[True, False, False]), SIZES)) == [[1, 2]]
    assert bins_of(plan_compaction(facts([40, 10, 5], compacted=[True, True, False]), SIZES)) == []


def test_a_compacted_file_with_deleted_rows_is_rewritten_whatever_it_makes_up():
    given_facts = facts([40, 10], rows=[10, 10], deleted=[5, None], compacted=[True, False])
    assert bins_of(plan_compaction(given_facts, SIZES)) == [[0, 1]]


def test_files_to_be_purged_are_rewritten_and_no_others():
    plan = plan_compaction(facts([500, 1, 1, 60], compacted=[True] * 4), SIZES, purged=pa.array([True, False, True, True]))
    assert bins_of(plan) == [[0], [2, 3]]
    assert plan.untouched == {CLEAN: 1}


@pytest.mark.parametrize("runs", [10, 100])
def test_appends_with_an_optimize_after_each_write_a_few_times_the_table(runs):
    files: list[tuple[int, bool]] = []
    written = 0
    for _ in range(runs):
        files.append((1, False))
        written += 1
        sizes, compacted = (list(each) for each in zip(*files, strict=True))
        for found in bins_of(plan_compaction(facts(sizes, compacted=compacted), SizeRules(1000, 750))):
            total = sum(sizes[at] for at in found)
            written += total
            files = [each for at, each in enumerate(files) if at not in found] + [(total, True)]
        sizes, compacted = (list(each) for each in zip(*files, strict=True))
        assert bins_of(plan_compaction(facts(sizes, compacted=compacted), SizeRules(1000, 750))) == []
    assert written <= (3 if runs == 10 else math.log2(runs) + 1) * runs
    assert len(files) <= math.log2(runs) + 1


@given(st.lists(st.tuples(st.integers(1, 150), st.integers(0, 2), st.booleans()), max_size=60))
def test_bins_hold_files_of_one_partition_fit_and_leave_fewer_files(drawn):
    sizes, partitions, compacted = ([each[i] for each in drawn] for i in range(3))
    plan = plan_compaction(facts(sizes, partitions=partitions, compacted=compacted), SIZES)
    for found in bins_of(plan):
        assert len(found) > 1
        assert sum(sizes[at] for at in found) <= SIZES.target
        assert len({partitions[at] for at in found}) == 1
        assert all(sizes[at] < SIZES.small for at in found)
        assert all(2 * sizes[at] <= sum(sizes[each] for each in found) for at in found if compacted[at])
    assert sum(plan.untouched.values()) + plan.num_files == len(drawn)


def test_batches_are_whole_bins_up_to_a_size():
    plan = plan_compaction(facts([50] * 10), SIZES)
    assert list(plan.batches(None)) == [(0, 5)]
    assert list(plan.batches(200)) == [(0, 2), (2, 4), (4, 5)]
    assert list(plan.batches(1)) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    positions, numbers = plan.positions(2, 4)
    assert positions.to_pylist() == [4, 5, 6, 7]
    assert numbers.to_pylist() == [0, 0, 1, 1]
    assert list(plan_compaction(facts([]), SIZES).batches(None)) == list(plan_compaction(facts([]), SIZES).batches(5)) == []


def test_partitions_are_compared_by_their_values():
    found = partition_numbers([pa.array([1, None, 1, 2]), pa.array([0.0, 0.0, -0.0, math.nan])], 4).to_pylist()
    assert found[0] == found[2]
    assert len(set(found)) == 3
    assert partition_numbers([], 2).to_pylist() == [0, 0]
    assert partition_numbers([pa.array([math.nan, math.nan])], 2).to_pylist() == [0, 0]


def test_a_plan_says_how_many_files_it_rewrites_and_why_it_leaves_the_others():
    plan = plan_compaction(facts([10, 20, 2000]), SIZES)
    title, *lines = str(plan).splitlines()
    assert title == "Would rewrite 2 of 3 files, 30 B, in 1 bin"
    assert [" ".join(line.split()) for line in lines] == ["files bytes", f"rewritten: {SMALL} 2 30", f"left: {LARGE} 1 2,000"]
    assert repr(plan) == "CompactionPlan(files=3, to_rewrite=2, bytes=30, bins=1)"
    assert all(text in plan._repr_html_() for text in ("Would rewrite 2 of 3 files", SMALL, LARGE, "2.0 KiB"))


def test_a_plan_that_rewrites_nothing_says_so():
    plan = plan_compaction(facts([]), SIZES)
    assert str(plan).startswith("Would rewrite 0 of 0 files, 0 B, in 0 bins")
