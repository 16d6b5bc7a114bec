# SPDX-License-Identifier: Apache-2.0
"""Plan DELETE and UPDATE statements that Spark parsed or resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import redact_uri
from bayou.spark.dml.core.condition import check_condition
from bayou.spark.dml.core.result import COUNTS
from bayou.spark.dml.core.row_change import change_of
from bayou.spark.dml.core.target import latest_snapshot
from bayou.spark.dml.statements.changed_table import changed_table
from bayou.spark.dml.statements.delete import plan_delete
from bayou.spark.dml.statements.update import plan_update
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.catalyst.parsed_nodes import has_computed_table
from bayou.spark.jvm.catalyst.row_changes import Pairs
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.plans import node_name
from bayou.spark.native.dml.expr import NativeExpr
from bayou.spark.native.dml.parsed import command_of_parsed
from bayou.spark.native.dml.resolver import resolved_update
from bayou.spark.native.dml.statement import NativeStatement
from bayou.spark.native.dml.values_in_sql import values_in_sql
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.session_table import SessionTable

if TYPE_CHECKING:
    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

OPERATIONS = {"DeleteFromTable": "DELETE", "UpdateTable": "UPDATE"}
"""The operations, by the names of the nodes in Spark's plans."""


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
