# SPDX-License-Identifier: Apache-2.0
"""Answer the methods of `spark.catalog` that take the name of a table, for tables by path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import StorageLevel

from bayou.log.snapshot.clustering import clustering_columns
from bayou.spark.portable.commands.tables.caches import cache_table, is_cached, refresh_table, uncache_table
from bayou.spark.portable.commands.tables.descriptions import create_statement
from bayou.spark.portable.names import path_in
from bayou.spark.read.request import is_table
from bayou.spark.table.describe import rows_frame
from bayou.spark.table.shown import shown_properties
from bayou.spark.types.types import readable_schema, spark_data_type
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect import proto

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application

_COLUMN: Final = pa.schema(
    [("name", pa.string()), ("description", pa.string()), ("dataType", pa.string())]
    + [(name, pa.bool_()) for name in ("nullable", "isPartition", "isBucket", "isCluster")]
)
_TABLE: Final = pa.schema(
    [
        *(("name", pa.string()), ("catalog", pa.string()), ("namespace", pa.list_(pa.string()))),
        *(("description", pa.string()), ("tableType", pa.string()), ("isTemporary", pa.bool_())),
    ]
)
_PROPERTY: Final = pa.schema([("key", pa.string()), ("value", pa.string())])


def catalog_answer(application: Application, spark: SparkSession, request: proto.Catalog) -> DataFrame | None:
    """Return the rows that answer a method; None if it is not about a Delta table at a path, or is the server's.

    Raises:
        PathNotFoundError, TableNotFoundError: the table does not exist.
    """
    kind = str(request.WhichOneof("cat_type"))
    asked: Any = getattr(request, kind, None)
    path = path_in(getattr(asked, "table_name", "")) if asked is not None else None
    if path is None:
        return None
    if kind == "table_exists":
        rows = pa.table({"value": [is_table(path)]})
    elif kind == "is_cached":
        rows = pa.table({"value": [is_cached(spark, path)]})
    elif kind in _READS:
        rows = _READS[kind](application.logs.get(qualify(path).uri, {}).update(), path)
    elif kind in ("cache_table", "uncache_table", "refresh_table"):
        _change(application, spark, kind, asked, path)
        rows = pa.table({"value": pa.array([], pa.bool_())})
    else:
        return None
    return rows_frame(application, spark, rows)


def _change(application: Application, spark: SparkSession, kind: str, asked: Any, path: str) -> None:
    if kind == "cache_table":
        cache_table(spark, path, is_lazy=True, level=_level(asked))
    elif kind == "uncache_table":
        uncache_table(application, spark, path)
    else:
        refresh_table(application, spark, path)


def _level(asked: proto.CacheTable) -> StorageLevel | None:
    if not asked.HasField("storage_level"):
        return None
    level = asked.storage_level
    return StorageLevel(level.use_disk, level.use_memory, level.use_off_heap, level.deserialized, level.replication)


def _columns(snapshot: Snapshot, path: str) -> pa.Table:
    del path
    clustering = {name.lower() for name in clustering_columns(snapshot)}
    rows = [
        {
            "name": field.name,
            "description": field.metadata.get("comment"),
            "dataType": spark_data_type(field).simpleString(),
            "nullable": field.nullable,
            "isPartition": field.name in snapshot.partition_columns,
            "isBucket": False,
            "isCluster": field.name.lower() in clustering,
        }
        for field in readable_schema(snapshot.schema).fields
    ]
    return pa.Table.from_pylist(rows, schema=_COLUMN)


def _table(snapshot: Snapshot, path: str) -> pa.Table:
    values = (path, "spark_catalog", ["delta"], snapshot.metadata.description, "EXTERNAL", False)
    return pa.Table.from_pylist([dict(zip(_TABLE.names, values, strict=True))], schema=_TABLE)


def _properties(snapshot: Snapshot, path: str) -> pa.Table:
    del path
    found = {name: value for name, value in shown_properties(snapshot).items() if name != "comment"}
    return pa.table({"key": list(found), "value": list(found.values())}, schema=_PROPERTY)


def _create(snapshot: Snapshot, path: str) -> pa.Table:
    return pa.table({"value": [create_statement(snapshot, path)]})


_READS: Final[Mapping[str, Callable[[Snapshot, str], pa.Table]]] = {
    "list_columns": _columns,
    "get_table": _table,
    "get_table_properties": _properties,
    "get_create_table_string": _create,
}
