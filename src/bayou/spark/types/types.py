# SPDX-License-Identifier: Apache-2.0
"""Convert a table's schema into the forms that Spark needs: logical for users, physical for files."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from bayou.errors import failed
from bayou.protocol.columns.column_defaults import DEFAULT_KEYS
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.schema import VOID_TYPES, ArrayType, MapType, StructField, StructType, UserDefinedType, schema_to_json
from bayou.protocol.types.sql_text import quoted_name
from bayou.protocol.types.traverse import as_nullable, innermost, map_fields, map_twins, same_form, twins
from bayou.spark.user_defined_types import for_spark, known_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bayou.protocol.types.schema import DataType

FIELD_ID = "parquet.field.id"
"""The key of Spark's field metadata that holds a Parquet field id."""


def physical_field(wanted: StructField, table: StructField, *, by_id: bool) -> StructField:
    """Return a column as the files have it: physical names at every depth, nullable at the top, no other metadata.

    `wanted` is the column as the query uses it, with nested fields perhaps pruned, and `table` the same column in the table's
    schema. With `by_id`, the files are matched by field id.
    """
    metadata = {FIELD_ID: table.field_id} if by_id and table.field_id is not None else {}
    kind = _physical_type(wanted.type, table.type, by_id=by_id)
    return StructField(table.physical_name, kind, nullable=True, metadata=metadata)


def _physical_type(wanted: DataType, table: DataType, *, by_id: bool) -> DataType:
    if not isinstance(wanted, StructType) or not isinstance(table, StructType):
        return map_twins(wanted, table, lambda inner, known: _physical_type(inner, known, by_id=by_id))
    fields = []
    for field in wanted.fields:
        known = table.field(field.name)
        if known is None:
            raise failed("nested-field-missing", column=field.name)
        fields.append(replace(physical_field(field, known, by_id=by_id), nullable=field.nullable))
    return StructType(tuple(fields))


def incompatible(analysed: Iterable[StructField], table: StructType) -> Iterator[str]:
    """Yield a description of each DataFrame column that the table no longer has, or has with another type."""
    for field in analysed:
        known = table.field(field.name)
        if known is None:
            yield f"column {field.name} is gone"
        elif not _reads_as(known.type, field.type):
            yield f"column {field.name} has another type"


def _reads_as(table: DataType, wanted: DataType) -> bool:
    """Whether a column of the table's type still has all parts of the requested type, which may be pruned."""
    if same_form(wanted, table):
        return all(known is not None and _reads_as(known.type, each.type) for each, known in twins(wanted, table))
    if isinstance(table, UserDefinedType) and not isinstance(wanted, UserDefinedType):  # this program does not have its class
        return _reads_as(table.stored, wanted)
    # If only some fields of a variant are used, Spark reads it as a struct of these.
    return table == wanted or (table == "variant" and isinstance(wanted, StructType))


def spark_data_type(column: StructField) -> Any:
    """Return a column's type as PySpark's object."""
    return spark_schema((column,))[0].dataType


def spark_schema(columns: Iterable[StructField]) -> Any:
    """Return columns as PySpark's `StructType`."""
    from pyspark.sql.types import StructType as SparkStructType  # noqa: PLC0415  (named as ours)

    return SparkStructType.fromJson(json.loads(for_spark(schema_to_json(StructType(tuple(columns))))))


def as_table_has(given: StructType, table: StructType) -> StructType:
    """Return columns with the table's user-defined types in place of the types that these are stored as."""
    return cast("StructType", _as_table_has(given, table))


def _as_table_has(given: DataType, table: DataType) -> DataType:
    if isinstance(table, UserDefinedType) and as_nullable(given) == table.stored == known_type(table):
        return table
    return map_twins(given, table, _as_table_has)


def contains_user_defined(kind: DataType) -> bool:
    """Whether a type is or contains a user-defined type, which SQL cannot name, and to which it can only cast NULL."""
    return any(isinstance(each, UserDefinedType) for each in innermost(kind))


def contains_void(kind: DataType) -> bool:
    """Whether a type is or contains void, so that files cannot have such a column."""
    return any(each in VOID_TYPES for each in innermost(kind))


def stored_type(kind: DataType) -> DataType | None:
    """Return a type as files have it, without void fields of structs; None if nothing remains, or a collection contains void."""
    if isinstance(kind, StructType):
        found = ((field, stored_type(field.type)) for field in kind.fields)
        fields = tuple(replace(field, type=stored) for field, stored in found if stored is not None)
        return StructType(fields) if fields else None
    return None if contains_void(kind) else kind


def stored_fields(fields: Iterable[StructField]) -> list[StructField]:
    """Return the columns that files have, with the types that files have."""
    found = ((field, stored_type(field.type)) for field in fields)
    return [field if stored == field.type else replace(field, type=stored) for field, stored in found if stored is not None]


def sql_type(kind: DataType) -> str:
    """Return a type as SQL. A user-defined type is the type that it is stored as."""
    if isinstance(kind, StructType):
        return f"struct<{', '.join(f'{quoted_name(f.name)}: {sql_type(f.type)}' for f in kind.fields)}>"
    if isinstance(kind, ArrayType):
        return f"array<{sql_type(kind.element_type)}>"
    if isinstance(kind, MapType):
        return f"map<{sql_type(kind.key_type)}, {sql_type(kind.value_type)}>"
    if isinstance(kind, UserDefinedType):
        return sql_type(kind.stored)
    return type_text(kind)


_INTERNAL = ("delta.", *DEFAULT_KEYS, FIELD_ID)


def readable_schema(schema: StructType) -> StructType:
    """Return the schema as a reader sees it: without the column metadata that the log keeps for writers and files.

    A user-defined type becomes this program's class for it, otherwise the type that it is stored as: see `known_type`.
    """
    return map_fields(schema, _readable)


def _readable(field: StructField) -> StructField:
    metadata = {key: value for key, value in field.metadata.items() if not key.startswith(_INTERNAL)}
    kind = known_type(field.type) if isinstance(field.type, UserDefinedType) else field.type
    return StructField(field.name, kind, field.nullable, metadata)
