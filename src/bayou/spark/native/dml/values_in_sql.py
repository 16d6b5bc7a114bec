# SPDX-License-Identifier: Apache-2.0
"""Correct the values of an UPDATE that Spark has resolved: resolve structs and DEFAULT again from the statement's SQL.

Only for statements that `dml.statements.parsed` leaves to Spark. Spark casts structs by the position of their fields, but Delta
stores them by name. Spark also replaces DEFAULT by NULL, because the relation of the table has no defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import has_struct
from bayou.spark.dml.statements.defaults import default_of
from bayou.spark.expressions.predicates import path_of
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.catalyst.expression_list import ExpressionList
from bayou.spark.jvm.core import nodes
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import DataType, StructField
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.read.session_table import SessionTable


def values_in_sql(target: SessionTable, statement: JavaObject, on_table: JavaObject, snapshot: Snapshot) -> ExpressionList:
    """Return the resolved values of an UPDATE, with structs and DEFAULT corrected.

    Args:
        statement: Spark's `UpdateTable` node. Its target may be a view.
        on_table: the same statement on the table of the view.

    Raises:
        UnsupportedFeatureError: the value of a struct cannot be resolved from the statement's SQL.
    """
    jvm = jvm_of(target.application)
    pairs = row_changes.assignments_of(jvm, on_table)
    fields = [_field(snapshot, path_of(tree)) for tree in pairs.keys.trees]
    doubtful = [field is not None and (has_struct(field.type) or CURRENT_DEFAULT in field.metadata) for field in fields]
    if not any(doubtful):
        return pairs.values
    text = row_changes.written(jvm, statement)
    texts = [] if text is None else [_Written(statement, text, each) for each in row_changes.values_assigned(jvm, text)]
    values = []
    for number, (key, value, field) in enumerate(zip(pairs.keys, pairs.values, fields, strict=True)):
        corrected: JavaObject | None = value
        if field is not None and doubtful[number]:
            corrected = _as_written(target, snapshot, texts[number], field, value) if len(texts) == len(fields) else None
        if corrected is None:
            raise failed(
                "DELTA_OPERATION_NOT_ALLOWED/update-values",
                at=snapshot,
                column=nodes.text_of(key),
                features=("structs with parameters",),
            )
        values.append(corrected)
    return ExpressionList.of(jvm, values)


@dataclass(frozen=True, slots=True)
class _Written:
    """An assignment in the SQL of a statement.

    Attributes:
        statement: the statement that Spark resolved.
        parsed: the same statement, parsed again from its SQL and not resolved.
        value: the assigned value in `parsed`.
    """

    statement: JavaObject
    parsed: JavaObject
    value: JavaObject


def _as_written(
    target: SessionTable, snapshot: Snapshot, written: _Written, field: StructField, value: JavaObject
) -> JavaObject | None:
    """Return the resolved value of an assignment from its SQL; None if that is not possible.

    Args:
        value: the value that Spark resolved. It is correct if it is neither DEFAULT nor a struct.
    """
    jvm, spark = jvm_of(target.application), target.spark
    unresolved = written.value
    if CURRENT_DEFAULT in field.metadata and nodes.is_default(jvm, unresolved):
        unresolved = nodes.expression(jvm, spark, default_of(target.application.backend, spark, field, snapshot.schema, snapshot))
    elif not has_struct(field.type):
        return value
    resolved = row_changes.resolved_value(jvm, spark, written.statement, written.parsed, unresolved)
    if resolved is None:
        return None
    return row_changes.over_table(jvm, row_changes.relation_of(written.statement), ExpressionList.of(jvm, [resolved]))[0]


def _field(snapshot: Snapshot, path: tuple[str, ...] | None) -> StructField | None:
    """Return the column or nested field on a path; None if the table has none."""
    kind: DataType = snapshot.schema
    field = None
    for name in path or ():
        field = kind.field(name) if isinstance(kind, StructType) else None
        if field is None:
            return None
        kind = field.type
    return field
