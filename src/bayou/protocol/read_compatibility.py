# SPDX-License-Identifier: Apache-2.0
"""Whether rows that were written under one schema of a table can be read under another one, as change feeds and streams ask.

Sources: delta-spark's `SchemaUtils.isReadCompatible` and `DeltaColumnMapping.hasNoColumnMappingSchemaChanges`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol import properties
from bayou.protocol.schema import ArrayType, MapType, StructType, parse_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bayou.protocol.actions import Metadata
    from bayou.protocol.schema import DataType, StructField

_NO_MAPPING = "none"


def is_read_compatible(written: StructType, read: StructType) -> bool:
    """Whether rows of an older schema can be read under a newer one.

    The newer one has all columns of the older one, with the same names and types; none of them has become NOT NULL.
    """
    held = {each.name.lower(): each for each in written.fields}
    known = {each.name.lower(): each for each in read.fields}
    return held.keys() <= known.keys() and all(_fits(each, known[name]) for name, each in held.items())


def keeps_columns(older: Metadata, newer: Metadata) -> bool:
    """Whether no column was renamed or dropped by column mapping between two versions, and the partition columns are the same.

    A table may have been given column mapping in between; it may not have lost it, nor changed its mode.
    """
    modes = column_mapping_mode(older), column_mapping_mode(newer)
    if modes[1] == _NO_MAPPING:
        return modes[0] == _NO_MAPPING and older.partition_columns == newer.partition_columns
    if modes[0] not in {_NO_MAPPING, modes[1]} or older.partition_columns != newer.partition_columns:
        return False
    before = dict(_physical_fields(parse_schema(older.schema_string)))
    after = dict(_physical_fields(parse_schema(newer.schema_string)))
    return all(path in after and after[path].name == found.name for path, found in before.items())


def column_mapping_mode(metadata: Metadata) -> str:
    """The mode of a table's column mapping: `none`, `name` or `id`."""
    return properties.COLUMN_MAPPING_MODE.read(metadata.configuration).strip().lower() or _NO_MAPPING


def _fits(written: StructField, read: StructField) -> bool:
    return written.name == read.name and read.nullable >= written.nullable and _types_fit(written.type, read.type)


def _types_fit(written: DataType, read: DataType) -> bool:
    match written, read:
        case StructType(), StructType():
            return is_read_compatible(written, read)
        case ArrayType(element, nulls), ArrayType(read_element, read_nulls):
            return read_nulls >= nulls and _types_fit(element, read_element)
        case MapType(key, value, nulls), MapType(read_key, read_value, read_nulls):
            return read_nulls >= nulls and _types_fit(key, read_key) and _types_fit(value, read_value)
        case _:
            return written == read


def _physical_fields(kind: DataType, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], StructField]]:
    """Every field at any depth by its physical path; elements, keys and values have paths of their own."""
    match kind:
        case StructType(fields):
            for each in fields:
                here = (*path, each.physical_name)
                yield here, each
                yield from _physical_fields(each.type, here)
        case ArrayType(element, _):
            yield from _physical_fields(element, (*path, "element"))
        case MapType(key, value, _):
            yield from _physical_fields(key, (*path, "key"))
            yield from _physical_fields(value, (*path, "value"))
        case _:
            return
