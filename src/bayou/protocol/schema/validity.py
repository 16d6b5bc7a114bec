# SPDX-License-Identifier: Apache-2.0
"""Check whether a table can have a schema: column names, types, void columns, NOT NULL, partition columns.

Sources: delta-spark's `SchemaUtils` (`checkSchemaFieldNames`, `findUnsupportedDataTypes`,
`removeUnenforceableNotNullConstraints`), `SchemaMergingUtils.checkColumnNameDuplication`, `PartitionUtils` and
`EmptySchemaWriteException`; the error classes are its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.protocol.schema.reserved_names import check_feed_names, check_internal_names
from bayou.protocol.stats.file_stats import COLLATIONS
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.partition_values import decimal_type
from bayou.protocol.types.schema import VOID_TYPES, ArrayType, MapType, StructType
from bayou.protocol.types.traverse import duplicates, innermost, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bayou.protocol.types.schema import DataType

FORBIDDEN_CHARACTERS: Final = " ,;{}()\n\t="
"""The characters that column names cannot have without column mapping, since Parquet's schema strings use them."""

_NUMBERS: Final = frozenset({"byte", "short", "integer", "long", "float", "double"})
_TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz"})
_PLAIN_TYPES: Final = _NUMBERS | _TIMES | VOID_TYPES | {"boolean", "string", "binary", "variant"}
_CHAR_TYPE: Final = re.compile(r"(?:char|varchar)\(\s*\d+\s*\)")
_MAX_PRECISION: Final = 38


def check_schema(
    schema: StructType,
    partition_columns: Sequence[str],
    table: str | None,
    *,
    version: int | None = None,
    column_mapping: bool = False,
    change_data_feed: bool = False,
    may_be_empty: bool = False,
) -> None:
    """Raise InvalidSchemaError if no table can have a schema; `columns` has the wrong columns.

    Make a DataFrame's schema nullable first, since its nullability is not a constraint.

    Args:
        partition_columns: the logical names of the partition columns.
        column_mapping: whether the table uses column mapping, so that names may have any character.
        change_data_feed: whether the table has a change data feed.
        may_be_empty: whether a schema without columns is allowed, as for a new table that gets its columns later.
    """
    if not schema.fields and not may_be_empty:
        raise failed("DELTA_EMPTY_DATA", table=table, version=version, columns=())
    odd = [name for name in partition_columns if any(character in FORBIDDEN_CHARACTERS for character in name)]
    if odd and not column_mapping:
        raise failed(
            "DELTA_INVALID_PARTITION_COLUMN_NAME", table=table, version=version, characters=FORBIDDEN_CHARACTERS, columns=odd
        )
    check_names(
        schema,
        table,
        version=version,
        column_mapping=column_mapping,
        change_data_feed=change_data_feed,
        enables_feed=version is None,
    )
    check_types(schema, table, version=version)
    check_void(schema, partition_columns, table, version=version)
    check_nested_not_null(schema, table, version=version)
    check_partition_columns(schema, partition_columns, table, version=version)


def check_names(
    schema: StructType,
    table: str | None,
    *,
    version: int | None = None,
    column_mapping: bool = False,
    change_data_feed: bool = False,
    duplicates_class: str = "METADATA_UPDATE",
    enables_feed: bool = False,
    known: StructType | None = None,
) -> None:
    """Raise InvalidSchemaError if names are duplicate, reserved, or have characters that files cannot have.

    Args:
        duplicates_class: the subclass of DELTA_DUPLICATE_COLUMNS_FOUND for duplicates.
        enables_feed: whether the change data feed is enabled together with this schema.
        known: the table's schema before, which may have names that new columns cannot get.
    """
    twins = duplicates(schema)
    if twins:
        error_class = f"DELTA_DUPLICATE_COLUMNS_FOUND.{duplicates_class}"
        raise failed("DELTA_DUPLICATE_COLUMNS_FOUND", error_class=error_class, table=table, version=version, columns=twins)
    check_internal_names(schema, table, version=version, known=known)
    if change_data_feed:
        check_feed_names(schema, table, version=version, column_mapping=column_mapping, enables_feed=enables_feed)
    bad = [path for name, path in _names(schema) if any(character in FORBIDDEN_CHARACTERS for character in name)]
    if bad and not column_mapping:
        raise failed(
            "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES", table=table, version=version, characters=FORBIDDEN_CHARACTERS, columns=bad
        )


def check_types(schema: StructType, table: str | None, *, version: int | None = None) -> None:
    """Raise InvalidSchemaError if a type is not a type of Delta tables; `columns` has the columns."""
    primitives = ((".".join(path), kind) for path, kind in walk(schema) if isinstance(kind, str))
    unsupported = {path: kind for path, kind in primitives if not is_supported(kind)}
    unsupported |= {path: "string with a collation" for path in collated_paths(schema) if path not in unsupported}
    if unsupported:
        types = [f"{path!r} is {kind}" for path, kind in unsupported.items()]
        raise failed("DELTA_UNSUPPORTED_DATA_TYPES", table=table, version=version, types=types, columns=tuple(unsupported))


def check_void(schema: StructType, partition_columns: Sequence[str], table: str | None, *, version: int | None = None) -> None:
    """Raise InvalidSchemaError if void is in an array or a map, or if a struct or the table only has void columns.

    Files do not have void columns.
    """
    check_nested_void(schema, table, version=version)
    partitions = {name.lower() for name in partition_columns}
    stored = [field for field in schema.fields if field.name.lower() not in partitions]
    if stored and all(_is_void(field.type) for field in stored):
        columns = [field.name for field in stored]
        raise failed("DELTA_CANNOT_WRITE_EMPTY_SCHEMA.TABLE_ALL_VOID_COLUMNS", table=table, version=version, columns=columns)


def check_nested_void(schema: StructType, table: str | None, *, version: int | None = None) -> None:
    """Raise InvalidSchemaError if void is in an array or a map, or a struct only has void fields."""
    for path, kind in walk(schema):
        column = ".".join(path)
        if isinstance(kind, ArrayType | MapType) and any(_is_void(inner) for _, inner in walk(kind)):
            raise failed("DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE", table=table, version=version, columns=(column,))
        if path and isinstance(kind, StructType) and all(_is_void(field.type) for field in kind.fields):
            raise failed(
                "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_ALL_VOID_FIELDS"
                if kind.fields
                else "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.STRUCT_NO_FIELDS",
                table=table,
                version=version,
                columns=(column,),
            )


def check_nested_not_null(schema: StructType, table: str | None, *, version: int | None = None) -> None:
    """Raise InvalidSchemaError for NOT NULL fields in array elements, map keys and map values, which no writer enforces."""
    for path, collection in walk(schema):
        if not isinstance(collection, ArrayType | MapType):
            continue
        structs = ((inner, kind) for inner, kind in walk(collection, path) if isinstance(kind, StructType))
        required = [".".join((*inner, field.name)) for inner, kind in structs for field in kind.fields if not field.nullable]
        if required:
            raise failed("DELTA_NESTED_NOT_NULL_CONSTRAINT", table=table, version=version, columns=required)


def check_partition_columns(
    schema: StructType, partition_columns: Sequence[str], table: str | None, *, version: int | None = None
) -> None:
    """Raise InvalidSchemaError for partition columns that do not exist or cannot be serialised, or if all columns are some."""
    for name in partition_columns:
        field = schema.field(name)
        if field is None:
            raise failed("DELTA_PARTITION_COLUMN_NOT_FOUND", table=table, version=version, columns=(name,), known=schema.names)
        if not isinstance(field.type, str) or field.type in VOID_TYPES or field.type == "variant":
            kind = type_text(field.type)
            raise failed("DELTA_INVALID_PARTITION_COLUMN_TYPE", table=table, version=version, columns=(name,), type=kind)
    if len({name.lower() for name in partition_columns}) < len(partition_columns):
        raise failed("DELTA_DUPLICATE_COLUMNS_FOUND.PARTITION_COLUMNS", table=table, version=version, columns=partition_columns)
    if partition_columns and len(partition_columns) == len(schema.fields):
        raise failed("DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION", table=table, version=version, columns=partition_columns)


def check_has_data(rows: StructType, table: str | None, *, version: int | None = None, of_statement: bool = False) -> None:
    """Raise InvalidSchemaError if rows have no columns, or only void columns, so that each would be a row of NULLs.

    Args:
        of_statement: whether void counts as a value, as in `INSERT INTO t VALUES (NULL)`.
    """
    if any(of_statement or not all(map(_is_void, innermost(field.type))) for field in rows.fields):
        return
    raise failed(
        "DELTA_EMPTY_DATA/void" if rows.fields else "DELTA_EMPTY_DATA/no-columns", table=table, version=version, columns=rows.names
    )


def is_supported(kind: str) -> bool:
    """Whether a table can have columns of a primitive type."""
    decimal = decimal_type(kind)
    if decimal is not None:
        precision, scale = decimal
        return 0 < precision <= _MAX_PRECISION and 0 <= scale <= precision
    return kind in _PLAIN_TYPES or _CHAR_TYPE.fullmatch(kind) is not None


def collated_paths(schema: StructType) -> Iterator[str]:
    """Yield the logical paths, as in `walk`, of strings with a collation."""
    for path, kind in walk(schema):
        if isinstance(kind, str) and "collate" in kind.lower():
            yield ".".join(path)
        elif isinstance(kind, StructType):
            for field in kind.fields:
                named = field.metadata.get(COLLATIONS)
                # A field's metadata also names the parts of its arrays and maps: `v`, `v.element`, `v.key.element`.
                found = named if isinstance(named, dict) else [field.name] if named else []
                yield from (".".join((*path, name)) for name in found)


def _names(schema: StructType) -> Iterator[tuple[str, str]]:
    for path, kind in walk(schema):
        if isinstance(kind, StructType):
            yield from ((name, ".".join((*path, name))) for name in kind.names)


def _is_void(kind: DataType) -> bool:
    return kind in VOID_TYPES if isinstance(kind, str) else False
