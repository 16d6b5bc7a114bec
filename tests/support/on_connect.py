# SPDX-License-Identifier: Apache-2.0
"""The tests of `tests/spark` on a stock server of Spark Connect: its session, and which tests it cannot run and why.

`pytest --on-connect tests/spark/...` runs them so. `tests/spark/not_on_connect.txt` names the tests that are left out, below the
reasons, which are also in `docs/connect.md`.
"""

from __future__ import annotations

import atexit
import functools
import gc
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import pytest
    from pyspark.sql import SparkSession
    from tests.support.connect_server import ConnectServer

FOLDER = "tests/spark/"
TABLE = Path(__file__).parent.parent / "spark" / "not_on_connect.txt"


@cache
def left_out() -> dict[str, str]:
    """Return the reasons by the ids of tests, functions and files below `tests/spark`, and by `fixture:NAME`."""
    found, reason = {}, ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            found[line] = reason
    return found


def why_left_out(test: str, fixtures: Collection[str]) -> str | None:
    """Return why a server of Spark Connect cannot run a test, given its id and its fixtures; None if it can."""
    if not test.startswith(FOLDER):
        return None
    name = test.removeprefix(FOLDER)
    function = name.partition("[")[0]
    keys = [name, function, function.partition("::")[0], *(f"fixture:{each}" for each in fixtures)]
    reasons = (left_out().get(each) for each in keys)
    return next((reason for reason in reasons if reason is not None), None)


def settings_of(session: SparkSession) -> dict[str, str]:
    """Return the settings of a session of either kind."""
    if ".connect." in type(session).__module__:
        return dict(session.conf.getAll)
    from bayou.spark.jvm.core.session import settings_of as of_classic

    return of_classic(session)


def another_session(session: SparkSession) -> SparkSession:
    """Return a further session of the same kind, without the settings and the views of the first one."""
    if hasattr(session, "newSession"):
        return session.newSession()
    # A client of Spark Connect before PySpark 4.3.
    client: Any = session.client
    return type(session).builder.remote(f"sc://{client._builder.endpoint}").create()


def session_on(server: ConnectServer) -> Iterator[SparkSession]:
    """A session of its own on a server. At the end no session of this process is left."""
    from pyspark.sql import SparkSession

    # The time zone of a session is the client's. The server of the tests is in UTC.
    session = SparkSession.builder.remote(server.url).config("spark.sql.session.timeZone", "UTC").create()
    yield session
    session.stop()
    forget_open_sessions()


def resolve_reads_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make errors of reads and queries appear where the tests expect them.

    A classic session resolves a DataFrame when the program makes it. One of Spark Connect does so when the program asks for its
    schema or its rows.
    """
    from pyspark.sql.connect.readwriter import DataFrameReader
    from pyspark.sql.connect.session import SparkSession

    for kind, name in ((DataFrameReader, "load"), (DataFrameReader, "table"), (SparkSession, "sql"), (SparkSession, "table")):
        monkeypatch.setattr(kind, name, _resolved_at_once(getattr(kind, name)))


def _resolved_at_once(method: Any) -> Any:
    @functools.wraps(method)
    def resolved(*arguments: Any, **options: Any) -> Any:
        frame = method(*arguments, **options)
        frame.schema  # noqa: B018  (which asks the server)
        return frame

    return resolved


def forget_open_sessions() -> None:
    """Spare the end of the process a wait of minutes.

    PySpark 4.3 asks the server of each session that was not stopped to clear its models, and tries again for ten minutes
    if this server is gone (`SparkConnectClient._on_exit`).
    """
    from pyspark.sql.connect.client.core import SparkConnectClient

    for client in gc.get_objects():
        if isinstance(client, SparkConnectClient) and hasattr(client, "_on_exit"):
            atexit.unregister(client._on_exit)
