# SPDX-License-Identifier: Apache-2.0
"""Where the rows of files are in the file that a compaction made of them, so that a deletion vector can follow them.

A task of a compaction reads whole files, one after the other, and writes their rows in that order into one file. Rows that a
deletion vector deleted at that time are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayou.protocol.deletion_vectors.descriptor import Bitmap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A file whose rows were moved.

    Attributes:
        num_records: how many rows it has, deleted ones included.
        gone: the rows that were deleted when the others were moved.
        now: the rows that are deleted by now.
    """

    num_records: int
    gone: Bitmap
    now: Bitmap

    @property
    def num_moved(self) -> int:
        """How many of its rows are in the new file."""
        return self.num_records - self.gone.below(self.num_records).cardinality

    @property
    def lost_no_deletion(self) -> bool:
        """Whether each row that was deleted then is deleted now, too."""
        return not self.gone.difference(self.now).containers


def deleted_since(files: Sequence[MovedFile]) -> Bitmap:
    """The rows of the new file that were deleted in the old files since they were moved.

    Args:
        files: the old files, in the order in which they were read.
    """
    first, found = 0, []
    for each in files:
        gone, later = _positions(each.gone), _positions(each.now.difference(each.gone).below(each.num_records))
        found.append(first + later - np.searchsorted(gone, later))
        first += each.num_moved
    return Bitmap.from_positions(_numbers(found))


def _numbers(parts: Iterable[npt.NDArray[np.int64]]) -> list[int]:
    return [number for part in parts for number in part.tolist()]


def _positions(rows: Bitmap) -> npt.NDArray[np.int64]:
    """Positions, ascending."""
    parts = [(each.key << 16) + np.asarray(each.lows(), np.int64) for each in rows.containers]
    return np.concatenate(parts) if parts else np.array([], np.int64)
