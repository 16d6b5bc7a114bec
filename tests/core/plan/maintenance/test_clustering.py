# SPDX-License-Identifier: Apache-2.0
"""Which files are clustered together, and what that costs over many runs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.plan.maintenance.clustering import (
    BY_OTHERS,
    CLUSTERED,
    MERGED,
    NEW,
    CubeFacts,
    CubeRules,
    estimate_clustering,
    plan_clustering,
)
from bayou.plan.maintenance.compaction import NOT_CHOSEN, FileFacts, SizeRules

SIZES = SizeRules(target=100, small=75)
SIZE_CLASSES = CubeRules()


def planned(sizes, cubes, *, partitions=None, rows=None, deleted=None, others=None, rules=SIZE_CLASSES, chosen=None, target=100):
    count = len(sizes)
    nothing = [None] * count
    facts = FileFacts(
        pa.array([f"f{i}" for i in range(count)], pa.string()),
        pa.array(sizes, pa.int64()),
        pa.array(partitions or [0] * count, pa.int64()),
        pa.array(rows or nothing, pa.int64()),
        pa.array(deleted or nothing, pa.int64()),
        pa.array(nothing, pa.int64()),
        pa.array([False] * count, pa.bool_()),
    )
    ids = pa.array(cubes, pa.string())
    of = CubeFacts(ids, pa.array(others or [False] * count, pa.bool_()), ids)
    choice = None if chosen is None else pa.array(chosen, pa.bool_())
    plan = plan_clustering(facts, of, SizeRules(target=target, small=75), rules, choice)
    if choice is None:
        estimate = estimate_clustering(facts, of, SizeRules(target=target, small=75), rules)
        assert (estimate.num_files, estimate.num_bytes) == (plan.num_files, plan.num_bytes)
        if plan.num_bins <= plan.partitions:  # a merge that becomes several cubes is divided between files
            assert estimate.new_files == sum(plan.outputs)
    return plan


def bins_of(plan):
    found: dict[int, list[int]] = {}
    for position, number in zip(*(each.to_pylist() for each in plan.positions()), strict=True):
        found.setdefault(number, []).append(position)
    return [found[number] for number in sorted(found)]


def test_new_files_of_a_partition_become_a_cube_of_files_of_the_target_size():
    plan = planned([60, 60, 130, 20], [None] * 4, partitions=[0, 0, 0, 1])
    assert bins_of(plan) == [[0, 1, 2], [3]]
    assert plan.outputs == (3, 1)
    assert (plan.num_bins, plan.partitions, plan.considered, plan.is_whole) == (2, 2, 4, True)
    assert plan.files["reason"].to_pylist() == [NEW] * 4


def test_without_new_files_nothing_is_done():
    plan = planned([60, 60, 300], ["a", "a", "b"])
    assert plan.num_bins == 0
    assert plan.outputs == ()
    assert plan.files["reason"].to_pylist() == [CLUSTERED] * 3
    assert (plan.counts.cube_files, plan.counts.cubes, plan.counts.merged_cubes) == (3, 2, 0)
    assert planned([], []).num_bins == 0


def test_a_partition_without_new_files_is_left_alone():
    plan = planned([60, 60, 10], ["a", "b", None], partitions=[0, 0, 1])
    assert bins_of(plan) == [[2]]


def test_seven_cubes_of_a_class_stay_and_the_eighth_merges_them():
    assert bins_of(planned([100] * 7, [*"abcdef", None])) == [[6]]
    plan = planned([100] * 8, [*"abcdefg", None])
    assert bins_of(plan) == [list(range(8))]
    assert plan.outputs == (8,)
    assert plan.counts.merged_cubes == 7
    assert set(plan.files["reason"].to_pylist()) == {NEW, MERGED}


def test_a_merge_goes_on_with_the_next_class_and_takes_smaller_cubes_along():
    sizes = [64] * 7 + [8] * 7 + [1] + [8]
    plan = planned(sizes, [*"abcdefg", *"hijklmn", "o", None])
    assert bins_of(plan) == [list(range(16))]


def test_new_files_that_are_many_leave_larger_cubes_alone():
    assert bins_of(planned([5000, 3, 100], ["a", "b", None])) == [[1, 2]]


def test_too_many_cubes_of_another_program_are_merged_without_new_files():
    plan = planned([100] * 9, [*"abcdefghi"])
    assert plan.num_bins == 1
    assert plan.num_files == 9


def test_a_file_with_many_deleted_rows_counts_as_a_new_one():
    plan = planned([100, 100], ["a", "a"], rows=[50, 100], deleted=[50, None])
    assert bins_of(plan) == [[0]]
    assert plan.outputs == (1,)
    assert plan.counts.cube_files == 2


def test_deleted_rows_do_not_count_for_the_number_of_files():
    assert planned([1000, 1000], [None, None], rows=[100, 100], deleted=[900, 900]).outputs == (2,)


def test_files_that_others_clustered_stay_unless_all_are_clustered_again():
    plan = planned([10, 10, 10], [None, "a", None], others=[True, False, False])
    assert bins_of(plan) == [[2]]
    assert plan.files["reason"].to_pylist()[0] == BY_OTHERS
    full = planned([10, 10, 10], [None, "a", None], others=[True, False, False], rules=CubeRules(is_full=True))
    assert full.num_files == 3


def test_all_are_clustered_again_unless_they_are_one_cube():
    full = CubeRules(is_full=True)
    assert planned([10, 10], ["a", "a"], rules=full).num_bins == 0
    assert planned([10, 10], ["a", "b"], rules=full).num_files == 2
    assert planned([10, 10], ["a", None], rules=full).num_files == 2


def test_a_threshold_merges_every_smaller_cube_with_the_new_files():
    rules = CubeRules(threshold=100)
    assert bins_of(planned([100, 99, 40, 1], ["a", "b", "c", None], rules=rules)) == [[1, 2, 3]]
    assert planned([99, 100], ["a", "b"], rules=rules).num_bins == 0
    assert planned([99, 98], ["a", "b"], rules=rules).num_files == 2
    plan = planned([50] * 6, [None] * 6, rules=CubeRules(threshold=100, target=150))
    assert bins_of(plan) == [[0, 1, 2], [3, 4, 5]]
    assert bins_of(planned([50] * 6, [None] * 6, rules=CubeRules(threshold=0))) == [list(range(6))]
    assert bins_of(planned([50] * 6, ["a", "b", "c", "d", None, None], rules=CubeRules(threshold=0))) == [[4, 5]]


def test_more_bytes_than_a_cube_holds_become_several_of_about_one_size():
    plan = planned([100 << 30] * 16, [None] * 16, target=1 << 30)
    assert [len(each) for each in bins_of(plan)] == [6, 5, 5]
    assert plan.outputs == (600, 500, 500)
    assert planned([600 << 30, 550 << 30, 500], ["a", "b", None]).num_files == 1  # they are as large as they get


def test_what_is_not_chosen_stays_and_is_not_counted():
    plan = planned([10, 10, 10], [None, None, "a"], chosen=[True, False, False])
    assert bins_of(plan) == [[0]]
    assert plan.files["reason"].to_pylist()[1:] == [NOT_CHOSEN] * 2
    assert (plan.considered, plan.counts.cube_files) == (1, 0)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5000), st.sampled_from([None, *"abcdefghij"])), max_size=60))
def test_after_a_run_there_is_nothing_more_to_do(files):
    table = [(partition, size, None if cube is None else f"{partition}{cube}") for partition, size, cube in files]
    for run in range(2):
        plan = planned([size for _, size, _ in table], [cube for *_, cube in table], partitions=[each[0] for each in table])
        if run:
            assert plan.num_bins == 0
        bins = plan.files["bin"].to_pylist()
        assert {type(each) for each, (*_, cube) in zip(bins, table, strict=True) if cube is None} <= {int}
        assert all(len({table[at][0] for at, each in enumerate(bins) if each == number}) == 1 for number in set(bins) - {None})
        kept = [each for each, number in zip(table, bins, strict=True) if number is None]
        totals, places = Counter(), {}
        for (partition, size, _), number in zip(table, bins, strict=True):
            if number is not None:
                totals[number] += size
                places[number] = partition
        table = kept + [(places[number], totals[number], f"run{run}-{number}") for number in sorted(totals)]


@dataclass
class Cubes:
    """The cubes of a table of so many files' worth of bytes."""

    sizes: dict[str, int] = field(default_factory=dict)
    written: int = 0

    def append(self, size, target):
        names = [*self.sizes, None]
        plan = planned([*self.sizes.values(), size], names, target=target)
        bins = plan.files["bin"].to_pylist()
        sizes = dict(zip(names, [*self.sizes.values(), size], strict=True))
        for number in sorted(set(bins) - {None}):
            merged = [name for name, each in zip(names, bins, strict=True) if each == number]
            total = sum(sizes.pop(name) for name in merged)
            sizes[f"{len(self.sizes)}-{self.written}-{number}"] = total
            self.written += total
        self.sizes = sizes


def files_of_a_point(size, target, columns):
    """How many files of a cube a filter on one of its columns reads: those that one value of the column is in."""
    files = max(1, (size + target // 2) // target)
    return 2 if columns == 1 and files > 1 else math.ceil(files ** (1 - 1 / columns))


@pytest.mark.parametrize("one", [100 << 20, 313 << 20, 512 << 20, 1 << 30, 5 << 30])
@pytest.mark.parametrize("first", [0, 100])
def test_a_hundred_appends_write_the_table_a_few_times_and_filters_read_few_more_files(one, first):
    target = one // 4  # a table of 400 files
    cubes = Cubes({"first": first * one} if first else {})
    for _ in range(100):
        cubes.append(one, target)
    total = sum(cubes.sizes.values())
    assert total == (first + 100) * one
    assert cubes.written <= 5 * total
    for columns, most in ((2, 3), (3, 2), (4, 2)):
        read = sum(files_of_a_point(size, target, columns) for size in cubes.sizes.values())
        assert read <= most * files_of_a_point(total, target, columns), (columns, cubes.sizes)
    assert sum(files_of_a_point(size, target, 1) for size in cubes.sizes.values()) <= 2 * len(cubes.sizes)
    assert len(cubes.sizes) <= 22
