# SPDX-License-Identifier: Apache-2.0
"""Statistics of new files from their Parquet footers."""

from __future__ import annotations

import decimal
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.arrow.old_calendar import LEAST_SURE, has_old_calendar
from bayou.log.staging.footer_types import states_bounds
from bayou.log.staging.foreign_footers import sure_leaves
from bayou.protocol.stats.file_stats import IndexedLeaf, LeafStatistics, to_json
from bayou.protocol.types.partition_values import is_string_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Self

    from bayou.log.snapshot.statistics_cache import ColumnPath

_FLOATS: Final = ("float", "double")
# How parquet-mr, Spark's writer, names itself in its files. It compares like Java, and a maximum of NaN drops both bounds; its null
# counts include values that are NULL or empty at an outer level, which other writers leave out.
_SPARKS_WRITER: Final = "parquet-mr version "
FOOTERS_AT_ONCE: Final = 1000
"""How many footers are held at a time: each takes a kilobyte per column."""
# Writers that keep the bounds of strings whole. Others truncate them, many at 64 bytes.
_WHOLE_TEXTS: Final = (_SPARKS_WRITER, "parquet-cpp-arrow version ")
_CUT_AT: Final = 64
_FIRST_TO_COUNT_NAN: Final = (1, 10)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)")
_UNIT: Final = re.compile(r'"timeUnit": ?"(milliseconds|microseconds|nanoseconds)"')
_LISTS: Final = (pa.ListType, pa.LargeListType, pa.FixedSizeListType)
_INT64: Final = 1 << 63
# The factor and the divisor that convert a unit to microseconds.
_PER_MICROSECOND: Final[Mapping[str, tuple[int, int]]] = {
    "milliseconds": (1000, 1),
    "microseconds": (1, 1),
    "nanoseconds": (1, 1000),
}


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The row count of a file and its statistics as the log's JSON, according to its footer."""

    num_records: int
    stats: str


def facts_of(footer: pq.FileMetaData, leaves: Sequence[IndexedLeaf], *, tight_bounds: bool | None = None) -> FileFacts:
    """Return the facts that a footer states. `tightBounds` is left out if `tight_bounds` is None."""
    places = _Places.of(footer)
    found = [_leaf(footer, leaf, places) for leaf in leaves]
    return FileFacts(footer.num_rows, to_json(footer.num_rows, found, tight_bounds=tight_bounds))


def stated_statistics(footer: pq.FileMetaData, leaves: Sequence[IndexedLeaf]) -> tuple[list[LeafStatistics], set[ColumnPath]]:
    """Return the statistics of some columns that a footer states reliably, and the columns for which they are incomplete.

    They are incomplete if a bound or the null count is missing, or would be that of another type or column.
    """
    places = _Places.of(footer)
    sure = {leaf.path for leaf in sure_leaves(footer, leaves)}
    found: list[LeafStatistics] = []
    unsure: set[ColumnPath] = set()
    for leaf in leaves:
        if leaf.path not in sure:
            kind = leaf.field.type if isinstance(leaf.field.type, str) else "nested"
            found.append(LeafStatistics(leaf.path, kind, string_prefix=leaf.string_prefix))
            unsure.add(leaf.path)
            continue
        stated, position = _leaf(footer, leaf, places), places.columns.get(".".join(leaf.path))
        if position is not None and leaf.has_bounds and not states_bounds(footer.schema.column(position), str(leaf.field.type)):
            stated = replace(stated, min=None, max=None)
        if _may_be_cut(footer, stated):
            unsure.add(leaf.path)
        has_values = stated.null_count is None or stated.null_count < footer.num_rows
        if stated.null_count is None or (leaf.has_bounds and has_values and stated.min is None):
            unsure.add(leaf.path)
        found.append(stated)
    return found, unsure


def columns_of(footer: pq.FileMetaData) -> pa.Schema:
    """Return a file's columns with the types that Parquet stores, whatever the writer had in memory.

    A dictionary has its values' type, a date has days, and an INT96 is a timestamp in UTC, as Spark reads it.
    """
    physical = (footer.schema.column(position).physical_type for position in range(footer.num_columns))
    return pa.schema([_stored(field, physical) for field in footer.schema.to_arrow_schema()])


def bounds_of(footer: pq.FileMetaData, name: str, kind: str) -> tuple[Any, Any] | None:
    """Return the minimum and maximum of a top-level column of a primitive type; None if unknown."""
    position = _Places.of(footer).columns.get(name)
    if position is None:
        return None
    chunks = _chunks(footer, position)
    return None if any(chunk is None for chunk in chunks) else _bounds_in(footer, chunks, kind)


def _stored(field: pa.Field, physical: Iterator[str]) -> pa.Field:
    return field.with_type(_stored_type(field.type, physical))


def _stored_type(kind: pa.DataType, physical: Iterator[str]) -> pa.DataType:
    """Return the stored type of a column, consuming the physical types of its leaves, which are in the file's order."""
    if isinstance(kind, pa.BaseExtensionType):
        return _stored_type(kind.storage_type, physical)
    if pa.types.is_struct(kind):
        return pa.struct([_stored(field, physical) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(_stored(kind.key_field, physical), _stored(kind.item_field, physical))
    if isinstance(kind, _LISTS):
        return pa.list_(_stored(kind.value_field, physical))
    if next(physical, None) == "INT96":
        return pa.timestamp("us", "UTC")
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.date32() if pa.types.is_date64(kind) else kind


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a file's columns are.

    Attributes:
        columns: the position of each by its dotted path; None if two columns share the path.
        under: the positions of all columns below a dotted path.
        is_plain: whether no name contains a dot, so that a path leads to one column.
    """

    columns: Mapping[str, int | None]
    under: Mapping[str, Sequence[int]]
    is_plain: bool

    @classmethod
    def of(cls, footer: pq.FileMetaData) -> Self:
        columns: dict[str, int | None] = {}
        under: defaultdict[str, list[int]] = defaultdict(list)
        for position in range(footer.num_columns):
            path = footer.schema.column(position).path
            columns[path] = None if path in columns else position
            end = path.rfind(".")
            while end >= 0:
                under[path[:end]].append(position)
                end = path.rfind(".", 0, end)
        return cls(columns, under, not under or not any(map(_has_dot, footer.schema.to_arrow_schema())))


def _has_dot(field: pa.Field) -> bool:
    return "." in field.name or any(_has_dot(field.type.field(number)) for number in range(field.type.num_fields))


def _leaf(footer: pq.FileMetaData, leaf: IndexedLeaf, places: _Places) -> LeafStatistics:
    kind = leaf.field.type if isinstance(leaf.field.type, str) else "nested"
    dotted = ".".join(leaf.path)
    position = places.columns.get(dotted)
    if position is None or kind == "nested":
        return LeafStatistics(leaf.path, kind, null_count=_nulls_of_none(footer, dotted, kind, places))
    chunks = _chunks(footer, position)
    if not chunks or any(chunk is None for chunk in chunks):
        return LeafStatistics(leaf.path, kind, null_count=0 if not chunks else None)
    low, high = (_bounds_in(footer, chunks, kind) if leaf.has_bounds else None) or (None, None)
    return LeafStatistics(leaf.path, kind, low, high, _nulls(chunks), leaf.string_prefix)


def _nulls_of_none(footer: pq.FileMetaData, dotted: str, kind: str, places: _Places) -> int | None:
    """Return in how many rows a column that is not a leaf of the file is NULL; None if unknown.

    A missing column is NULL in all rows. A nested column, such as an array, is NULL in none if no value of a column below it is;
    there, NULL also counts empty arrays. A path that two columns share says nothing about either.
    """
    if kind != "nested":
        return None if dotted in places.columns or dotted in places.under else footer.num_rows
    if not (places.is_plain and _is_sparks(footer)):
        return None
    position = places.columns.get(dotted)  # a legacy array layout
    found = places.under.get(dotted, () if position is None else (position,))
    below = (_chunks(footer, each) for each in found)
    return 0 if any(all(chunk is not None for chunk in chunks) and _nulls(chunks) == 0 for chunks in below) else None


def _chunks(footer: pq.FileMetaData, position: int) -> list[pq.Statistics | None]:
    return [footer.row_group(i).column(position).statistics for i in range(footer.num_row_groups)]


def _nulls(chunks: Sequence[pq.Statistics]) -> int | None:
    return sum(chunk.null_count for chunk in chunks) if all(chunk.has_null_count for chunk in chunks) else None


def _bounds_in(footer: pq.FileMetaData, chunks: Iterable[pq.Statistics], kind: str) -> tuple[Any, Any] | None:
    """Return the minimum and maximum of the values that readers get; None if the footer does not state them."""
    found = _bounds(chunks, kind)
    if found is None or (kind in _FLOATS and not _counts_nan(footer)):
        return None
    least = LEAST_SURE.get(kind)
    return None if least is not None and found[0] < least and has_old_calendar(footer) else found


def _bounds(chunks: Iterable[pq.Statistics], kind: str) -> tuple[Any, Any] | None:
    """Return the minimum and maximum over all row groups; None if a row group with values does not state them."""
    lows, highs = [], []
    for chunk in chunks:
        if chunk.has_min_max:
            lows.append(_value(chunk, kind, is_maximum=False))
            highs.append(_value(chunk, kind, is_maximum=True))
        elif chunk.num_values:
            return None
    known = [value for value in (*lows, *highs) if value is not None]
    if not lows or len(known) < 2 * len(lows) or any(isinstance(v, float) and math.isnan(v) for v in known):
        return None
    return min(lows), max(highs)


def _value(chunk: pq.Statistics, kind: str, *, is_maximum: bool) -> Any:
    """Return a bound as in `protocol.types.partition_values`: dates and timestamps as ints, decimals exact; None if unknown."""
    # Arrow converts bounds to Python dates unless they are read raw, and Python has no dates after the year 9999.
    raw = chunk.max_raw if is_maximum else chunk.min_raw
    if kind == "date":
        return raw
    if kind in ("timestamp", "timestamp_ntz"):
        return _microseconds(chunk, raw, is_maximum=is_maximum)
    if kind.startswith("decimal"):
        scale = int(kind.partition(",")[2].rstrip(")") or 0)
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return decimal.Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
    if is_string_type(kind) and isinstance(raw, bytes):
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
    return chunk.max if is_maximum else chunk.min


def _microseconds(chunk: pq.Statistics, raw: Any, *, is_maximum: bool) -> int | None:
    """Return a timestamp in microseconds, rounded outwards; None if the file does not state its unit."""
    found = _UNIT.search(chunk.logical_type.to_json())
    if found is None or not isinstance(raw, int):
        return None
    times, over = _PER_MICROSECOND[found[1]]
    micros = -(-raw * times // over) if is_maximum else raw * times // over
    return micros if -_INT64 <= micros < _INT64 else None


def _may_be_cut(footer: pq.FileMetaData, stated: LeafStatistics) -> bool:
    """Return whether a string's bound may be truncated, so that the log would truncate the whole value elsewhere."""
    if not is_string_type(stated.type) or (footer.created_by or "").startswith(_WHOLE_TEXTS):
        return False
    bounds = (each for each in (stated.min, stated.max) if each is not None)
    return any(len(each.encode("utf-8")) >= _CUT_AT and len(each) <= stated.string_prefix for each in bounds)


def _is_sparks(footer: pq.FileMetaData) -> bool:
    """Return whether Spark's writer made the file: unlike most writers, its null counts include NULL arrays."""
    return (footer.created_by or "").startswith(_SPARKS_WRITER)


def _counts_nan(footer: pq.FileMetaData) -> bool:
    """Return whether NaN affects a file's bounds: other writers, and Spark's before version 1.10, ignore it."""
    found = _VERSION.match((footer.created_by or "").removeprefix(_SPARKS_WRITER)) if _is_sparks(footer) else None
    return found is not None and (int(found[1]), int(found[2])) >= _FIRST_TO_COUNT_NAN
