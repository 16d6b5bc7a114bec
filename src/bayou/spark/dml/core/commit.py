# SPDX-License-Identifier: Apache-2.0
"""Run a DELETE or UPDATE in its transaction: prepare the files, commit them with metrics, and notify the session."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.log.commit.transaction import Unchanged
from bayou.plan.row_changes import RowChangeCounts
from bayou.spark.data_files.request import WriteContext, WriteOptions, WriteRequest
from bayou.spark.data_files.uncommitted_files import UncommittedFiles
from bayou.spark.data_files.written_files import NO_FILES
from bayou.spark.dml.core.result import UNKNOWN_ROWS, RowChangeResult
from bayou.spark.dml.core.vectors import mark_rows
from bayou.spark.session.after_writes import NewVersion, notify_written
from bayou.spark.session.operations import operation
from bayou.spark.session.settings import REPLAYED, optimizes_writes, reset_txn_version, string_prefix_of

if TYPE_CHECKING:
    from bayou.log.commit.transaction import Transaction
    from bayou.log.rows.deleted_rows import DeletedRows
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.core.row_change import Change


class Stopwatch:
    """Measures the phases of an operation, for the history."""

    def __init__(self, spent_seconds: float = 0.0) -> None:
        """Start. `spent_seconds` is the time that the operation has already taken, for example for planning."""
        self._lap = time.monotonic()
        self._start = self._lap - spent_seconds
        self._times: dict[str, int] = {}

    @property
    def seconds(self) -> float:
        """Return the duration of the operation so far."""
        return time.monotonic() - self._start

    def begin(self) -> None:
        """Begin a phase. The time since the end of the previous phase counts for no phase."""
        self._lap = time.monotonic()

    def lap(self, name: str) -> None:
        """End a phase and note its duration."""
        now = time.monotonic()
        self._times[name] = int((now - self._lap) * 1000)
        self._lap = now

    def times(self) -> Mapping[str, int]:
        """Return the durations in milliseconds, by the metric names of the history."""
        return {"executionTimeMs": int(self.seconds * 1000), "scanTimeMs": 0, "rewriteTimeMs": 0, **self._times}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The files, deleted rows and counts that an operation has prepared for its commit.

    Attributes:
        counts: the counts for the metrics.
        removed: the positions of the files to remove.
        added: the new files.
        deleted: the rows that deletion vectors delete; None without deletion vectors.
        rewritten: the number of removed files whose remaining rows were rewritten.
    """

    counts: RowChangeCounts
    removed: pa.Array = field(default_factory=lambda: pa.array([], pa.int64()))
    added: NewFiles = NO_FILES
    deleted: DeletedRows | None = None
    rewritten: int = 0


def write_request(change: Change) -> WriteRequest:
    """Return the request to write new files for the operation."""
    uri, options = change.snapshot.table_uri, change.target.options
    written = WriteOptions(uri, "append", storage_options=options, optimize_write=optimizes_writes(change.settings))
    return WriteRequest(written, WriteContext(string_prefix=string_prefix_of(change.settings, uri)))


def _commit(
    change: Change, transaction: Transaction, uncommitted: UncommittedFiles, outcome: Outcome, watch: Stopwatch
) -> RowChangeResult:
    rows_name = "numDeletedRows" if change.operation == "DELETE" else "numUpdatedRows"
    metrics = replace(outcome.counts, change_files=len(outcome.added.changes)).metrics(rows_name, watch.times())
    if outcome.deleted is None:
        change.note_reads(transaction.reads)
    else:
        transaction.delete_rows(outcome.deleted)  # includes the reads, see `mark_rows`
    if len(outcome.removed):
        transaction.remove_files(change.snapshot.files().take(outcome.removed))
    commit = uncommitted.commit(transaction, outcome.added, metrics)
    if isinstance(commit, Unchanged):
        return RowChangeResult(change.operation, commit.version, committed=False, reason=commit.reason, spark=change.target.spark)
    affected = UNKNOWN_ROWS if outcome.counts.changed_rows is None else outcome.counts.changed_rows
    updated, deleted = (0, affected) if change.operation == "DELETE" else (affected, 0)
    return RowChangeResult(
        change.operation,
        commit.version,
        committed=True,
        num_updated_rows=updated,
        num_deleted_rows=deleted,
        metrics=commit.metrics or metrics,
        spark=change.target.spark,
        num_rewritten_files=outcome.rewritten,
    )


def run(change: Change, prepare: Callable[[Transaction, UncommittedFiles, Stopwatch], Outcome | None]) -> RowChangeResult:
    """Run an operation in a transaction of its own.

    Args:
        prepare: writes the files of the commit. It returns None if no row changes. It is not called for a replay.

    Raises:
        ConcurrentModificationError: a winning commit conflicts.
        StorageError: the store failed; the commit may nevertheless be in the log.
    """
    with (
        operation(change.operation, change.target.spark, change.settings, change.target.shown),
        change.transaction() as transaction,
        UncommittedFiles(change.snapshot.table_uri, change.target.options) as uncommitted,
    ):
        if transaction.is_replay:
            result = _replayed(change)
        else:
            watch = Stopwatch()
            outcome = prepare(transaction, uncommitted, watch) or _no_rows(change)
            result = _commit(change, transaction, uncommitted, outcome, watch)
    # After the transaction: inside it, reads use the old snapshot.
    if result.committed:
        target = change.target
        target.refresh_caches()
        notify_written(NewVersion(target.application, target.spark, target.log, result.version, target.options, change.settings))
    reset_txn_version(change.target.spark, change.settings, change.txn, result)
    return result


def _replayed(change: Change) -> RowChangeResult:
    return RowChangeResult(change.operation, change.snapshot.version, committed=False, reason=REPLAYED, spark=change.target.spark)


def _no_rows(change: Change) -> Outcome:
    """Return the outcome of an operation that changes no row.

    If the operation has a `txn`, the commit records only that. Without the record, a replay would change rows that were added
    later. The outcome uses empty deletion vectors even if the table has none: then winning commits may change the searched files.
    """
    return Outcome(RowChangeCounts(), deleted=mark_rows(change, {}))
