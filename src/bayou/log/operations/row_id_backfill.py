# SPDX-License-Identifier: Apache-2.0
"""Row tracking backfill: add row ids to an existing table's files, or remove them, by committing the files again in batches.

No row changes, and other writers can go on: their commits are rebased on these, and a batch that conflicts is rebuilt from the
table's new files. Sources: PROTOCOL.md, "Row Tracking"; delta-spark's `RowTrackingBackfillCommand` and
`RowTrackingUnBackfillCommand`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import ConcurrentModificationError, failed
from bayou.log.operations.maintained import Begin
from bayou.log.rows.deleted_rows import added_again, live_files
from bayou.log.rows.row_tracking import NO_ROW_ID, assigned_columns, tracks_rows
from bayou.protocol.stats.wide_stats import num_records

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import AddFile

FILES_PER_COMMIT: Final = 22_000
"""The default number of files per commit, which keeps a commit below 100 MB."""

_ATTEMPTS: Final = 20
_NEEDED: Final = ("path", "stats", "base_row_id", "default_row_commit_version")


@dataclass(frozen=True, slots=True)
class _Recommit:
    operation: str
    gives_ids: bool

    def candidates(self, snapshot: Snapshot) -> pa.Table:
        """Return the files without row ids, or those with some."""
        ids = snapshot.files(["base_row_id", "default_row_commit_version"])
        without = pc.is_null(ids["base_row_id"])
        mask = without if self.gives_ids else pc.or_(pc.invert(without), pc.is_valid(ids["default_row_commit_version"]))
        return snapshot.files().filter(mask)

    def prepared(self, add: AddFile) -> AddFile:
        add = replace(added_again(add), data_change=False)
        return add if self.gives_ids else replace(add, base_row_id=None, default_row_commit_version=None)


_GIVES: Final = _Recommit("ROW TRACKING BACKFILL", gives_ids=True)
_TAKES: Final = _Recommit("ROW TRACKING UNBACKFILL", gives_ids=False)


def lacks_row_ids(snapshot: Snapshot) -> bool:
    """Return whether a file of the table has no row ids."""
    return bool(snapshot.files(["base_row_id"])["base_row_id"].null_count)


def has_row_ids(snapshot: Snapshot) -> bool:
    """Return whether a file of the table has row ids or a default row commit version."""
    return bool(_TAKES.candidates(snapshot).num_rows)


def check_countable(snapshot: Snapshot) -> None:
    """Raise InvalidCommitError if a file without row ids has no row count, from which ids are assigned."""
    files = _GIVES.candidates(snapshot).select(list(_NEEDED))
    assigned_columns(files, NO_ROW_ID, snapshot.version, snapshot.table_uri)


def backfill_row_ids(log: LogReader, begin: Begin, *, files_per_commit: int = FILES_PER_COMMIT) -> int:
    """Assign row ids to all files that have none, and return the number of commits; the table has the feature already.

    Raises:
        InvalidCommitError: a file has no row count.
        UnsupportedFeatureError: another writer suspended row tracking or dropped the feature.
        ConcurrentModificationError: every attempt conflicted with another commit.
    """
    return _recommitted(log, begin, _GIVES, files_per_commit)


def remove_row_ids(log: LogReader, begin: Begin, *, files_per_commit: int = FILES_PER_COMMIT) -> int:
    """Remove the row ids of all files, and return the number of commits; row tracking is suspended, so new files get none.

    Raises:
        UnsupportedFeatureError: another writer enabled row tracking again.
        ConcurrentModificationError: every attempt conflicted with another commit.
    """
    return _recommitted(log, begin, _TAKES, files_per_commit)


def _recommitted(log: LogReader, begin: Begin, recommit: _Recommit, files_per_commit: int) -> int:
    commits = conflicts = 0
    while True:
        snapshot = log.update()
        files = recommit.candidates(snapshot)
        if not files.num_rows:
            return commits
        if tracks_rows(snapshot.protocol, snapshot.metadata) is not recommit.gives_ids:
            raise failed(
                "DELTA_ROW_TRACKING_BACKFILL_RUNNING_CONCURRENTLY_WITH_UNBACKFILL",
                at=snapshot,
                features=("rowTracking",),
                operation=recommit.operation,
                change="suspended" if recommit.gives_ids else "enabled",
            )
        try:
            _commit(snapshot, begin, recommit, files.slice(0, files_per_commit), commits)
        except ConcurrentModificationError:
            conflicts += 1
            if conflicts == _ATTEMPTS:
                raise
        else:
            commits, conflicts = commits + 1, 0


def _commit(snapshot: Snapshot, begin: Begin, recommit: _Recommit, files: pa.Table, batch: int) -> None:
    adds = live_files(files)
    empty = [num_records(add.stats) == 0 for add in adds]
    with begin(snapshot, recommit.operation, {"batchId": str(batch)}) as transaction:
        transaction.reads.note_files(files["path"])
        if any(empty):
            # No commit may add a file without rows, so it is removed.
            transaction.remove_files(files.filter(pa.array(empty)), data_change=False)
        kept = (add for add, is_empty in zip(adds, empty, strict=True) if not is_empty)
        transaction.commit(map(recommit.prepared, kept), metrics={})
