# SPDX-License-Identifier: Apache-2.0
"""Create commands for UPDATE and MERGE in SQL, and for DELETE of a computed table name, from the parsed statement.

If Spark resolved them first, it would refuse columns that a MERGE adds, cast constants early, and cast structs by the position of
their fields. Spark resolves any other DELETE, and statements on a view, with WITH or with parameters. The rule in the analyzer
makes commands of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from bayou.errors import DeltaError, PathNotFoundError, redact_text
from bayou.log.segment.time_travel import split_path
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.dml.core.result import COUNTS
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.parsed_nodes import has_computed_table, table_node, with_named_table
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import BiFunction, error_class_of
from bayou.spark.jvm.core.session import active_session, java_session, session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import table_name
from bayou.spark.jvm.relations.plans import node_name
from bayou.spark.read.session_table import SessionTable
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_VERBS = {"DeleteFromTable": ("DELETE", "WHERE"), "UpdateTable": ("UPDATE", "WHERE"), "MergeIntoTable": ("MERGE", "ON")}
"""The statement of each of Spark's nodes, and the word before its condition."""


def command_of_parsed(
    application: Application,
    parsed: JavaObject,
    table: JavaObject,
    condition: JavaObject | None,
    planned: Callable[[SessionTable, JavaObject], PlannedChange] | None,
    *,
    in_script: bool,
) -> JavaObject | None:
    """Return the command for a parsed statement, or None to let Spark resolve the statement.

    Args:
        condition: its condition, or None.
        planned: plans the statement for a table; None to let Spark resolve it when it is executed.
        in_script: whether it is part of a SQL script. The script may create the table, or change the database, before it.
    """
    jvm = application.jvm
    is_computed = has_computed_table(table)
    parts = catalyst.table_name_of(jvm, table)
    if (parts is None and not is_computed) or catalyst.has_parameters(jvm, parsed):
        return None
    if is_computed and not in_script:
        found = with_named_table(jvm, active_session(jvm), parsed)
        parts = None if found is None else catalyst.table_name_of(jvm, table_node(found))
        if found is None or parts is None:
            return None
        parsed = found
    shown = "a computed name" if parts is None else column_sql(parts)
    named = shown if in_script else _name_of_ours(application, active_session(jvm), parts or ())
    if named is None:
        return None
    verb, joint = _VERBS[node_name(parsed)]
    where = "" if condition is None else f" {joint} {nodes.text_of(condition)}"

    def run(statement: JavaObject, session: JavaObject) -> str:
        spark = session_of(session)
        # Only here is the value of a computed name in a script known.
        if is_computed and in_script:
            statement = with_named_table(jvm, spark, statement) or statement
        parts = catalyst.table_name_of(jvm, table_node(statement))
        name = None if planned is None or parts is None else _name_of_ours(application, spark, parts)
        if planned is None or name is None:
            return commands.run_resolved(jvm, spark, statement)
        return _run(application, name, statement, spark, planned)

    return commands.command(jvm, BiFunction(jvm, run), parsed, redact_text(f"{verb} {named}{where}"), COUNTS[verb])


def _name_of_ours(application: Application, spark: SparkSession, parts: Sequence[str]) -> str | None:
    """Return the SQL name of a Delta table in the session's catalog, or None if the name is not that of a Delta table."""
    jvm = application.jvm
    found = table_name(jvm, java_session(spark), column_sql(parts))
    if found is None or not Catalog(jvm, spark).is_delta(column_sql(found)):
        return None
    return column_sql(found)


def _run(
    application: Application,
    name: str,
    parsed: JavaObject,
    spark: SparkSession,
    planned: Callable[[SessionTable, JavaObject], PlannedChange],
) -> str:
    location = qualify(Catalog(application.jvm, spark).delta_location(name)).uri
    try:
        plan = planned(SessionTable.of(application, spark, location, {}), parsed)
    except (AnalysisException, DeltaError) as error:
        names_version = isinstance(error, PathNotFoundError) and split_path(location) is not None
        if not names_version and not is_unresolved(error):
            raise
        try:
            return commands.run_resolved(application.jvm, spark, parsed)
        except AnalysisException as other:
            # If Spark does not find the name either, raise our error; otherwise the one that Spark's run met.
            raise (error if is_unresolved(other) else other) from None
    return plan.run().counts_text


def is_unresolved(error: AnalysisException | DeltaError) -> bool:
    """Return whether an error reports an unknown column."""
    name = error.error_class if isinstance(error, DeltaError) else error_class_of(error)
    return str(name or "").startswith(("UNRESOLVED", "DELTA_MERGE_UNRESOLVED"))
