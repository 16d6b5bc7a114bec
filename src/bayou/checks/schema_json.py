# SPDX-License-Identifier: Apache-2.0
"""The schema in a `metaData` action as plain JSON, so that a wrong part does not hide the others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

PHYSICAL_NAME: Final = "delta.columnMapping.physicalName"
COLUMN_ID: Final = "delta.columnMapping.id"


@dataclass(frozen=True, slots=True)
class Column:
    """A field of a struct, at any depth.

    Attributes:
        path: the names from the top; the parts of arrays and maps are `element`, `key` and `value`.
        physical_path: the same with physical names.
        field: its JSON.
        in_list: whether it is inside an array or a map.
    """

    path: tuple[str, ...]
    physical_path: tuple[str, ...]
    field: Mapping[str, Any]
    in_list: bool

    @property
    def name(self) -> str:
        """The dotted path."""
        return ".".join(self.path)

    @property
    def type(self) -> Any:
        """The type as JSON: a string or an object."""
        return self.field.get("type")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The metadata; empty if it is missing or not an object."""
        found = self.field.get("metadata")
        return found if isinstance(found, Mapping) else {}

    @property
    def is_leaf(self) -> bool:
        """Whether the type is primitive."""
        return isinstance(self.type, str)


def parse_schema_json(text: object) -> Any:
    """Return the JSON of a schema string; None if it is not JSON."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def columns_of(kind: Any, path: tuple[str, ...] = (), physical: tuple[str, ...] = (), *, in_list: bool = False) -> Iterator[Column]:
    """Yield each field of each struct of a type. Skip what is not valid."""
    if not isinstance(kind, Mapping):
        return
    match kind.get("type"):
        case "struct":
            for field in _fields(kind):
                if isinstance(field, Mapping) and isinstance(field.get("name"), str):
                    yield from _column(field, path, physical, in_list=in_list)
        case "array":
            yield from columns_of(kind.get("elementType"), (*path, "element"), (*physical, "element"), in_list=True)
        case "map":
            for name in ("key", "value"):
                yield from columns_of(kind.get(f"{name}Type"), (*path, name), (*physical, name), in_list=True)


def _fields(kind: Mapping[str, Any]) -> list[Any]:
    found = kind.get("fields")
    return found if isinstance(found, list) else []


def types_of(kind: Any) -> Iterator[Any]:
    """Yield a type and all types inside it."""
    yield kind
    if isinstance(kind, Mapping):
        match kind.get("type"):
            case "struct":
                for field in _fields(kind):
                    if isinstance(field, Mapping):
                        yield from types_of(field.get("type"))
            case "array":
                yield from types_of(kind.get("elementType"))
            case "map":
                yield from types_of(kind.get("keyType"))
                yield from types_of(kind.get("valueType"))


def _column(field: Mapping[str, Any], path: tuple[str, ...], physical: tuple[str, ...], *, in_list: bool) -> Iterator[Column]:
    metadata = field.get("metadata")
    stored = metadata.get(PHYSICAL_NAME) if isinstance(metadata, Mapping) else None
    own = (*path, field["name"])
    own_physical = (*physical, stored if isinstance(stored, str) else field["name"])
    yield Column(own, own_physical, field, in_list)
    yield from columns_of(field.get("type"), own, own_physical, in_list=in_list)
