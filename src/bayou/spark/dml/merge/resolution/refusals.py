# SPDX-License-Identifier: Apache-2.0
"""Check the conditions and INSERT clauses of a MERGE, and create the errors for unsupported expressions and unknown names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from bayou.errors import DeltaError, failed
from bayou.protocol.columns.identity_rules import check_no_explicit_values
from bayou.spark.dml.native.assigned_values import typed_assignments
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.core import nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.core.statement import Assignment
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


def checked_condition(jvm: Jvm, snapshot: Snapshot, found: JavaObject, name: str) -> JavaObject:
    """Return a resolved condition if it is a deterministic boolean without subqueries. Cast a NULL literal to boolean.

    Args:
        name: the name of the condition in errors: `search`, or the action of a clause.

    Raises:
        UnsupportedFeatureError: the condition contains a subquery or a non-deterministic function.
        SchemaMismatchError: the condition is not a boolean.
    """
    if nodes.has_subquery(found):
        raise unsupported(snapshot, "Subqueries", name, found, "DELTA_UNSUPPORTED_SUBQUERY")
    if not nodes.is_deterministic(found):
        what = "Non-deterministic functions"
        raise unsupported(snapshot, what, name, found, "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED")
    if not nodes.is_boolean(found):
        raise failed(
            "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE" if name == "search" else "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
            at=snapshot,
            operation=f"{name} clause of the MERGE",
            condition=nodes.text_of(found),
            type=nodes.sql_type_of(found),
            problems=("not a boolean",),
        )
    return nodes.as_boolean(jvm, found)


def refuse_functions(jvm: Jvm, spark: SparkSession, snapshot: Snapshot, plan: JavaObject, value: Any, name: str | None) -> None:
    """Refuse aggregates, window functions, generators and SQL functions, which Spark only allows in queries.

    Args:
        value: an unresolved condition or value.
        name: the name of the condition in errors; None for a value.

    Raises:
        UnsupportedFeatureError: a condition contains an aggregate.
        pyspark.errors.AnalysisException: a condition contains another of these, or a value contains any of them.
    """
    try:
        catalyst.resolved(jvm, spark, plan, [value])
    except catalyst.NotAnExpressionError as error:
        tree = nodes.expression(jvm, spark, value)
        if error.is_aggregate and name is not None and not nodes.has_subquery(tree):
            raise unsupported(snapshot, "Aggregate functions", name, tree, "DELTA_AGGREGATION_NOT_SUPPORTED") from None
        row_changes.refuse_unusual(jvm, spark, plan, [value])


def inserted_values(snapshot: Snapshot, pairs: row_changes.Pairs) -> tuple[Assignment, ...]:
    """Return the checked assignments of an INSERT clause.

    Raises:
        UnsupportedFeatureError: a field of a struct is assigned.
        InvalidSchemaError: a column is assigned twice, or an identity column is assigned.
    """
    return checked_inserts(snapshot, typed_assignments(pairs, snapshot))


def checked_inserts(snapshot: Snapshot, assignments: tuple[Assignment, ...]) -> tuple[Assignment, ...]:
    """Return the assignments of an INSERT clause after the checks of `inserted_values`."""
    for each in assignments:
        if len(each.path) > 1:
            raise failed(
                "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
                at=snapshot,
                field=".".join(each.path),
                features=("nested fields in INSERT",),
            )
    names = [each.path[0].lower() for each in assignments]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise failed("DELTA_DUPLICATE_COLUMNS_ON_INSERT", at=snapshot, columns=twice)
    check_no_explicit_values(snapshot.schema, names, table=snapshot.table_uri, version=snapshot.version)
    return assignments


def unresolved(snapshot: Snapshot, message: str, names: Sequence[str]) -> DeltaError:
    """Return the error for a name that is not a column.

    Args:
        message: what was not found, and in which clause.
    """
    return failed("DELTA_MERGE_UNRESOLVED_EXPRESSION", at=snapshot, problem=message, columns=tuple(names), problems=(message,))


def unsupported(snapshot: Snapshot, what: str, name: str, condition: JavaObject, error_class: str) -> DeltaError:
    """Return the error for an unsupported expression in a condition of a MERGE.

    Args:
        what: the kind of expression, in the plural.
        name: the name of the condition.
    """
    return failed(
        "unsupported-in-merge-condition",
        at=snapshot,
        error_class=error_class,
        operation=name,
        condition=nodes.text_of(condition),
        features=(what,),
    )
