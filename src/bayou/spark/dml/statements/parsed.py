# SPDX-License-Identifier: Apache-2.0
"""UPDATE and MERGE as SQL, and DELETE of a table whose name is computed, taken from the parser before Spark resolves them.

Spark would refuse columns that a MERGE adds, and casts values by rules of its own: constants at once, structs by the position of
their fields. Spark itself resolves any other DELETE, and what is about a view, begins with WITH or has parameters. The analyzer's
rule makes a command of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from bayou.errors import DeltaError, PathNotFoundError, redact_text
from bayou.log.segment.time_travel import split_path
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.dml.core.result import COUNTS
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst.parsed_nodes import has_computed_table, with_named_table
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import BiFunction, error_class_of
from bayou.spark.jvm.core.session import active_session, java_session, session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.parser import table_name
from bayou.spark.read.session_table import SessionTable
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_VERBS = {"DeleteFromTable": ("DELETE", "WHERE"), "UpdateTable": ("UPDATE", "WHERE"), "MergeIntoTable": ("MERGE", "ON")}
"""What each of Spark's nodes is called, and the word before its condition."""


def command_of_parsed(
    application: Application,
    parsed: JavaObject,
    table: JavaObject,
    condition: JavaObject | None,
    planned: Callable[[SessionTable, JavaObject], PlannedChange] | None,
    *,
    in_script: bool,
) -> JavaObject | None:
    """The command that stands for a parsed statement; None where Spark is to resolve it.

    Args:
        condition: its condition; None where it has none.
        planned: makes a plan of the statement for a table; None where Spark is to resolve it when it is executed.
        in_script: whether it is one of a script's, which may make the table, or use another database, before it.
    """
    jvm = application.jvm
    is_computed = has_computed_table(table)
    parts = catalyst.table_name_of(jvm, table)
    if (parts is None and not is_computed) or catalyst.has_parameters(jvm, parsed):
        return None
    if is_computed and not in_script:
        found = with_named_table(jvm, active_session(jvm), parsed)
        parts = None if found is None else catalyst.table_name_of(jvm, found.children().head())
        if found is None or parts is None:
            return None
        parsed = found
    shown = "a computed name" if parts is None else column_sql(parts)
    named = shown if in_script else _name_of_ours(application, active_session(jvm), parts or ())
    if named is None:
        return None
    verb, joint = _VERBS[parsed.nodeName()]
    where = "" if condition is None else f" {joint} {nodes.text_of(condition)}"

    def run(statement: JavaObject, session: JavaObject) -> str:
        spark = session_of(session)
        # In a script, what the name stands for is known only here.
        if is_computed and in_script:
            statement = with_named_table(jvm, spark, statement) or statement
        parts = catalyst.table_name_of(jvm, statement.children().head())
        name = None if planned is None or parts is None else _name_of_ours(application, spark, parts)
        if planned is None or name is None:
            return commands.run_resolved(jvm, spark, statement)
        return _run(application, name, statement, spark, planned)

    return commands.command(jvm, BiFunction(jvm, run), parsed, redact_text(f"{verb} {named}{where}"), COUNTS[verb])


def _name_of_ours(application: Application, spark: SparkSession, parts: Sequence[str]) -> str | None:
    """The name of a Delta table of the session's catalog, as SQL has it; None where the parts are another table's."""
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
            # What Spark does not find either is told by its first name; what the statement then met is its own error.
            raise (error if is_unresolved(other) else other) from None
    return plan.run().counts_text


def is_unresolved(error: AnalysisException | DeltaError) -> bool:
    """Whether an error says that a name is no column's."""
    name = error.error_class if isinstance(error, DeltaError) else error_class_of(error)
    return str(name or "").startswith(("UNRESOLVED", "DELTA_MERGE_UNRESOLVED"))
