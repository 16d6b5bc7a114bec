# SPDX-License-Identifier: Apache-2.0
"""Plan DELETE and UPDATE from `DeltaTable.delete` and `update`, or from a statement that Spark parsed or resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.errors import redact_uri
from bayou.spark.dml.core.condition import check_condition
from bayou.spark.dml.core.result import COUNTS
from bayou.spark.dml.core.row_change import change_of
from bayou.spark.dml.core.target import latest_snapshot
from bayou.spark.dml.native.expr import NativeExpr
from bayou.spark.dml.native.statement import NativeStatement
from bayou.spark.dml.statements.arguments import check_condition_type, checked_values
from bayou.spark.dml.statements.changed_table import changed_table
from bayou.spark.dml.statements.delete import plan_delete
from bayou.spark.dml.statements.native_resolver import resolved_update
from bayou.spark.dml.statements.parsed import command_of_parsed
from bayou.spark.dml.statements.resolver import resolver_of
from bayou.spark.dml.statements.update import plan_update
from bayou.spark.dml.statements.values_in_sql import values_in_sql
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.catalyst.parsed_nodes import has_computed_table
from bayou.spark.jvm.catalyst.row_changes import Pairs
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.plans import node_name
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.session_table import SessionTable

if TYPE_CHECKING:
    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

OPERATIONS = {"DeleteFromTable": "DELETE", "UpdateTable": "UPDATE"}
"""The operations, by the names of the nodes in Spark's plans."""


def planned_delete(target: SessionTable, name: tuple[str, ...], condition: Any, txn: tuple[str, int] | None) -> PlannedChange:
    """Plan `DeltaTable.delete`.

    Args:
        name: the alias that the condition may use for the table, or an empty tuple.
        condition: the condition for rows, as SQL or a column; None for all rows.
        txn: an application id and a version; None to use the session's.

    Raises:
        TypeError: the condition is neither SQL nor a column.
    """
    check_condition_type(condition)
    snapshot = latest_snapshot(target)
    statement = resolver_of(target.application.backend).delete(target, snapshot, name, condition)
    return plan_delete(change_of(target, "DELETE", statement, snapshot, txn=txn))


def planned_update(
    target: SessionTable, name: tuple[str, ...], condition: Any, assignments: Any, txn: tuple[str, int] | None
) -> PlannedChange:
    """Plan `DeltaTable.update`.

    Args:
        name: the alias that expressions may use for the table, or an empty tuple.
        condition: the condition for rows, as SQL or a column; None for all rows.
        assignments: the new values by column, as SQL or columns.
        txn: an application id and a version; None to use the session's.

    Raises:
        TypeError, ValueError: an argument has the wrong type.
    """
    values = checked_values(assignments, "'set'")
    check_condition_type(condition)
    snapshot = latest_snapshot(target)
    statement = resolver_of(target.application.backend).update(target, snapshot, name, condition, values)
    return plan_update(change_of(target, "UPDATE", statement, snapshot, txn=txn))


def command_of(application: Application, statement: JavaObject) -> JavaObject:
    """Return the command for a statement that Spark resolved. Executing it runs the statement; EXPLAIN does not.

    Raises:
        UnsupportedFeatureError: the statement changes a query, not a table.
    """
    jvm = jvm_of(application)
    operation = OPERATIONS[node_name(statement)]
    table = changed_table(row_changes.table_of(jvm, row_changes.relation_of(statement)), operation)
    condition = row_changes.condition_of_statement(statement)
    check_condition(operation, NativeExpr.of(jvm, condition), may_query=True)
    where = "" if condition is None else f" WHERE {nodes.sql_of(jvm, condition)}"
    text = f"{operation} delta.`{redact_uri(table.path)}`{where}"
    run = BiFunction(jvm, lambda node, session: _run(application, node, session))
    return commands.command(jvm, run, statement, text, COUNTS[operation])


def command_of_parsed_delete(application: Application, parsed: JavaObject, *, in_script: bool) -> JavaObject | None:
    """Return the command for a parsed DELETE; None to let Spark resolve the statement.

    Only a DELETE whose table name is computed by an expression needs a command: Spark can resolve all others.
    """
    if not has_computed_table(row_changes.relation_of(parsed)):
        return None
    condition = row_changes.condition_of_statement(parsed)
    return command_of_parsed(application, parsed, row_changes.relation_of(parsed), condition, None, in_script=in_script)


def command_of_parsed_update(application: Application, parsed: JavaObject, *, in_script: bool) -> JavaObject | None:
    """Return the command for a parsed UPDATE; None to let Spark resolve the statement."""
    condition = row_changes.condition_of_statement(parsed)
    table = row_changes.relation_of(parsed)
    return command_of_parsed(application, parsed, table, condition, _planned_as_written, in_script=in_script)


def _planned_as_written(target: SessionTable, parsed: JavaObject) -> PlannedChange:
    jvm = jvm_of(target.application)
    pairs = Pairs.of_update(jvm, parsed)
    name = catalyst.name_of(jvm, target.spark, row_changes.relation_of(parsed))
    snapshot = latest_snapshot(target)
    statement = resolved_update(target, snapshot, name, row_changes.condition_of_statement(parsed), pairs)
    return plan_update(change_of(target, "UPDATE", statement, snapshot))


def _run(application: Application, statement: JavaObject, session: JavaObject) -> str:
    jvm, spark = jvm_of(application), session_of(session)
    operation = OPERATIONS[node_name(statement)]
    table = changed_table(row_changes.table_of(jvm, row_changes.relation_of(statement)), operation)
    target = SessionTable.of(application, spark, table.path, table.storage_options)
    snapshot = latest_snapshot(target)
    on_table = row_changes.on_table(jvm, statement)
    if operation == "DELETE":
        plan = plan_delete(change_of(target, "DELETE", NativeStatement.of(target, on_table), snapshot))
    else:
        values = values_in_sql(target, statement, on_table, snapshot)
        plan = plan_update(change_of(target, "UPDATE", NativeStatement.of(target, on_table, values), snapshot))
    return plan.run().counts_text
