# SPDX-License-Identifier: Apache-2.0
"""The statistics of a data file: which columns have them, and their JSON in the log.

Sources: PROTOCOL.md, "Per-file Statistics"; delta-spark's `StatisticsCollection` and, for truncated bounds,
`StatsCollectionUtils`.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayou.errors import failed
from bayou.protocol import properties
from bayou.protocol.types import instants, partition_values
from bayou.protocol.types.schema import VOID_TYPES, ArrayType, MapType, StructField
from bayou.protocol.types.traverse import all_fields, leaves, parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from bayou.protocol.types.schema import DataType, StructType

COLLATIONS = "__COLLATIONS"
"""The metadata of a field whose strings have a collation, which orders them differently than their bytes."""

NUM_INDEXED_COLUMNS = "delta.dataSkippingNumIndexedCols"
STATS_COLUMNS = "delta.dataSkippingStatsColumns"

# The default of `delta.dataSkippingNumIndexedCols`; -1 means all.
DEFAULT_INDEXED_COLUMNS = 32
DEFAULT_STRING_PREFIX_LENGTH = properties.STRING_PREFIX_LENGTH.default

_ALL_COLUMNS = -1
_BOUNDED_TYPES = frozenset({*partition_values.INTEGER_BITS, "float", "double", "date", "timestamp", "timestamp_ntz"})
# A type that has null counts but no bounds.
_UNBOUNDED_TYPE = "binary"
# The metadata of a field whose type was widened, with the types that it had.
_TYPE_CHANGES = "delta.typeChanges"
_ASCII_MAX = "\x7f"
_UNICODE_MAX = "\U0010ffff"
_MILLISECOND_DIGITS = 3
# Within backticks a double backtick is a single one.
_QUOTED_NAME = re.compile(r"\s*`((?:[^`]|``)*)`\s*")
_PLAIN_NAME = re.compile(r"(?!\s*`)[^.,]*")


@dataclass(frozen=True, slots=True)
class IndexedLeaf:
    """A leaf column that gets statistics.

    Attributes:
        logical_path: the names as users see them, from the top-level column down.
        path: the physical names, which key the statistics.
        field: the leaf itself.
        has_bounds: whether it gets a minimum and a maximum, in addition to the null count.
        string_prefix: the number of code points that bounds of strings keep.
    """

    logical_path: tuple[str, ...]
    path: tuple[str, ...]
    field: StructField
    has_bounds: bool
    string_prefix: int = DEFAULT_STRING_PREFIX_LENGTH


@dataclass(frozen=True, slots=True)
class LeafStatistics:
    """The statistics of a leaf column of a file.

    Attributes:
        path: the physical names.
        type: the leaf's primitive type, as in the schema's JSON; any other string for an array or a map.
        min: the least value that is not NULL, as in `partition_values`; None if all are NULL or it is not known.
        max: the greatest value; NaN is greater than any other.
        null_count: the number of rows in which the leaf is NULL; None if it is not known.
        string_prefix: the number of code points that bounds of strings keep.
    """

    path: tuple[str, ...]
    type: str
    min: Any = None
    max: Any = None
    null_count: int | None = None
    string_prefix: int = DEFAULT_STRING_PREFIX_LENGTH


def statistics_type(field: StructField) -> str | None:
    """Return the type by which a leaf's bounds are compared, or None if they must not be used.

    Booleans and binary have no bounds. A collation orders strings differently than their bytes. After a float is widened to
    double, the digits in old statistics are another number.
    """
    return field.type if isinstance(field.type, str) and gets_bounds(field) and not _was_float(field) else None


def is_collated(field: StructField) -> bool:
    """Whether a leaf's strings have a collation."""
    is_named = isinstance(field.type, str) and "collate" in field.type.lower()
    return is_named or bool(field.metadata.get(COLLATIONS))


def collated_fields(data_type: DataType) -> Iterator[StructField]:
    """Return the fields at every depth whose strings have a collation, also in elements, keys and values."""
    return (field for _, _, field in all_fields(data_type) if is_collated(field) or _names_collation(field.type))


def _names_collation(data_type: DataType) -> bool:
    if isinstance(data_type, str):
        return "collate" in data_type.lower()
    return isinstance(data_type, ArrayType | MapType) and any(_names_collation(each.type) for each in parts(data_type))


def has_bounds(data_type: str) -> bool:
    """Whether a primitive type has a minimum and a maximum in statistics."""
    if data_type in _BOUNDED_TYPES or partition_values.decimal_type(data_type) is not None:
        return True
    return partition_values.is_string_type(data_type) and "collate" not in data_type.lower()


def gets_bounds(field: StructField) -> bool:
    """Whether a column has a minimum and a maximum in statistics."""
    return isinstance(field.type, str) and has_bounds(field.type) and not is_collated(field)


def skipping_types(schema: StructType) -> dict[tuple[str, ...], DataType]:
    """Return the type with which to read the statistics of each leaf, by physical path.

    If the bounds of a leaf must not be used, it is a type without bounds, so that only null counts are read.
    """
    return {
        physical: field.type if not isinstance(field.type, str) else statistics_type(field) or _UNBOUNDED_TYPE
        for _, physical, field in leaves(schema)
    }


def indexed_leaves(
    schema: StructType, configuration: Mapping[str, str], partition_columns: Iterable[str] = ()
) -> tuple[IndexedLeaf, ...]:
    """Return the leaf columns of a table that get statistics, in schema order.

    These are the columns in `delta.dataSkippingStatsColumns`, where a struct means all its leaves; or, if it is not set, the first
    `delta.dataSkippingNumIndexedCols` leaves, 32 by default. Partition columns are left out and do not count.

    Raises:
        InvalidOptionError: one of the two properties is not valid.
    """
    partitions = {name.lower() for name in partition_columns}
    prefix = properties.STRING_PREFIX_LENGTH.read(configuration)
    candidates = [
        IndexedLeaf(logical, physical, field, gets_bounds(field), prefix)
        for logical, physical, field in leaves(schema)
        if logical[0].lower() not in partitions and field.type not in VOID_TYPES
    ]
    named = configuration.get(STATS_COLUMNS)
    if named is not None:
        chosen = [tuple(part.lower() for part in path) for path in parse_column_list(named)]
        lower = ((leaf, tuple(part.lower() for part in leaf.logical_path)) for leaf in candidates)
        return tuple(leaf for leaf, found in lower if any(found[: len(path)] == path for path in chosen))
    limit = _indexed_limit(configuration)
    return tuple(candidates if limit == _ALL_COLUMNS else candidates[:limit])


def parse_column_list(text: str) -> list[tuple[str, ...]]:
    """Parse a comma-separated list of columns: names with dots between them, which may be in backticks.

    Raise InvalidOptionError if a backtick is not closed, or a name is empty.
    """
    paths: list[tuple[str, ...]] = []
    names: list[str] = []
    for name, separator in _names(text):
        names.append(name)
        if separator != ".":
            paths.append(tuple(names))
            names = []
    return paths


def truncate_minimum(text: str, length: int = DEFAULT_STRING_PREFIX_LENGTH) -> str:
    """Return a prefix of a string, which is a lower bound for it."""
    return text[:length]


def truncate_maximum(text: str, length: int = DEFAULT_STRING_PREFIX_LENGTH) -> str | None:
    """Return an upper bound for a string: a prefix with a greater character after it; None if no short one exists.

    U+10FFFF is the greatest code point, so the prefix is extended over it, up to twice its length.
    """
    if len(text) <= length:
        return text
    if not length:
        return None  # a bound without a prefix excludes almost nothing
    for end in range(length, 2 * length + 1):
        if end >= len(text):
            return text
        if text[end] < _ASCII_MAX:
            return text[:end] + _ASCII_MAX
        if text[end] < _UNICODE_MAX:
            return text[:end] + _UNICODE_MAX
    return None


def to_json(num_records: int, leaf_statistics: Iterable[LeafStatistics], *, tight_bounds: bool | None = None) -> str:
    """Return the statistics of a file as JSON for the log.

    Bounds are truncated: strings to a prefix, timestamps to milliseconds (a reader adds one to the maximum). Unknown values are
    left out. Negative zero is written as zero, which equals it.

    Args:
        num_records: the number of rows in the file, including deleted ones.
        leaf_statistics: the statistics of leaf columns, in the order to write.
        tight_bounds: whether bounds and counts exclude deleted rows; None leaves the field out.
    """
    minimums: dict[str, Any] = {}
    maximums: dict[str, Any] = {}
    null_counts: dict[str, Any] = {}
    for leaf in leaf_statistics:
        if has_bounds(leaf.type):
            _put(minimums, leaf.path, _bound(leaf.min, leaf, is_maximum=False))
            _put(maximums, leaf.path, _bound(leaf.max, leaf, is_maximum=True))
        _put(null_counts, leaf.path, None if leaf.null_count is None else str(leaf.null_count))
    members = [
        f'"numRecords":{num_records}',
        f'"minValues":{_object(minimums)}',
        f'"maxValues":{_object(maximums)}',
        f'"nullCount":{_object(null_counts)}',
    ]
    if tight_bounds is not None:
        members.append(f'"tightBounds":{"true" if tight_bounds else "false"}')
    return "{" + ",".join(members) + "}"


def _was_float(field: StructField) -> bool:
    changes = field.metadata.get(_TYPE_CHANGES)
    return isinstance(changes, list) and any(isinstance(change, dict) and change.get("fromType") == "float" for change in changes)


def _indexed_limit(configuration: Mapping[str, str]) -> int:
    text = configuration.get(NUM_INDEXED_COLUMNS)
    if text is None:
        return DEFAULT_INDEXED_COLUMNS
    try:
        limit = int(text)
    except ValueError:
        limit = _ALL_COLUMNS - 1
    if limit < _ALL_COLUMNS:
        raise failed("DELTA_ILLEGAL_OPTION/indexed-columns", option=NUM_INDEXED_COLUMNS, value=text)
    return limit


def _names(text: str) -> Iterator[tuple[str, str]]:
    """Yield each name of a column list with the separator after it: a dot, a comma, or an empty string at the end."""
    position = 0 if text.strip() else len(text) + 1
    while position <= len(text):
        quoted = _QUOTED_NAME.match(text, position)
        found = quoted or _PLAIN_NAME.match(text, position)
        name = "" if found is None else quoted[1].replace("``", "`") if quoted else found[0].strip()
        position = len(text) if found is None else found.end()
        separator = text[position : position + 1]
        if not name or separator not in {".", ",", ""}:
            raise failed("DELTA_ILLEGAL_OPTION/column-list", value=text)
        yield name, separator
        position += 1


def _bound(value: Any, leaf: LeafStatistics, *, is_maximum: bool) -> str | None:
    """Return a bound as JSON. Decimals and longs are not converted to a float, which would round them."""
    if value is None:
        return None
    data_type = leaf.type
    if partition_values.is_string_type(data_type):
        text = (truncate_maximum if is_maximum else truncate_minimum)(value, leaf.string_prefix)
        return None if text is None else json.dumps(text, ensure_ascii=False)
    if data_type in {"float", "double"}:
        return _float(value, data_type)
    decimal = partition_values.decimal_type(data_type)
    if decimal is not None:
        return partition_values.format_decimal(value, decimal[1])
    instant = _instant(value, data_type)
    return str(int(value)) if instant is None else f'"{instant}"'


def _instant(value: int, data_type: str) -> str | None:
    if data_type == "date":
        return instants.format_date(value)
    if data_type not in {"timestamp", "timestamp_ntz"}:
        return None
    text = instants.format_timestamp(value, fraction_digits=_MILLISECOND_DIGITS)
    return f"{text}Z" if data_type == "timestamp" else text


def _float(value: float, data_type: str) -> str:
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    return "0.0" if value == 0 else partition_values.shortest_digits(value, data_type)


def _put(tree: dict[str, Any], path: Sequence[str], text: str | None) -> None:
    if text is None:
        return
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = text


def _object(tree: Mapping[str, Any]) -> str:
    members = (
        f"{json.dumps(name, ensure_ascii=False)}:{_object(value) if isinstance(value, dict) else value}"
        for name, value in tree.items()
    )
    return "{" + ",".join(members) + "}"
