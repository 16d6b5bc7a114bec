# SPDX-License-Identifier: Apache-2.0
"""Which rows of a column are kept: as a few slices that copy nothing where that is enough, else as a mask."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_MOST_SLICES: Final = 512


@dataclass(frozen=True, slots=True)
class Selection:
    """A choice of rows.

    Attributes:
        length: how many rows are chosen.
        total: of how many.
        slices: the chosen runs as (offset, length), where they are few; else None.
        mask: the chosen rows as booleans, where the runs are many; else None.
    """

    length: int
    total: int
    slices: tuple[tuple[int, int], ...] | None
    mask: pa.ChunkedArray | None = None

    @classmethod
    def everything(cls, total: int) -> Selection:
        """All of `total` rows."""
        return cls(total, total, ((0, total),))

    @classmethod
    def of(cls, mask: pa.ChunkedArray) -> Selection:
        """The rows where a mask without nulls is true."""
        total = len(mask)
        length = pc.sum(mask).as_py() or 0
        if length == total:
            return cls.everything(total)
        slices = _few_slices(mask, length, total)
        return cls(length, total, slices, mask if slices is None else None)

    @property
    def is_everything(self) -> bool:
        """Whether no row is left out."""
        return self.length == self.total

    def apply(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """The chosen rows of a column; copies nothing where the selection is slices."""
        if self.is_everything:
            return column
        if self.slices is None:
            return column.filter(self.mask)
        chunks = [chunk for offset, length in self.slices for chunk in column.slice(offset, length).chunks]
        return pa.chunked_array([chunk for chunk in chunks if len(chunk)], column.type)

    def to_mask(self) -> pa.ChunkedArray:
        """The selection as booleans, one for each row."""
        if self.mask is not None:
            return self.mask
        chunks: list[pa.Array] = []
        position = 0
        for offset, length in self.slices or ():
            chunks += [_repeat(False, offset - position), _repeat(True, length)]
            position = offset + length
        chunks.append(_repeat(False, self.total - position))
        return pa.chunked_array([chunk for chunk in chunks if len(chunk)], pa.bool_())


def _repeat(value: bool, times: int) -> pa.Array:  # noqa: FBT001  (the value, not a switch)
    return pa.repeat(pa.scalar(value), times)


def _few_slices(mask: pa.ChunkedArray, length: int, total: int) -> tuple[tuple[int, int], ...] | None:
    """The runs of true, where they are few; found from whichever side is rarer, or by the ends of one run."""
    if not length:
        return ()
    if total - length <= _MOST_SLICES:
        dropped = pc.indices_nonzero(pc.invert(mask)).to_pylist()
        edges = [-1, *dropped, total]
        return tuple((low + 1, high - low - 1) for low, high in pairwise(edges) if high - low > 1)
    kept = pc.indices_nonzero(mask)
    first, last = kept[0].as_py(), kept[-1].as_py()
    return ((first, length),) if last - first + 1 == length else None
