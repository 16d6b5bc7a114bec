# SPDX-License-Identifier: Apache-2.0
"""File actions as Arrow columns: their names and types, and their conversion from JSON objects.

A column has the name of PROTOCOL.md's field in snake case. One row is one action.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from bayou.protocol.deletion_vectors.descriptor import REQUIRED, incomplete_descriptor

TEXT_MAP: Final = pa.map_(pa.string(), pa.string())

DELETION_VECTOR: Final = pa.struct(
    [
        ("storage_type", pa.string()),
        ("path_or_inline_dv", pa.string()),
        ("offset", pa.int32()),
        ("size_in_bytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)

ADD_SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("partition_values", TEXT_MAP),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("data_change", pa.bool_()),
        ("stats", pa.string()),
        ("tags", TEXT_MAP),
        ("deletion_vector", DELETION_VECTOR),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("clustering_provider", pa.string()),
    ]
)
"""The columns of `add` actions, and of `Snapshot.files()`."""

REMOVE_SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("deletion_timestamp", pa.int64()),
        ("data_change", pa.bool_()),
        ("extended_file_metadata", pa.bool_()),
        ("partition_values", TEXT_MAP),
        ("size", pa.int64()),
        ("deletion_vector", DELETION_VECTOR),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
    ]
)
"""The columns of `remove` actions, and of `Snapshot.tombstones()`."""

JSON_NAMES: Final[Mapping[str, str]] = {
    "path": "path",
    "partition_values": "partitionValues",
    "size": "size",
    "modification_time": "modificationTime",
    "data_change": "dataChange",
    "stats": "stats",
    "tags": "tags",
    "deletion_vector": "deletionVector",
    "base_row_id": "baseRowId",
    "default_row_commit_version": "defaultRowCommitVersion",
    "clustering_provider": "clusteringProvider",
    "deletion_timestamp": "deletionTimestamp",
    "extended_file_metadata": "extendedFileMetadata",
}
"""The JSON field of each column."""

VECTOR_JSON_NAMES: Final[Mapping[str, str]] = {
    "storage_type": "storageType",
    "path_or_inline_dv": "pathOrInlineDv",
    "offset": "offset",
    "size_in_bytes": "sizeInBytes",
    "cardinality": "cardinality",
}
"""The JSON field of each field of the deletion vector struct."""


BROKEN_ACTION: Final = (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError)
"""The errors of `actions_table` for an action that cannot become a row."""


def actions_table(actions: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Build the columns of actions of one kind, one column at a time.

    Raises:
        BROKEN_ACTION: a field has a wrong type, the path is missing, or a deletion vector lacks a field (DeletionVectorError).
    """
    table = pa.Table.from_arrays([_column(actions, each) for each in schema], schema=schema)
    if table["path"].null_count:
        msg = "it has no path"
        raise ValueError(msg)
    return table


def to_objects(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as JSON-like objects: structs and maps are dictionaries."""
    return [_plain(value, column.type) for value in column.to_pylist()]


def _plain(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {key: _plain(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {each.name: _plain(value[each.name], each.type) for each in kind}
    return value


def _column(actions: Sequence[Mapping[str, Any]], wanted: pa.Field) -> pa.Array:
    name = JSON_NAMES[wanted.name]
    values = [action.get(name) for action in actions]
    if wanted.type == TEXT_MAP:
        return _text_map(values)
    if wanted.type == DELETION_VECTOR:
        return _vectors(values)
    return _typed(values, wanted.type)


_PLAIN_INTEGERS: Final = frozenset({int, type(None)})


def _typed(values: list[Any], wanted: pa.DataType) -> pa.Array:
    # Arrow accepts true and 1.5 as 1; an action with such a value is broken.
    if pa.types.is_integer(wanted) and not _PLAIN_INTEGERS.issuperset(map(type, values)) and any(map(_is_odd_integer, values)):
        msg = "a number is not an integer"
        raise TypeError(msg)
    return pa.array(values, wanted)


def _is_odd_integer(value: object) -> bool:
    return isinstance(value, bool) or (isinstance(value, float) and not value.is_integer())


def _text_map(values: list[Any]) -> pa.Array:
    keys: list[str] = []
    items: list[str | None] = []
    offsets: list[int | None] = []
    for value in values:
        # A null offset makes the map null.
        offsets.append(None if value is None else len(keys))
        if value:
            keys.extend(value)
            items.extend(value.values())
    offsets.append(len(keys))
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(keys, pa.string()), _texts(items))


def _texts(items: list[Any]) -> pa.Array:
    try:
        return pa.array(items, pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        # Some writers put bare numbers and booleans where the protocol asks for strings.
        return pa.array([_as_text(item) for item in items], pa.string())


def _as_text(item: object) -> str | None:
    if item is None or isinstance(item, str):
        return item
    if isinstance(item, (dict, list)):
        msg = "a map value is not a string"
        raise TypeError(msg)
    return str(item).lower() if isinstance(item, bool) else str(item)


def _vectors(values: list[Any]) -> pa.Array:
    present = [value for value in values if value is not None]
    if not present:
        return pa.nulls(len(values), DELETION_VECTOR)
    fields = [
        _typed([None if value is None else value.get(VECTOR_JSON_NAMES[each.name]) for value in values], each.type)
        for each in DELETION_VECTOR
    ]
    missing = {name for value in present for name in REQUIRED if value.get(name) is None}
    if missing:
        raise incomplete_descriptor(missing)
    mask = pa.array([value is None for value in values])
    return pa.StructArray.from_arrays(fields, fields=list(DELETION_VECTOR), mask=mask)
