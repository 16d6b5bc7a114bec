# SPDX-License-Identifier: Apache-2.0
"""Check the SQL expressions in a table's metadata, which anybody may have written, before Spark gets them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.protocol.columns.expression_functions import ExpressionKind, refusal
from bayou.protocol.types.schema import StructType

if TYPE_CHECKING:
    from bayou.spark.text.parsed_expression import ParsedExpression

_WITHOUT_PARENTHESES = frozenset({"current_date", "current_timestamp", "current_time", "current_user", "session_user", "user"})
"""The functions that are called without parentheses."""
_ERROR_CLASSES = {
    ExpressionKind.GENERATED_COLUMN: "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
    ExpressionKind.CHECK_CONSTRAINT: "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT",
    ExpressionKind.COLUMN_DEFAULT: "INVALID_DEFAULT_VALUE.NOT_CONSTANT",
}


def check_stored(
    expression: ParsedExpression, kind: ExpressionKind, schema: StructType, *, of: str, table: str, version: int | None
) -> None:
    """Raise InvalidSchemaError if an expression could do more than compute a value from the columns of a row.

    It may only call functions that are known to be harmless, may only name columns, and must not contain a subquery or similar.
    A default must not name columns either.

    Args:
        of: what the expression belongs to, for the error, such as "the generated column 'a'".
    """
    other_names = _other_names(expression, StructType() if kind is ExpressionKind.COLUMN_DEFAULT else schema)
    # A name that is not a column may be a function that is called without parentheses.
    refusals = {name: refusal(name, kind) for name in sorted(expression.functions | other_names)}
    unknown = [name for name in sorted(other_names - _WITHOUT_PARENTHESES) if refusals[name] is None]
    problems = [f"it has {problem}" for problem in expression.forbidden]
    problems += [f"{name}: {why}" for name, why in refusals.items() if why is not None]
    problems += [f"{name} is not a column of the table" for name in unknown]
    if problems:
        raise failed(
            "stored-expression",
            table=table,
            version=version,
            error_class=_ERROR_CLASSES[kind],
            expression=expression.text,
            owner=of,
            problems="; ".join(problems),
        )


def called_by_name(expression: ParsedExpression, schema: StructType) -> frozenset[str]:
    """Return the functions that an expression calls without parentheses, in lower case. A column of that name takes precedence."""
    return _other_names(expression, schema) & _WITHOUT_PARENTHESES


def _other_names(expression: ParsedExpression, schema: StructType) -> frozenset[str]:
    """Return the names in the places of columns that are not columns, in lower case, such as functions without parentheses."""
    return frozenset(path[0].lower() for path in expression.columns if schema.field(path[0]) is None)
