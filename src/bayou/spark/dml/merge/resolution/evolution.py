# SPDX-License-Identifier: Apache-2.0
"""Schema evolution in MERGE: which columns of the source become the table's. Source: delta-spark's `ResolveDeltaMergeInto`."""

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
    """The table's schema after a MERGE that may change it.

    With a `*` all columns of the source are taken in, those inside of structs too; else those that are assigned by name,
    where the source has a column of the same path. Where types differ the table's stays, unless it is widened, for values that
    Spark casts to it by itself.

    Args:
        has_star: whether there is an `UPDATE SET *` or an `INSERT *`.
        casts: whether values are cast to the first of two types from the second.

    Raises:
        SchemaMismatchError: values of a column of the source are not cast to its type in the table.
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
    """What the source has of some paths."""
    below: defaultdict[str, list[Path]] = defaultdict(list)
    for path in paths:
        if path:
            below[path[0]].append(path[1:])
    return StructType(
        tuple(found for each in source.fields if (found := _part(each, below.get(each.name.lower(), []))) is not None)
    )


def _part(field: StructField, below: list[Path]) -> StructField | None:
    """What a field has of some paths that lead on from it."""
    if () in below:
        return field
    if not below or not isinstance(field.type, StructType):
        return None
    inner = _only(field.type, below)
    return replace(field, type=inner) if inner.fields else None
