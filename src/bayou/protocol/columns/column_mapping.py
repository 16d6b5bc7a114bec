# SPDX-License-Identifier: Apache-2.0
"""Assign ids and physical names to columns, for column mapping.

Each field of each struct gets an id and a physical name, parents before children. Ids are not reused, and
`delta.columnMapping.maxColumnId` only grows. Sources: PROTOCOL.md, "Column Mapping"; delta-spark's `DeltaColumnMapping`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from bayou.errors import failed
from bayou.protocol import properties
from bayou.protocol.columns.mapping_rules import Path, check_mapping, fields_by_path, highest_id, shown_path
from bayou.protocol.properties import mapping_mode
from bayou.protocol.types.schema import FIELD_ID, PHYSICAL_NAME, DataType, StructField, StructType
from bayou.protocol.types.traverse import map_fields, parts, same_form, with_parts, with_type

NESTED_IDS: Final = "delta.columnMapping.nested.ids"
"""The key of a field's metadata for the ids of array elements, map keys and map values, which Iceberg needs."""

_OF_MAPPING: Final = (FIELD_ID, PHYSICAL_NAME, NESTED_IDS, "parquet.field.id")


@dataclass(frozen=True, slots=True)
class MappedColumns:
    """A schema with ids and physical names, and the configuration for it.

    Attributes:
        schema: the schema; unchanged without column mapping.
        configuration: the configuration, with the highest id that was ever assigned.
    """

    schema: StructType
    configuration: Mapping[str, str]


def mapped_columns(
    schema: StructType,
    configuration: Mapping[str, str],
    *,
    current: StructType | None = None,
    current_configuration: Mapping[str, str] | None = None,
    replacing: bool = False,
    table: str | None = None,
    version: int | None = None,
    new_name: Callable[[], str] | None = None,
) -> MappedColumns:
    """Return a schema with ids and physical names for all fields that lack them, if the configuration enables column mapping.

    A new column gets the next id and `col-<uuid>`. If the mode changes from none to name, columns get their name. A column that
    the table has at the same path keeps its id and physical name, in a REPLACE only if the types fit.

    Args:
        schema: the schema after the change. Remove ids and names of a DataFrame's fields first (`without_mapping`).
        current: the table's schema; None for a new table.
        replacing: whether the table is replaced, or its schema overwritten.
        new_name: returns a physical name; for tests.

    Raises:
        InvalidSchemaError: columns are added together with column mapping, or ids or physical names are not unique.
    """
    if mapping_mode(configuration) == "none":
        return MappedColumns(schema, configuration)
    known = current or StructType()
    names_are_physical = bool(known.fields) and not replacing and mapping_mode(current_configuration or {}) == "none"
    if names_are_physical:
        _check_same_columns(schema, known, table, version)
        # Ids and names of a table without column mapping are left over, and are not in its files.
        if any(key in field.metadata for _, field in fields_by_path(known) for key in _OF_MAPPING):
            schema = without_mapping(schema)
    floors = [properties.MAX_COLUMN_ID.read(each) for each in (configuration, current_configuration or {})]
    assigner = _Assigner(
        max(*floors, highest_id(schema), highest_id(known)),
        dict(fields_by_path(known)),
        {field.field_id for _, field in fields_by_path(schema) if field.field_id is not None},
        names_are_physical=names_are_physical,
        must_fit=replacing,
        new_name=new_name or _physical_name,
    )
    assigned = assigner.struct(schema, ())
    highest_key = properties.MAX_COLUMN_ID.key
    kept = {key: value for key, value in configuration.items() if key.lower() != highest_key.lower()}
    result = MappedColumns(assigned, {**kept, highest_key: str(assigner.highest)})
    check_mapping(result.schema, result.configuration, table=table, version=version)
    return result


def without_mapping(schema: StructType) -> StructType:
    """Return the schema without ids and physical names."""

    def bare(field: StructField) -> StructField:
        return replace(field, metadata={key: value for key, value in field.metadata.items() if key not in _OF_MAPPING})

    return map_fields(schema, bare)


class _Assigner:
    """Assigns ids and physical names.

    Attributes:
        highest: the highest id that was ever assigned.
    """

    def __init__(
        self,
        highest: int,
        known: Mapping[Path, StructField],
        taken: set[int],
        *,
        names_are_physical: bool,
        must_fit: bool,
        new_name: Callable[[], str],
    ) -> None:
        self.highest = highest
        self._known = known
        self._taken = taken
        self._names_are_physical = names_are_physical
        self._must_fit = must_fit
        self._new_name = new_name

    def struct(self, kind: StructType, path: Path) -> StructType:
        return StructType(tuple(self._field(each, path) for each in kind.fields))

    def _field(self, field: StructField, parent: Path) -> StructField:
        path = (*parent, field.name.lower())
        metadata: dict[str, Any] = {**field.metadata}
        known = None if self._names_are_physical else self._reusable(field, path)
        if field.field_id is None:
            metadata[FIELD_ID] = self._next_id() if known is None else known.field_id
        if not isinstance(metadata.get(PHYSICAL_NAME), str):
            metadata[PHYSICAL_NAME] = self._name(path) if known is None else known.physical_name
        return replace(field, type=self._inner(field.type, path), metadata=metadata)

    def _inner(self, kind: DataType, path: Path) -> DataType:
        if isinstance(kind, StructType):
            return self.struct(kind, path)
        return with_parts(kind, (with_type(each, self._inner(each.type, (*path, each.name))) for each in parts(kind)))

    def _reusable(self, field: StructField, path: Path) -> StructField | None:
        """Return the table's column at the path, or None if a renamed column has its id, or its type does not fit."""
        known = self._known.get(path)
        if known is None or known.field_id is None or known.field_id in self._taken or field.field_id is not None:
            return None
        return None if self._must_fit and not _fits(known.type, field.type) else known

    def _next_id(self) -> int:
        self.highest += 1
        return self.highest

    def _name(self, path: Path) -> str:
        return self._known[path].name if self._names_are_physical else self._new_name()


def _physical_name() -> str:
    return f"col-{uuid.uuid4()}"


def _fits(known: DataType, given: DataType) -> bool:
    """Whether two types are equal, except that the given type may be nullable where the known one is not."""
    if not same_form(known, given):
        return known == given
    left, right = parts(known), parts(given)
    return len(left) == len(right) and all(map(_field_fits, left, right))


def _field_fits(known: StructField, given: StructField) -> bool:
    return known.name == given.name and known.nullable <= given.nullable and _fits(known.type, given.type)


def _check_same_columns(schema: StructType, known: StructType, table: str | None, version: int | None) -> None:
    paths = {path for path, _ in fields_by_path(known)}
    added = sorted(shown_path(path) for path, _ in fields_by_path(schema) if path not in paths)
    if added:
        raise failed("DELTA_UNSUPPORTED_COLUMN_MAPPING_SCHEMA_CHANGE", table=table, version=version, columns=added)
