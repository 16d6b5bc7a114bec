# SPDX-License-Identifier: Apache-2.0
"""The rows of a column to keep: a few slices, which copy nothing, or a mask."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_MOST_SLICES: Final = 512


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of some of `total` rows: as few (offset, length) runs, or as a mask if the runs are many."""

    length: int
    total: int
    slices: tuple[tuple[int, int], ...] | None
    mask: pa.ChunkedArray | None = None

    @classmethod
    def everything(cls, total: int) -> Selection:
        """Select all of `total` rows."""
        return cls(total, total, ((0, total),))

    @classmethod
    def of(cls, mask: pa.ChunkedArray) -> Selection:
        """Select the rows for which a mask without nulls is true."""
        total = len(mask)
        length = pc.sum(mask).as_py() or 0
        if length == total:
            return cls.everything(total)
        slices = _few_slices(mask, length, total)
        return cls(length, total, slices, mask if slices is None else None)

    @property
    def is_everything(self) -> bool:
        """Whether all rows are selected."""
        return self.length == self.total

    def apply(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the selected rows of a column; copies nothing if the selection is slices."""
        if self.is_everything:
            return column
        if self.slices is None:
            return column.filter(self.mask)
        chunks = [chunk for offset, length in self.slices for chunk in column.slice(offset, length).chunks]
        return pa.chunked_array([chunk for chunk in chunks if len(chunk)], column.type)

    def to_mask(self) -> pa.ChunkedArray:
        """Return the selection as booleans, one per row."""
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
    """Return the runs of true if they are few, found from the rarer side or by the ends of one run."""
    if not length:
        return ()
    if total - length <= _MOST_SLICES:
        dropped = pc.indices_nonzero(pc.invert(mask)).to_pylist()
        edges = [-1, *dropped, total]
        return tuple((low + 1, high - low - 1) for low, high in pairwise(edges) if high - low > 1)
    kept = pc.indices_nonzero(mask)
    first, last = kept[0].as_py(), kept[-1].as_py()
    return ((first, length),) if last - first + 1 == length else None
