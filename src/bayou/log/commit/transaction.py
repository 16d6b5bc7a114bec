# SPDX-License-Identifier: Apache-2.0
"""Optimistic transactions: read a snapshot, stage actions, commit the next version if no winning commit conflicts."""

from __future__ import annotations

import contextlib
import enum
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from bayou.errors import failed
from bayou.log.commit.active_transactions import inside
from bayou.log.commit.attempts import CommitLoop
from bayou.log.commit.hooks import CommittedVersion, run_hooks
from bayou.log.commit.outcomes import CommitOutcome, Committed, Conflicted, Unchanged, Unknown
from bayou.log.commit.prepared import PreparedCommit, Provenance, checked_metrics, checked_parameters
from bayou.log.commit.vector_checks import check_vectors
from bayou.log.maintenance.manifests import check_commit
from bayou.log.rows.deleted_rows import DeletedRows
from bayou.log.snapshot.data_skipping import to_predicate
from bayou.log.snapshot.snapshot import Snapshot
from bayou.log.staging.added_files import AddedFiles
from bayou.log.staging.data_files import describe_files, metadata_for_files
from bayou.log.staging.read_set import ReadSet
from bayou.log.staging.removed_files import RemovedFiles
from bayou.log.staging.staged import Action, StagedActions
from bayou.protocol import arguments
from bayou.protocol.actions.action_checks import check_action
from bayou.protocol.actions.actions import AddFile, SetTransaction
from bayou.protocol.features.features import check_writable

if TYPE_CHECKING:
    from typing_extensions import Self

    from bayou.log.snapshot.log_reader import LogReader
    from bayou.plan.predicates.predicate import Filters

__all__ = ["MAX_ATTEMPTS", "Action", "Committed", "Conflicted", "Transaction", "Unchanged", "Unknown"]

MAX_ATTEMPTS: Final = 10_000
"""The default number of versions that a commit tries."""


class _State(enum.Enum):
    OPEN = "open"
    COMMITTED = "committed"
    FAILED = "failed"
    LEFT = "left"


class Transaction:
    """A transaction on top of a snapshot, which makes one commit.

    Read everything that the commit depends on through the transaction: a winning commit only conflicts if it affects these reads,
    or contradicts the staged actions. A transaction commits once. As a context manager it ends with its block.

    Example:
        with log.transaction("DELETE") as transaction:
            files = transaction.files(where=[("day", "==", "2024-01-01")])
            transaction.remove_files(files)
            transaction.commit()
    """

    _removed: RemovedFiles | None = None
    _added: AddedFiles | None = None
    _rows: DeletedRows | None = None

    def __init__(
        self,
        log: LogReader,
        snapshot: Snapshot | None,
        operation: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        engine_info: str = "bayou",
        user_metadata: str | None = None,
        txn: tuple[str, int] | None = None,
        max_attempts: int = MAX_ATTEMPTS,
        clock: Callable[[], float] = time.time,
        dropped_features: Collection[str] = (),
        replaces_table: bool = False,
        before_commit: Callable[[], object] | None = None,
        on_commit: Callable[[int], object] | None = None,
    ) -> None:
        """Begin a transaction; see `DeltaLog.transaction`.

        Args:
            snapshot: the snapshot that the commit is based on; None if it creates the table.
            parameters: the operation's parameters. Values other than strings, numbers and booleans are stored as JSON strings.
            txn: an application id and the version of its batch. A batch that the log already has is not committed again.
            clock: returns the time in seconds since the epoch.
            dropped_features: the features that the commit may remove from the protocol.
            replaces_table: whether the commit may change the table's id, because it replaces the table with another one.
            before_commit: called before the first attempt. If it raises, nothing is committed.
            on_commit: called with the new version after the commit. It must not raise.

        Raises:
            UnsupportedFeatureError: the table uses a feature that bayou does not support for writers.
            InvalidOptionError: `max_attempts` is not positive, `txn` is not an id and an integer, or a parameter cannot be stored.
            InvalidSchemaError: columns of the table differ only in case.
        """
        table = log.table_uri
        if snapshot is not None:
            arguments.instance(snapshot, Snapshot, "snapshot", "a Snapshot of the table, or None", table=table)
            check_writable(snapshot.protocol, snapshot.metadata, table, snapshot.version)
        arguments.function(clock, "clock", table=table)
        for name, function in (("before_commit", before_commit), ("on_commit", on_commit)):
            if function is not None:
                arguments.function(function, name, table=table)
        self.log = log
        self.snapshot = snapshot
        self.operation = operation
        self.txn_id = str(uuid.uuid4())
        self.reads = ReadSet(log.table_uri)
        self._provenance = Provenance.of(operation, parameters, engine_info, user_metadata, self.txn_id, table)
        self._max_attempts = arguments.integer(max_attempts, "max_attempts", table=table, least=1)
        self._clock = clock
        self._dropped_features = frozenset(arguments.texts(dropped_features, "dropped_features", table=table))
        self._replaces_table = replaces_table
        self._before_commit = before_commit
        self._on_commit = on_commit
        self._staged: list[Action] = []
        self._described: set[str] = set()
        self._state = _State.OPEN
        self._may_be_in_log = False
        self._txn = checked_txn(txn, table)
        self._inside = contextlib.ExitStack()

    @property
    def may_be_in_log(self) -> bool:
        """Whether the commit is or may be in the log, so that the files that were written for it must stay.

        False before the first attempt, and after a failure that certainly left no commit in the log.
        """
        return self._may_be_in_log

    def __enter__(self) -> Self:
        """Return the transaction. Within the block, reads of the table by Spark in this thread go through it, too."""
        self._check_open()
        self._inside.enter_context(inside(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the transaction. Actions that were not committed are dropped."""
        self._inside.close()
        if self._state is _State.OPEN:
            self._state = _State.FAILED if kind is not None else _State.LEFT
            self._clean_up()

    @property
    def read_version(self) -> int:
        """The version that the transaction reads; -1 if it creates the table."""
        return -1 if self.snapshot is None else self.snapshot.version

    @property
    def is_replay(self) -> bool:
        """Whether the log already has the version of `txn`, or a later one, for its application."""
        if self._txn is None:
            return False
        done = self.application_version(self._txn[0])
        return done is not None and done >= self._txn[1]

    def files(self, columns: Iterable[str] | None = None, where: Filters | None = None) -> pa.Table:
        """Return files of the snapshot, as `Snapshot.files` does. The commit depends on them from now on."""
        self._check_open()
        if self.snapshot is None:
            self.reads.note_whole_table()
            return pa.table({})
        names = None if columns is None else list(columns)
        if where is None:
            found = self.snapshot.files(names)
            self.reads.note_whole_table()
            return found
        mask = self.snapshot.may_match(where)
        self.reads.note_scan(to_predicate(where, self.snapshot.schema), self.snapshot.files(["path"])["path"].filter(mask))
        return self.snapshot.files(names).filter(mask)

    def read_whole_table(self) -> None:
        """Record that the commit depends on all rows of the table."""
        self._check_open()
        self.reads.note_whole_table()

    def application_version(self, app_id: str) -> int | None:
        """Return the last version of an application. The commit depends on it from now on."""
        self.reads.app_ids.add(arguments.text(app_id, "app_id", table=self.log.table_uri))
        if self.snapshot is None:
            return None
        transaction = self.snapshot.transactions.get(app_id)
        return None if transaction is None else transaction.version

    def describe(self, parameters: Mapping[str, Any]) -> None:
        """Replace the operation's parameters, if they were not known when the transaction started."""
        self._check_open()
        self._provenance = replace(self._provenance, parameters=checked_parameters(parameters, self.log.table_uri))

    def stage(self, *actions: Action) -> None:
        """Add actions to the commit."""
        self._check_open()
        self._staged.extend([check_action(each, self.log.table_uri) for each in actions])

    def remove_files(self, files: pa.Table, *, data_change: bool = True) -> RemovedFiles:
        """Remove files of the snapshot. They stay Arrow columns, so that a commit can remove millions.

        Args:
            files: rows of `Transaction.files()`, with all columns, or at least those of `removed_files.COLUMNS`.
            data_change: whether the rows of the files leave the table; False if they only move to other files.

        Returns:
            The removed files.

        Raises:
            InvalidCommitError: the method was called before.
        """
        self._check_open()
        if self._removed is not None:
            raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/called-twice", table=self.log.table_uri, method="remove_files")
        self._removed = RemovedFiles.of(files, int(self._clock() * 1000), data_change=data_change, table=self.log.table_uri)
        return self._removed

    def add_again(self, files: AddedFiles) -> None:
        """Add files that a log already describes, for RESTORE and CLONE.

        They stay Arrow columns, so that a commit can add millions.

        Args:
            files: the files. They must have rows, and no deletion vectors.

        Raises:
            InvalidCommitError: the method was called before.
        """
        self._check_open()
        if self._added is not None:
            raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/called-twice", table=self.log.table_uri, method="add_again")
        self._added = files

    def delete_rows(self, rows: DeletedRows) -> None:
        """Delete rows by deletion vectors (see `bayou.log.rows.deleted_rows.delete_rows`).

        A winning commit that deletes other rows of the same files does not conflict: the commit is rebased with merged deletion
        vectors, and the metrics that `commit` gets are corrected (see `bayou.log.conflict.row_rebase`). The scans that found the
        rows are in `rows.reads`. In `Transaction.reads` they would make the commit depend on every file that was scanned. If the
        commit is certainly not in the log, the new deletion vectors are deleted.

        Args:
            rows: the rows, of the snapshot that the transaction reads.

        Raises:
            InvalidCommitError: the method was called before, or the rows belong to another version.
        """
        self._check_open()
        arguments.instance(rows, DeletedRows, "rows", "a DeletedRows", table=self.log.table_uri)
        if self._rows is not None or rows.snapshot.version != self.read_version:
            twice = "delete_rows was called twice" if self._rows is not None else f"they are of version {rows.snapshot.version}"
            raise failed("DELTA_DUPLICATE_ACTIONS_FOUND/rows", table=self.log.table_uri, version=self.read_version, reason=twice)
        self._rows = rows

    def add_files(self, paths: Sequence[str], partition_values: Mapping[str, Mapping[str, Any]] | None = None) -> list[AddFile]:
        """Add Parquet files that are already in the table's folder, with statistics from their footers.

        On a local disk the files are synced before the commit.

        Args:
            partition_values: the partition values by path and column, typed or serialised as in the log. By default the folders
                in the path (`day=2024-01-01/`) determine them.

        Returns:
            The staged actions.

        Raises:
            DataFileNotFoundError: a file does not exist.
            InvalidCommitError: a file is not a Parquet file, or its partition values are unknown.
            SchemaMismatchError: the columns of a file do not fit the table.
            UnsupportedFeatureError: the table has constraints or generated columns, which cannot be checked for existing files.
        """
        self._check_open()
        paths = arguments.texts(paths, "paths", table=self.log.table_uri)
        metadata = metadata_for_files(self._staged, self.snapshot, self.log.table_uri)
        adds = describe_files(self.log.store, self.log.table_uri, metadata, paths, partition_values)
        self.log.store.sync(paths)
        self._staged.extend(adds)
        self._described.update(each.path for each in adds)
        return adds

    def commit(
        self,
        actions: Iterable[Action] = (),
        *,
        metrics: Mapping[str, object] | None = None,
        new_files: bool = False,
        may_be_empty: bool = False,
        keeps_row_ids: bool = False,
    ) -> Committed | Unchanged:
        """Commit the staged actions, and `actions`, as one version.

        Args:
            metrics: the operation's metrics, for the history.
            new_files: whether every added file was written for this commit, with a name (or deletion vector) that no earlier
                commit can have. The version's checksum is then computed from the previous checksum. A wrong True gives wrong
                checksums; a wrong False leaves large tables without checksums until the next checkpoint.
            may_be_empty: whether to commit a version even if it has no actions.
            keeps_row_ids: whether new files of rows that only move (`dataChange` = false) store the ids of these rows in the
                table's row id columns. Otherwise the commit records that the rows have new ids.

        Returns:
            The committed version, or `Unchanged` if there is nothing to commit or the log already has `txn`.

        Raises:
            ConcurrentModificationError: a winning commit conflicts; `conflicting_version` is its version.
            StorageError: the store failed. `outcome` is "unknown" if the commit may be in the log, and "committed" if it is and
                the table's manifests could not be written.
            InvalidCommitError: the actions contradict each other, or do not fit the table.
            UnsupportedFeatureError: the new metadata or protocol need a feature that bayou does not support.
            TransactionStateError: the transaction has ended.
        """
        outcome = self.try_commit(
            actions, metrics=metrics, new_files=new_files, may_be_empty=may_be_empty, keeps_row_ids=keeps_row_ids
        )
        if isinstance(outcome, (Committed, Unchanged)):
            return outcome
        raise outcome.error

    def try_commit(
        self,
        actions: Iterable[Action] = (),
        *,
        metrics: Mapping[str, object] | None = None,
        new_files: bool = False,
        may_be_empty: bool = False,
        keeps_row_ids: bool = False,
    ) -> CommitOutcome:
        """Commit like `commit`, but return conflicts and unknown outcomes as values."""
        self._check_open()
        arguments.instance(actions, Iterable, "actions", "a list of actions", table=self.log.table_uri)
        metrics = checked_metrics(metrics, self.log.table_uri)
        self._state = _State.FAILED
        if self.is_replay:
            self._state = _State.COMMITTED
            self._clean_up()
            return Unchanged(self.read_version, "replayed")
        loop = None
        try:
            if self._before_commit is not None:
                self._before_commit()
            commit = self._prepared(actions, new_files=new_files, may_be_empty=may_be_empty, keeps_row_ids=keeps_row_ids)
            loop = None if commit is None else CommitLoop(self.log, commit, self._txn)
            self._may_be_in_log = loop is not None
            outcome = None if loop is None else loop.run(self._max_attempts, metrics)
        except BaseException:
            if loop is None or loop.is_abandoned:
                self._clean_up()
            raise
        if commit is None or outcome is None:
            self._state = _State.COMMITTED
            return Unchanged(self.read_version, "empty")
        if isinstance(outcome, (Committed, Unchanged)):
            self._state = _State.COMMITTED
        if isinstance(outcome, (Conflicted, Unchanged)):
            self._clean_up()
        if isinstance(outcome, Committed):
            self._follow_up(outcome.version, commit)
        return outcome

    def _follow_up(self, version: int, commit: PreparedCommit) -> None:
        """Run the hooks after a commit: checkpoint, checksum, cleanup, manifests. The commit is final even if one fails."""
        before = commit.base.metadata
        try:
            run_hooks(CommittedVersion(self.log, version, commit.staged, commit.commit_info, commit.configuration, before))
        finally:
            if self._on_commit is not None:
                self._on_commit(version)

    def _prepared(
        self, actions: Iterable[Action], *, new_files: bool, may_be_empty: bool, keeps_row_ids: bool
    ) -> PreparedCommit | None:
        """Return the prepared commit; None if there is nothing to commit."""
        rows = self._rows
        all_actions = [*self._own_transaction(), *self._staged, *actions]
        staged = StagedActions.of(all_actions, self.log.table_uri, self._removed, self._added)
        if staged.is_empty and (rows is None or rows.is_empty) and not may_be_empty:
            return None
        commit = PreparedCommit(
            self.log.table_uri,
            self.snapshot,
            self.reads,
            staged,
            self._provenance,
            clock=self._clock,
            new_files=new_files,
            rows=rows,
            dropped_features=self._dropped_features,
            replaces_table=self._replaces_table,
            keeps_row_ids=keeps_row_ids,
        )
        check_vectors(staged, self.snapshot, self._described)
        check_commit(commit.staged, self.snapshot, self.log.table_uri)
        return commit

    def _clean_up(self) -> None:
        """Delete the deletion vectors that were written, because the commit is certainly not in the log."""
        self._may_be_in_log = False
        if self._rows is not None:
            self._rows.discard()

    def _own_transaction(self) -> list[Action]:
        if self._txn is None:
            return []
        return [SetTransaction(*self._txn, last_updated=int(self._clock() * 1000))]

    def _check_open(self) -> None:
        if self._state is not _State.OPEN:
            raise failed(
                "transaction-over",
                table=self.log.table_uri,
                version=self.read_version if self.snapshot is not None else None,
                state=self._state.value,
                txn_id=self.txn_id,
            )


_LIMIT: Final = 1 << 63
"""The first integer that the log cannot store."""


def checked_txn(txn: tuple[str, int] | None, table: str) -> tuple[str, int] | None:
    """Return the application id and version of a `txn` argument. Source: PROTOCOL.md, "Transaction Identifiers".

    Raises:
        InvalidOptionError: they are not a string and an integer.
    """
    if txn is None:
        return None
    try:
        app_id, version = txn
    except (TypeError, ValueError):
        app_id, version = "", -1
    if type(app_id) is not str or not app_id or type(version) is not int or not 0 <= version < _LIMIT:
        raise failed("DELTA_ILLEGAL_OPTION/txn", table=table, given=arguments.shown_text(txn), greatest=_LIMIT - 1)
    return arguments.text(app_id, "the application's id of txn", table=table), version
