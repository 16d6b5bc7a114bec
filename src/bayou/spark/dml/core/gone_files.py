# SPDX-License-Identifier: Apache-2.0
"""The files that leave a table with the rows that are deleted, where deletion vectors do not mark these."""

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
class GoneFiles:
    """Files that go; all are positions in `Snapshot.files`.

    Attributes:
        change: the operation that deletes the rows.
        files: the files.
        num_deleted: the rows of them that are deleted; None where the log does not say how many a file has that goes unread.
        left: those of them that hold rows which stay.
        num_deleted_of_left: the rows of these that are deleted.
    """

    change: Change
    files: pa.Array
    num_deleted: int | None
    left: pa.Array
    num_deleted_of_left: int

    @classmethod
    def of(cls, change: Change) -> GoneFiles:
        """The files of a DELETE. Those that are not known to be meant wholly are looked through, by one job.

        Raises:
            InvalidCommitError: a file would go that has rows left.
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
    def read_again(self) -> pa.Array:
        """The files that have rows which are written again, or told of by the same job; none where no row stays.

        Once a commit has change rows, they are all that the feed has of it: then the rows of the other files are among them.
        """
        return self.files if len(self.left) and self.change.feeds else self.left

    @property
    def num_kept(self) -> int:
        """The rows that stay, as the log and where it does not tell the files' footers have them."""
        return count_live(self.change, self.left) - self.num_deleted_of_left if len(self.left) else 0
