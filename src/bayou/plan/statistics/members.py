# SPDX-License-Identifier: Apache-2.0
"""The members of statistics that have one value per column (`minValues`, `maxValues`, `nullCount`): Arrow types and parsers.

Source: PROTOCOL.md, "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

import pyarrow as pa

from bayou.plan.predicates.partition_values import parse_distinct
from bayou.protocol.types import instants

Path: TypeAlias = tuple[str, ...]

MIN_VALUES: Final = "minValues"
MAX_VALUES: Final = "maxValues"
NULL_COUNT: Final = "nullCount"

TEXT_PARSERS: Final[Mapping[pa.DataType, Callable[[str], int | None]]] = {
    pa.date32(): instants.parse_date,
    # A timestamp without a zone may be in any zone, so that it is not a bound.
    pa.timestamp("us", "UTC"): lambda text: instants.parse_timestamp(text, None),
    pa.timestamp("us"): instants.parse_timestamp_ntz,
}
"""The parsers for types whose bounds are strings in JSON: each returns Arrow's number, or None if the string is invalid."""


def column_members(bounds: Mapping[Path, pa.DataType], counted: Iterable[Path]) -> list[tuple[str, pa.DataType]]:
    """Return the names and struct types of the members for some columns; a member without columns is left out.

    Args:
        bounds: the type of the minimum and maximum of each column with bounds.
        counted: the columns with null counts.
    """
    counts = dict.fromkeys(counted, pa.int64())
    members = [(MIN_VALUES, bounds), (MAX_VALUES, bounds), (NULL_COUNT, counts)]
    return [(name, _struct(leaves)) for name, leaves in members if leaves]


def parsed_texts(texts: pa.Array, target: pa.DataType) -> pa.Array:
    """Parse strings to a type of `TEXT_PARSERS`; an invalid string becomes null."""
    try:
        return texts.cast(target)
    except pa.ArrowInvalid:
        return parse_distinct(texts, target, TEXT_PARSERS[target])


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without a copy if it is one already."""
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([*column.chunks, pa.array([], column.type)])


def _struct(leaves: Mapping[Path, pa.DataType]) -> pa.StructType:
    tree: dict[str, object] = {}
    for path, leaf in leaves.items():
        _put(tree, path, leaf)
    return _struct_of(tree)


def _put(tree: dict[str, object], path: Path, leaf: pa.DataType) -> None:
    for name in path[:-1]:
        child = tree.setdefault(name, {})
        if not isinstance(child, dict):
            return
        tree = child
    tree.setdefault(path[-1], leaf)


def _struct_of(tree: Mapping[str, object]) -> pa.StructType:
    return pa.struct([(name, _struct_of(child) if isinstance(child, dict) else child) for name, child in tree.items()])
