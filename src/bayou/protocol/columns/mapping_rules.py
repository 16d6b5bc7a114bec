# SPDX-License-Identifier: Apache-2.0
"""Check column mapping: changes of the mode, and ids and physical names.

Sources: PROTOCOL.md, "Column Mapping"; delta-spark's `DeltaColumnMapping`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Any

from bayou.errors import DeltaError, failed
from bayou.protocol import properties
from bayou.protocol.properties import mapping_mode
from bayou.protocol.schema.validity import FORBIDDEN_CHARACTERS
from bayou.protocol.types.schema import PHYSICAL_NAME, StructField, StructType
from bayou.protocol.types.traverse import all_fields

Path = tuple[str, ...]


class ModeChange(enum.Enum):
    """The effect of a change of properties on column mapping."""

    NONE = "the mode stays"
    UPGRADE = "columns get ids, and their names become their physical names"
    REMOVAL = "all files are rewritten under their logical names"


def mode_change(
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    table: str | None,
    version: int | None = None,
    allow_removal: bool = True,
) -> ModeChange:
    """Return the effect of a change of properties on the column mapping of an existing table.

    Do not call it for tables that are created or replaced, which may have any mode.

    Args:
        allow_removal: whether column mapping may be removed (`spark.databricks.delta.columnMapping.allowRemoval`).

    Raises:
        InvalidOptionError: the mode cannot be changed this way.
    """
    old, new = mapping_mode(before), mapping_mode(after)
    if old == new:
        return ModeChange.NONE
    if (old, new) == ("none", "name"):
        return ModeChange.UPGRADE
    if new == "none" and allow_removal:
        return ModeChange.REMOVAL
    place: Any = {"table": table, "version": version, "option": properties.COLUMN_MAPPING_MODE.key}
    if new == "none":
        raise failed("DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE/not-alone", mode=old, new_mode=new, **place)
    if old == "none":
        raise failed("DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE/to-id", mode=old, new_mode=new, **place)
    raise failed("DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE", mode=old, new_mode=new, **place)


def check_mapping(schema: StructType, configuration: Mapping[str, str], *, table: str | None, version: int | None = None) -> None:
    """Raise InvalidSchemaError if ids or physical names are missing or duplicate, or the highest id is not set."""
    if mapping_mode(configuration) == "none":
        return
    ids: dict[int, Path] = {}
    names: dict[Path, Path] = {}
    for path, physical, field in all_fields(schema):
        identifier, name = field.field_id, field.metadata.get(PHYSICAL_NAME)
        if identifier is None or not isinstance(name, str):
            lacking = "id" if identifier is None else "physical name"
            raise failed("DELTA_SCHEMA_NOT_SET/mapping", table=table, version=version, column=shown_path(path), lacking=lacking)
        twin = ids.setdefault(identifier, path)
        if twin is not path:
            raise _twice(f"the id {identifier}", twin, path, table, version)
        twin = names.setdefault(physical, path)
        if twin is not path:
            raise _twice(f"the physical name {shown_path(physical)}", twin, path, table, version)
    _check_highest(configuration, max(ids, default=0), table, version)


def check_plain_names(schema: StructType, *, table: str | None, version: int | None = None) -> None:
    """Raise InvalidSchemaError if names have characters that need column mapping; `columns` names them."""
    names = [field.name for _, field in fields_by_path(schema)]
    odd = tuple(name for name in names if any(character in name for character in FORBIDDEN_CHARACTERS))
    if odd:
        raise failed("DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING", table=table, version=version, columns=odd)


def highest_id(schema: StructType) -> int:
    """Return the highest id of the fields, or 0."""
    return max((field.field_id or 0 for _, field in fields_by_path(schema)), default=0)


def fields_by_path(schema: StructType) -> Iterator[tuple[Path, StructField]]:
    """Yield each field with its logical path in lower case, parents first. Paths include `element`, `key` and `value`."""
    for logical, _, field in all_fields(schema):
        yield tuple(part.lower() for part in logical), field


def shown_path(path: Path) -> str:
    """Return a path for messages, with backticks around parts that have dots."""
    return ".".join(f"`{part}`" if "." in part else part for part in path)


def _check_highest(configuration: Mapping[str, str], highest: int, table: str | None, version: int | None) -> None:
    key = properties.MAX_COLUMN_ID.key
    if all(each.lower() != key.lower() for each in configuration):
        raise failed("DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET", table=table, version=version)
    noted = properties.MAX_COLUMN_ID.read(configuration)
    if noted < highest:
        raise failed(
            "DELTA_COLUMN_MAPPING_MAX_COLUMN_ID_NOT_SET_CORRECTLY", table=table, version=version, value=noted, highest=highest
        )


def _twice(what: str, first: Path, second: Path, table: str | None, version: int | None) -> DeltaError:
    column, twin = shown_path(first), shown_path(second)
    return failed("DELTA_DUPLICATE_COLUMNS_FOUND/mapping", table=table, version=version, column=column, twin=twin, shared=what)
