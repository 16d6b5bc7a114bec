# SPDX-License-Identifier: Apache-2.0
"""The files that a DELETE without deletion vectors removes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.spark.dml.core.live_rows import count_live, known_live
from bayou.spark.dml.core.row_counts import check_emptied
from bayou.spark.dml.core.touched_rows import count_touched

if TYPE_CHECKING:
    from bayou.spark.dml.core.row_change import Change


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """Files to remove. All are positions in `Snapshot.files`.

    Attributes:
        change: the operation that deletes the rows.
        files: the files.
        num_deleted: the number of deleted rows; None if the log lacks the row count of a file that is removed unread.
        left: those of the files that have remaining rows.
        num_deleted_of_left: the number of deleted rows in these.
    """

    change: Change
    files: pa.Array
    num_deleted: int | None
    left: pa.Array
    num_deleted_of_left: int

    @classmethod
    def of(cls, change: Change) -> RemovedFiles:
        """Return the files of a DELETE. One job counts the matching rows of files that are not known to match in full.

        Raises:
            InvalidCommitError: a file would be removed although it has rows left.
        """
        whole = change.files.whole
        touched = count_touched(change, change.files.in_part)
        check_emptied(change, touched)
        positions = pa.array(sorted(touched), pa.int64())
        deleted = pa.array([touched[each] for each in positions.to_pylist()], pa.int64())
        stays = pc.fill_null(pc.not_equal(change.snapshot.live_rows(positions), deleted), True)
        unread = known_live(change, whole)
        counted = None if unread is None else unread + sum(touched.values())
        of_left = pc.sum(deleted.filter(stays)).as_py() or 0
        return cls(change, pa.concat_arrays([whole, positions]), counted, positions.filter(stays), of_left)

    @property
    def files_to_rewrite(self) -> pa.Array:
        """Return the files that one job reads to write the remaining rows and the change rows; none if no row remains.

        If a commit has change data files, readers of the feed ignore its other files. Therefore the change rows must include those
        of files without remaining rows.
        """
        return self.files if len(self.left) and self.change.feeds else self.left

    @property
    def num_kept(self) -> int:
        """Return the number of remaining rows, by the log or else by the footers."""
        return count_live(self.change, self.left) - self.num_deleted_of_left if len(self.left) else 0
