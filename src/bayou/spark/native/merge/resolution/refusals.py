# SPDX-License-Identifier: Apache-2.0
"""Check the conditions of a MERGE, and create the errors for unsupported expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.errors import DeltaError, failed
from bayou.spark.dml.merge.resolution.refusals import checked_inserts
from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.catalyst import row_changes
from bayou.spark.jvm.core import nodes
from bayou.spark.native.dml.assigned_values import typed_assignments

if TYPE_CHECKING:
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
    """Return the assignments of an INSERT clause after the checks of `checked_inserts`."""
    return checked_inserts(snapshot, typed_assignments(pairs, snapshot))


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
