# SPDX-License-Identifier: Apache-2.0
"""The tests of `tests/spark` on a stock server of Spark Connect: its session, and which tests it cannot run and why."""

from __future__ import annotations

import atexit
import functools
import gc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def connect_session() -> Iterator[SparkSession]:
    """A session on a server that ends with it."""
    from pyspark.sql import SparkSession
    from tests.support.connect_server import ConnectServer

    with ConnectServer() as server:
        # The time zone of a session is the client's. The server of the tests is in UTC.
        _resolve_reads_at_once()
        session = SparkSession.builder.remote(server.url).config("spark.sql.session.timeZone", "UTC").getOrCreate()
        yield session
        session.stop()
        _forget_open_sessions()


def _resolve_reads_at_once() -> None:
    """Make errors of reads and queries appear where the tests expect them.

    A classic session resolves a DataFrame when the program makes it. One of Spark Connect does so when the program asks for its
    schema or its rows.
    """
    from pyspark.sql.connect.readwriter import DataFrameReader
    from pyspark.sql.connect.session import SparkSession

    for kind, name in ((DataFrameReader, "load"), (DataFrameReader, "table"), (SparkSession, "sql"), (SparkSession, "table")):
        setattr(kind, name, _resolved_at_once(getattr(kind, name)))


def _resolved_at_once(method: Any) -> Any:
    @functools.wraps(method)
    def resolved(*arguments: Any, **options: Any) -> Any:
        frame = method(*arguments, **options)
        frame.schema  # noqa: B018  (which asks the server)
        return frame

    return resolved


def _forget_open_sessions() -> None:
    """Spare the end of the process a wait of minutes.

    PySpark 4.3 asks the server of each session that was not stopped to clear its models, and tries again for ten minutes
    if this server is gone (`SparkConnectClient._on_exit`).
    """
    from pyspark.sql.connect.client.core import SparkConnectClient

    for client in gc.get_objects():
        if isinstance(client, SparkConnectClient) and hasattr(client, "_on_exit"):
            atexit.unregister(client._on_exit)
