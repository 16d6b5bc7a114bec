# SPDX-License-Identifier: Apache-2.0
"""Replace parsed UPDATE and MERGE statements by commands, before Spark's analyzer resolves them. Also DELETE with a computed name.

Spark's analyzer would refuse columns that a MERGE adds, cast constants early, and cast structs by the position of their fields.
Spark resolves all other statements: any other DELETE, and statements on a view, with WITH or with parameters. bayou's analyzer rule
replaces them by commands afterwards (see `statements.entry.command_of` and `merge.statement.merge_command`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from bayou.errors import DeltaError, PathNotFoundError, redact_text
from bayou.log.segment.time_travel import split_path
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.dml.core.result import COUNTS
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.parsed_nodes import has_computed_table, table_node, with_named_table
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import active_session, java_session, session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import table_name
from bayou.spark.jvm.relations.plans import node_name
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.session_table import SessionTable
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_VERBS = {"DeleteFromTable": ("DELETE", "WHERE"), "UpdateTable": ("UPDATE", "WHERE"), "MergeIntoTable": ("MERGE", "ON")}
"""The keyword of each statement and the keyword before its condition, by the names of the nodes in Spark's plans."""


def command_of_parsed(
    application: Application,
    parsed: JavaObject,
    table: JavaObject,
    condition: JavaObject | None,
    planned: Callable[[SessionTable, JavaObject], PlannedChange] | None,
    *,
    in_script: bool,
) -> JavaObject | None:
    """Return the command for a parsed statement; None to let Spark resolve the statement.

    Args:
        parsed: the statement.
        table: its target.
        condition: its condition, or None.
        planned: plans the statement for a table; None to let Spark resolve it when it is executed.
        in_script: whether the statement is part of a SQL script. The script may create the table, or change the database, before it
            reaches the statement. Then the table is looked up only when the command runs.
    """
    jvm = jvm_of(application)
    is_computed = has_computed_table(table)
    parts = catalyst.table_name_of(jvm, table)
    if (parts is None and not is_computed) or catalyst.has_parameters(jvm, parsed):
        return None
    if is_computed and not in_script:
        with_name = with_named_table(jvm, active_session(jvm), parsed)
        parts = None if with_name is None else catalyst.table_name_of(jvm, table_node(with_name))
        if with_name is None or parts is None:
            return None
        parsed = with_name
    shown = "a computed name" if parts is None else column_sql(parts)
    named = shown if in_script else _name_of_ours(application, active_session(jvm), parts or ())
    if named is None:
        return None
    verb, joint = _VERBS[node_name(parsed)]
    where = "" if condition is None else f" {joint} {nodes.text_of(condition)}"

    def run(statement: JavaObject, session: JavaObject) -> str:
        spark = session_of(session)
        # In a script, the expression of a computed name can only be evaluated now: it may use variables.
        if is_computed and in_script:
            statement = with_named_table(jvm, spark, statement) or statement
        parts = catalyst.table_name_of(jvm, table_node(statement))
        name = None if planned is None or parts is None else _name_of_ours(application, spark, parts)
        if planned is None or name is None:
            return commands.run_resolved(jvm, spark, statement)
        return _run(application, name, statement, spark, planned)

    return commands.command(jvm, BiFunction(jvm, run), parsed, redact_text(f"{verb} {named}{where}"), COUNTS[verb])


def _name_of_ours(application: Application, spark: SparkSession, parts: Sequence[str]) -> str | None:
    """Return the SQL name of a Delta table in the session's catalog; None if the name does not refer to a Delta table."""
    jvm = jvm_of(application)
    resolved_parts = table_name(jvm, java_session(spark), column_sql(parts))
    if resolved_parts is None or not Catalog(jvm, spark).is_delta(column_sql(resolved_parts)):
        return None
    return column_sql(resolved_parts)


def _run(
    application: Application,
    name: str,
    parsed: JavaObject,
    spark: SparkSession,
    planned: Callable[[SessionTable, JavaObject], PlannedChange],
) -> str:
    """Run a statement that bayou resolves. If a name in it is unknown, let Spark resolve and run the statement."""
    location = qualify(Catalog(jvm_of(application), spark).delta_location(name)).uri
    try:
        plan = planned(SessionTable.of(application, spark, location, {}), parsed)
    except (AnalysisException, DeltaError) as error:
        names_version = isinstance(error, PathNotFoundError) and split_path(location) is not None
        if not names_version and not is_unresolved(error):
            raise
        try:
            return commands.run_resolved(jvm_of(application), spark, parsed)
        except AnalysisException as other:
            # If Spark does not find the name either, raise bayou's error. Otherwise raise Spark's error.
            raise (error if is_unresolved(other) else other) from None
    return plan.run().counts_text


def is_unresolved(error: AnalysisException | DeltaError) -> bool:
    """Return whether an error reports an unknown column."""
    name = error.error_class if isinstance(error, DeltaError) else error_class_of(error)
    return str(name or "").startswith(("UNRESOLVED", "DELTA_MERGE_UNRESOLVED"))
