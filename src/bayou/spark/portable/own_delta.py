# SPDX-License-Identifier: Apache-2.0
"""Servers of Spark Connect with a data source `delta` of their own: with delta-spark, Databricks, or no Spark at all, as Sail."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from pyspark.errors import PySparkException

from bayou.errors import failed
from bayou.spark.backend import is_of_connect
from bayou.spark.portable.client import client_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot

_logger = logging.getLogger("bayou")
_UNKNOWN_SOURCE: Final = ("DATA_SOURCE_NOT_FOUND", "Failed to find the data source", "Failed to find data source")
"""Parts of the message of a server without a data source `delta`."""
_NO_TABLE: Final = "/bayou/a/path/without/a/table"
_NEEDED: Final = ("_metadata.row_index", "_metadata.file_modification_time")
_have_delta: Final[WeakKeyDictionary[Any, bool]] = WeakKeyDictionary()
_checked: Final[WeakKeyDictionary[Any, bool]] = WeakKeyDictionary()
_asking: Final = threading.Lock()


def has_own_delta(spark: SparkSession) -> bool:
    """Whether the server has a data source `delta`. The first call for a session sends a request."""
    client = client_of(spark)
    with _asking:
        known = _have_delta.get(client)
        if known is None:
            known = _have_delta[client] = _knows_delta(spark)
            if known:
                _logger.warning(
                    "The Spark Connect server has a data source delta of its own: format('delta') and names of tables stay the "
                    "server's. bayou.read, bayou.write and bayou.DeltaTable work as well, if the server reads files as Spark does."
                )
        return known


def check_scan(frame: DataFrame, snapshot: Snapshot) -> None:
    """Raise SessionError if a server that may not be Spark cannot read Parquet files as a scan needs it. It is asked once.

    Args:
        frame: the files of the scan.
    """
    if not is_of_connect(frame):
        return
    client = client_of(frame.sparkSession)
    if not _have_delta.get(client) or client in _checked:
        return
    try:
        frame.select(*_NEEDED).schema  # noqa: B018  (the property sends the request)
    except PySparkException as error:
        raise failed("connect-server-scan", at=snapshot, reason=str(error).partition("\n")[0]) from error
    _checked[client] = True


def _knows_delta(spark: SparkSession) -> bool:
    try:
        spark.read.format("delta").load(_NO_TABLE).schema  # noqa: B018  (the property sends the request)
    except PySparkException as error:
        return not any(part in str(error) for part in _UNKNOWN_SOURCE)
    return True
