# SPDX-License-Identifier: Apache-2.0
"""`bayou.enable`: the data source `delta` on a session that already runs."""

from __future__ import annotations

import logging
import warnings

from pyspark.sql import SparkSession  # noqa: TC002  (typing.get_type_hints)

from bayou.spark.application import Application
from bayou.spark.errors import raised_as_pyspark
from bayou.spark.jvm.adapters import Adapters, has_delta_spark
from bayou.spark.jvm.callbacks import BiConsumer, BiFunction
from bayou.spark.jvm.session import install_catalog, install_rule, java_session
from bayou.spark.parsed_statements import ParsedStatements
from bayou.spark.provider import Provider
from bayou.spark.rule import RuleBody
from bayou.spark.session_catalog import SessionCatalog

_logger = logging.getLogger("bayou")


@raised_as_pyspark
def enable(spark: SparkSession) -> SparkSession:
    """The session with the data source `delta` on it; calling it again does nothing.

    Afterwards `spark.read.format("delta")`, `df.write.format("delta")`, SQL by path and catalog tables that use `delta` work on
    it, from any language. Tables with names come to bayou by one setting, `spark.sql.catalog.spark_catalog`. If it names a
    catalog already, bayou's goes on top of that one. DELETE, UPDATE, MERGE and, before Spark 4.1, statements about constraints do
    by a parser behind Spark's own. Nothing of PySpark is replaced. Costs below a second, once.

    Where delta-spark's JAR is on the session, `format("delta")` stays delta-spark's; bayou's own functions work beside it.

    Args:
        spark: a classic session, running.

    Returns:
        The same session.

    Raises:
        SessionError: it is a Spark Connect session.
    """
    application = Application.of(spark)
    if not application.native:
        warnings.warn(application.why_not_native, stacklevel=2)
        return spark
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
    install_rule(application.jvm, java_session(spark), lambda: RuleBody(application))
    why = install_catalog(spark, adapters)
    if why:
        warnings.warn(
            f"bayou cannot put its catalog on top of the session's, {why}. Reading and writing Delta tables by path works. "
            "CREATE TABLE, INSERT, ALTER TABLE and DataFrame writers by name do not, and partitioned tables by name are refused. "
            "Next: use bayou.write, bayou.DeltaTable and paths, or give that catalog a name of its own and leave "
            "spark.sql.catalog.spark_catalog unset.",
            stacklevel=2,
        )
    return spark
