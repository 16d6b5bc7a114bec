# SPDX-License-Identifier: Apache-2.0
"""Check CHECK constraints before they are stored: the columns and functions that they use, and their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.protocol.columns.constraints import ConstraintKind, constraints_of
from bayou.protocol.columns.expression_checks import check_constraint_references, check_functions, check_is_boolean
from bayou.protocol.columns.expression_functions import ExpressionKind, refusal
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.spark.expressions.stored_expressions import check_stored

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.protocol.actions.actions import Metadata
    from bayou.spark.backend import Backend
    from bayou.spark.text.parsed_expression import ParsedExpression

_CHECK: Final = ExpressionKind.CHECK_CONSTRAINT


def checked_condition(
    backend: Backend, spark: SparkSession, schema: StructType, name: str, condition: str, *, table: str, version: int | None
) -> ParsedExpression:
    """Parse the condition of a new constraint, and check that it uses only columns of the table and allowed functions.

    Args:
        version: the table's version; None for a table to create.

    Raises:
        InvalidSchemaError: the condition cannot be a constraint of a table.
    """
    expression = backend.parsed(spark, condition)
    # Some functions are called without parentheses, and look like columns.
    strangers = {path[0] for path in expression.columns if schema.field(path[0]) is None}
    called = {each for each in strangers if refusal(each, _CHECK) is None}
    check_constraint_references(schema, sorted((each,) for each in strangers - called), name=name, table=table)
    check_functions(sorted(expression.functions), _CHECK, owner=name, table=table)
    check_stored(expression, _CHECK, schema, of=f"the constraint {name!r}", table=table, version=version)
    return expression


def check_constraints(backend: Backend, spark: SparkSession, metadata: Metadata, *, table: str) -> None:
    """Raise InvalidSchemaError if a CHECK constraint of a table to create is not a valid condition over its columns."""
    schema = parse_schema(metadata.schema_string)
    for constraint in constraints_of(metadata, schema):
        if constraint.kind is ConstraintKind.CHECK:
            checked_condition(backend, spark, schema, constraint.name, constraint.expression, table=table, version=None)
            result = parse_schema(backend.expression_type(spark, metadata.schema_string, constraint.expression))
            check_is_boolean(constraint.name, constraint.expression, result.fields[0].type, table=table)
