# SPDX-License-Identifier: Apache-2.0
"""Compute the table's schema after a MERGE with schema evolution. Source: delta-spark's `ResolveDeltaMergeInto`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from bayou.protocol.evolution.schema_merge import merge_schemas
from bayou.protocol.features.type_widening import Widening
from bayou.protocol.types.schema import StructType
from bayou.protocol.types.traverse import twins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayou.protocol.evolution.schema_merge import Keeps
    from bayou.protocol.types.schema import StructField

Path = tuple[str, ...]


def evolved_schema(
    table: StructType,
    source: StructType,
    assigned: Iterable[Path],
    *,
    has_star: bool,
    widening: Widening = Widening.NEVER,
    casts: Keeps,
    uri: str | None = None,
    version: int | None = None,
) -> StructType:
    """Return the table's schema after a MERGE with schema evolution.

    A `*` adds all columns of the source, and all fields of its structs. Otherwise an assigned column is added if the source has a
    column with the same path. If types differ, the table's type stays or is widened, provided that Spark casts the values
    automatically.

    Args:
        assigned: the paths of the assigned columns and fields.
        has_star: whether a clause is `UPDATE SET *` or `INSERT *`.
        casts: returns whether Spark casts values of its second argument, a type, to its first one automatically.

    Raises:
        SchemaMismatchError: Spark does not cast the values of a column to its type in the table.
    """
    added = source if has_star else _only(source, [tuple(name.lower() for name in path) for path in assigned])
    if not added.fields:
        return table
    return merge_schemas(table, added, widening=widening, keeps=casts, table_uri=uri, version=version)


def lacks_fields(of_source: StructField, of_table: StructField) -> bool:
    """Return whether a struct of the source lacks a field of the table's struct, at any depth."""
    if not isinstance(of_source.type, StructType) or not isinstance(of_table.type, StructType):
        return False
    return any(twin is None or lacks_fields(twin, field) for field, twin in twins(of_table.type, of_source.type))


def _only(source: StructType, paths: list[Path]) -> StructType:
    """Return a struct with only the fields on some paths, which are in lower case."""
    below: defaultdict[str, list[Path]] = defaultdict(list)
    for path in paths:
        if path:
            below[path[0]].append(path[1:])
    return StructType(
        tuple(found for each in source.fields if (found := _part(each, below.get(each.name.lower(), []))) is not None)
    )


def _part(field: StructField, below: list[Path]) -> StructField | None:
    """Return the part of a field on some paths below it; None if no path leads to it. The path `()` means the whole field."""
    if () in below:
        return field
    if not below or not isinstance(field.type, StructType):
        return None
    inner = _only(field.type, below)
    return replace(field, type=inner) if inner.fields else None
