# SPDX-License-Identifier: Apache-2.0
"""Turn INSERT ... REPLACE USING and REPLACE ON into an overwrite with the writer's options `replaceUsing` and `replaceOn`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import failed, redact_text
from bayou.protocol.types.sql_text import column_sql, quoted_name
from bayou.spark.dml.replace.replacing_statements import refuse_ambiguous_names, refuse_other_names
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.parsed_nodes import ReplacingInsert, as_overwrite, with_query
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import active_session, java_session, session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import table_name
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.sql.statements.context import not_delta

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


def as_write(application: Application, insert: JavaObject, *, in_script: bool) -> JavaObject | None:
    """Return the write for an INSERT with REPLACE USING or REPLACE ON, or None if the table is not a Delta table.

    Args:
        insert: the unresolved InsertIntoStatement.
        in_script: whether it is part of a script, in which an earlier statement may create the table.

    Raises:
        UnsupportedFeatureError: the option cannot hold a column's name.
    """
    return write_of(application, insert, ReplacingInsert.of(jvm_of(application), insert), in_script=in_script)


def write_of(
    application: Application, insert: JavaObject, replacing: ReplacingInsert, *, in_script: bool = False
) -> JavaObject | None:
    """Return the write for an INSERT whose clause is already parsed, or None if the table is not a Delta table."""
    jvm = jvm_of(application)
    if replacing.table is None or not (in_script or _is_ours(application, active_session(jvm), replacing.table)):
        return None
    if replacing.columns is not None:
        refuse_ambiguous_names(replacing.columns, column_sql(replacing.table))
    if replacing.has_subquery:
        raise failed("DELTA_UNSUPPORTED_SUBQUERY/replace-on", table=column_sql(replacing.table), features=["subquery"])

    def run(node: JavaObject, session: JavaObject) -> str:
        spark = session_of(session)
        if not _is_ours(application, spark, replacing.table or ()):
            if not replacing.is_in_node:
                raise not_delta(column_sql(replacing.table or ()), "INSERT ... REPLACE")
            return commands.run_resolved(jvm, spark, node)
        if replacing.columns is None:
            _replace_on(application, spark, replacing)
            return ""
        insert = with_query(jvm, node, _rows(application, spark, replacing))
        options = {"replaceUsing": ",".join(replacing.columns)}
        if replacing.is_in_node:
            return commands.run_resolved(jvm, spark, as_overwrite(jvm, insert, options))
        commands.run_write(jvm, spark, as_overwrite(jvm, insert, {}), options)
        return ""

    how = f"ON {replacing.condition}" if replacing.columns is None else f"USING ({', '.join(map(quoted_name, replacing.columns))})"
    return commands.command(
        jvm, BiFunction(jvm, run), insert, redact_text(f"INSERT INTO {column_sql(replacing.table)} REPLACE {how}")
    )


def _is_ours(application: Application, spark: SparkSession, parts: Sequence[str]) -> bool:
    parts_of_table = table_name(jvm_of(application), java_session(spark), column_sql(parts))
    return parts_of_table is not None and Catalog(jvm_of(application), spark).is_delta(column_sql(parts_of_table))


def _rows(application: Application, spark: SparkSession, insert: ReplacingInsert) -> DataFrame:
    """Return the rows with the names of their target columns, matched by position or by name."""
    rows = catalyst.frame_of(jvm_of(application), spark, insert.query)
    target_columns = list(insert.named) or _columns(spark, _location(application, spark, insert))
    return rows if insert.by_name or len(rows.columns) != len(target_columns) else rows.toDF(*target_columns)


def _location(application: Application, spark: SparkSession, insert: ReplacingInsert) -> str:
    parts = table_name(jvm_of(application), java_session(spark), column_sql(insert.table or ()))
    return Catalog(jvm_of(application), spark).delta_location(column_sql(parts or ()))


def _replace_on(application: Application, spark: SparkSession, insert: ReplacingInsert) -> None:
    """Write the rows with the option `replaceOn`, which matches the columns of the query by name."""
    jvm, parts = jvm_of(application), insert.table or []
    catalog, location = Catalog(jvm, spark), _location(application, spark, insert)
    rows = catalyst.frame_of(jvm, spark, insert.query)
    if not insert.by_name:
        refuse_other_names(rows.columns, insert.named or _columns(spark, location), column_sql(parts))
    alias = insert.alias or (None if "/" in parts[-1] else parts[-1])
    options = {"replaceOn": insert.condition, **({"targetAlias": alias} if alias else {})}
    if insert.evolves:
        options["mergeSchema"] = "true"
    rows.write.format("delta").mode("overwrite").options(**options).save(location)
    named = catalog.name(column_sql(table_name(jvm, java_session(spark), column_sql(parts)) or parts))
    if named.path is None:
        catalog.refresh(named)


def _columns(spark: SparkSession, location: str) -> list[str]:
    return list(spark.read.format("delta").load(location).columns)
