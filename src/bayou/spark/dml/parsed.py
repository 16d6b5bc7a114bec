# SPDX-License-Identifier: Apache-2.0
"""UPDATE and MERGE as SQL, taken from the session's parser before Spark resolves them.

Spark would refuse columns that a MERGE adds, and casts values by rules of its own: constants at once, structs by the position of
their fields. It resolves what is about a view, what begins with WITH, what has parameters in it, and what calls the table by a
name that bayou does not know; from such a statement the optimizer rule makes a command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException

from bayou.errors import DeltaError, redact_text
from bayou.protocol.sql_text import column_sql
from bayou.spark.dml.change import Target
from bayou.spark.jvm import merge as catalyst
from bayou.spark.jvm import row_changes
from bayou.spark.jvm.callbacks import BiFunction
from bayou.spark.jvm.catalog import Catalog
from bayou.spark.jvm.parser import table_name
from bayou.spark.jvm.session import active_session, java_session, session_of
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.spark.application import Application
    from bayou.spark.dml.result import PlannedChange
    from bayou.spark.jvm.bridge import JavaObject


def command_of_parsed(
    application: Application,
    parsed: JavaObject,
    table: JavaObject,
    condition: JavaObject | None,
    planned: Callable[[Target, JavaObject], PlannedChange],
) -> JavaObject | None:
    """The command that stands for a parsed statement; None where Spark is to resolve it.

    Args:
        application: the Spark application.
        parsed: the statement.
        table: the relation in it that is changed.
        condition: its condition; None where it has none.
        planned: makes a plan of the statement for a table.
    """
    jvm = application.jvm
    parts = catalyst.table_name_of(jvm, table)
    if parts is None or catalyst.has_parameters(jvm, parsed):
        return None
    spark = active_session(jvm)
    found = table_name(jvm, java_session(spark), column_sql(parts))
    if found is None or not Catalog(jvm, spark).is_delta(column_sql(found)):
        return None
    name = column_sql(found)
    verb, joint = ("MERGE", "ON") if parsed.nodeName() == "MergeIntoTable" else ("UPDATE", "WHERE")
    where = "" if condition is None else f" {joint} {row_changes.text_of(condition)}"

    def run(statement: JavaObject, session: JavaObject) -> str:
        return _run(application, name, statement, session, planned)

    return row_changes.command(jvm, BiFunction(jvm, run), parsed, redact_text(f"{verb} {name}{where}"))


def _run(
    application: Application,
    name: str,
    parsed: JavaObject,
    session: JavaObject,
    planned: Callable[[Target, JavaObject], PlannedChange],
) -> str:
    spark = session_of(session)
    location = qualify(Catalog(application.jvm, spark).delta_location(name)).uri
    try:
        plan = planned(Target.of(application, spark, location, {}), parsed)
    except (AnalysisException, DeltaError) as error:
        if not is_unresolved(error):
            raise
        try:
            return row_changes.counts_of_statement(catalyst.frame_of(application.jvm, spark, parsed)) or ""
        except AnalysisException as other:
            # What Spark does not find either is told by its first name; what the statement then met is its own error.
            raise (error if is_unresolved(other) else other) from None
    return plan.run().counts_text


def is_unresolved(error: AnalysisException | DeltaError) -> bool:
    """Whether an error says that a name is no column's."""
    name = error.error_class if isinstance(error, DeltaError) else catalyst.error_class_of(error)
    return str(name or "").startswith(("UNRESOLVED", "DELTA_MERGE_UNRESOLVED"))
