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
    first, parts_of_files = 0, []
    for file in files:
        deleted_before, later = _positions(file.gone), _positions(file.now.difference(file.gone).below(file.num_records))
        parts_of_files.append(first + later - np.searchsorted(deleted_before, later))
        first += file.num_moved
    return Bitmap.from_positions([position for part in parts_of_files for position in part.tolist()])


def _positions(rows: Bitmap) -> npt.NDArray[np.int64]:
    """Return the positions of rows, ascending."""
    parts = [(container.key << 16) + np.asarray(container.lows(), np.int64) for container in rows.containers]
    return np.concatenate(parts) if parts else np.array([], np.int64)
