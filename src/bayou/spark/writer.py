# SPDX-License-Identifier: Apache-2.0
"""Rows into a table: create, append, overwrite. One job writes the files in place, one commit makes them the table's."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayou.errors import (
    DeltaError,
    InvalidOptionError,
    StorageError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from bayou.log.transaction import Committed, Transaction
from bayou.protocol.actions import RemoveFile
from bayou.protocol.deletion_vector import DeletionVectorDescriptor
from bayou.protocol.schema import parse_schema
from bayou.spark.jvm.session import refresh_caches
from bayou.spark.new_files import delete_files, write_new_files
from bayou.spark.types import readable_schema
from bayou.spark.write_target import WriteTarget, write_target
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.snapshot import Snapshot
    from bayou.spark.application import Application

PARTITION_COLUMNS_OPTION = "__partition_columns"
"""Where Spark's `DataFrameWriter` puts the columns of `partitionBy`, as a JSON array."""
MODES = ("append", "overwrite", "error", "errorifexists", "ignore")
_HADOOP_PREFIXES = ("fs.", "dfs.")
_WRITER_OPTIONS = ("compression", "maxrecordsperfile", "parquet.", "parquetoutputtimestamptype")
_NOT_YET = {
    "replacewhere": None,
    "replaceon": None,
    "replaceusing": None,
    "txnappid": None,
    "txnversion": None,
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
    """

    path: str
    mode: str
    partition_by: tuple[str, ...] | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict)
    writer_options: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    user_metadata: str | None = None

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
        )


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
    """

    version: int
    committed: bool
    num_files: int = 0
    num_rows: int = 0
    num_bytes: int = 0
    num_removed_files: int = 0


def write(application: Application, frame: DataFrame, request: WriteRequest) -> WriteResult:
    """Writes the rows of a DataFrame into the table at a path.

    Raises:
        TableExistsError: the mode is `error` and there is a table.
        SchemaMismatchError: the rows do not have the table's columns, or other partition columns were asked for.
        UnsupportedFeatureError: the table needs a rule that is not enforced yet; it is named.
        ConcurrentModificationError: another writer won in a way that this write cannot go on top of.
    """
    log = application.logs.get(request.path, request.storage_options)
    try:
        snapshot = log.update()
    except TableNotFoundError:
        snapshot = None
    if snapshot is not None and request.mode == "error":
        raise TableExistsError(
            "There is a table already, and the save mode is `error`.",
            table=log.table_uri,
            version=snapshot.version,
            next_step="use the mode append, overwrite or ignore.",
        )
    if snapshot is not None and request.mode == "ignore":
        return WriteResult(snapshot.version, committed=False)
    target = write_target(request, readable_schema(parse_schema(frame.schema.json())), log, snapshot)
    return _write_and_commit(application, frame, request, target)


def _write_and_commit(application: Application, frame: DataFrame, request: WriteRequest, target: WriteTarget) -> WriteResult:
    snapshot = target.snapshot
    overwrite = request.mode == "overwrite" and snapshot is not None
    added = write_new_files(application, frame, request, target)
    try:
        removed = _removals(snapshot) if overwrite and snapshot is not None else []
        if not added.files and not removed and not target.head and snapshot is not None:
            return WriteResult(snapshot.version, committed=False)
        metrics = {"numFiles": len(added.files), "numOutputRows": added.num_rows, "numOutputBytes": added.num_bytes}
        if overwrite:
            metrics |= {"numRemovedFiles": len(removed), "numRemovedBytes": sum(r.size or 0 for r in removed)}
        outcome = Transaction(
            target.log,
            snapshot,
            "WRITE",
            {"mode": _MODE_NAMES[request.mode], "partitionBy": json.dumps(list(target.partition_by))},
            engine_info=application.engine_info,
            user_metadata=request.user_metadata,
        ).try_commit([*target.head, *removed, *added.files], is_blind_append=not overwrite, metrics=metrics)
    except DeltaError:
        delete_files(request.path, added.files)
        raise
    if not isinstance(outcome, Committed):
        if not isinstance(outcome.error, StorageError):  # it is certain that the commit is not in the log
            delete_files(request.path, added.files)
        raise outcome.error
    refresh_caches(frame.sparkSession, target.log.table_uri, application.jvm)
    return WriteResult(outcome.version, True, len(added.files), added.num_rows, added.num_bytes, len(removed))


_MODE_NAMES = {"append": "Append", "overwrite": "Overwrite", "error": "ErrorIfExists", "ignore": "Ignore"}


def _removals(snapshot: Snapshot) -> list[RemoveFile]:
    now = int(time.time() * 1000)
    files = snapshot.files(
        columns=[
            "path",
            "partition_values",
            "size",
            "deletion_vector",
            "base_row_id",
            "default_row_commit_version",
            "tags",
        ]
    )
    return [
        RemoveFile(
            path=row["path"],
            deletion_timestamp=now,
            data_change=True,
            extended_file_metadata=True,
            partition_values=dict(row["partition_values"] or ()),
            size=row["size"],
            tags=dict(row["tags"]) if row["tags"] is not None else None,
            deletion_vector=DeletionVectorDescriptor(**row["deletion_vector"]) if row["deletion_vector"] else None,
            base_row_id=row["base_row_id"],
            default_row_commit_version=row["default_row_commit_version"],
        )
        for row in files.to_pylist()
    ]
