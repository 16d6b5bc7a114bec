# SPDX-License-Identifier: Apache-2.0
"""SQL expressions out of a table's metadata, which anybody may have written: looked at before Spark is given them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import InvalidSchemaError
from bayou.protocol.columns.expression_functions import ExpressionKind, refusal
from bayou.protocol.types.schema import StructType

if TYPE_CHECKING:
    from bayou.spark.jvm.relations.parser import ParsedExpression

_WITHOUT_PARENTHESES = frozenset({"current_date", "current_timestamp", "current_time", "current_user", "session_user", "user"})
"""The functions that are called by their names alone."""
_ERROR_CLASSES = {
    ExpressionKind.GENERATED_COLUMN: "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
    ExpressionKind.CHECK_CONSTRAINT: "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT",
    ExpressionKind.COLUMN_DEFAULT: "INVALID_DEFAULT_VALUE.NOT_CONSTANT",
}


def check_stored(
    expression: ParsedExpression, kind: ExpressionKind, schema: StructType, *, of: str, table: str, version: int | None
) -> None:
    """Refuses an expression that could do more than compute a value from the columns of a row.

    Args:
        kind: what it is stored as. A default uses no columns.

    Raises:
        InvalidSchemaError: it calls a function that is not known to be harmless, uses what is no column, or has a subquery or
            the like.
    """
    foreign = _foreign_names(expression, StructType() if kind is ExpressionKind.COLUMN_DEFAULT else schema)
    refused = {name: refusal(name, kind) for name in sorted(expression.functions | foreign)}
    problems = [f"it has {each}" for each in expression.forbidden]
    problems += [f"{name}: {why}" for name, why in refused.items() if why is not None]
    problems += [f"{name} is no column of the table" for name in sorted(foreign - _WITHOUT_PARENTHESES) if refused[name] is None]
    if problems:
        raise InvalidSchemaError(
            f"The expression {expression.text!r} of {of} is not used: {'; '.join(problems)}.",
            table=table,
            version=version,
            error_class=_ERROR_CLASSES[kind],
            next_step="remove it from the table, or store one that only uses built-in functions of a row's values.",
            expression=expression.text,
        )


def called_by_name(expression: ParsedExpression, schema: StructType) -> frozenset[str]:
    """The functions that an expression calls without parentheses, in lower case; a column of that name is the column."""
    return _foreign_names(expression, schema) & _WITHOUT_PARENTHESES


def _foreign_names(expression: ParsedExpression, schema: StructType) -> frozenset[str]:
    """What looks like a column and is none, in lower case. Functions that are called without parentheses do, too."""
    return frozenset(path[0].lower() for path in expression.columns if schema.field(path[0]) is None)
