# SPDX-License-Identifier: Apache-2.0
"""Generated columns, whose values are computed by an expression over other columns.

If rows lack a generated column, its values are computed. Otherwise the values must equal the expression.
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
"""The key of a field's metadata for the expression."""


@dataclass(frozen=True, slots=True)
class GeneratedColumn:
    """A top-level column and the SQL expression of its values."""

    name: str
    type: DataType
    expression: str


def generated_columns(schema: StructType) -> tuple[GeneratedColumn, ...]:
    """Return the columns with a generation expression, in schema order.

    If the protocol lacks the feature, they are not generated; check `has_generated_columns` first.
    """
    found = ((field, generation_expression(field)) for field in schema.fields)
    return tuple(GeneratedColumn(field.name, field.type, text) for field, text in found if text is not None)


def generation_expression(field: StructField) -> str | None:
    """Return the expression of a column, or None."""
    text = field.metadata.get(GENERATION_EXPRESSION)
    return text if isinstance(text, str) else None


def has_generated_columns(protocol: Protocol, schema: StructType) -> bool:
    """Whether a writer must compute or check generated columns.

    An expression without the feature does not count, since writers that do not support it may have copied it.
    """
    return "generatedColumns" in writer_features(protocol) and bool(generated_columns(schema))


def columns_to_compute(schema: StructType, provided: Iterable[str]) -> tuple[GeneratedColumn, ...]:
    """Return the generated columns that rows lack, case-insensitively."""
    given = {name.lower() for name in provided}
    return tuple(column for column in generated_columns(schema) if column.name.lower() not in given)


def check_references(schema: StructType, references: Mapping[str, Iterable[Sequence[str]]], *, table: str) -> None:
    """Raise InvalidSchemaError if an expression uses a generated column, or one that does not exist.

    Args:
        references: the paths of the columns that each generated column uses.
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
    """Raise InvalidSchemaError if the types of a column and its expression differ, except in nullability, or are variant."""
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
