# SPDX-License-Identifier: Apache-2.0
"""Find and replace the type at a path in a schema.

A path leads through an array by `element` and through a map by `key` and `value`. Names are case-insensitive.
Source: delta-spark's `SchemaUtils.findColumnPosition`, whose error classes these are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bayou.errors import DeltaError, failed
from bayou.protocol.types.char_varchar import type_text
from bayou.protocol.types.schema import ArrayType, DataType, MapType, StructType
from bayou.protocol.types.traverse import parts, with_parts, with_type

Path: TypeAlias = Sequence[str]
"""The logical names that lead to a column or a nested field."""


@dataclass(frozen=True, slots=True)
class TableRules:
    """The facts about a table that decide which changes of its schema are allowed.

    Attributes:
        table_uri: the table's path or URI, for errors.
        version: its version, for errors.
        column_mapping: whether it uses column mapping, so that columns can be renamed and dropped.
        type_widening: whether it enables type widening.
        change_data_feed: whether it enables the change data feed.
        partition_columns: its partition columns.
        clustering_columns: the logical paths of its clustering columns.
    """

    table_uri: str | None = None
    version: int | None = None
    column_mapping: bool = False
    type_widening: bool = False
    change_data_feed: bool = False
    partition_columns: tuple[str, ...] = ()
    clustering_columns: tuple[tuple[str, ...], ...] = ()


def first_conflict(paths: Sequence[Path]) -> tuple[int, int] | None:
    """Return the positions of the first two paths that are equal, or of which one is a prefix of the other, or None.

    The time is linear, since a statement may set thousands of columns.

    Args:
        paths: the paths, all in lower case.
    """
    whole: dict[tuple[str, ...], int] = {}
    parts: dict[tuple[str, ...], int] = {}
    for number, path in enumerate(map(tuple, paths)):
        above = [path[:depth] for depth in range(1, len(path) + 1)]
        earlier = [found for each in above if (found := whole.get(each)) is not None]
        if path in parts:
            earlier.append(parts[path])
        if earlier:
            return min(earlier), number
        whole[path] = number
        for each in above:
            parts.setdefault(each, number)
    return None


def type_at(schema: StructType, path: Path, rules: TableRules) -> DataType:
    """Return the type at a path, or the schema for an empty path. Raise InvalidSchemaError if the path does not exist."""
    kind: DataType = schema
    for depth, name in enumerate(path):
        kind = _child(kind, name, path[:depth], rules)
    return kind


def edit_at(schema: StructType, path: Path, change: Callable[[DataType], DataType], rules: TableRules) -> StructType:
    """Return the schema with another type at a path. Raise InvalidSchemaError if the path does not exist.

    Args:
        path: the path; empty for the schema itself.
        change: returns the new type for the old one; a struct for an empty path.
    """
    edited = _edited(schema, tuple(path), (), change, rules)
    if not isinstance(edited, StructType):
        raise TypeError
    return edited


def column_not_found(path: Path, schema: StructType, rules: TableRules) -> DeltaError:
    """Return the error for a column that a struct does not have."""
    return failed("DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", at=rules, column=dotted(path), known=schema.names)


def dotted(path: Path) -> str:
    """Return a path for messages."""
    return ".".join(path)


def _edited(
    kind: DataType, rest: tuple[str, ...], walked: tuple[str, ...], change: Callable[[DataType], DataType], rules: TableRules
) -> DataType:
    if not rest:
        return change(kind)
    name = rest[0]
    child = _edited(_child(kind, name, walked, rules), rest[1:], (*walked, name), change, rules)
    return with_parts(kind, (with_type(each, child) if each.name.lower() == name.lower() else each for each in parts(kind)))


def _child(kind: DataType, name: str, walked: Path, rules: TableRules) -> DataType:
    column, lower = dotted(walked), name.lower()
    match kind:
        case StructType():
            field = kind.field(name)
            if field is None:
                raise column_not_found((*walked, name), kind, rules)
            return field.type
        case ArrayType(element, _) if lower == "element":
            return element
        case MapType(key, value, _) if lower in {"key", "value"}:
            return key if lower == "key" else value
        case ArrayType():
            raise failed("DELTA_INCORRECT_ARRAY_ACCESS_BY_NAME", at=rules, column=column, name=name)
        case MapType():
            raise failed("DELTA_FOUND_MAP_TYPE_COLUMN", at=rules, column=column, name=name)
        case _:
            raise failed("DELTA_COLUMN_PATH_NOT_NESTED", at=rules, column=column, name=name, type=type_text(kind))
