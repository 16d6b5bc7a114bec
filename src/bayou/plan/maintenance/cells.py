# SPDX-License-Identifier: Apache-2.0
"""Assign rows to files for clustering: divide the clustering columns into a grid of cells, ordered along a Hilbert curve.

The values of each clustering column are divided into ranges; a rank is the number of a range. A cell is a combination of one rank
per column. The key of a cell is an integer: the number of its cube in the highest bits, then its ranks. Each file gets consecutive
cells of the curve, such that all files of a cube have about the same number of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_BITS: Final = 18
"""The maximum number of bits of all ranks of a cell together."""
_MOST_BITS_OF_ONE: Final = 14
"""The maximum number of bits of one rank."""
_LEAST_BITS: Final = 2
_MOST_COLUMNS: Final = _MOST_BITS // _LEAST_BITS
"""Further clustering columns are ignored, because each column needs at least `_LEAST_BITS` bits."""
_CELLS_OF_A_FILE: Final = 6
"""A file consists of 2**6 cells if the rows are spread evenly."""
_RANKS_OF_A_FILE: Final = 3
"""A column has at least 2**3 times as many ranks as files, so that correlated columns have enough cells, too."""
_MOST_CELLS: Final = 1 << 20
"""The maximum number of cells of all cubes of a job."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The resolution of the cells.

    Attributes:
        columns: the number of clustering columns that are used, from the first on.
        bits: the number of bits of a rank.
    """

    columns: int
    bits: int

    @classmethod
    def of(cls, columns: int, files: Sequence[int]) -> Grid:
        """Return the grid for a number of clustering columns.

        Args:
            columns: the number of clustering columns.
            files: the number of new files of each cube.
        """
        used = min(columns, _MOST_COLUMNS)
        of_files = math.ceil(math.log2(max(files)))
        desired = max(math.ceil((of_files + _CELLS_OF_A_FILE) / used), of_files + _RANKS_OF_A_FILE)
        together = min(_MOST_BITS, (_MOST_CELLS // max(1, len(files))).bit_length() - 1)
        most = min(together // used, _MOST_BITS_OF_ONE)
        return cls(used, max(min(desired, most), _LEAST_BITS))

    @property
    def most_bounds(self) -> int:
        """The maximum number of bounds that separate the ranks of a column. Rank 0 is NULL, rank 1 is below all bounds."""
        return (1 << self.bits) - 2

    @property
    def bits_of_cell(self) -> int:
        """The number of bits of all ranks of a cell."""
        return self.bits * self.columns


@dataclass(frozen=True, slots=True)
class CellFiles:
    """The files of each cell's rows. A row goes to file `floor(first + r * width)`, with r from 0 to 1 by the row's hash.

    Attributes:
        keys: the keys of the cells, ascending, int64.
        first: the file number at which the cell's rows begin, with a fraction.
        width: the number of files that the cell's rows fill, with a fraction; 0 for a cell that is in one file.
    """

    keys: pa.Array
    first: pa.Array
    width: pa.Array

    @property
    def are_split(self) -> bool:
        """Whether a cell's rows go to several files."""
        return bool(pc.any(pc.greater(self.width, 0)).as_py())


def assign_files(keys: pa.Array, counts: pa.Array, grid: Grid, files: Sequence[int], first: Sequence[int]) -> CellFiles:
    """Assign cells to files such that the files of a cube get the same number of rows. A cell larger than a file is split.

    Args:
        keys: the keys of the cells that have rows.
        counts: the number of rows of each cell.
        files: the number of files of each cube.
        first: the number of the first file of each cube.
    """
    cubes = pc.shift_right(keys, grid.bits_of_cell)
    mask = (1 << grid.bits) - 1
    # The first column's rank is in the highest bits of the ranks.
    ranks = [pc.bit_wise_and(pc.shift_right(keys, grid.bits * (grid.columns - 1 - number)), mask) for number in range(grid.columns)]
    order = pc.sort_indices(
        pa.table({"cube": cubes, "place": hilbert_places(ranks, grid.bits)}), [("cube", "ascending"), ("place", "ascending")]
    )
    keys, counts, cubes = (each.take(order) for each in (keys, counts.cast(pa.int64()), cubes))
    before, rows_of_cube = _rows_in_cube(cubes, counts)
    files_of_cube = pa.array(files, pa.float64()).take(cubes)
    files_per_row = pc.divide(files_of_cube, rows_of_cube.cast(pa.float64()))
    # The unit of `width` and `begin` is one file. File numbers begin at 0 in each cube, until `first` is added.
    width = pc.multiply(counts.cast(pa.float64()), files_per_row)
    begin = pc.multiply(before.cast(pa.float64()), files_per_row)
    is_small = pc.less_equal(width, 1.0)
    # A cell smaller than a file is not split, even if it crosses the end of a file. The file that has its middle gets it.
    begin = pc.if_else(is_small, pc.add(begin, pc.multiply(width, 0.5)), begin)
    width = pc.if_else(is_small, 0.0, width)
    begin, width = _within(begin, width, files_of_cube)
    begin = pc.add(begin, pa.array(first, pa.float64()).take(cubes))
    ascending = pc.sort_indices(keys)
    return CellFiles(keys.take(ascending), begin.take(ascending), width.take(ascending))


def _rows_in_cube(cubes: pa.Array, counts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return for each cell the number of rows of its cube in earlier cells, and in all cells. The cells are sorted by cube."""
    totals = pa.table({"cube": cubes, "rows": counts}).group_by("cube").aggregate([("rows", "sum")]).sort_by("cube")
    cube_positions = pc.index_in(cubes, value_set=totals["cube"].combine_chunks())
    total = totals["rows_sum"].combine_chunks()
    before_cell = pc.subtract(pc.cumulative_sum(counts), counts)
    before_cube = pc.subtract(pc.cumulative_sum(total), total)
    return pc.subtract(before_cell, before_cube.take(cube_positions)), total.take(cube_positions)


def _within(begin: pa.Array, width: pa.Array, files: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Limit the beginnings and widths to the cube's last file, which rounding errors may exceed."""
    last = pc.subtract(files, 1e-6)
    begin = pc.min_element_wise(begin, last)
    return begin, pc.min_element_wise(width, pc.subtract(last, begin))


def keys_of_tasks(count: int) -> list[int]:
    """Return for each task an int that Spark's hash partitioning sends to it: its hash modulo `count` is the task's number."""
    key_of_task: dict[int, int] = {}
    number = 0
    while len(key_of_task) < count:
        key_of_task.setdefault(_hash(number) % count, number)
        number += 1
    return [key_of_task[task] for task in range(count)]


def _hash(value: int) -> int:
    """Return the Murmur3 hash of an int with Spark's seed, as a signed int. Source: Spark's `Murmur3_x86_32.hashInt`."""
    mask = 0xFFFFFFFF
    mixed = value * 0xCC9E2D51 & mask
    mixed = (mixed << 15 | mixed >> 17) & mask
    mixed = mixed * 0x1B873593 & mask
    found = 42 ^ mixed
    found = (found << 13 | found >> 19) & mask
    found = (found * 5 + 0xE6546B64) & mask
    found ^= 4
    found ^= found >> 16
    found = found * 0x85EBCA6B & mask
    found ^= found >> 13
    found = found * 0xC2B2AE35 & mask
    found ^= found >> 16
    return found - (1 << 32) if found >= 1 << 31 else found


def hilbert_places(ranks: Sequence[pa.Array], bits: int) -> pa.Array:
    """Return the position of each cell on a Hilbert curve, from 0 on, int64. Neighbours on the curve are neighbours in each column.

    Args:
        ranks: for each column the rank of each cell, from 0 to 2**bits - 1; int64, without NULL.
        bits: the number of bits of a rank. All columns together may have at most 62 bits.

    Source: John Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004).
    """
    axes = list(ranks)
    if len(axes) == 1:
        return axes[0]
    for bit in reversed(range(1, bits)):
        low = (1 << bit) - 1
        for number, axis in enumerate(axes):
            is_high = _has_bit(axis, bit)
            swapped = pc.if_else(is_high, 0, pc.bit_wise_and(pc.bit_wise_xor(axes[0], axis), low))
            axes[number] = pc.bit_wise_xor(axis, swapped)
            axes[0] = pc.bit_wise_xor(axes[0], pc.if_else(is_high, low, swapped))
    for number in range(1, len(axes)):
        axes[number] = pc.bit_wise_xor(axes[number], axes[number - 1])
    turned = pa.array([0] * len(axes[0]), pa.int64())
    for bit in reversed(range(1, bits)):
        turned = pc.bit_wise_xor(turned, pc.if_else(_has_bit(axes[-1], bit), (1 << bit) - 1, 0))
    return _interleaved([pc.bit_wise_xor(axis, turned) for axis in axes], bits)


def _interleaved(axes: Sequence[pa.Array], bits: int) -> pa.Array:
    """Return numbers whose bits alternate between the axes, the highest first."""
    place = pa.array([0] * len(axes[0]), pa.int64())
    for bit in reversed(range(bits)):
        for axis in axes:
            place = pc.bit_wise_or(pc.shift_left(place, 1), pc.bit_wise_and(pc.shift_right(axis, bit), 1))
    return place


def _has_bit(values: pa.Array, bit: int) -> pa.Array:
    return pc.not_equal(pc.bit_wise_and(values, 1 << bit), 0)
