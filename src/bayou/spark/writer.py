# SPDX-License-Identifier: Apache-2.0
"""Rows into a table: create, append, overwrite. One job writes the files in place, one commit makes them the table's."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bayou.errors import (
    DeltaError,
    InvalidOptionError,
    ProtocolChangedException,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from bayou.log.removed_files import RemovedFiles
from bayou.log.transaction import Committed, Conflicted, Transaction, Unchanged, Unknown
from bayou.protocol import paths
from bayou.protocol.schema import parse_schema
from bayou.spark.jvm.session import refresh_caches
from bayou.spark.new_files import delete_files, write_new_files
from bayou.spark.types import readable_schema
from bayou.spark.write_target import write_target
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot import Snapshot
    from bayou.protocol.schema import StructType
    from bayou.spark.application import Application
    from bayou.spark.new_files import NewFiles
    from bayou.spark.write_target import WriteTarget

PARTITION_COLUMNS_OPTION = "__partition_columns"
"""Where Spark's `DataFrameWriter` puts the columns of `partitionBy`, as a JSON array."""
MODES = ("append", "overwrite", "error", "errorifexists", "ignore")
_TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
_TXN_VERSION = "spark.databricks.delta.write.txnVersion"
_TXN_AUTO_RESET = "spark.databricks.delta.write.txnVersion.autoReset.enabled"
_HADOOP_PREFIXES = ("fs.", "dfs.")
_WRITER_OPTIONS = ("compression", "maxrecordsperfile", "parquet.", "parquetoutputtimestamptype")
_NOT_YET = {
    "replacewhere": None,
    "replaceon": None,
    "replaceusing": None,
    "clusterby": None,
    "overwriteschema": "true",
    "mergeschema": "true",
    "optimizewrite": "true",
    "partitionoverwritemode": "dynamic",
    "datachange": "false",
}
"""Options that ask for what a later version does, with the value that asks for it; None stands for any."""


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """What a writer asked for.

    Attributes:
        path: the table's URI.
        mode: append, overwrite, error or ignore.
        partition_by: the partition columns; None where none were named.
        storage_options: options for the file system, by their Hadoop names.
        writer_options: options for Spark's Parquet writer.
        properties: table properties, for a table that this write creates.
        user_metadata: a note for the history.
        txn: an application's id and a version of its own, for which the rows are written once.
    """

    path: str
    mode: str
    partition_by: tuple[str, ...] | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict)
    writer_options: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    user_metadata: str | None = None
    txn: tuple[str, int] | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any], mode: str, partition_by: str | Sequence[str] | None = None) -> WriteRequest:
        """A request from a writer's options, whose names are not case-sensitive.

        Args:
            options: the options, with the path among them.
            mode: one of MODES.
            partition_by: the partition columns, or a JSON array of them.

        Raises:
            InvalidOptionError: the path is missing, or the mode is unknown.
            UnsupportedFeatureError: an option asks for what bayou does not do yet.
        """
        if mode not in MODES:
            raise InvalidOptionError(f"The save mode {mode!r} is none of {', '.join(MODES)}.", option="mode")
        given = {name: str(value) for name, value in options.items() if value is not None}
        lower = {name.lower(): value for name, value in given.items()}
        if "path" not in lower:
            raise InvalidOptionError("A Delta table is written to its path, and none is given.", option="path")
        asked = [n for n, value in _NOT_YET.items() if n in lower and value in (None, lower[n].lower())]
        if asked:
            raise UnsupportedFeatureError(
                f"This version of bayou does not support the write option {asked[0]!r}.",
                table=lower["path"],
                error_class="DELTA_OPERATION_NOT_ALLOWED",
                sql_state="0AKDC",
                features=asked,
            )
        columns = json.loads(partition_by) if isinstance(partition_by, str) else partition_by
        return cls(
            qualify(lower["path"]).uri,
            "error" if mode == "errorifexists" else mode,
            tuple(columns) if columns else None,
            {name: value for name, value in given.items() if name.lower().startswith(_HADOOP_PREFIXES)},
            {name: value for name, value in given.items() if name.lower().startswith(_WRITER_OPTIONS)},
            {name: value for name, value in given.items() if name.lower().startswith("delta.")},
            lower.get("usermetadata"),
            txn_of(lower.get("txnappid"), lower.get("txnversion"), lower["path"]),
        )


def txn_of(app_id: str | None, version: str | None, table: str) -> tuple[str, int] | None:
    """An application's id and version from the texts of options or settings; None where neither is given.

    Raises:
        InvalidOptionError: one of them is missing, or the version is no number from 0 on.
    """
    if app_id is None and version is None:
        return None
    if not app_id or version is None or not version.strip().isdecimal():
        raise InvalidOptionError(
            f"txnAppId is {app_id!r} and txnVersion is {version!r}; an idempotent write needs an id and a number from 0 on.",
            table=table,
            error_class="DELTA_INVALID_IDEMPOTENT_WRITES_OPTIONS",
            sql_state="42616",
            option="txnVersion",
            next_step="give both, with a higher version for each run.",
        )
    return app_id, int(version)


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did.

    Attributes:
        version: the table's version afterwards.
        committed: whether this write made it; an empty append, or one in mode `ignore`, makes none.
        num_files: the files that were added.
        num_rows: the rows in them.
        num_bytes: their size.
        num_removed_files: the files that an overwrite removed.
        reason: why nothing was committed: `empty`, `exists` (mode `ignore`), or `replayed`; empty where something was.
    """

    version: int
    committed: bool
    num_files: int = 0
    num_rows: int = 0
    num_bytes: int = 0
    num_removed_files: int = 0
    reason: str = ""


def write(application: Application, frame: DataFrame, request: WriteRequest) -> WriteResult:
    """Writes the rows of a DataFrame into the table at a path.

    Raises:
        TableExistsError: the mode is `error` and there is a table.
        SchemaMismatchError: the rows do not have the table's columns, or other partition columns were asked for.
        AppendOnlyError: the mode is `overwrite` and the table only takes appends.
        UnsupportedFeatureError: the table needs a rule that is not enforced yet; it is named.
        ConcurrentModificationError: another writer won in a way that this write cannot go on top of.
    """
    request = _with_batch_of_session(frame.sparkSession, request)
    log = application.logs.get(request.path, request.storage_options)
    try:
        snapshot = log.update()
    except TableNotFoundError:
        snapshot = None
    given = readable_schema(parse_schema(frame.schema.json()))
    with _transaction(application, request, log, snapshot) as transaction:
        if transaction.is_replay:
            return WriteResult(transaction.read_version, committed=False, reason="replayed")
        if snapshot is not None and request.mode == "error":
            raise TableExistsError(
                "There is a table already, and the save mode is `error`.",
                table=log.table_uri,
                version=snapshot.version,
                next_step="use the mode append, overwrite or ignore.",
            )
        if snapshot is not None and request.mode == "ignore":
            return WriteResult(snapshot.version, committed=False, reason="exists")
        target = write_target(request, given, log, snapshot)
        added = write_new_files(application, frame, request, target)
        try:
            result = _commit(transaction, request, target, added)
        except ProtocolChangedException:
            if not _lost_creation(request, target):
                raise
            result = _append_to_new_table(application, request, log, given, added)
    if result.committed:
        refresh_caches(frame.sparkSession, log.table_uri, application.jvm, request.storage_options)
        _reset_batch_of_session(frame.sparkSession, request)
    return result


def _with_batch_of_session(spark: SparkSession, request: WriteRequest) -> WriteRequest:
    """The request with the application's id and version that the session's settings name, unless it names its own."""
    if request.txn is not None:
        return request
    app_id = spark.conf.get(_TXN_APP_ID, None)
    return request if app_id is None else replace(request, txn=txn_of(app_id, spark.conf.get(_TXN_VERSION, None), request.path))


def _reset_batch_of_session(spark: SparkSession, request: WriteRequest) -> None:
    """The session's version is spent, where its settings say so: without that a further write would be taken for a replay."""
    if request.txn is not None and (spark.conf.get(_TXN_AUTO_RESET, "false") or "").lower() == "true":
        spark.conf.unset(_TXN_VERSION)


def _transaction(application: Application, request: WriteRequest, log: DeltaLog, snapshot: Snapshot | None) -> Transaction:
    columns = request.partition_by or (() if snapshot is None else snapshot.partition_columns)
    return Transaction(
        log,
        snapshot,
        "WRITE",
        {"mode": _MODE_NAMES[request.mode], "partitionBy": json.dumps(list(columns))},
        engine_info=application.engine_info,
        user_metadata=request.user_metadata,
        txn=request.txn,
    )


def _lost_creation(request: WriteRequest, target: WriteTarget) -> bool:
    """Whether a lost commit would have created the table, and can be an append to the one that another writer created."""
    return target.snapshot is None and request.mode == "append"


def _append_to_new_table(
    application: Application, request: WriteRequest, log: DeltaLog, given: StructType, added: NewFiles
) -> WriteResult:
    snapshot = log.update()
    try:
        target = write_target(request, given, log, snapshot)
    except DeltaError:
        delete_files(request, added.files)
        raise
    with _transaction(application, request, log, snapshot) as transaction:
        return _commit(transaction, request, target, added)


def _commit(transaction: Transaction, request: WriteRequest, target: WriteTarget, added: NewFiles) -> WriteResult:
    """Commits new files; they are deleted again where it is certain that they are not in the log."""
    overwrite = request.mode == "overwrite" and target.snapshot is not None
    try:
        removed = transaction.remove_files(transaction.files()) if overwrite else ()
        metrics = {"numFiles": len(added.files), "numOutputRows": added.num_rows, "numOutputBytes": added.num_bytes}
        if isinstance(removed, RemovedFiles):
            metrics |= {"numRemovedFiles": len(removed), "numRemovedBytes": removed.size_bytes}
        target.log.store.sync([paths.decode(file.path) for file in added.files])
        outcome = transaction.try_commit([*target.head, *added.files], metrics=metrics)
    except StorageError:
        raise  # it may be after the commit that the store failed
    except DeltaError:
        delete_files(request, added.files)
        raise
    match outcome:
        case Committed(version):
            return WriteResult(version, True, len(added.files), added.num_rows, added.num_bytes, len(removed))
        case Unchanged(version, reason):
            delete_files(request, added.files)
            return WriteResult(version, committed=False, reason=reason)
        case Conflicted(error):
            if not (isinstance(error, ProtocolChangedException) and _lost_creation(request, target)):
                delete_files(request, added.files)
            raise error
        case Unknown(failure):
            raise failure


_MODE_NAMES = {"append": "Append", "overwrite": "Overwrite", "error": "ErrorIfExists", "ignore": "Ignore"}
