# SPDX-License-Identifier: Apache-2.0
"""`bayou.enable`: the data source `delta` on a session that already runs."""

from __future__ import annotations

import logging
import warnings

from pyspark.sql import SparkSession  # noqa: TC002  (typing.get_type_hints)

from bayou.spark.application import Application
from bayou.spark.errors import raised_as_pyspark
from bayou.spark.given_arguments import session_of
from bayou.spark.jvm.adapters import Adapters, has_delta_spark
from bayou.spark.jvm.callbacks import BiConsumer, BiFunction
from bayou.spark.jvm.session import install_catalog, install_rule, java_session
from bayou.spark.parsed_statements import ParsedStatements
from bayou.spark.provider import Provider
from bayou.spark.rule import RuleBody
from bayou.spark.session_catalog import SessionCatalog

_logger = logging.getLogger("bayou")


@raised_as_pyspark
def enable(spark: SparkSession | SparkSession.Builder) -> SparkSession:
    """The session with the data source `delta` on it; calling it again does nothing.

    Afterwards `spark.read.format("delta")`, `df.write.format("delta")`, SQL by path and catalog tables that use `delta` work on
    it, from any language. Tables with names come to bayou by one setting, `spark.sql.catalog.spark_catalog`, unless it names a
    catalog already. DELETE, UPDATE, MERGE and, before Spark 4.1, statements about constraints do by a parser behind
    Spark's own. Nothing of PySpark is replaced. The first call in an application takes one to a few seconds.

    Where delta-spark's JAR is on the session, `format("delta")` stays delta-spark's; bayou's own functions work beside it.

    Args:
        spark: a classic session that runs, or a builder, whose `getOrCreate()` is then called.

    Returns:
        The same session, or that of the builder.

    Raises:
        SessionError: it is a Spark Connect session, or the session was stopped.
        ArgumentTypeError: it is neither a session nor a builder.
    """
    session = session_of(spark)
    application = Application.of(session)
    if not application.native:
        warnings.warn(application.why_not_native, stacklevel=2)
        return session
    adapters = Adapters.of(application.jvm)
    if not application.provided:
        provider = Provider(application)
        adapters.set_static("delta.DefaultSource", "body", BiFunction(application.jvm, provider))
        adapters.set_static("bayou.WritableTable", "body", BiFunction(application.jvm, SessionCatalog(application)))
        if adapters.has("bayou.Parser"):
            adapters.set_static("bayou.Parser", "body", BiFunction(application.jvm, ParsedStatements(application)))
        adapters.set_static("bayou.DeltaTable", "inserter", BiConsumer(application.jvm, provider.insert))
        application.provided = True
        if adapters.missing:
            warnings.warn(adapters.what_is_missing(), stacklevel=2)
        if has_delta_spark(application.jvm):
            _logger.warning(
                "delta-spark is on this session: format('delta') stays delta-spark's. bayou.read, bayou.write and "
                "bayou.DeltaTable work beside it."
            )
    install_rule(application.jvm, java_session(session), lambda: RuleBody(application))
    install_catalog(session, adapters)
    return session
