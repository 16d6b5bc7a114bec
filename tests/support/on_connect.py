# SPDX-License-Identifier: Apache-2.0
"""The tests of `tests/spark` on a stock server of Spark Connect: its session, and which tests it cannot run and why.

`pytest --on-connect tests/spark/...` runs them so. `tests/spark/not_on_connect.txt` names the tests that are left out, below the
reasons, which are also in `docs/connect.md`. Tests that ask for the JVM are skipped when they do so.

`pytest --portable-on-classic tests/spark/...` runs the same tests on a classic session that bayou serves in the same way, with the
documented functions of PySpark. `tests/spark/not_portable_on_classic.txt` names further tests that are left out there.
"""

from __future__ import annotations

import atexit
import functools
import gc
import sys
import traceback
import uuid
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import PySparkAttributeError

from bayou.errors import SessionError
from bayou.spark.backend import is_portable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import pytest
    from pyspark.sql import SparkSession
    from tests.support.connect_server import ConnectServer

FOLDER = "tests/spark/"
JVM: Final = "The test looks into the JVM of a classic session."
TABLE = Path(__file__).parent.parent / "spark" / "not_on_connect.txt"
TABLE_ON_CLASSIC = TABLE.with_name("not_portable_on_classic.txt")
"""What is left out in addition where bayou serves a classic session in the same way."""


@cache
def left_out(table: Path = TABLE) -> dict[str, str]:
    """Return the reasons by the ids of tests, functions and files below `tests/spark`, and by `fixture:NAME`.

    An id that ends with `*` stands for all that begin so.
    """
    found, reason = {}, ""
    for line in table.read_text().splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            found[line] = reason
    return found


def why_left_out(test: str, fixtures: Collection[str], table: Path = TABLE) -> str | None:
    """Return why a table leaves a test out, given its id and its fixtures; None if it does not."""
    if not test.startswith(FOLDER):
        return None
    name = test.removeprefix(FOLDER)
    function = name.partition("[")[0]
    keys = [name, function, function.partition("::")[0], *(f"fixture:{each}" for each in fixtures)]
    found = next((reason for each in keys if (reason := left_out(table).get(each)) is not None), None)
    return found or next((reason for each, reason in _beginnings(table).items() if name.startswith(each)), None)


@cache
def _beginnings(table: Path) -> dict[str, str]:
    return {each.removesuffix("*"): reason for each, reason in left_out(table).items() if each.endswith("*")}


def looks_into_the_jvm(error: BaseException) -> bool:
    """Whether a test asked for the JVM of its session, by PySpark's own ways or by those of `bayou.spark.jvm`."""
    of_pyspark = isinstance(error, PySparkAttributeError) and error.getCondition() == "JVM_ATTRIBUTE_NOT_SUPPORTED"
    if not of_pyspark and not isinstance(error, SessionError):
        return False
    modules = [str(frame.f_globals["__name__"]) for frame, _ in traceback.walk_tb(error.__traceback__)]
    last = max(number for number, module in enumerate(modules) if module.startswith("tests."))
    asked = next((module for module in modules[last:] if module.startswith("bayou.")), "pyspark")
    return asked.startswith(("pyspark", "bayou.spark.jvm."))


def is_on_connect(session: SparkSession) -> bool:
    """Whether a session is one of Spark Connect."""
    return ".connect." in type(session).__module__


def name_of_table(session: SparkSession, path: str, prefix: str = "t") -> Iterator[str]:
    """A name in the catalog that nobody has, without its table at the end.

    On Spark Connect and in its mode on classic sessions it is a name by path, because the catalog of a stock server takes no Delta
    tables. Most tests of names run with it as they are.
    """
    if is_portable(session):
        yield f"delta.`{path}`"
        return
    found = f"{prefix}_{uuid.uuid4().hex[:8]}"
    yield found
    session.sql(f"DROP TABLE IF EXISTS {found}")


def name_beside(name: str, suffix: str) -> str:
    """A name of a table that nobody has, given one of `name_of_table`."""
    return f"{name[:-1]}{suffix}`" if name.endswith("`") else f"{name}{suffix}"


def settings_of(session: SparkSession) -> dict[str, str]:
    """Return the settings of a session of either kind."""
    if is_on_connect(session):
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
    from pyspark.sql.connect.streaming.readwriter import DataStreamReader

    readers = ((kind, name) for kind in (DataFrameReader, DataStreamReader) for name in ("load", "table"))
    for kind, name in (*readers, (SparkSession, "sql"), (SparkSession, "table")):
        monkeypatch.setattr(kind, name, _resolved_at_once(getattr(kind, name)))


def _resolved_at_once(method: Any) -> Any:
    @functools.wraps(method)
    def resolved(*arguments: Any, **options: Any) -> Any:
        frame = method(*arguments, **options)
        # bayou itself handles some errors of its own reads when it asks for their rows.
        if not _caller().startswith("bayou.spark.portable."):
            frame.schema  # noqa: B018  (which asks the server)
        return frame

    return resolved


def _caller() -> str:
    """The module that called a method of PySpark, which calls some of its own methods."""
    frame: Any = sys._getframe(2)
    while frame.f_globals["__name__"].startswith("pyspark."):
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def forget_open_sessions() -> None:
    """Spare the end of the process a wait of minutes.

    PySpark 4.3 asks the server of each session that was not stopped to clear its models, and tries again for ten minutes
    if this server is gone (`SparkConnectClient._on_exit`).
    """
    from pyspark.sql.connect.client.core import SparkConnectClient

    for client in gc.get_objects():
        if isinstance(client, SparkConnectClient) and hasattr(client, "_on_exit"):
            atexit.unregister(client._on_exit)
