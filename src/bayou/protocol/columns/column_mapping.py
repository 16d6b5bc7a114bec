# SPDX-License-Identifier: Apache-2.0
"""Column mapping: how a table's columns get ids and physical names.

Every field of every struct gets an id and a physical name, also inside arrays and maps, a parent before its children. Ids
are never used again: `delta.columnMapping.maxColumnId` only grows. Sources: PROTOCOL.md, "Column Mapping"; delta-spark's
`DeltaColumnMapping`.
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
"""The metadata of a field with the ids of its array elements, map keys and map values, which Iceberg asks for."""

_OF_MAPPING: Final = (FIELD_ID, PHYSICAL_NAME, NESTED_IDS, "parquet.field.id")


@dataclass(frozen=True, slots=True)
class MappedColumns:
    """A schema whose fields have ids and physical names, and the configuration that goes with it.

    Attributes:
        schema: the schema; unchanged where the table maps no columns.
        configuration: the configuration, with the highest id that was ever given.
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
    """A schema with ids and physical names for all fields that lack them, where the configuration's mode asks for it.

    What a field has, it keeps. What it lacks depends on the table: a new column gets the next id and `col-<uuid>`; a column
    of a table that goes from none to name gets its name; a column that the table has under the same path keeps what it has
    there, in a REPLACE only where the types fit. Doing it twice changes nothing.

    Args:
        schema: the schema after the change. Drop what a DataFrame's fields bring along first (`without_mapping`).
        current: the table's schema; None for a new table.
        replacing: whether the table is replaced, or its schema overwritten.
        new_name: makes physical names; for tests.

    Raises:
        InvalidSchemaError: columns are added in the change that turns column mapping on, or ids or physical names are not
            unique.
    """
    if mapping_mode(configuration) == "none":
        return MappedColumns(schema, configuration)
    known = current or StructType()
    names_are_physical = bool(known.fields) and not replacing and mapping_mode(current_configuration or {}) == "none"
    if names_are_physical:
        _check_same_columns(schema, known, table, version)
        # What a table without a mode has of ids and names is left over, and its files know nothing of it.
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
    """The schema without ids and physical names: of a table that gives up column mapping, or of rows of another table."""

    def bare(field: StructField) -> StructField:
        return replace(field, metadata={key: value for key, value in field.metadata.items() if key not in _OF_MAPPING})

    return map_fields(schema, bare)


class _Assigner:
    """Gives fields what they lack, parents before children.

    Attributes:
        highest: the highest id that was ever given.
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
        """The table's column at the path, where this field is that one: a renamed column may hold its id elsewhere."""
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
    """Return whether values of a known type are values of a given one, which may allow NULL where the known one does not."""
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
