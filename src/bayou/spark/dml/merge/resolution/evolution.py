# SPDX-License-Identifier: Apache-2.0
"""Schema evolution in MERGE: the columns of the source that the table gets. Source: delta-spark's `ResolveDeltaMergeInto`."""

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

    A `*` adds all columns of the source, also those in structs. Otherwise assigned columns are added if the source has a column of
    the same path. If types differ, the table's type stays or is widened, provided that Spark casts the values automatically.

    Args:
        has_star: whether a clause is `UPDATE SET *` or `INSERT *`.
        casts: whether values are cast to the first of two types from the second.

    Raises:
        SchemaMismatchError: Spark does not cast the values of a column to its type in the table.
    """
    given = source if has_star else _only(source, [tuple(name.lower() for name in path) for path in assigned])
    if not given.fields:
        return table
    return merge_schemas(table, given, widening=widening, keeps=casts, table_uri=uri, version=version)


def lacks_fields(given: StructField, field: StructField) -> bool:
    """Return whether a struct of the source lacks fields that the table's has, at some depth."""
    if not isinstance(given.type, StructType) or not isinstance(field.type, StructType):
        return False
    return any(found is None or lacks_fields(found, inner) for inner, found in twins(field.type, given.type))


def _only(source: StructType, paths: list[Path]) -> StructType:
    """Return the fields of the source on some paths."""
    below: defaultdict[str, list[Path]] = defaultdict(list)
    for path in paths:
        if path:
            below[path[0]].append(path[1:])
    return StructType(
        tuple(found for each in source.fields if (found := _part(each, below.get(each.name.lower(), []))) is not None)
    )


def _part(field: StructField, below: list[Path]) -> StructField | None:
    """Return the part of a field on some paths below it, or None."""
    if () in below:
        return field
    if not below or not isinstance(field.type, StructType):
        return None
    inner = _only(field.type, below)
    return replace(field, type=inner) if inner.fields else None
