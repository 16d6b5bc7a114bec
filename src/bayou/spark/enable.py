# SPDX-License-Identifier: Apache-2.0
"""`bayou.enable`: add the data source `delta` to a running session."""

from __future__ import annotations

import logging
from typing import Final
from weakref import WeakSet

from pyspark.sql import SparkSession  # noqa: TC002  (typing.get_type_hints)

from bayou.errors import UnknownSparkError, failed
from bayou.spark.backend import is_of_connect, is_portable, make_portable
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.session.after_writes import NewVersion, follow_writes
from bayou.spark.session.given_arguments import session_of
from bayou.spark.session.settings import compacts_by_itself

_logger = logging.getLogger("bayou")
_BACKEND: Final = "spark.bayou.backend"
_PORTABLE: Final = "portable"
_native: Final[WeakSet[SparkSession]] = WeakSet()
"""The classic sessions that were prepared with Spark's internals."""


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

    If this Spark has other internals than bayou knows, or if the setting `spark.bayou.backend` is `portable`, bayou uses only the
    documented functions of PySpark, and a warning says so. Tables by path then work in Python, and tables by name and streams
    from tables do not. It needs the packages of `bayou[connect]`, and wraps methods of PySpark such as `spark.read`.

    On a session of Spark Connect, bayou works in the client, and changes nothing but the requests that this session sends, and
    those of sessions that its `newSession` returns. There it works for tables by path: docs/connect.md says how far.

    The first call in an application takes about 0.4 s, most of which Spark would otherwise spend on its first query. The first call
    on a machine also compiles the adapters, which takes some seconds.

    Args:
        spark: a running session, or a builder, whose `getOrCreate()` is then called.

    Returns:
        The same session, or that of the builder.

    Raises:
        SessionError: the session was stopped, the Java adapters cannot be compiled on it, or its client or server of Spark
            Connect is older than 4.0.
        ArgumentTypeError: it is neither a session nor a builder.

    Examples:
        >>> spark = bayou.enable(SparkSession.builder)
    """
    session = session_of(spark)
    if is_of_connect(session):
        from bayou.spark.portable.session import enable_connect  # noqa: PLC0415  (classic sessions need none of it)

        follow_writes(_compact_after)
        enable_connect(session)
    elif not is_portable(session):
        _enable_classic(session)
    return session


def _enable_classic(session: SparkSession) -> None:
    """Prepare a classic session. If Spark has other internals than bayou knows, or the program says so, use none of them."""
    try:
        given = "auto" if session in _native else str(session.conf.get(_BACKEND, "auto")).lower()
    except Exception:  # noqa: BLE001  (a stopped session fails in many ways, and what follows says why)
        given = "auto"
    if given not in ("auto", _PORTABLE):
        raise failed("DELTA_ILLEGAL_OPTION/setting", option=_BACKEND, value=given, wanted=f"'auto' or '{_PORTABLE}'")
    reason = f"the setting {_BACKEND} says so"
    if given == "auto":
        from bayou.spark.native.enable import enable_classic  # noqa: PLC0415  (sessions of Spark Connect need none of it)

        try:
            enable_classic(session, _compact_after)
        except UnknownSparkError as error:
            reason = str(error).rstrip(".")
        else:
            _native.add(session)
            return
    enable_documented(session, reason)


def enable_documented(session: SparkSession, reason: str) -> None:
    """Serve the classic sessions of an application by the documented functions of PySpark.

    Args:
        session: one of them.
        reason: the reason in the warning, without a full stop.
    """
    follow_writes(_compact_after)
    make_portable(session)
    from bayou.spark.portable.classic.methods import wrap_methods  # noqa: PLC0415  (it needs grpc)

    wrap_methods(session)
    _logger.warning(
        "bayou uses only the documented functions of PySpark on this session, because %s. Reads, writes and SQL of tables by path "
        "work in Python, but slower; tables by name and streams from tables do not.",
        reason,
    )


def _compact_after(version: NewVersion) -> None:
    """Compact the table after a write, if its properties or the session's settings enable auto compaction."""
    known = version.log.known
    if known is not None and not compacts_by_itself(version.settings, known.properties):
        return
    from bayou.spark.maintenance.auto_compaction import compact_after  # noqa: PLC0415  (most sessions need none)

    compact_after(version)
