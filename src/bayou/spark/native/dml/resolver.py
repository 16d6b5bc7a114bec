# SPDX-License-Identifier: Apache-2.0
"""Let Spark resolve the conditions and values of DELETE and UPDATE on a classic session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bayou.spark.data_files.constraint_evaluation import REPLACE_WHERE
from bayou.spark.dml.core.condition import check_condition
from bayou.spark.dml.core.target import explaining_unknown_columns, table_columns
from bayou.spark.dml.statements.defaults import default_of
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.catalyst.expression_list import ExpressionList, Named
from bayou.spark.jvm.catalyst.row_changes import Pairs
from bayou.spark.jvm.core import nodes
from bayou.spark.native.dml.expr import NativeExpr
from bayou.spark.native.dml.own_columns import columns_of_frames, explaining_dropped_columns
from bayou.spark.native.dml.statement import NativeStatement
from bayou.spark.native.session.jvm import jvm_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.read.session_table import SessionTable


class NativeResolver:
    """An implementation of `Resolver`."""

    def delete(self, target: SessionTable, snapshot: Snapshot, name: tuple[str, ...], condition: Any) -> NativeStatement:
        """Return a resolved DELETE."""
        columns, jvm = table_columns(snapshot), jvm_of(target.application)
        with explaining_dropped_columns(target, snapshot, condition), explaining_unknown_columns(snapshot, condition):
            statement = row_changes.delete_statement(
                jvm, target.spark, columns, name, condition, handed_out=columns_of_frames(target, snapshot, condition)
            )
        check_condition("DELETE", condition_of(target, statement), snapshot, may_query=True)
        return NativeStatement.of(target, statement)

    def update(
        self, target: SessionTable, snapshot: Snapshot, name: tuple[str, ...], condition: Any, values: Mapping[str, Any]
    ) -> NativeStatement:
        """Return a resolved UPDATE."""
        jvm, spark = jvm_of(target.application), target.spark
        keys = ExpressionList.made(jvm, spark, [Named(column) for column in values])
        pairs = Pairs(keys, ExpressionList.made(jvm, spark, list(values.values())))
        where = None if condition is None else nodes.expression(jvm, spark, condition)
        return resolved_update(target, snapshot, name, where, pairs, user_supplied=(condition, *values.values()))

    def replaced(self, target: SessionTable, snapshot: Snapshot, condition: str) -> NativeStatement:
        """Return the resolved DELETE of an overwrite."""
        statement = row_changes.delete_statement(jvm_of(target.application), target.spark, table_columns(snapshot), (), condition)
        check_condition(REPLACE_WHERE, condition_of(target, statement), snapshot)
        return NativeStatement.of(target, statement)


RESOLVER: Final = NativeResolver()


def condition_of(target: SessionTable, statement: JavaObject) -> NativeExpr | None:
    """Return the condition of a DeleteFromTable or UpdateTable, or None."""
    return NativeExpr.of(jvm_of(target.application), row_changes.condition_of_statement(statement))


def resolved_update(
    target: SessionTable,
    snapshot: Snapshot,
    name: tuple[str, ...],
    condition: JavaObject | None,
    pairs: Pairs,
    *,
    user_supplied: Sequence[Any] = (),
) -> NativeStatement:
    """Resolve an UPDATE.

    Args:
        pairs: unresolved columns and their new values.
        user_supplied: the condition and values as the user passed them, to find columns of DataFrames in them.
    """
    jvm = jvm_of(target.application)
    pairs = _with_defaults(target, snapshot, name, pairs)
    columns = table_columns(snapshot)
    with explaining_dropped_columns(target, snapshot, *user_supplied), explaining_unknown_columns(snapshot, *user_supplied):
        frame_columns = columns_of_frames(target, snapshot, *user_supplied)
        statement, values = row_changes.update_statement(
            jvm, target.spark, columns, name, condition, pairs, handed_out=frame_columns
        )
    check_condition("UPDATE", condition_of(target, statement), snapshot, may_query=True)
    return NativeStatement.of(target, statement, values)


def _with_defaults(target: SessionTable, snapshot: Snapshot, name: tuple[str, ...], pairs: Pairs) -> Pairs:
    """Replace the keyword DEFAULT in the values by the default of the column."""
    jvm, schema = jvm_of(target.application), snapshot.schema
    defaults = pairs.values.defaults
    if not defaults or schema.field("default") is not None:  # a column named `default` takes precedence over the keyword
        return pairs
    values: list[Any] = list(pairs.values)
    for place in defaults:
        parts = nodes.parts_of(jvm, pairs.keys[place], name)
        field = schema.field(parts[0]) if len(parts) == 1 else None
        if field is not None:  # fields of structs have no defaults
            values[place] = default_of(target.application.backend, target.spark, field, schema, snapshot)
    return Pairs(pairs.keys, ExpressionList.made(jvm, target.spark, values))
