# SPDX-License-Identifier: Apache-2.0
"""Schema evolution in MERGE: which columns of the source become the table's. Source: delta-spark's `ResolveDeltaMergeInto`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayou.protocol.schema import StructType
from bayou.protocol.schema_merge import merge_schemas
from bayou.protocol.type_widening import Widening

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayou.protocol.schema import StructField

Path = tuple[str, ...]


def evolved_schema(
    table: StructType,
    source: StructType,
    assigned: Iterable[Path],
    *,
    has_star: bool,
    widening: Widening = Widening.NEVER,
    uri: str | None = None,
    version: int | None = None,
) -> StructType:
    """The table's schema after a MERGE that may change it.

    With a `*` all columns of the source are taken in, those inside of structs too; else those that are assigned by name,
    where the source has a column of the same path. Where types differ the table's stays, unless it is widened.

    Args:
        table: the table's schema.
        source: the source's schema.
        assigned: the paths that clauses assign to.
        has_star: whether there is an `UPDATE SET *` or an `INSERT *`.
        widening: which types may be widened.
        uri: the table's URI, for errors.
        version: its version, for errors.
    """
    given = source if has_star else _only(source, [tuple(name.lower() for name in path) for path in assigned])
    if not given.fields:
        return table
    return merge_schemas(table, given, widening=widening, keep_existing_type=True, table_uri=uri, version=version)


def _only(source: StructType, paths: list[Path]) -> StructType:
    """What the source has of some paths."""
    return StructType(tuple(found for each in source.fields if (found := _part(each, paths)) is not None))


def _part(field: StructField, paths: list[Path]) -> StructField | None:
    own = [path for path in paths if path and path[0] == field.name.lower()]
    if any(len(path) == 1 for path in own):
        return field
    if not own or not isinstance(field.type, StructType):
        return None
    inner = _only(field.type, [path[1:] for path in own])
    return replace(field, type=inner) if inner.fields else None
