# SPDX-License-Identifier: Apache-2.0
"""The differences between two schemas of a table that matter to a stream.

Sources: delta-spark's `TypeWidening.containsWideningTypeChanges` and `DeltaColumnMapping.collectRenamedColumns`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bayou.protocol.features.type_widening import is_widening
from bayou.protocol.types.schema import ArrayType, MapType, StructType

if TYPE_CHECKING:
    from bayou.protocol.types.schema import DataType


def has_wider_types(before: StructType, after: StructType) -> bool:
    """Return whether a column, matched by name at any depth, has a wider type in the later schema."""
    return any(is_widening(old, new) for _, old, new in changed_types(before, after))


def changed_types(before: DataType, after: DataType, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the columns whose primitive type differs in the later schema: path, old type, new type."""
    match before, after:
        case StructType(old), StructType(new):
            known = {field.name.lower(): field for field in new}
            for field in old:
                other = known.get(field.name.lower())
                if other is not None:
                    yield from changed_types(field.type, other.type, _below(path, field.name))
        case ArrayType(old_element, _), ArrayType(new_element, _):
            yield from changed_types(old_element, new_element, f"{path}.element")
        case MapType(old_key, old_value, _), MapType(new_key, new_value, _):
            yield from changed_types(old_key, new_key, f"{path}.key")
            yield from changed_types(old_value, new_value, f"{path}.value")
        case str(), str() if before != after:
            yield path, before, after
        case _:
            return


def renamed_columns(before: StructType, after: StructType) -> list[tuple[str, str]]:
    """Return the old and new paths of columns, at any depth, that were renamed under the same physical name."""
    known = dict(_by_physical(after))
    pairs = [(path, known[physical]) for physical, path in _by_physical(before) if physical in known]
    return [(".".join(old), ".".join(new)) for old, new in pairs if old[-1] != new[-1]]


def dropped_columns(before: StructType, after: StructType) -> list[str]:
    """Return the columns, at any depth, whose physical name is not in the later schema."""
    known = dict(_by_physical(after))
    return [".".join(path) for physical, path in _by_physical(before) if physical not in known]


def _by_physical(
    kind: DataType, physical: tuple[str, ...] = (), path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    match kind:
        case StructType(fields):
            for field in fields:
                here = (*physical, field.physical_name), (*path, field.name)
                yield here
                yield from _by_physical(field.type, *here)
        case ArrayType(element, _):
            yield from _by_physical(element, (*physical, "element"), (*path, "element"))
        case MapType(key, value, _):
            yield from _by_physical(key, (*physical, "key"), (*path, "key"))
            yield from _by_physical(value, (*physical, "value"), (*path, "value"))
        case _:
            return


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
