# SPDX-License-Identifier: Apache-2.0
"""ADD and DROP CONSTRAINT. One query checks a new constraint against every row of the table before the commit.

Source: delta-spark's `AlterTableAddConstraintDeltaCommand` and `AlterTableDropConstraintDeltaCommand`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.protocol.columns import constraints
from bayou.protocol.columns.constraint_violations import new_constraint_violation
from bayou.protocol.columns.constraints import Constraint, ConstraintKind
from bayou.protocol.columns.expression_checks import check_is_boolean
from bayou.protocol.types.sql_text import parenthesised
from bayou.spark.alter.metadata_actions import altered
from bayou.spark.data_files.constraint_evaluation import RowRule, violations_in
from bayou.spark.expressions.constraint_definitions import checked_condition
from bayou.spark.session.operations import operation
from bayou.spark.session.progress import phase
from bayou.spark.session.settings import is_on

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.read.session_table import SessionTable

_DROP_IF_EXISTS: Final = "spark.databricks.delta.constraints.assumesDropIfExists.enabled"


def add_constraint(target: SessionTable, name: str, condition: str) -> None:
    """Add a CHECK constraint, after reading the columns that it uses from all rows of the table.

    Args:
        name: the constraint's name; case makes no difference.
        condition: a SQL condition over the table's columns. NULL violates it, as false does.

    Raises:
        InvalidSchemaError: the name is taken or reserved, or the expression cannot be a table's constraint.
        ConstraintViolationError: rows violate it; the error has their number and some of them.
        ConcurrentModificationError: another writer added rows in the meantime, which were not checked.
        pyspark.errors.AnalysisException: Spark cannot resolve the expression.
    """
    snapshot = target.snapshot()
    configuration = constraints.add_constraint(snapshot.metadata.configuration, name, condition, table=target.uri)
    columns = _checked_columns(target, snapshot, name, condition)
    actions = altered(snapshot, replace(snapshot.metadata, configuration=configuration), snapshot.schema)
    shown = operation("ADD CONSTRAINT", target.spark, target.settings, target.shown)
    with shown, target.begin(snapshot, "ADD CONSTRAINT", {"name": name, "expr": condition}) as transaction:
        transaction.read_whole_table()
        phase("checking rows")
        rows, backend = target.rows(), target.application.backend
        kind = backend.columns_of(rows.select(backend.own_column(target.spark, parenthesised(condition)))).fields[0].type
        check_is_boolean(name, condition, kind, table=target.uri)
        constraint = Constraint(name, ConstraintKind.CHECK, (), condition)
        found = violations_in(rows, [RowRule(constraint, columns)], snapshot.schema)
        if found.count:
            shown_rows = [row for _, row in found.rows]
            raise new_constraint_violation(
                constraint, num_violations=found.count, table=target.uri, version=snapshot.version, rows=shown_rows
            )
        phase("committing")
        transaction.commit(actions, metrics={})
    target.refresh_caches()


def drop_constraint(target: SessionTable, name: str, *, if_exists: bool = False) -> None:
    """Drop a CHECK constraint, without reading rows. Raise InvalidSchemaError if it does not exist, unless `if_exists` is set."""
    snapshot = target.snapshot()
    before = snapshot.metadata.configuration
    if_exists = if_exists or is_on(target.settings, _DROP_IF_EXISTS)
    configuration, _ = constraints.drop_constraint(before, name, table=target.uri, if_exists=if_exists)
    expressions = [value for key, value in before.items() if key not in configuration]
    actions = altered(snapshot, replace(snapshot.metadata, configuration=configuration), snapshot.schema)
    parameters = {"name": name, "expr": "".join(expressions), "existed": "true"}
    target.commit(snapshot, "DROP CONSTRAINT", parameters, actions)


def _checked_columns(target: SessionTable, snapshot: Snapshot, name: str, condition: str) -> tuple[str, ...]:
    """Check a new constraint's expression, and return the top-level columns that it uses."""
    schema = snapshot.schema
    expression = checked_condition(
        target.application.backend, target.spark, schema, name, condition, table=target.uri, version=snapshot.version
    )
    used = {path[0].lower() for path in expression.columns}
    return tuple(field.name for field in schema.fields if field.name.lower() in used)


def check_declared(name: str, kind: str, *, says_rely: bool, table: str) -> None:
    """Raise UnsupportedFeatureError if a statement declares a constraint that is not a plain CHECK.

    Args:
        name: the constraint's name.
        kind: CHECK, PRIMARY KEY, FOREIGN KEY or UNIQUE.
        says_rely: whether the statement says RELY or NORELY.
        table: the table's name in SQL.
    """
    if kind != "CHECK":
        raise failed("DELTA_OPERATION_NOT_ALLOWED/key-constraint", table=table, features=[kind], kind=kind, name=name)
    if says_rely:
        raise failed("DELTA_OPERATION_NOT_ALLOWED/rely", table=table, features=["checkConstraints"])
