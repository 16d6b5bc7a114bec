# SPDX-License-Identifier: Apache-2.0
"""COMMENT ON COLUMN, from Spark 4.3 on, as the ALTER TABLE ... ALTER COLUMN ... COMMENT that means the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.types.sql_text import column_sql
from bayou.spark.jvm.catalyst.parsed_nodes import as_alter_column, commented_column
from bayou.spark.jvm.core.session import active_session, java_session
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import is_catalog, table_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_MOST_PARTS = 3


def as_alteration(application: Application, comment: JavaObject, *, in_script: bool) -> JavaObject | None:
    """The alteration for a COMMENT ON COLUMN of a Delta table; None for a table of another kind.

    Spark takes all parts but the last one for the table's name, so it knows no nested fields. Here the longest beginning that
    is a table's name is the table.

    Args:
        comment: the AlterColumns, not resolved.
        in_script: whether it is one of a script's, which may make the table before it.
    """
    jvm = application.jvm
    spark = active_session(jvm)
    parts = commented_column(jvm, comment)
    for size in range(min(len(parts) - 1, _MOST_PARTS), 0, -1):
        kind = _kind(application, spark, parts[:size])
        if kind is None:
            continue
        if kind != "delta":
            return None
        return as_alter_column(jvm, java_session(spark), comment, column_sql(parts[:size]), column_sql(parts[size:]))
    return as_alter_column(jvm, java_session(spark), comment, column_sql(parts[:-1]), column_sql(parts[-1:])) if in_script else None


def _kind(application: Application, spark: SparkSession, parts: list[str]) -> str | None:
    """What a name is: `delta`, something else, or nothing (None)."""
    jvm = application.jvm
    session = java_session(spark)
    found = table_name(jvm, session, column_sql(parts))
    if found is None:  # without a catalog at its beginning, a name of three parts is no table's
        return None if len(parts) == _MOST_PARTS and not is_catalog(session, parts[0]) else "other"
    catalog = Catalog(jvm, spark)
    name = catalog.name(column_sql(found))
    if name.path is not None:
        return "delta"
    entry = catalog.entry(name)
    if entry is None:
        return None
    return "delta" if entry.provider == "delta" and not entry.is_view else "other"
