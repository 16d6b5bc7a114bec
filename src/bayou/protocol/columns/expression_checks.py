# SPDX-License-Identifier: Apache-2.0
"""Check the functions, columns and type of an expression before it is stored in a table's metadata.

Sources: delta-spark's `GeneratedColumn.validateGeneratedColumns` and checks of CHECK constraints; Spark's `ResolveDefaultColumns`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bayou.errors import failed
from bayou.protocol.columns.expression_functions import (
    COLUMN_DEFAULT_FUNCTIONS,
    REFUSED,
    ExpressionKind,
    refusal,
    unknown_functions,
)
from bayou.protocol.types.schema import DataType, StructType
from bayou.protocol.types.sql_text import column_sql

_CATEGORIES: Final = {"it is random": "NON_DETERMINISTIC_EXPRESSION", "it looks at more than one row": "AGGREGATE"}
_SUFFIXES: Final = {ExpressionKind.GENERATED_COLUMN: "GENERATED_COLUMN", ExpressionKind.CHECK_CONSTRAINT: "CHECK_CONSTRAINT"}


def check_functions(names: Iterable[str], kind: ExpressionKind, *, owner: str, table: str) -> None:
    """Raise InvalidSchemaError if an expression calls a function that its kind does not allow.

    Args:
        owner: the column or the constraint that it belongs to.
    """
    for name in unknown_functions(names, kind):
        error_class, why = _class(name.lower(), kind), refusal(name, kind)
        raise failed(
            "function-not-allowed", table=table, error_class=error_class, function=name, kind=kind.value, owner=owner, reason=why
        )


def check_constraint_references(schema: StructType, references: Iterable[Sequence[str]], *, name: str, table: str) -> None:
    """Raise InvalidSchemaError if a CHECK constraint uses a column that does not exist; `reference` names it.

    Args:
        references: the paths of the columns that the constraint uses.
    """
    for path in references:
        if not has_column(schema, path):
            column, reference = column_sql(path), tuple(path)
            raise failed("DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES", table=table, column=column, owner=name, reference=reference)


def check_is_boolean(name: str, expression: str, expression_type: DataType, *, table: str) -> None:
    """Raise InvalidSchemaError if the expression of a CHECK constraint is not a boolean."""
    if expression_type != "boolean":
        raise failed("DELTA_NON_BOOLEAN_CHECK_CONSTRAINT", table=table, owner=name, expression=expression)


def has_column(schema: StructType, path: Sequence[str]) -> bool:
    """Whether a path through structs leads to a column, case-insensitively."""
    kind: DataType = schema
    for name in path:
        field = kind.field(name) if isinstance(kind, StructType) else None
        if field is None:
            return False
        kind = field.type
    return bool(path)


def _class(name: str, kind: ExpressionKind) -> str:
    category = _CATEGORIES.get(REFUSED.get(name, ""))
    if kind is ExpressionKind.COLUMN_DEFAULT:
        return f"INVALID_DEFAULT_VALUE.{'NOT_CONSTANT' if category else 'UNRESOLVED_EXPRESSION'}"
    if category is None and name not in REFUSED and name not in COLUMN_DEFAULT_FUNCTIONS:
        category = "UDF"
    place = _SUFFIXES[kind]
    return f"DELTA_{category}_IN_{place}" if category else f"DELTA_UNSUPPORTED_EXPRESSION_{place}"
