# SPDX-License-Identifier: Apache-2.0
"""Row ids for the files of a table that is there, and their removal: the files are committed again, a number of them at a time.

No row changes, and writers can go on beside it: whoever loses a race to one of these commits goes on top of it, and where one
of these loses, it is made anew from the files that the table has then. Sources: PROTOCOL.md, "Row Tracking"; delta-spark's
`RowTrackingBackfillCommand` and `RowTrackingUnBackfillCommand`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import ConcurrentModificationError, UnsupportedFeatureError
from bayou.log.operations.maintained import Begin
from bayou.log.rows.deleted_rows import added_again, live_files
from bayou.log.rows.row_tracking import NO_ROW_ID, assigned_columns, tracks_rows
from bayou.protocol.stats.wide_stats import num_records

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import AddFile

FILES_PER_COMMIT: Final = 22_000
"""How many files one commit takes by default; such a commit has less than 100 MB."""

_ATTEMPTS: Final = 20
_NEEDED: Final = ("path", "stats", "base_row_id", "default_row_commit_version")


@dataclass(frozen=True, slots=True)
class _Recommit:
    operation: str
    gives_ids: bool

    def candidates(self, snapshot: Snapshot) -> pa.Table:
        """The files that have no row ids, or those that have some."""
        ids = snapshot.files(["base_row_id", "default_row_commit_version"])
        without = pc.is_null(ids["base_row_id"])
        mask = without if self.gives_ids else pc.or_(pc.invert(without), pc.is_valid(ids["default_row_commit_version"]))
        return snapshot.files().filter(mask)

    def prepared(self, add: AddFile) -> AddFile:
        """A file as it is committed again."""
        add = replace(added_again(add), data_change=False)
        return add if self.gives_ids else replace(add, base_row_id=None, default_row_commit_version=None)


_GIVES: Final = _Recommit("ROW TRACKING BACKFILL", gives_ids=True)
_TAKES: Final = _Recommit("ROW TRACKING UNBACKFILL", gives_ids=False)


def lacks_row_ids(snapshot: Snapshot) -> bool:
    """Whether a file of a table has no row ids."""
    return bool(snapshot.files(["base_row_id"])["base_row_id"].null_count)


def has_row_ids(snapshot: Snapshot) -> bool:
    """Whether a file of a table has row ids, or the version that its rows are of."""
    return bool(_TAKES.candidates(snapshot).num_rows)


def check_countable(snapshot: Snapshot) -> None:
    """Refuses a table with a file that gets no row ids, because nothing says how many rows it has.

    Raises:
        InvalidCommitError: there is one; it is named.
    """
    files = _GIVES.candidates(snapshot).select(list(_NEEDED))
    assigned_columns(files, NO_ROW_ID, snapshot.version, snapshot.table_uri)


def backfill_row_ids(log: LogReader, begin: Begin, *, files_per_commit: int = FILES_PER_COMMIT) -> int:
    """Gives row ids to all files that have none; the table has the feature `rowTracking` already.

    Returns:
        The number of commits that were made.

    Raises:
        InvalidCommitError: the statistics of a file do not say how many rows it has.
        UnsupportedFeatureError: another writer suspended row tracking, or took the feature away.
        ConcurrentModificationError: other writers were always faster.
    """
    return _recommitted(log, begin, _GIVES, files_per_commit)


def remove_row_ids(log: LogReader, begin: Begin, *, files_per_commit: int = FILES_PER_COMMIT) -> int:
    """Takes the row ids from all files; row tracking is suspended already, so that new files get none.

    Returns:
        The number of commits that were made.

    Raises:
        UnsupportedFeatureError: another writer enabled row tracking again.
        ConcurrentModificationError: other writers were always faster.
    """
    return _recommitted(log, begin, _TAKES, files_per_commit)


def _recommitted(log: LogReader, begin: Begin, recommit: _Recommit, files_per_commit: int) -> int:
    made = lost = 0
    while True:
        snapshot = log.update()
        files = recommit.candidates(snapshot)
        if not files.num_rows:
            return made
        if tracks_rows(snapshot.protocol, snapshot.metadata) is not recommit.gives_ids:
            raise _changed_meanwhile(snapshot, recommit)
        try:
            _commit(snapshot, begin, recommit, files.slice(0, files_per_commit), made)
        except ConcurrentModificationError:
            lost += 1
            if lost == _ATTEMPTS:
                raise
        else:
            made, lost = made + 1, 0


def _commit(snapshot: Snapshot, begin: Begin, recommit: _Recommit, files: pa.Table, batch: int) -> None:
    adds = live_files(files)
    empty = [num_records(add.stats) == 0 for add in adds]
    with begin(snapshot, recommit.operation, {"batchId": str(batch)}) as transaction:
        transaction.reads.note_files(files["path"])
        if any(empty):
            # No commit adds a file without rows. Such a file is of no use, and goes.
            transaction.remove_files(files.filter(pa.array(empty)), data_change=False)
        kept = (add for add, is_empty in zip(adds, empty, strict=True) if not is_empty)
        transaction.commit(map(recommit.prepared, kept), metrics={})


def _changed_meanwhile(snapshot: Snapshot, recommit: _Recommit) -> UnsupportedFeatureError:
    state = "suspended" if recommit.gives_ids else "enabled"
    return UnsupportedFeatureError(
        f"{recommit.operation} stops: row tracking was {state} by another writer at the same time",
        at=snapshot,
        error_class="DELTA_ROW_TRACKING_BACKFILL_RUNNING_CONCURRENTLY_WITH_UNBACKFILL",
        next_step="Try again when the other operation is done.",
        features=("rowTracking",),
    )
