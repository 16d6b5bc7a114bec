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
    """The files to remove. A file with remaining rows is among them: these rows are rewritten to a new file.

    Attributes:
        change: the operation that deletes the rows.
        files: the files to remove, as positions in `Snapshot.files`.
        num_deleted: the number of deleted rows; None if the log lacks the row count of a file that is removed unread.
        left: the removed files that have remaining rows.
        num_deleted_of_left: the number of deleted rows in the files of `left`.
    """

    change: Change
    files: pa.Array
    num_deleted: int | None
    left: pa.Array
    num_deleted_of_left: int

    @classmethod
    def of(cls, change: Change) -> RemovedFiles:
        """Return the files that a DELETE removes. Runs a job to count the matching rows, except in files whose rows all match.

        Raises:
            InvalidCommitError: a file has no remaining rows by the log, but has some by its footer.
        """
        unread = change.files.whole
        touched = count_touched(change, change.files.in_part)
        check_emptied(change, touched)
        positions = pa.array(sorted(touched), pa.int64())
        deleted = pa.array([touched[each] for each in positions.to_pylist()], pa.int64())
        # A file whose row count the log lacks may have remaining rows.
        has_remaining = pc.fill_null(pc.not_equal(change.snapshot.live_rows(positions), deleted), True)
        num_unread = known_live(change, unread)
        num_deleted = None if num_unread is None else num_unread + sum(touched.values())
        num_deleted_of_left = pc.sum(deleted.filter(has_remaining)).as_py() or 0
        files = pa.concat_arrays([unread, positions])
        return cls(change, files, num_deleted, positions.filter(has_remaining), num_deleted_of_left)

    @property
    def files_to_rewrite(self) -> pa.Array:
        """Return the files that one job reads to write the remaining rows and the change rows; none if no row remains.

        If a commit has change data files, readers of the feed ignore its added and removed files. With the feed, the job therefore
        also reads the files without remaining rows, and writes their change rows.
        """
        return self.files if len(self.left) and self.change.feeds else self.left

    @property
    def num_kept(self) -> int:
        """Return the number of remaining rows. The row counts come from the log, or from footers if the log lacks them."""
        return count_live(self.change, self.left) - self.num_deleted_of_left if len(self.left) else 0
