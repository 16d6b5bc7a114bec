# SPDX-License-Identifier: Apache-2.0
"""Turn COMMENT ON COLUMN, which Spark 4.3 added, into ALTER TABLE ... ALTER COLUMN ... COMMENT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.types.sql_text import column_sql
from bayou.spark.jvm.catalyst.parsed_nodes import as_alter_column, commented_column
from bayou.spark.jvm.core.session import active_session, java_session
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import is_catalog, table_name
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_MOST_PARTS = 3


def as_alteration(application: Application, comment: JavaObject, *, in_script: bool) -> JavaObject | None:
    """Return the alteration for a COMMENT ON COLUMN, or None if the table is not a Delta table.

    Spark resolves all parts except the last as the table's name, so it cannot comment on nested fields. bayou uses the longest
    prefix that names a table.

    Args:
        comment: the unresolved AlterColumns.
        in_script: whether it is part of a script, in which an earlier statement may create the table.
    """
    jvm = jvm_of(application)
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
    """Return `delta` or `other` for a name, or None if the table does not exist."""
    jvm = jvm_of(application)
    session = java_session(spark)
    parts_of_table = table_name(jvm, session, column_sql(parts))
    if parts_of_table is None:  # three parts that do not start with a catalog cannot be a table, so the caller tries fewer parts
        return None if len(parts) == _MOST_PARTS and not is_catalog(session, parts[0]) else "other"
    catalog = Catalog(jvm, spark)
    name = catalog.name(column_sql(parts_of_table))
    if name.path is not None:
        return "delta"
    entry = catalog.entry(name)
    if entry is None:
        return None
    return "delta" if entry.provider == "delta" and not entry.is_view else "other"
