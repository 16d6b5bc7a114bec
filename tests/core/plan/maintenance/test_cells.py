# SPDX-License-Identifier: Apache-2.0
"""Cells become files of one size each, in the order of the curve; a cell that is too large for a file is split."""

from __future__ import annotations

import itertools
import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.plan.maintenance.cells import Grid, assign_files, hilbert_places, keys_of_tasks


def key(grid, cube, *ranks):
    found = cube
    for each in ranks:
        found = found << grid.bits | each
    return found


def rows_of_files(keys, counts, found, files):
    """How many rows each file gets, if the rows of a cell are spread evenly."""
    rows = [0.0] * files
    of = dict(zip(keys, counts, strict=True))
    for each, first, width in zip(*(values.to_pylist() for values in (found.keys, found.first, found.width)), strict=True):
        if not width:
            rows[math.floor(first)] += of[each]
            continue
        for file in range(math.floor(first), math.floor(first + width) + 1):
            share = (min(first + width, file + 1) - max(first, file)) / width
            rows[file] += of[each] * share
    return rows


@pytest.mark.parametrize(
    ("columns", "files", "bits"),
    [
        (1, [8], 9),
        (1, [1000], 14),
        (2, [8], 6),
        (2, [1000], 9),
        (2, [8] * 1000, 5),
        (3, [100], 6),
        (4, [8], 4),
        (9, [64], 2),
        (30, [64], 2),
        (2, [2] * 10_000_000, 2),
    ],
)
def test_the_more_files_and_the_fewer_columns_the_finer_the_grid(columns, files, bits):
    grid = Grid.of(columns, files)
    assert (grid.columns, grid.bits) == (min(columns, 9), bits)
    assert grid.most_bounds == 2**bits - 2
    assert grid.bits_of_cell <= 18


def test_even_rows_make_even_files_that_are_blocks_of_the_grid():
    grid = Grid(2, 4)
    cells = list(itertools.product(range(16), repeat=2))
    keys = [key(grid, 0, *cell) for cell in cells]
    found = assign_files(pa.array(keys, pa.int64()), pa.array([10] * len(keys), pa.int64()), grid, [16], [0])
    assert found.keys.to_pylist() == sorted(keys)
    assert not found.are_split
    files = [math.floor(each) for each in found.first.to_pylist()]
    for file in range(16):
        members = [divmod(one, 16) for one, other in zip(found.keys.to_pylist(), files, strict=True) if other == file]
        assert len(members) == 16
        assert all(max(ranks) - min(ranks) == 3 for ranks in zip(*members, strict=True))


def test_a_cell_of_many_rows_is_split_and_no_file_is_larger_than_another():
    grid = Grid(1, 3)
    keys = [key(grid, 0, rank) for rank in range(4)]
    counts = [100, 1000, 60, 40]
    found = assign_files(pa.array(keys, pa.int64()), pa.array(counts, pa.int64()), grid, [6], [0])
    assert found.are_split
    assert rows_of_files(keys, counts, found, 6) == pytest.approx([200] * 6)


def test_each_cube_has_files_of_its_own():
    grid = Grid(2, 3)
    keys = [key(grid, cube, a, b) for cube in range(3) for a in range(8) for b in range(8)]
    found = assign_files(pa.array(keys, pa.int64()), pa.array([5] * len(keys), pa.int64()), grid, [4, 1, 2], [0, 4, 5])
    of_cubes = [set(), set(), set()]
    for each, first in zip(found.keys.to_pylist(), found.first.to_pylist(), strict=True):
        of_cubes[each >> 6].add(math.floor(first))
    assert of_cubes == [{0, 1, 2, 3}, {4}, {5, 6}]


@given(
    st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 15), st.integers(0, 15)), st.integers(1, 1000), min_size=1),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
)
def test_files_differ_by_two_cells_at_most_and_follow_the_curve(cells, files):
    grid, first = Grid(2, 4), [0, files[0], files[0] + files[1]]
    keys = [key(grid, *cell) for cell in cells]
    counts = list(cells.values())
    found = assign_files(pa.array(keys, pa.int64()), pa.array(counts, pa.int64()), grid, files, first)
    rows = rows_of_files(keys, counts, found, sum(files))
    assert sum(rows) == pytest.approx(sum(counts))
    for cube in range(3):
        of_cube = {cell: count for cell, count in cells.items() if cell[0] == cube}
        if not of_cube:
            continue
        share = sum(of_cube.values()) / files[cube]
        largest = max((count for count in of_cube.values() if count <= share), default=0)
        assert all(abs(each - share) <= largest + 1e-3 * share for each in rows[first[cube] : first[cube] + files[cube]])
    places = hilbert_places(
        [pa.array([each >> 4 & 15 for each in keys], pa.int64()), pa.array([each & 15 for each in keys], pa.int64())], 4
    )
    place_of = dict(zip(keys, places.to_pylist(), strict=True))
    in_order = sorted(
        zip(found.keys.to_pylist(), found.first.to_pylist(), strict=True), key=lambda each: (each[0] >> 8, place_of[each[0]])
    )
    assert [each for _, each in in_order] == sorted(each for _, each in in_order)


@pytest.mark.parametrize("count", [1, 2, 7, 200])
def test_each_task_has_a_key_whose_hash_is_its_number(count):
    keys = keys_of_tasks(count)
    assert len(set(keys)) == count
    assert keys_of_tasks(8) == [12, 6, 5, 1, 25, 15, 2, 0]  # as Spark's `pmod(hash(key), 8)` says


@pytest.mark.parametrize(("columns", "bits"), [(1, 5), (2, 1), (2, 5), (3, 3), (4, 2), (5, 2)])
def test_it_visits_every_cell_once_and_goes_from_neighbour_to_neighbour(columns, bits):
    cells = list(itertools.product(range(1 << bits), repeat=columns))
    ranks = [pa.array([cell[number] for cell in cells], pa.int64()) for number in range(columns)]
    places = hilbert_places(ranks, bits).to_pylist()
    assert sorted(places) == list(range(len(cells)))
    in_order = [cell for _, cell in sorted(zip(places, cells, strict=True))]
    steps = [sum(abs(one - other) for one, other in zip(*pair, strict=True)) for pair in itertools.pairwise(in_order)]
    assert set(steps) == {1}


def test_no_cells_have_no_places():
    assert hilbert_places([pa.array([], pa.int64())] * 2, 3).to_pylist() == []
