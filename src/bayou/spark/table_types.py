# SPDX-License-Identifier: Apache-2.0
"""Rows cast to the types of a table's columns, by name and by the session's store assignment, as Spark casts what it inserts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from bayou.protocol.partition_values import INTEGER_BITS, decimal_type
from bayou.protocol.schema import ArrayType, MapType, StructField, StructType, parse_schema, schema_to_json
from bayou.protocol.sql_text import quoted_name
from bayou.protocol.type_widening import Widening, is_widening
from bayou.spark.jvm.relation import aligned_rows
from bayou.spark.jvm.row_changes import ansi_cast
from bayou.spark.jvm.session import settings_of
from bayou.spark.types import readable_schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from bayou.protocol.schema import DataType
    from bayou.spark.jvm.bridge import Jvm

_POLICY: Final = "spark.sql.storeAssignmentPolicy"


def with_table_types(jvm: Jvm, rows: DataFrame, table: StructType, name: str, *, widening: Widening = Widening.NEVER) -> DataFrame:
    """Rows with a table's types. Columns and nested fields that the table has not got stay as they are.

    Args:
        jvm: the bridge.
        rows: the rows.
        table: the table's schema.
        name: how errors call the table.
        widening: which types of the rows stay, because the write widens the table's.

    Raises:
        pyspark.errors.AnalysisException: a type cannot be cast to the table's.
    """
    given, known = readable_schema(parse_schema(rows.schema.json())), readable_schema(table)
    wanted = [_wanted(each, known.field(each.name), widening) for each in given.fields]
    if all(each.type == cast.type for each, cast in zip(given.fields, wanted, strict=True)):
        return rows
    if settings_of(rows.sparkSession).get(_POLICY, "ANSI").upper() == "ANSI":
        # Spark would refuse casts that may fail, as of text to a number; here a value that cannot be cast is the error.
        rows = rows.select(*(_cast(jvm, rows, pair) for pair in zip(given.fields, wanted, strict=True)))
    return aligned_rows(jvm, rows, name, schema_to_json(StructType(tuple(wanted))), by_name=True)


def _cast(jvm: Jvm, rows: DataFrame, pair: tuple[StructField, StructField]) -> Column:
    given, wanted = pair
    value = rows[quoted_name(given.name)]
    if given.type == wanted.type or not isinstance(wanted.type, str) or (_is_number(given.type) and _is_number(wanted.type)):
        return value  # Spark's own cast names the column of a number that is too large
    kind = schema_to_json(StructType((replace(wanted, name="value"),)))
    return ansi_cast(jvm, value, rows.sparkSession, kind).alias(given.name)


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, str) and (kind in (*INTEGER_BITS, "float", "double") or decimal_type(kind) is not None)


def _wanted(given: StructField, known: StructField | None, widening: Widening) -> StructField:
    """What a column of the rows becomes beside the table's: one of the table's type, or itself where it is new there."""
    if known is None:
        return replace(given, nullable=True)
    return StructField(given.name, _type(given.type, known.type, widening))


def _type(given: DataType, known: DataType, widening: Widening) -> DataType:
    """A type of the rows as the table has it; the fields that the rows have, and no others."""
    if isinstance(given, StructType) and isinstance(known, StructType):
        pairs = ((field, known.field(field.name)) for field in given.fields)
        fields = (
            replace(field, nullable=True, type=field.type if there is None else _type(field.type, there.type, widening))
            for field, there in pairs
        )
        return StructType(tuple(fields))
    if isinstance(given, ArrayType) and isinstance(known, ArrayType):
        return ArrayType(_type(given.element_type, known.element_type, widening), contains_null=True)
    if isinstance(given, MapType) and isinstance(known, MapType):
        key, value = _type(given.key_type, known.key_type, widening), _type(given.value_type, known.value_type, widening)
        return MapType(key, value, value_contains_null=True)
    widens = isinstance(given, str) and isinstance(known, str) and is_widening(known, given, widening)
    return given if widens else known
