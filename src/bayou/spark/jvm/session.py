# SPDX-License-Identifier: Apache-2.0
"""What bayou puts on a Spark session, and what it asks of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.spark.jvm.adapters import Adapters
from bayou.spark.jvm.callbacks import BiFunction

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.bridge import JavaObject, Jvm

_RULE = "bayou.Rule"


def java_session(spark: SparkSession) -> JavaObject:
    """The JVM's side of a session."""
    return spark._jsparkSession  # noqa: SLF001  (PySpark has no public name for it)


def install_rule(jvm: Jvm, session: JavaObject, body: Callable[..., Any]) -> None:
    """Puts bayou's optimizer rule on a session, behind the rules that are there; once."""
    methods = session.experimental()
    rules = jvm.list_of(methods.extraOptimizations())
    if any(rule.getClass().getName() == _RULE for rule in rules):
        return
    rule = Adapters.of(jvm).new(_RULE, BiFunction(jvm, body))
    getattr(methods, "extraOptimizations_$eq")(jvm.seq([*rules, rule]))


def changed_provider(jvm: Jvm, command: JavaObject) -> str | None:
    """The provider of the catalog table that a command is about; None where it is about none."""
    for position in range(command.productArity()):
        part = command.productElement(position)
        if getattr(part, "getClass", None) is not None and part.getClass().getSimpleName() == "TableIdentifier":
            catalog = jvm.view.org.apache.spark.sql.SparkSession.active().sessionState().catalog()
            if not catalog.tableExists(part):
                return None
            provider: str = catalog.getTableMetadata(part).provider().getOrElse(None) or ""
            return provider.lower()
    return None


def refresh_caches(spark: SparkSession, table_uri: str, jvm: Jvm) -> None:
    """Computes the cached DataFrames that read a table anew, when they are next used."""
    session = java_session(spark)
    manager = session.sharedState().cacheManager()
    if not manager.isEmpty():
        jvm.call(manager, "recacheByPath", session, table_uri)
