# SPDX-License-Identifier: Apache-2.0
"""Check whether rows written with one schema of a table can be read with another one, for change data feeds and streams.

Sources: delta-spark's `SchemaUtils.isReadCompatible` and `DeltaColumnMapping.hasNoColumnMappingSchemaChanges`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayou.protocol import properties
from bayou.protocol.features.type_widening import Widening, is_widening
from bayou.protocol.types.schema import StructType, parse_schema
from bayou.protocol.types.traverse import all_fields, map_fields, parts, same_form

if TYPE_CHECKING:
    from bayou.protocol.actions.actions import Metadata
    from bayou.protocol.types.schema import DataType, StructField

_NO_MAPPING = "none"


def is_read_compatible(
    written: StructType,
    read: StructType,
    *,
    widening: Widening = Widening.NEVER,
    allow_missing: bool = False,
    checks_nulls: bool = True,
) -> bool:
    """Whether rows of an older schema can be read with a newer one.

    The newer schema must have all columns of the older one, with the same names and types, and none may have become NOT NULL.

    Args:
        widening: which types may be wider in the newer schema.
        allow_missing: whether the newer schema may lack top-level columns.
        checks_nulls: if False, columns may become NOT NULL, and NOT NULL columns must stay NOT NULL, as in older delta-sparks.
    """
    held = {each.name.lower(): each for each in written.fields}
    known = {each.name.lower(): each for each in read.fields}
    if not (allow_missing or held.keys() <= known.keys()):
        return False
    fit = _Fit(widening, checks_nulls=checks_nulls)
    return all(fit.fields(each, known[name]) for name, each in held.items() if name in known)


def reads_older_rows(older: Metadata, newer: Metadata) -> bool:
    """Whether rows of an older version have the same values with a newer schema, which may lack top-level columns.

    Nullability does not matter, since rows that no longer exist need not satisfy NOT NULL.
    """
    if older.partition_columns != newer.partition_columns:
        return False
    before, after = (parse_schema(each.schema_string) for each in (older, newer))
    known = {each.name.lower() for each in after.fields}
    common = StructType(tuple(each for each in before.fields if each.name.lower() in known))
    physical, wanted = (
        {tuple(map(str.lower, path)): found.name.lower() for _, path, found in all_fields(each)} for each in (after, common)
    )
    if any(physical.get(path) != name for path, name in wanted.items()):
        return False
    return is_read_compatible(map_fields(common, _lenient), map_fields(after, _lenient), widening=Widening.ALWAYS)


def keeps_columns(older: Metadata, newer: Metadata) -> bool:
    """Whether no column was renamed or dropped between two versions, and the partition columns are the same.

    Column mapping may have been enabled in between, but neither disabled nor changed to another mode.
    """
    modes = column_mapping_mode(older), column_mapping_mode(newer)
    if modes[1] == _NO_MAPPING:
        return modes[0] == _NO_MAPPING and older.partition_columns == newer.partition_columns
    if modes[0] not in {_NO_MAPPING, modes[1]} or older.partition_columns != newer.partition_columns:
        return False
    before, after = (
        {path: found.name for _, path, found in all_fields(parse_schema(each.schema_string))} for each in (older, newer)
    )
    return before.items() <= after.items()


def column_mapping_mode(metadata: Metadata) -> str:
    """Return the mode of a table's column mapping: `none`, `name` or `id`."""
    return properties.COLUMN_MAPPING_MODE.read(metadata.configuration).strip().lower() or _NO_MAPPING


class _Fit:
    """Compares the fields of two schemas."""

    def __init__(self, widening: Widening, *, checks_nulls: bool) -> None:
        self._widening = widening
        self._checks_nulls = checks_nulls

    def fields(self, written: StructField, read: StructField) -> bool:
        nulls_fit = read.nullable >= written.nullable if self._checks_nulls else written.nullable >= read.nullable
        return written.name == read.name and nulls_fit and self._types(written.type, read.type)

    def _types(self, written: DataType, read: DataType) -> bool:
        if isinstance(written, StructType) and isinstance(read, StructType):
            return is_read_compatible(written, read, widening=self._widening, checks_nulls=self._checks_nulls)
        if same_form(written, read):
            return all(map(self.fields, parts(written), parts(read)))
        return written == read or (
            isinstance(written, str) and isinstance(read, str) and is_widening(written, read, self._widening)
        )


def _lenient(field: StructField) -> StructField:
    return replace(field, name=field.name.lower(), nullable=True)
