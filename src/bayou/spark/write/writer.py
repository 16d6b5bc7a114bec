# SPDX-License-Identifier: Apache-2.0
"""Write the rows of a DataFrame to a table: create, append, overwrite. One job writes the files, one commit adds them."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, ProtocolChangedException, SchemaMismatchError, TableNotFoundError, failed, redact_uri
from bayou.log.commit.transaction import Transaction, Unchanged
from bayou.log.operations.create import creation_parameters
from bayou.protocol.columns.clustering import names_of
from bayou.protocol.columns.identity_rules import EXPLICIT_INSERT
from bayou.protocol.schema.validity import check_has_data
from bayou.report.html import facts_html
from bayou.report.units import size_text
from bayou.spark.data_files.carried_rows import NOTHING_CARRIED
from bayou.spark.data_files.new_files import write_new_files
from bayou.spark.data_files.request import with_settings
from bayou.spark.data_files.target import write_target
from bayou.spark.data_files.uncommitted_files import UncommittedFiles
from bayou.spark.dml.core.live_rows import check_moved_rows
from bayou.spark.dml.core.reruns import with_reruns
from bayou.spark.dml.replace.replace_on import rows_replaced_on
from bayou.spark.dml.replace.replace_where import rows_of_condition
from bayou.spark.expressions.column_references import refuse_other_types, refuse_widened
from bayou.spark.expressions.constraint_definitions import check_constraints
from bayou.spark.session.after_writes import NewVersion, notify_written
from bayou.spark.session.operations import operation
from bayou.spark.session.session_transaction import session_transaction
from bayou.spark.session.settings import REPLAYED, reset_txn_version
from bayou.spark.types.readable_types import check_types
from bayou.spark.types.types import as_table_has, readable_schema
from bayou.spark.write.dynamic_overwrite import replaced_partitions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.backend import Backend
    from bayou.spark.data_files.request import WriteRequest
    from bayou.spark.data_files.target import WriteTarget
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.replace.replaced_rows import ReplacedRows
    from bayou.spark.session.application import Application

_MODE_NAMES: Final = {"append": "Append", "overwrite": "Overwrite", "error": "ErrorIfExists", "ignore": "Ignore"}
_ZONE: Final = "spark.sql.session.timeZone"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did.

    Attributes:
        version: the table's version afterwards.
        committed: whether this write made that version. An empty append, or a write in mode `ignore`, may commit nothing.
        num_files: the number of files that were added.
        num_rows: the number of rows in them.
        num_bytes: their size in bytes.
        num_removed_files: the number of files that an overwrite removed.
        reason: why nothing was committed: `empty`, `exists` (mode `ignore`) or `replayed`. Empty after a commit.
        num_retries: how often it was rerun because another commit had moved the rows that it replaces to other files.
    """

    version: int
    committed: bool
    num_files: int = 0
    num_rows: int = 0
    num_bytes: int = 0
    num_removed_files: int = 0
    reason: str = ""
    num_retries: int = 0

    def after_retries(self, count: int) -> WriteResult:
        """Return the result with the number of reruns."""
        return replace(self, num_retries=count)

    def _repr_html_(self) -> str:
        title = f"Write: made version {self.version}" if self.committed else f"Write: nothing was committed ({self.reason})"
        facts = {
            "files": self.num_files,
            "rows": self.num_rows,
            "size": size_text(self.num_bytes),
            "removed files": self.num_removed_files or None,
            "retries": self.num_retries or None,
        }
        return facts_html(title, facts)


def write(
    application: Application,
    frame: DataFrame,
    request: WriteRequest,
    prepare: Callable[[DataFrame, Snapshot | None], DataFrame] | None = None,
) -> WriteResult:
    """Write the rows of a DataFrame to the table at a path.

    Args:
        prepare: transforms the rows, given the snapshot (None if the table does not exist).

    Raises:
        TableExistsError: the mode is `error` and the table exists.
        SchemaMismatchError: the rows do not have the table's columns, or other partition columns were requested.
        ConstraintViolationError: rows violate a constraint. The error shows some of them; the table is unchanged.
        AppendOnlyError: the mode is `overwrite` and the table is append-only.
        UnsupportedFeatureError: the table uses a feature that bayou does not support for writers.
        ConcurrentModificationError: a concurrent commit conflicts.
    """

    def run(each: WriteRequest) -> WriteResult:
        try:
            return _written(application, frame, each, prepare)
        except ProtocolChangedException as error:
            if error.facts.get("conflicting_version") != 0 or each.options.mode == "overwrite":
                raise
        # Another writer created the table. The mode decides what the write does to a table that exists.
        return _written(application, frame, each, prepare)

    return with_reruns(request, run, lambda each: each)


def _written(
    application: Application,
    frame: DataFrame,
    request: WriteRequest,
    prepare: Callable[[DataFrame, Snapshot | None], DataFrame] | None,
) -> WriteResult:
    settings = application.backend.settings(frame.sparkSession)
    stated_txn, request = request.options.txn, _in_zone(frame, with_settings(request, settings))
    options = request.options
    log = application.logs.get(options.path, options.storage_options)
    try:
        snapshot = log.update()
    except TableNotFoundError:
        snapshot = None
    if snapshot is None and options.replaces_by_match:
        raise failed("DELTA_PATH_DOES_NOT_EXIST/no-rows-to-replace", table=log.table_uri)
    with (
        _begin(application, frame.sparkSession, settings, request, log, snapshot) as transaction,
        _display(transaction, request, frame, settings),
        UncommittedFiles(options.path, options.storage_options) as uncommitted,
    ):
        if transaction.is_replay:
            replayed = WriteResult(transaction.read_version, committed=False, reason=REPLAYED)
            reset_txn_version(frame.sparkSession, settings, stated_txn, replayed)
            return replayed
        if snapshot is not None and options.mode == "error":
            raise _table_exists(snapshot, request)
        if snapshot is not None and options.mode == "ignore":
            return WriteResult(snapshot.version, committed=False, reason="exists")
        if snapshot is None or snapshot.schema.fields:  # a table without columns raises another error
            version = None if snapshot is None else snapshot.version
            check_has_data(application.backend.columns_of(frame), log.table_uri, version=version, of_statement=prepare is not None)
        application.backend.note_rows_of_table(frame, log.table_uri, replaces=options.mode == "overwrite")
        frame = frame if prepare is None else prepare(frame, snapshot)
        if options.replaces_by_match:
            frame = application.backend.evaluated_once(frame)
        target = _target(application, frame, request, snapshot, settings)
        _check_data_change(request, target)
        replaced = _replaced(application, frame, request, snapshot)
        if replaced is not None:
            replaced.delete_rows(transaction)
        carried = NOTHING_CARRIED if replaced is None else replaced.carried
        added = write_new_files(application, frame, request, target, uncommitted, carried=carried)
        removed = _removed(application.backend, transaction, request, target, added, replaced)
        result = _commit(transaction, uncommitted, request, target, added, _metrics(request, added, removed, replaced))
    if result.committed:
        application.backend.refresh_caches(frame.sparkSession, log, options.storage_options)
        notify_written(NewVersion(application, frame.sparkSession, log, result.version, options.storage_options, settings))
    reset_txn_version(frame.sparkSession, settings, stated_txn, result)
    return result


def _begin(
    application: Application,
    spark: SparkSession,
    settings: Mapping[str, str],
    request: WriteRequest,
    log: DeltaLog,
    snapshot: Snapshot | None,
) -> Transaction:
    """Begin the transaction of a write, with its operation and parameters for the history.

    Args:
        snapshot: the table; None if the write creates it.
    """
    options, statement, stream = request.options, request.context.statement, request.context.stream
    name = "WRITE"
    parameters: dict[str, object] = {"mode": _MODE_NAMES[options.mode], "partitionBy": list(options.partition_by or ())}
    if options.cluster_by is not None:
        parameters["clusterBy"] = names_of(options.cluster_by)
    if options.replace_where is not None:
        parameters["predicate"] = options.replace_where
    if options.replace_on is not None:
        parameters["replaceOnCond"] = options.replace_on
    if options.replace_using is not None:
        parameters["replaceUsingCols"] = f"({','.join(options.replace_using)})"
    parameters |= _mode_parameters(request, snapshot)
    if stream is not None:
        name = "STREAMING UPDATE"
        parameters = {"outputMode": stream.output_mode, "queryId": stream.query_id, "epochId": str(stream.epoch)}
    if statement is not None:
        name = statement.operation
    transaction = session_transaction(
        application,
        spark,
        log,
        snapshot,
        name,
        parameters,
        settings=settings,
        user_metadata=options.user_metadata,
        txn=options.txn,
        replaces_table=snapshot is not None and request.replaces_table,
    )
    creates_all = snapshot is None and options.mode == "overwrite" and not options.replaces_a_part
    if creates_all or (stream is not None and stream.reads_itself):
        transaction.read_whole_table()
    return transaction


def _mode_parameters(request: WriteRequest, snapshot: Snapshot | None) -> dict[str, object]:
    """Return the operation parameters about how existing data and the schema may change. Only true ones are recorded.

    A write in mode `error` changes neither.

    Args:
        snapshot: the table; None if it does not exist.
    """
    options, statement = request.options, request.context.statement
    if options.mode == "error":
        return {}
    has_partitions = options.partition_by or (snapshot is not None and snapshot.partition_columns)
    parameters = {
        "isV1SaveAsTableOverwrite": statement is not None and statement.overwrites,
        "isDynamicPartitionOverwrite": options.dynamic_partitions and has_partitions and not request.replaces_table,
        "canOverwriteSchema": options.overwrite_schema,
        "canMergeSchema": options.merge_schema,
    }
    return {name: True for name, applies in parameters.items() if applies}


def _in_zone(frame: DataFrame, request: WriteRequest) -> WriteRequest:
    """Return the request with the session's time zone, which decides which partition a timestamp belongs to."""
    if not request.options.dynamic_partitions:
        return request
    return replace(request, context=replace(request.context, time_zone=str(frame.sparkSession.conf.get(_ZONE))))


def _table_exists(snapshot: Snapshot, request: WriteRequest) -> DeltaError:
    if request.context.statement is not None:  # Spark found no table, and asked to create it
        return failed("table-exists/since", at=snapshot)
    return failed("table-exists", at=snapshot)


def _display(
    transaction: Transaction, request: WriteRequest, frame: DataFrame, settings: Mapping[str, str]
) -> contextlib.AbstractContextManager[None]:
    """Return a context that reports the progress of the write. The batches of a stream do not report theirs."""
    if request.context.stream is not None:
        return contextlib.nullcontext()
    return operation(transaction.operation, frame.sparkSession, settings, redact_uri(request.options.path))


def _target(
    application: Application, frame: DataFrame, request: WriteRequest, snapshot: Snapshot | None, settings: Mapping[str, str]
) -> WriteTarget:
    """Return the table as the write leaves it. Refuse rows that do not fit, and expressions that the new schema breaks.

    If the table keeps its columns, only a wider type can break an expression. A new schema requires a check of each constraint.
    """
    log = application.logs.get(request.options.path, request.options.storage_options)
    columns = readable_schema(application.backend.columns_of(frame))
    has_new_columns = request.options.overwrite_schema or request.replaces_table
    if snapshot is not None:
        check_types(application, snapshot, is_read=not has_new_columns)
        columns = columns if has_new_columns else as_table_has(columns, snapshot.schema)
    try:
        target = write_target(request, columns, log, snapshot, settings)
    except SchemaMismatchError as mismatch:
        if snapshot is not None and mismatch.error_class != EXPLICIT_INSERT:
            # If an expression of the table uses the column, raise that error: it is more precise than the mismatch. A value for
            # an identity column is not a mismatch of types.
            refuse_other_types(application.backend, frame.sparkSession, snapshot, columns)
        raise
    if snapshot is not None and not has_new_columns:
        refuse_widened(application.backend, frame.sparkSession, snapshot, target.schema)
    else:
        check_constraints(application.backend, frame.sparkSession, target.metadata, table=log.table_uri)
    return target


def _check_data_change(request: WriteRequest, target: WriteTarget) -> None:
    if request.options.data_change or not target.head:
        return
    change = "creates the table" if target.snapshot is None else "changes its schema"
    raise failed("DELTA_DATA_CHANGE_FALSE", at=target, change=change, option="dataChange")


def _replaced(application: Application, frame: DataFrame, request: WriteRequest, snapshot: Snapshot | None) -> ReplacedRows | None:
    if snapshot is None:
        return None
    if request.options.replaces_by_match:
        return rows_replaced_on(application, frame, request.options, snapshot)
    if request.options.replace_where is None:
        return None
    return rows_of_condition(application, frame.sparkSession, request.options, snapshot)


def _commit(
    transaction: Transaction,
    uncommitted: UncommittedFiles,
    request: WriteRequest,
    target: WriteTarget,
    added: NewFiles,
    metrics: Mapping[str, int],
) -> WriteResult:
    if request.context.statement is not None:
        # The history of CREATE TABLE AS SELECT has the metadata, which is complete only now.
        managed = request.context.statement.managed
        parameters = creation_parameters(target.metadata, request.options.cluster_by, managed=managed)
        transaction.describe(parameters | _mode_parameters(request, transaction.snapshot))
    outcome = uncommitted.commit(transaction, added, metrics, head=target.head)
    if isinstance(outcome, Unchanged):
        return WriteResult(outcome.version, committed=False, reason=outcome.reason)
    # The commit may report more removed files: a rebase removes a file if a concurrent commit deleted its other rows.
    num_removed = {**metrics, **(outcome.metrics or {})}.get("numRemovedFiles", 0)
    return WriteResult(outcome.version, True, len(added.files), added.num_rows, added.num_bytes, num_removed)


@dataclass(frozen=True, slots=True)
class _Removed:
    """The number and size in bytes of files that leave the table."""

    files: int = 0
    size_bytes: int = 0


def _metrics(request: WriteRequest, added: NewFiles, removed: _Removed, replaced: ReplacedRows | None) -> dict[str, int]:
    files = {"numAddedFiles" if request.context.stream is not None else "numFiles": len(added.files)}
    metrics = files | {"numOutputRows": added.num_rows, "numOutputBytes": added.num_bytes}
    if request.context.stream is not None:
        return metrics | {"numRemovedFiles": removed.files}
    if request.options.mode == "overwrite":
        metrics |= {"numRemovedFiles": removed.files, "numRemovedBytes": removed.size_bytes}
    return metrics if replaced is None else {**metrics, **replaced.metrics(added)}


def _removed(
    backend: Backend,
    transaction: Transaction,
    request: WriteRequest,
    target: WriteTarget,
    added: NewFiles,
    replaced: ReplacedRows | None,
) -> _Removed:
    """Remove the files that the new files replace. Return their number and size.

    Without a data change, the new files must have as many rows as the removed ones.
    """
    options = request.options
    if options.mode != "overwrite" or target.snapshot is None:
        return _Removed()
    if replaced is not None:
        replaced.check(added)
        if not options.data_change:
            paths = replaced.change.snapshot.files(["path"])["path"].take(replaced.files)
            check_moved_rows(backend, target.snapshot, paths.combine_chunks(), added.num_rows, options.storage_options)
        return _Removed(*replaced.remove_files(transaction, data_change=options.data_change))
    if options.dynamic_partitions and target.partition_by and not request.replaces_table:
        old_files = replaced_partitions(
            transaction, added.files, request.context.time_zone, keeps_null=options.keeps_null_partitions
        )
    else:
        old_files = transaction.files()
    if not options.data_change:
        check_moved_rows(backend, target.snapshot, old_files["path"].combine_chunks(), added.num_rows, options.storage_options)
    removed = transaction.remove_files(old_files, data_change=options.data_change)
    return _Removed(len(removed), removed.size_bytes)
