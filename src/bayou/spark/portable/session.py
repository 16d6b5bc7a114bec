# SPDX-License-Identifier: Apache-2.0
"""Prepare a session of Spark Connect: see `bayou.enable`."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from bayou.spark.portable.answers import TableAnswers
from bayou.spark.portable.needs import check_client
from bayou.spark.portable.own_delta import has_own_delta
from bayou.spark.portable.requests.installation import install, requests_of
from bayou.spark.session.application import Application

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_CATALOG: Final = ("spark.sql.catalog.spark_catalog", ".delta.catalog.DeltaCatalog")
"""What programs for delta-spark set: the setting, and the end of the class. A server without it would then resolve no name."""


def enable_connect(spark: SparkSession) -> None:
    """Let a session of Spark Connect read and write Delta tables. Calling it again does nothing.

    If the server has a data source `delta` of its own, names and `format("delta")` stay the server's. Otherwise the session loses
    the setting of delta-spark's catalog.

    Raises:
        SessionError: the client or the server is too old.
    """
    check_client()
    if requests_of(spark) is None and not has_own_delta(spark):
        install(spark, TableAnswers(Application.of(spark), spark))
        _prepare_further(spark)
        name, of_delta_spark = _CATALOG
        if str(spark.conf.get(name, None)).endswith(of_delta_spark):
            spark.conf.unset(name)


def _prepare_further(spark: SparkSession) -> None:
    """Let the sessions that `newSession` and `cloneSession` of a session return know Delta tables, too, as classic ones do."""
    for name in ("newSession", "cloneSession"):
        method = getattr(spark, name, None)  # as of PySpark 4.1
        if method is not None:
            setattr(spark, name, _preparing(method))


def _preparing(method: Callable[..., SparkSession]) -> Callable[..., SparkSession]:
    @functools.wraps(method)
    def prepared(*arguments: Any, **options: Any) -> SparkSession:
        session = method(*arguments, **options)
        enable_connect(session)
        return session

    return prepared


def session_class() -> Any:
    """Return the client's class of sessions. It has the class of builders as `Builder`."""
    from pyspark.sql.connect.session import SparkSession as Session  # noqa: PLC0415  (it needs grpc)

    return Session


def settings_class() -> Any:
    """Return the client's class of `spark.conf`."""
    from pyspark.sql.connect.conf import RuntimeConf  # noqa: PLC0415  (it needs grpc)

    return RuntimeConf
