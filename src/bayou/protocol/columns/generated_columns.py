# SPDX-License-Identifier: Apache-2.0
"""Generated columns: columns that an expression over other columns gives their values.

A writer that leaves one out has its values computed; values that a writer brings must be what the expression gives.
Sources: PROTOCOL.md, "Generated Columns"; delta-spark's `GeneratedColumn`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bayou.errors import InvalidSchemaError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.columns.expression_checks import has_column
from bayou.protocol.features.features import writer_features
from bayou.protocol.types.schema import DataType, StructField, StructType
from bayou.protocol.types.sql_text import column_sql
from bayou.protocol.types.traverse import map_fields

GENERATION_EXPRESSION: Final = "delta.generationExpression"
"""The key of the field metadata that holds the expression."""

_NEXT: Final = "change the generation expression."


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A top-level column and the SQL expression that gives its values."""

    name: str
    type: DataType
    expression: str


def generated_columns(schema: StructType) -> tuple[GeneratedColumn, ...]:
    """The columns with a generation expression, in the schema's order.

    They are plain columns in a table whose protocol does not have the feature: ask `has_generated_columns` first.
    """
    found = ((field, generation_expression(field)) for field in schema.fields)
    return tuple(GeneratedColumn(field.name, field.type, text) for field, text in found if text is not None)


def generation_expression(field: StructField) -> str | None:
    """The expression of a column, or None where it has none."""
    text = field.metadata.get(GENERATION_EXPRESSION)
    return text if isinstance(text, str) else None


def has_generated_columns(protocol: Protocol, schema: StructType) -> bool:
    """Whether a writer must compute or check generated columns.

    Writers that do not know the feature copy the metadata of fields along, so that an expression alone means nothing.
    """
    return "generatedColumns" in writer_features(protocol) and bool(generated_columns(schema))


def columns_to_compute(schema: StructType, provided: Iterable[str]) -> tuple[GeneratedColumn, ...]:
    """The generated columns that a write which brings some columns must compute; names compare without regard to case."""
    given = {name.lower() for name in provided}
    return tuple(column for column in generated_columns(schema) if column.name.lower() not in given)


def check_references(schema: StructType, references: Mapping[str, Iterable[Sequence[str]]], *, table: str) -> None:
    """Refuses generation expressions that use themselves, each other, or what is no column.

    Args:
        references: for each generated column the names that lead to the columns which its expression uses.

    Raises:
        InvalidSchemaError: a reference is not to a plain column; `column` and `reference` name the two.
    """
    generated = {column.name.lower() for column in generated_columns(schema)}
    for name, used in references.items():
        for path in used:
            problem = _problem(schema, generated, path)
            if problem:
                message = f"The generated column {name!r} uses {column_sql(path)}, which {problem}."
                message += " A generated column cannot use a non-existent column or another generated column."
                raise _invalid(message, "DELTA_INVALID_GENERATED_COLUMN_REFERENCES", table, column=name, reference=tuple(path))


def check_type(column: GeneratedColumn, expression_type: DataType, *, table: str) -> None:
    """Refuses a generated column whose expression has another type, or whose values cannot be compared.

    Nullability, inside the type too, makes no difference.

    Raises:
        InvalidSchemaError: the types differ, or the column is a variant.
    """
    if column.type == "variant":
        message = f"variant cannot be the result of a generated column, as {column.name!r} would have it."
        raise _invalid(message, "DELTA_UNSUPPORTED_DATA_TYPE_IN_GENERATED_COLUMN", table, column=column.name)
    if _without_nullability(column.type) != _without_nullability(expression_type):
        message = (
            f"The expression type of the generated column {column.name} is {expression_type}, but the column type is {column.type}."
        )
        raise _invalid(message, "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH", table, column=column.name)


def _problem(schema: StructType, generated: set[str], path: Sequence[str]) -> str | None:
    if path and path[0].lower() in generated:
        return "is a generated column itself"
    return None if has_column(schema, path) else "is no column of the table"


def _without_nullability(kind: DataType) -> DataType:
    return map_fields(kind, lambda field: StructField(field.name, field.type))


def _invalid(message: str, error_class: str, table: str, **facts: Any) -> InvalidSchemaError:
    return InvalidSchemaError(message, table=table, error_class=error_class, next_step=_NEXT, **facts)
