# SPDX-License-Identifier: Apache-2.0
"""`bayou.enable`: add the data source `delta` to a running session."""

from __future__ import annotations

import logging
import threading
import warnings
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pyspark.sql import SparkSession  # noqa: TC002  (typing.get_type_hints)

from bayou.spark.backend import is_of_connect
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.jvm.core import callbacks
from bayou.spark.jvm.core.adapters import Adapters, has_delta_spark
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.callbacks import BiConsumer, BiFunction
from bayou.spark.jvm.core.session import answer_parser, install_catalog, install_rule, java_session
from bayou.spark.jvm.core.transaction_ids import pass_transaction_ids
from bayou.spark.native.session.hadoop_store import register_hadoop_stores
from bayou.spark.native.session.object_stores import register_object_stores
from bayou.spark.session.after_writes import NewVersion, follow_writes
from bayou.spark.session.given_arguments import session_of
from bayou.spark.session.interrupts import listen
from bayou.spark.session.settings import compacts_by_itself
from bayou.spark.sql.statements.beginnings import as_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.spark.session.application import Application
    from bayou.spark.sql.parsed_statements import ParsedStatements

_logger = logging.getLogger("bayou")
_connected: WeakSet[Jvm] = WeakSet()
"""The JVMs that learn of transactions, and whose file systems bayou uses for logs."""
_with_callbacks: WeakSet[Jvm] = WeakSet()
"""The JVMs whose adapters have the Python objects that they call."""


@raised_as_pyspark
def enable(spark: SparkSession | SparkSession.Builder) -> SparkSession:
    """Add the data source `delta` to a session. Calling it again does nothing.

    Afterwards `spark.read.format("delta")`, `df.write.format("delta")`, SQL by path and catalog tables that use `delta` work on the
    session, from any language. It changes the session in these ways:

    - The setting `spark.sql.catalog.spark_catalog` names bayou's catalog, for tables with names. If it named a catalog before,
      bayou's catalog delegates to that one.
    - A parser behind Spark's own handles DELETE, UPDATE, MERGE and, before Spark 4.1, statements about constraints. It refuses
      statements of Delta Lake that bayou does not support, and names them.
    - The level of the Python logger `py4j` is WARNING, unless the program set it. Otherwise each callback logs lines at INFO.
    - While OPTIMIZE and similar operations run jobs, a handler for Ctrl-C runs before PySpark's.

    Nothing of PySpark is replaced. If delta-spark's JAR is on the session, `format("delta")` stays delta-spark's, and bayou's own
    functions work as well.

    On a session of Spark Connect, bayou works in the client, and changes nothing but the requests that this session sends. There it
    works for tables by path: docs/connect.md says how far.

    The first call in an application takes about 0.4 s, most of which Spark would otherwise spend on its first query. The first call
    on a machine also compiles the adapters, which takes some seconds.

    Args:
        spark: a running session, or a builder, whose `getOrCreate()` is then called.

    Returns:
        The same session, or that of the builder.

    Raises:
        SessionError: the session was stopped, or the Java adapters cannot be compiled on it.
        ArgumentTypeError: it is neither a session nor a builder.

    Examples:
        >>> spark = bayou.enable(SparkSession.builder)
    """
    session = session_of(spark)
    if is_of_connect(session):
        from bayou.spark.portable.session import enable_connect  # noqa: PLC0415  (classic sessions need none of it)

        follow_writes(_compact_after)
        enable_connect(session)
    else:
        _enable_classic(session)
    return session


def _enable_classic(session: SparkSession) -> None:
    _quiet_py4j()
    jvm = Jvm.of(session)
    callbacks.start(jvm)
    adapters = Adapters.of(jvm)
    if jvm not in _connected:
        register_hadoop_stores()  # bayou.open can use them from now on, too
        register_object_stores()
        pass_transaction_ids(jvm)
        follow_writes(_compact_after)
        listen(session)
        _connected.add(jvm)
    if jvm not in _with_callbacks:
        _set_callbacks(jvm, adapters)
        _with_callbacks.add(jvm)
    install_rule(jvm, java_session(session), lambda: _Late(lambda: _rule(jvm)))
    why = install_catalog(session, adapters)
    if why:
        warnings.warn(
            f"bayou cannot put its catalog on top of the session's, {why}. Reading and writing Delta tables by path works. "
            "CREATE TABLE, INSERT, ALTER TABLE and DataFrame writers by name do not, and partitioned tables by name are refused. "
            "Next: use bayou.write, bayou.DeltaTable and paths, or give that catalog a name of its own and leave "
            "spark.sql.catalog.spark_catalog unset.",
            stacklevel=4,
        )


def _quiet_py4j() -> None:
    """Keep py4j's notes about each callback, at level INFO, out of the program's log, unless the program set py4j's level."""
    logger = logging.getLogger("py4j")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)


def _set_callbacks(jvm: Jvm, adapters: Adapters) -> None:
    """Pass the Python objects that the adapters call to them, and warn of what does not work on this Spark."""
    adapters.set_static("delta.DefaultSource", "body", BiFunction(jvm, _Late(lambda: _provider(jvm))))
    adapters.set_static("bayou.WritableTable", "body", BiFunction(jvm, _Late(lambda: _catalog(jvm))))
    if adapters.has("bayou.Parser"):
        statements = cache(lambda: _statements(jvm))
        refused = _Late(lambda: statements().of_refused)
        answer_parser(adapters, BiFunction(jvm, _Late(statements)), BiFunction(jvm, refused), as_lines())
    if adapters.has("bayou.Functions"):
        adapters.set_static("bayou.Functions", "body", BiFunction(jvm, _Late(lambda: _functions(jvm))))
    adapters.set_static("bayou.DeltaTable", "inserter", BiConsumer(jvm, _Late(lambda: _inserter(jvm))))
    if adapters.missing:
        warnings.warn(adapters.what_is_missing(), stacklevel=5)
    if has_delta_spark(jvm):
        _logger.warning(
            "delta-spark is on this session: format('delta') stays delta-spark's. bayou.read, bayou.write and "
            "bayou.DeltaTable work as well."
        )


class _Late:
    """A callback of the JVM that is created on its first call.

    Most of bayou, and PyArrow, is imported only then. A session that never uses a Delta table does not pay for it.
    """

    def __init__(self, make: Callable[[], Callable[[Any, Any], Any]]) -> None:
        self._make = make
        self._lock = threading.Lock()

    def __call__(self, first: Any, second: Any) -> Any:
        with self._lock:  # threads of Spark call concurrently
            callback = self._callback
        return callback(first, second)

    @cached_property
    def _callback(self) -> Callable[[Any, Any], Any]:
        return self._make()


def _application(jvm: Jvm) -> Application:
    from bayou.spark.native.backend import backend_of_jvm  # noqa: PLC0415  (see _Late)
    from bayou.spark.session.application import Application  # noqa: PLC0415  (see _Late)

    return Application.of_backend(backend_of_jvm(jvm))


def _provider(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.sql.data_source import Provider  # noqa: PLC0415  (see _Late)

    return Provider(_application(jvm))


def _inserter(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.sql.data_source import Provider  # noqa: PLC0415  (see _Late)

    return Provider(_application(jvm)).insert


def _catalog(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.sql.session_catalog import SessionCatalog  # noqa: PLC0415  (see _Late)

    return SessionCatalog(_application(jvm))


def _statements(jvm: Jvm) -> ParsedStatements:
    from bayou.spark.sql.parsed_statements import ParsedStatements  # noqa: PLC0415  (see _Late)

    return ParsedStatements(_application(jvm))


def _functions(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.sql.functions.functions import TableFunctions  # noqa: PLC0415  (see _Late)

    return TableFunctions(_application(jvm))


def _rule(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.sql.optimizer_rule import RuleBody  # noqa: PLC0415  (see _Late)

    return RuleBody(_application(jvm))


def _compact_after(version: NewVersion) -> None:
    """Compact the table after a write, if its properties or the session's settings enable auto compaction."""
    known = version.log.known
    if known is not None and not compacts_by_itself(version.settings, known.properties):
        return
    from bayou.spark.maintenance.auto_compaction import compact_after  # noqa: PLC0415  (most sessions need none)

    compact_after(version)
