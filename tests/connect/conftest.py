# SPDX-License-Identifier: Apache-2.0
"""One stock Spark Connect server for all tests of this folder, and a session on it.

A process serves either classic or Connect sessions, because `pyspark.sql` decides this for the whole process. These tests
run in a pytest process without tests of classic sessions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession
    from tests.support.connect_server import ConnectServer


@pytest.fixture(scope="session")
def server(connect_server: ConnectServer) -> ConnectServer:
    """A stock server of the installed PySpark that runs until the end of the tests."""
    return connect_server


@pytest.fixture(scope="session")
def plain_spark(server: ConnectServer) -> Iterator[SparkSession]:
    """A session on the server, without bayou on it. It replaces the classic session of the other tests."""
    from pyspark.sql import SparkSession

    # The time zone of a session is the client's. The server of the tests is in UTC.
    # `getOrCreate` might return the session of tests of other folders in the same process.
    session = SparkSession.builder.remote(server.url).config("spark.sql.session.timeZone", "UTC").create()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def spark(server: ConnectServer, plain_spark: SparkSession) -> Iterator[SparkSession]:
    """A session of its own on the server, with bayou."""
    from pyspark.sql import SparkSession

    import bayou

    session = SparkSession.builder.remote(server.url).config("spark.sql.session.timeZone", "UTC").create()
    yield bayou.enable(session)
    session.stop()


@pytest.fixture(autouse=True)
def _session_as_before() -> None:
    """Replaces the check of the classic session, which asks the JVM for its settings."""
