# SPDX-License-Identifier: Apache-2.0
"""The differences between two schemas of a table that matter to a stream.

Sources: delta-spark's `TypeWidening.containsWideningTypeChanges` and `DeltaColumnMapping.collectRenamedColumns`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bayou.protocol.features.type_widening import is_widening
from bayou.protocol.types.traverse import all_fields, twins

if TYPE_CHECKING:
    from bayou.protocol.types.schema import DataType, StructType


def has_wider_types(before: StructType, after: StructType) -> bool:
    """Return whether a column, matched by name at any depth, has a wider type in the later schema."""
    return any(is_widening(old, new) for _, old, new in changed_types(before, after))


def changed_types(before: DataType, after: DataType, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield the columns whose primitive type is another one in the later schema: path, old type, new type."""
    if isinstance(before, str) and isinstance(after, str) and before != after:
        yield path, before, after
    for each, other in twins(before, after):
        if other is not None:
            yield from changed_types(each.type, other.type, f"{path}.{each.name}" if path else each.name)


def renamed_columns(before: StructType, after: StructType) -> list[tuple[str, str]]:
    """The columns, at any depth, with one physical name and two names: the old path and the new one."""
    known = {physical: path for path, physical, _ in all_fields(after)}
    pairs = [(path, known[physical]) for path, physical, _ in all_fields(before) if physical in known]
    return [(".".join(old), ".".join(new)) for old, new in pairs if old[-1] != new[-1]]


def dropped_columns(before: StructType, after: StructType) -> list[str]:
    """The columns, at any depth, whose physical name is not in the later schema."""
    known = {physical for _, physical, _ in all_fields(after)}
    return [".".join(path) for path, physical, _ in all_fields(before) if physical not in known]
