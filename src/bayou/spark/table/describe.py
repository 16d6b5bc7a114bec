# SPDX-License-Identifier: Apache-2.0
"""History and detail of a table, with delta-spark's columns. Built from the log without a Spark job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bayou.log.segment.history import History
from bayou.log.snapshot.clustering import clustering_columns
from bayou.protocol.actions.paths import hadoop_text
from bayou.protocol.features.features import table_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.segment.history import HistoryEntry
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.catalog import CatalogEntry
    from bayou.spark.session.application import Application

_STRINGS = pa.map_(pa.string(), pa.string())
_MICROS = pa.timestamp("us", "UTC")
_JOB = ("jobId", "jobName", "jobRunId", "runId", "jobOwnerId", "triggerType")
HISTORY_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", _MICROS),
        ("userId", pa.string()),
        ("userName", pa.string()),
        ("operation", pa.string()),
        ("operationParameters", _STRINGS),
        ("job", pa.struct([(name, pa.string()) for name in _JOB])),
        ("notebook", pa.struct([("notebookId", pa.string())])),
        ("clusterId", pa.string()),
        ("readVersion", pa.int64()),
        ("isolationLevel", pa.string()),
        ("isBlindAppend", pa.bool_()),
        ("operationMetrics", _STRINGS),
        ("userMetadata", pa.string()),
        ("engineInfo", pa.string()),
    ]
)
DETAIL_SCHEMA = pa.schema(
    [
        ("format", pa.string()),
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("location", pa.string()),
        ("createdAt", _MICROS),
        ("lastModified", _MICROS),
        ("partitionColumns", pa.list_(pa.string())),
        ("clusteringColumns", pa.list_(pa.string())),
        ("numFiles", pa.int64()),
        ("sizeInBytes", pa.int64()),
        ("properties", _STRINGS),
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("tableFeatures", pa.list_(pa.string())),
    ]
)


def history_frame(application: Application, spark: SparkSession, entries: Sequence[HistoryEntry]) -> DataFrame:
    """Return commits as rows with the columns of DESCRIBE HISTORY, in the order of `entries`.

    A notebook shows the commits as a table without a Spark job, because they are in memory.
    """
    frame = rows_frame(application, spark, history_rows(entries))
    # IPython looks the method up on the object. A subclass of DataFrame would differ from it in `type(...)`.
    frame._repr_html_ = History(entries)._repr_html_  # type: ignore[method-assign]
    return frame


def history_rows(entries: Sequence[HistoryEntry]) -> pa.Table:
    """Return the same as an Arrow table."""
    rows = [
        {
            "version": entry.version,
            "timestamp": entry.timestamp * 1000,
            "userId": entry.user_id,
            "userName": entry.user_name,
            "operation": entry.operation,
            "operationParameters": _pairs(entry.operation_parameters),
            "job": _texts(entry.job, _JOB),
            "notebook": _texts(entry.notebook, ("notebookId",)),
            "clusterId": entry.cluster_id,
            "readVersion": entry.read_version,
            "isolationLevel": entry.isolation_level,
            "isBlindAppend": entry.is_blind_append,
            "operationMetrics": _pairs(entry.operation_metrics),
            "userMetadata": entry.user_metadata,
            "engineInfo": entry.engine_info,
        }
        for entry in entries
    ]
    return pa.Table.from_pylist(rows, schema=HISTORY_SCHEMA)


def detail_frame(application: Application, spark: SparkSession, snapshot: Snapshot, name: str | None = None) -> DataFrame:
    """Return one row about a table, with the columns of DESCRIBE DETAIL.

    Args:
        application: the application.
        spark: the session.
        snapshot: the table.
        name: its name in the catalog, where it was asked for by that.
    """
    return rows_frame(application, spark, detail_rows(snapshot, name))


def detail_rows(snapshot: Snapshot, name: str | None = None) -> pa.Table:
    """Return the same as an Arrow table."""
    metadata, protocol = snapshot.metadata, snapshot.protocol
    row = {
        "format": "delta",
        "id": metadata.id,
        "name": name or metadata.name,
        "description": metadata.description,
        "location": hadoop_text(snapshot.table_uri),
        "createdAt": None if metadata.created_time is None else metadata.created_time * 1000,
        "lastModified": snapshot.timestamp * 1000,
        "partitionColumns": list(snapshot.partition_columns),
        "clusteringColumns": clustering_columns(snapshot),
        "numFiles": snapshot.num_files,
        "sizeInBytes": snapshot.size_bytes,
        "properties": list(snapshot.properties.items()),
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "tableFeatures": sorted(table_features(protocol)),
    }
    return pa.Table.from_pylist([row], schema=DETAIL_SCHEMA)


def detail_of_other(entry: CatalogEntry) -> pa.Table:
    """Return one row about a table of another format, as delta-spark does.

    Args:
        entry: what the catalog knows of it.
    """
    row = {
        "format": entry.provider,
        "name": entry.name,
        "description": "",
        "location": hadoop_text(entry.location),
        "createdAt": entry.created_time * 1000,
        "partitionColumns": list(entry.partition_by),
        "properties": [],
    }
    return pa.Table.from_pylist([row], schema=DETAIL_SCHEMA)


def detail_of_folder(path: str) -> pa.Table:
    """Return one row with the location of a folder that is not a table.

    Args:
        path: the folder.
    """
    return pa.Table.from_pylist([{"location": path, "properties": []}], schema=DETAIL_SCHEMA)


def rows_frame(application: Application, spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a small Arrow table as a DataFrame that needs no job. Supports scalars, structs, lists of strings and maps."""
    return application.backend.local_frame(spark, table, spark_schema(table.schema))


def spark_schema(columns: pa.Schema) -> str:
    """Return the Spark schema for Arrow columns, as JSON."""
    fields = [{"name": f.name, "type": _spark(f.type), "nullable": True, "metadata": {}} for f in columns]
    return json.dumps({"type": "struct", "fields": fields})


def _spark(kind: pa.DataType) -> Any:
    if pa.types.is_map(kind):
        return {"type": "map", "keyType": "string", "valueType": _spark(kind.item_type), "valueContainsNull": True}
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": "string", "containsNull": True}
    if pa.types.is_struct(kind):
        inner = [kind.field(i) for i in range(kind.num_fields)]
        fields = [{"name": f.name, "type": _spark(f.type), "nullable": True, "metadata": {}} for f in inner]
        return {"type": "struct", "fields": fields}
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return {pa.int64(): "long", pa.int32(): "integer", pa.float64(): "double", pa.bool_(): "boolean"}.get(kind, "string")


def _pairs(values: Any) -> list[tuple[str, str | None]] | None:
    return None if values is None else [(str(name), None if v is None else str(v)) for name, v in values.items()]


def _texts(values: Any, names: Sequence[str]) -> dict[str, str | None] | None:
    if values is None:
        return None
    return {name: None if values.get(name) is None else str(values[name]) for name in names}
