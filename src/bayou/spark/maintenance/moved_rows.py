# SPDX-License-Identifier: Apache-2.0
"""Map the rows of files to the file that a compaction made of them, so that deletion vectors can follow the rows.

A task of a compaction reads whole files in order, and writes their rows in that order into one file. Rows that a deletion
vector had deleted are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayou.protocol.deletion_vectors.descriptor import Bitmap

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A file whose rows were moved.

    Attributes:
        num_records: how many rows it has, deleted ones included.
        gone: the rows that were deleted when the others were moved.
        now: the rows that are deleted now.
    """

    num_records: int
    gone: Bitmap
    now: Bitmap

    @property
    def num_moved(self) -> int:
        """Return how many of its rows are in the new file."""
        return self.num_records - self.gone.below(self.num_records).cardinality

    @property
    def keeps_deletions(self) -> bool:
        """Return whether every row that was deleted then is still deleted."""
        return not self.gone.difference(self.now).containers


def deleted_since(files: Sequence[MovedFile]) -> Bitmap:
    """Return the rows of the new file that were deleted since in the old files, which are in the order in which they were read."""
    first, found = 0, []
    for each in files:
        gone, later = _positions(each.gone), _positions(each.now.difference(each.gone).below(each.num_records))
        found.append(first + later - np.searchsorted(gone, later))
        first += each.num_moved
    return Bitmap.from_positions([position for part in found for position in part.tolist()])


def _positions(rows: Bitmap) -> npt.NDArray[np.int64]:
    """Return the positions of rows, ascending."""
    parts = [(each.key << 16) + np.asarray(each.lows(), np.int64) for each in rows.containers]
    return np.concatenate(parts) if parts else np.array([], np.int64)
