# SPDX-License-Identifier: Apache-2.0
"""Add the data source `delta` to a classic session: the adapters, and the Python objects that they call."""

from __future__ import annotations

import logging
import threading
import warnings
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from bayou.spark.jvm.core import callbacks
from bayou.spark.jvm.core.adapters import Adapters, has_delta_spark
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.callbacks import BiConsumer, BiFunction
from bayou.spark.jvm.core.session import answer_parser, install_catalog, install_rule, java_session
from bayou.spark.jvm.core.transaction_ids import pass_transaction_ids
from bayou.spark.native.session.hadoop_store import register_hadoop_stores
from bayou.spark.native.session.object_stores import register_object_stores
from bayou.spark.session.after_writes import follow_writes
from bayou.spark.session.interrupts import listen
from bayou.spark.sql.statements.beginnings import as_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from bayou.spark.native.sql.parsed_statements import ParsedStatements
    from bayou.spark.session.after_writes import NewVersion
    from bayou.spark.session.application import Application

_logger = logging.getLogger("bayou")
_connected: WeakSet[Jvm] = WeakSet()
"""The JVMs that learn of transactions, and whose file systems bayou uses for logs."""
_with_callbacks: WeakSet[Jvm] = WeakSet()
"""The JVMs whose adapters have the Python objects that they call."""


def enable_classic(session: SparkSession, after_writes: Callable[[NewVersion], None]) -> None:
    """Add the data source to a session; see `spark.enable`.

    Args:
        after_writes: called after each write of a table.
    """
    _quiet_py4j()
    jvm = Jvm.of(session)
    callbacks.start(jvm)
    adapters = Adapters.of(jvm)
    if jvm not in _connected:
        register_hadoop_stores()  # bayou.open can use them from now on, too
        register_object_stores()
        pass_transaction_ids(jvm)
        follow_writes(after_writes)
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
    from bayou.spark.native.sql.data_source import Provider  # noqa: PLC0415  (see _Late)

    return Provider(_application(jvm))


def _inserter(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.native.sql.data_source import Provider  # noqa: PLC0415  (see _Late)

    return Provider(_application(jvm)).insert


def _catalog(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.native.sql.session_catalog import SessionCatalog  # noqa: PLC0415  (see _Late)

    return SessionCatalog(_application(jvm))


def _statements(jvm: Jvm) -> ParsedStatements:
    from bayou.spark.native.sql.parsed_statements import ParsedStatements  # noqa: PLC0415  (see _Late)

    return ParsedStatements(_application(jvm))


def _functions(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.native.sql.functions.functions import TableFunctions  # noqa: PLC0415  (see _Late)

    return TableFunctions(_application(jvm))


def _rule(jvm: Jvm) -> Callable[[Any, Any], Any]:
    from bayou.spark.native.sql.optimizer_rule import RuleBody  # noqa: PLC0415  (see _Late)

    return RuleBody(_application(jvm))
