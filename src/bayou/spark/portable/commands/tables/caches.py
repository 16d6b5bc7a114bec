# SPDX-License-Identifier: Apache-2.0
"""Run CACHE TABLE, UNCACHE TABLE and REFRESH TABLE on Delta tables by path."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from pyspark import StorageLevel

from bayou.errors import failed
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.portable.client import client_of
from bayou.spark.portable.names import path_in
from bayou.spark.portable.requests.installation import requests_of
from bayou.spark.read.request import is_table
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.session.application import Application

_cached: Final[WeakKeyDictionary[Any, dict[str, DataFrame]]] = WeakKeyDictionary()
"""The tables that each client cached, by their URIs."""
_lock: Final = threading.Lock()


def cache_table(spark: SparkSession, path: str, *, is_lazy: bool, level: StorageLevel | None) -> None:
    """Let the server keep the rows of a table. Caching it again does nothing.

    Args:
        path: the table's path.
        is_lazy: whether the server reads the rows only when a query needs them.
        level: the storage level; None for Spark's default.
    """
    uri = qualify(path).uri
    with _lock:
        tables = _cached.setdefault(client_of(spark), {})
        if uri in tables and _is_kept(tables[uri]):
            return
        tables.pop(uri, None)
        frame = _rows_of(spark, path)
        frame.persist(*([] if level is None else [level]))
        tables[uri] = frame
    if not is_lazy:
        frame.count()


def is_cached(spark: SparkSession, path: str) -> bool:
    """Whether the server keeps the rows of a table that the client cached, by its path or as a DataFrame of all of its rows."""
    frame = _cached.get(client_of(spark), {}).get(qualify(path).uri)
    if frame is not None and _is_kept(frame):
        return True
    return is_table(path) and _is_kept(_rows_of(spark, path))


def _is_kept(frame: DataFrame) -> bool:
    """Whether the server keeps the rows of a DataFrame: CLEAR CACHE drops them, too."""
    level = frame.storageLevel
    return level.useMemory or level.useDisk


def uncache_table(application: Application, spark: SparkSession, path: str) -> None:
    """Let the server drop the rows of a table. Without cached rows it does nothing.

    Raises:
        PathNotFoundError, TableNotFoundError: the table does not exist.
    """
    uri = qualify(path).uri
    application.logs.get(uri, {}).version()
    with _lock:
        frame = _cached.get(client_of(spark), {}).pop(uri, None)
    if frame is not None:
        frame.unpersist()
    requests = requests_of(spark)
    if requests is not None:
        requests.drop_cached(lambda relation: _table_of(relation) == uri)


def refresh_table(application: Application, spark: SparkSession, path: str) -> None:
    """Cache what is cached of a table again, if the table has a new version.

    Raises:
        PathNotFoundError, TableNotFoundError: the table does not exist.
    """
    log = application.logs.get(qualify(path).uri, {})
    log.update()
    application.backend.refresh_caches(spark, log, {})


def _rows_of(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.table(f"delta.{quoted_name(path)}")


def _table_of(relation: proto.Relation) -> str | None:
    """Return the URI of the table whose latest rows a relation reads, and nothing else; otherwise None."""
    read = relation.read
    path = path_in(read.named_table.unparsed_identifier)
    if path is None and read.data_source.format.lower() == "delta" and not read.data_source.options:
        path = next(iter(read.data_source.paths), None)
    return None if path is None or read.named_table.options else qualify(path).uri


def storage_level(name: str | None) -> StorageLevel | None:
    """Return a storage level of PySpark by its name, None for None. Raise InvalidOptionError if it does not exist."""
    level = None if name is None else getattr(StorageLevel, name.upper(), None)
    if name is not None and not isinstance(level, StorageLevel):
        raise failed("DELTA_ILLEGAL_OPTION/storage-level", option="storageLevel", given=name)
    return level
