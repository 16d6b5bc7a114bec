# SPDX-License-Identifier: Apache-2.0
"""Filters on generated partition columns: the backend resolves the generation expressions, `plan/generated` derives the filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyspark.errors import AnalysisException

from bayou.errors import InvalidSchemaError
from bayou.plan.generated.filters import derived_filter, partition_rules
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.protocol.columns.generated_columns import generated_columns, has_generated_columns
from bayou.protocol.types.schema import StructType
from bayou.spark.expressions.stored_expressions import check_stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.generated.expressions import Expression
    from bayou.plan.generated.filters import PartitionRule
    from bayou.plan.predicates.predicate import Predicate
    from bayou.protocol.columns.generated_columns import GeneratedColumn
    from bayou.spark.session.application import Application

_MOST_SCHEMAS: Final = 256
"""How many schemas have their rules kept."""


def partition_filter(application: Application, session: Any, snapshot: Snapshot, predicate: Predicate) -> Predicate | None:
    """Return what a predicate says about partition columns that are generated from the columns in it; None for nothing.

    Args:
        session: a `SparkSession`, or its side in the JVM.
    """
    if not snapshot.partition_columns or not has_generated_columns(snapshot.protocol, snapshot.schema):
        return None
    cached, key = application.partition_rules, (snapshot.metadata.schema_string, snapshot.partition_columns)
    rules = cached.get(key)
    if rules is None:
        rules, is_complete = _rules(application, session, snapshot)
        if is_complete:
            if len(cached) >= _MOST_SCHEMAS:
                cached.clear()
            cached[key] = rules
    return derived_filter(predicate, rules)


def _rules(application: Application, session: Any, snapshot: Snapshot) -> tuple[tuple[PartitionRule, ...], bool]:
    """Return the rules of a table, and whether none is missing because a query failed.

    The rules are the same for every session: the session for planning takes nothing but the time zone from it.
    """
    is_complete = True
    partitions = {name.lower() for name in snapshot.partition_columns}
    spark = application.backend.planning_session(session)
    expressions = {}
    for column in generated_columns(snapshot.schema):
        if column.name.lower() not in partitions:
            continue
        try:
            expression = _resolved(application, spark, snapshot, column)
        except application.backend.failures:
            is_complete = False
            continue
        if expression is not None:
            expressions[column.name] = expression
    return partition_rules(snapshot.schema, expressions), is_complete


def _resolved(application: Application, spark: SparkSession, snapshot: Snapshot, column: GeneratedColumn) -> Expression | None:
    """Return a column's generation expression; None if Spark cannot resolve it, or no table may have it.

    Raises:
        PySparkException, Py4JJavaError: a query failed for another reason.
    """
    backend, schema = application.backend, snapshot.schema
    kind, of = ExpressionKind.GENERATED_COLUMN, f"the generated column {column.name!r}"
    try:
        expression = backend.parsed(spark, column.expression)
        check_stored(expression, kind, schema, of=of, table=snapshot.table_uri, version=snapshot.version)
        used = {path[0].lower() for path in expression.columns}
        columns = StructType(tuple(field for field in schema.fields if field.name.lower() in used))
        return backend.generation_expression(spark, columns, column.expression)
    except (InvalidSchemaError, AnalysisException):
        return None
