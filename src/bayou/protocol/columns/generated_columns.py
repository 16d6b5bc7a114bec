# SPDX-License-Identifier: Apache-2.0
"""Generated columns: columns that an expression over other columns gives their values.

A writer that leaves one out has its values computed; values that a writer brings must be what the expression gives.
Sources: PROTOCOL.md, "Generated Columns"; delta-spark's `GeneratedColumn`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from bayou.errors import failed
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.columns.expression_checks import has_column
from bayou.protocol.features.features import writer_features
from bayou.protocol.types.schema import DataType, StructField, StructType
from bayou.protocol.types.sql_text import column_sql
from bayou.protocol.types.traverse import map_fields

GENERATION_EXPRESSION: Final = "delta.generationExpression"
"""The key of the field metadata that holds the expression."""


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
            if (path and path[0].lower() in generated) or not has_column(schema, path):
                used_sql, reference = column_sql(path), tuple(path)
                raise failed(
                    "DELTA_INVALID_GENERATED_COLUMN_REFERENCES", table=table, column=name, used=used_sql, reference=reference
                )


def check_type(column: GeneratedColumn, expression_type: DataType, *, table: str) -> None:
    """Refuses a generated column whose expression has another type, or whose values cannot be compared.

    Nullability, inside the type too, makes no difference.

    Raises:
        InvalidSchemaError: the types differ, or the column is a variant.
    """
    if column.type == "variant":
        raise failed("DELTA_UNSUPPORTED_DATA_TYPE_IN_GENERATED_COLUMN", table=table, column=column.name)
    if _without_nullability(column.type) != _without_nullability(expression_type):
        raise failed(
            "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH",
            table=table,
            column=column.name,
            expression_type=expression_type,
            column_type=column.type,
        )


def _without_nullability(kind: DataType) -> DataType:
    return map_fields(kind, lambda field: StructField(field.name, field.type))
