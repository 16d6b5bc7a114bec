# SPDX-License-Identifier: Apache-2.0
"""Optimistic transactions: read a snapshot, stage actions, write the next version if nothing that matters has changed."""

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

from bayou.errors import InvalidCommitError, InvalidOptionError, TransactionStateError
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
"""How many versions a commit tries by default before it gives up."""


class _State(enum.Enum):
    OPEN = "open"
    COMMITTED = "committed"
    FAILED = "failed"
    LEFT = "left"


class Transaction:
    """One commit in the making, on top of a snapshot.

    Reads that the commit depends on go through the transaction, so that another writer's commit is noticed where it
    matters and nowhere else. A transaction commits once. Used as a context manager it is over when the block is left.

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
            snapshot: the state that the commit is made from; None where it creates the table.
            parameters: its parameters; texts, numbers and booleans are put into the log as they are, others as JSON text.
            txn: an application's id and a version of its own; the commit is made once for them.
            max_attempts: how many versions to try before giving up.
            clock: the time in seconds since the epoch.
            dropped_features: the features that the commit may take from the protocol; no other commit may take any.
            before_commit: is called before the first attempt to commit. If it raises, nothing of the commit is in the log.
            on_commit: is called with the new version, once it is in the log; it must not raise.

        Raises:
            UnsupportedFeatureError: the table asks its writers for what bayou does not do.
            InvalidOptionError: the attempts are not positive, `txn` is not an id and a number, or the history cannot say so.
            InvalidSchemaError: columns of the table differ in case only.
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
        """Whether the commit is in the log, or may be: the files that were written for it must stay.

        False before a commit is tried, and after one that certainly is not in the log, whatever the error was.
        """
        return self._may_be_in_log

    def __enter__(self) -> Self:
        """The transaction itself; until the block is left, Spark reads its table through it, too."""
        self._check_open()
        self._inside.enter_context(inside(self))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """The end of the transaction: what was not committed is dropped."""
        self._inside.close()
        if self._state is _State.OPEN:
            self._state = _State.FAILED if kind is not None else _State.LEFT
            self._clean_up()

    @property
    def read_version(self) -> int:
        """The version that the transaction reads; -1 where it creates the table."""
        return -1 if self.snapshot is None else self.snapshot.version

    @property
    def is_replay(self) -> bool:
        """Whether the application of `txn` has committed this version of its own, or a later one, before."""
        if self._txn is None:
            return False
        done = self.application_version(self._txn[0])
        return done is not None and done >= self._txn[1]

    def files(self, columns: Iterable[str] | None = None, where: Filters | None = None) -> pa.Table:
        """The snapshot's files, as `Snapshot.files` gives them; the commit depends on them from now on."""
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
        """Note that the commit depends on every row that the table has, and on there being no others."""
        self._check_open()
        self.reads.note_whole_table()

    def application_version(self, app_id: str) -> int | None:
        """The version of its own that an application committed last; the commit depends on it from now on."""
        self.reads.app_ids.add(arguments.text(app_id, "app_id", table=self.log.table_uri))
        if self.snapshot is None:
            return None
        found = self.snapshot.transactions.get(app_id)
        return None if found is None else found.version

    def describe(self, parameters: Mapping[str, Any]) -> None:
        """Say what the operation was asked for, where that was not known when the transaction began.

        Args:
            parameters: the operation's parameters, in the place of those given before.
        """
        self._check_open()
        self._provenance = replace(self._provenance, parameters=checked_parameters(parameters, self.log.table_uri))

    def stage(self, *actions: Action) -> None:
        """Add actions to the commit."""
        self._check_open()
        self._staged.extend([check_action(each, self.log.table_uri) for each in actions])

    def remove_files(self, files: pa.Table, *, data_change: bool = True) -> RemovedFiles:
        """Remove many files of the snapshot at once, without an object for each.

        Args:
            files: rows of `Transaction.files()`, with all columns, or at least those of `removed_files.COLUMNS`.
            data_change: whether their rows leave the table with them.

        Returns:
            What is removed.

        Raises:
            InvalidCommitError: files were removed this way before.
        """
        self._check_open()
        if self._removed is not None:
            raise InvalidCommitError("remove_files was called twice", table=self.log.table_uri, next_step="Give all files at once.")
        self._removed = RemovedFiles.of(files, int(self._clock() * 1000), data_change=data_change, table=self.log.table_uri)
        return self._removed

    def add_again(self, files: AddedFiles) -> None:
        """Add many files of a log at once, without an object for each.

        Args:
            files: the files, which have rows and no deletion vectors.

        Raises:
            InvalidCommitError: files were added this way before.
        """
        self._check_open()
        if self._added is not None:
            raise InvalidCommitError("add_again was called twice", table=self.log.table_uri, next_step="Give all files at once.")
        self._added = files

    def delete_rows(self, rows: DeletedRows) -> None:
        """Delete rows by deletion vectors (see `bayou.log.rows.deleted_rows.delete_rows`).

        Another commit that deletes other rows of the same files does not exclude this one: after a lost race the vectors are
        made anew, and the metrics that are given to `commit` corrected (see `bayou.log.conflict.row_rebase`). How the rows were
        looked for is in `rows.reads`; in `Transaction.reads` it would make the commit depend on each file that was looked through.
        The vectors' files are deleted where the commit is certainly not in the log.

        Args:
            rows: the rows, of the snapshot that the transaction reads.

        Raises:
            InvalidCommitError: rows were deleted before, or these are of another version.
        """
        self._check_open()
        arguments.instance(rows, DeletedRows, "rows", "a DeletedRows", table=self.log.table_uri)
        if self._rows is not None or rows.snapshot.version != self.read_version:
            twice = "delete_rows was called twice" if self._rows is not None else f"the rows are of version {rows.snapshot.version}"
            raise InvalidCommitError(
                f"rows cannot be deleted so: {twice}",
                table=self.log.table_uri,
                version=self.read_version,
                next_step="Delete all rows at once, those of the transaction's own snapshot.",
            )
        self._rows = rows

    def add_files(self, paths: Sequence[str], partition_values: Mapping[str, Mapping[str, Any]] | None = None) -> list[AddFile]:
        """Add Parquet files that are in the table's folder already, with statistics from their footers.

        The files are synced to the disk before the commit, where the store is a local disk.

        Args:
            partition_values: the partition values by path and column, typed or as the log's texts; where they are left
                out, the path's folders (`day=2024-01-01/`) say them.

        Returns:
            The staged actions.

        Raises:
            DataFileNotFoundError: a file is not there.
            InvalidCommitError: a file is no Parquet file, or its partition values are not known.
            SchemaMismatchError: a file's columns are not the table's.
            UnsupportedFeatureError: the table asks something of each row, which a file does not show.
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
        """Put the staged actions, and these, into the log as one version.

        Args:
            new_files: whether every file that is added was written for this commit, under a name (or with a deletion vector)
                that no commit can have added before. Then the version's checksum follows from the last one. Where it is not
                so and said all the same, checksums are wrong; where it is so and not said, large tables have none until the
                next checkpoint.
            may_be_empty: whether a version is made without an action, too.
            keeps_row_ids: whether new files of rows that only move (`dataChange` = false) hold the ids of these rows, in the
                columns that the table names for it. Where it is not said the commit notes that the rows have got other ids.

        Returns:
            The version that was made; or that nothing was, where there is nothing to commit or `txn` was committed before.

        Raises:
            ConcurrentModificationError: another writer's commit excludes this one; `conflicting_version` names it.
            StorageError: the store failed; `outcome` is "unknown" where the commit may be in the log all the same, and "committed"
                where it is and the table's manifests could not be written.
            InvalidCommitError: the actions contradict each other, or do not fit the table.
            UnsupportedFeatureError: the actions' own metadata ask for what bayou does not do.
            TransactionStateError: the transaction is over.
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
        """Like `commit`, with conflicts and unknown outcomes as values."""
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
        """What comes after a commit; an error of it changes nothing about the commit."""
        before = commit.base.metadata
        try:
            run_hooks(CommittedVersion(self.log, version, commit.staged, commit.commit_info, commit.configuration, before))
        finally:
            if self._on_commit is not None:
                self._on_commit(version)

    def _prepared(
        self, actions: Iterable[Action], *, new_files: bool, may_be_empty: bool, keeps_row_ids: bool
    ) -> PreparedCommit | None:
        """What is to be committed; None where there is nothing."""
        rows = self._rows
        given = [*self._own_transaction(), *self._staged, *actions]
        staged = StagedActions.of(given, self.log.table_uri, self._removed, self._added)
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
        """Delete the deletion vectors that were written: the commit is certainly not in the log."""
        self._may_be_in_log = False
        if self._rows is not None:
            self._rows.discard()

    def _own_transaction(self) -> list[Action]:
        if self._txn is None:
            return []
        return [SetTransaction(*self._txn, last_updated=int(self._clock() * 1000))]

    def _check_open(self) -> None:
        if self._state is not _State.OPEN:
            raise TransactionStateError(
                f"the transaction is over: it was {self._state.value}",
                table=self.log.table_uri,
                version=self.read_version if self.snapshot is not None else None,
                next_step="Begin another one, which reads the table as it is now.",
                txn_id=self.txn_id,
            )


_LIMIT: Final = 1 << 63
"""The first number that the log cannot hold."""


def checked_txn(txn: tuple[str, int] | None, table: str) -> tuple[str, int] | None:
    """An application's id and a version of its own, as they were given. Source: PROTOCOL.md, "Transaction Identifiers".

    Args:
        txn: both; None where there are none.

    Raises:
        InvalidOptionError: they are no id and number.
    """
    if txn is None:
        return None
    try:
        app_id, version = txn
    except (TypeError, ValueError):
        app_id, version = "", -1
    if type(app_id) is not str or not app_id or type(version) is not int or not 0 <= version < _LIMIT:
        raise InvalidOptionError(
            f"txn is {arguments.shown_text(txn)}, and should be an application's id and a number from 0 to {_LIMIT - 1}",
            table=table,
            next_step="Give for example txn=('nightly-load', 17), and a higher number for each run.",
        )
    return arguments.text(app_id, "the application's id of txn", table=table), version
