# SPDX-License-Identifier: Apache-2.0
"""Statistics of many files as Arrow columns with one row per file, read from JSON strings or from a checkpoint's structs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.statistics.json import exact_integers, read_rows
from bayou.plan.statistics.members import (
    MAX_VALUES,
    MIN_VALUES,
    NULL_COUNT,
    TEXT_PARSERS,
    Path,
    column_members,
    one_array,
    parsed_texts,
)
from bayou.protocol.stats.file_stats import has_bounds, statistics_type
from bayou.protocol.types import partition_values
from bayou.protocol.types.partition_values import is_string_type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.protocol.stats.file_stats import IndexedLeaf
    from bayou.protocol.types.schema import DataType

_MAX_PRECISION = 38


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The statistics of one leaf column; a null in an array means unknown for this file.

    Attributes:
        min: a lower bound of the values that are not NULL; None if no file can have one.
        max: an upper bound as in the log: the maximum of timestamps is truncated to milliseconds, and some writers ignore NaN.
        null_count: the number of rows in which the leaf is NULL.
    """

    min: pa.Array | None = None
    max: pa.Array | None = None
    null_count: pa.Array | None = None


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """The statistics of some files, for the requested columns.

    Guarantees: all arrays have one row per file, in the order of the files. Bounds are int64 for integers, float64 for float and
    double, decimal128(38, scale), date32, timestamp in microseconds (UTC, or without a zone), string.

    Attributes:
        num_records: the number of rows of each file, deleted rows included; null if unknown.
        tight_bounds: whether live rows have the bounds as values and the null counts are exact; true if the log does not state it.
        columns: the statistics of each column, by physical path.
    """

    num_records: pa.Array
    tight_bounds: pa.Array
    columns: Mapping[Path, ColumnStatistics] = field(default_factory=dict)

    def filter(self, mask: pa.Array) -> FileStatistics:
        """Return the statistics of the files for which the mask is true, in the same order."""
        return self._mapped(lambda values: values.filter(mask))

    def lacks(self, leaf: IndexedLeaf) -> pa.Array:
        """Return for each file whether it lacks statistics of a column that COMPUTE STATS can add and that readers use.

        Readers do not use the null counts of arrays and maps. A file without rows, or without a value, has no bounds. The maximum
        of a string is absent if it has no short upper bound. Bounds of floats may be NaN or infinite, which are read as unknown.
        """
        count = len(self.num_records)
        if not isinstance(leaf.field.type, str):
            return pa.repeat(pa.scalar(False), count)
        found = self.columns.get(leaf.path, ColumnStatistics())
        nulls = pa.nulls(count, pa.int64()) if found.null_count is None else found.null_count
        lacking = pc.is_null(nulls)
        if statistics_type(leaf.field) is not None:
            is_float, is_string = leaf.field.type in {"float", "double"}, is_string_type(leaf.field.type)
            bounds = [] if is_float else [found.min] if is_string else [found.min, found.max]
            has_value = pc.fill_null(pc.not_equal(nulls, self.num_records), True)
            for bound in bounds:
                lacking = pc.or_(lacking, has_value if bound is None else pc.and_(has_value, pc.is_null(bound)))
        return pc.and_(lacking, pc.fill_null(pc.not_equal(self.num_records, 0), True))

    def _mapped(self, change: Callable[[pa.Array], pa.Array]) -> FileStatistics:
        def optional(values: pa.Array | None) -> pa.Array | None:
            return None if values is None else change(values)

        columns = {
            path: ColumnStatistics(optional(column.min), optional(column.max), optional(column.null_count))
            for path, column in self.columns.items()
        }
        return FileStatistics(change(self.num_records), change(self.tight_bounds), columns)


def bounds_type(data_type: DataType) -> pa.DataType | None:
    """Return the Arrow type of a leaf's minimum and maximum; None if its type has none."""
    if not isinstance(data_type, str) or not has_bounds(data_type):
        return None
    decimal = partition_values.decimal_type(data_type)
    if decimal is not None:
        return pa.decimal128(_MAX_PRECISION, decimal[1])
    if data_type in partition_values.INTEGER_BITS:
        return pa.int64()
    return _BOUNDS_TYPES.get(data_type, pa.string())


def from_json(stats: pa.ChunkedArray | pa.Array, fields: Mapping[Path, DataType]) -> FileStatistics:
    """Return statistics of some leaf columns from the log's JSON. For null, empty and invalid strings they are unknown."""
    texts = stats if isinstance(stats, pa.ChunkedArray) else pa.chunked_array([stats])
    rows = read_rows(texts, _json_schema(fields))
    return _from_columns(lambda *path: _member(rows, path), len(texts), fields)


def from_struct(stats_parsed: pa.ChunkedArray | pa.Array, fields: Mapping[Path, DataType]) -> FileStatistics:
    """Return statistics from a checkpoint's `stats_parsed`; a column that it lacks is unknown.

    Timestamps in nanoseconds are ignored: Arrow reads INT96 in this unit, in which distant timestamps overflow.
    """
    chunked = stats_parsed if isinstance(stats_parsed, pa.ChunkedArray) else pa.chunked_array([stats_parsed])
    table = pa.table({"stats": chunked})
    return _from_columns(lambda *path: _member(table, ("stats", *path)), len(chunked), fields)


def coalesce(first: FileStatistics, second: FileStatistics) -> FileStatistics:
    """Return the first statistics, with unknown values replaced by those of the second."""

    def merged(left: pa.Array | None, right: pa.Array | None) -> pa.Array | None:
        return right if left is None else left if right is None else pc.coalesce(left, right)

    columns = {}
    for path in {**first.columns, **second.columns}:
        left = first.columns.get(path, ColumnStatistics())
        right = second.columns.get(path, ColumnStatistics())
        columns[path] = ColumnStatistics(
            merged(left.min, right.min), merged(left.max, right.max), merged(left.null_count, right.null_count)
        )
    # True may mean "not stated", so a false on either side counts.
    tight = pc.and_(first.tight_bounds, second.tight_bounds)
    return FileStatistics(pc.coalesce(first.num_records, second.num_records), tight, columns)


def concat(parts: Sequence[FileStatistics]) -> FileStatistics:
    """Return the statistics of several groups of files, in order; a column that a group lacks is unknown for its files."""
    columns = {path: column for part in parts for path, column in part.columns.items()}
    return FileStatistics(
        _concatenated([part.num_records for part in parts], pa.int64()),
        _concatenated([part.tight_bounds for part in parts], pa.bool_()),
        {path: _concat_column(parts, path) for path in columns},
    )


def _concat_column(parts: Sequence[FileStatistics], path: Path) -> ColumnStatistics:
    def joined(name: str) -> pa.Array | None:
        pieces = [getattr(part.columns.get(path), name, None) for part in parts]
        example = next((piece for piece in pieces if piece is not None), None)
        if example is None:
            return None
        sizes = [len(part.num_records) for part in parts]
        filled = (pa.nulls(size, example.type) if piece is None else piece for piece, size in zip(pieces, sizes, strict=True))
        return pa.concat_arrays(list(filled))

    return ColumnStatistics(joined("min"), joined("max"), joined("null_count"))


def _concatenated(arrays: list[pa.Array], target: pa.DataType) -> pa.Array:
    return pa.concat_arrays(arrays) if arrays else pa.array([], target)


_BOUNDS_TYPES = {
    "float": pa.float64(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def _json_schema(fields: Mapping[Path, DataType]) -> pa.Schema:
    targets = {path: bounds_type(data_type) for path, data_type in fields.items()}
    bounds = {path: pa.string() if each in TEXT_PARSERS else each for path, each in targets.items() if each is not None}
    return pa.schema([("numRecords", pa.int64()), ("tightBounds", pa.bool_()), *column_members(bounds, fields)])


def _member(table: pa.Table, path: Path) -> pa.Array | None:
    """Return a nested member as one array, with null if a parent is null; None if the member does not exist."""
    if path[0] not in table.column_names:
        return None
    values: pa.Array = one_array(table[path[0]])
    for name in path[1:]:
        if not pa.types.is_struct(values.type) or values.type.get_field_index(name) < 0:
            return None
        values = pc.struct_field(values, [values.type.get_field_index(name)])
    return values


def _from_columns(member: Callable[..., pa.Array | None], size: int, fields: Mapping[Path, DataType]) -> FileStatistics:
    columns = {}
    for path, data_type in fields.items():
        target = bounds_type(data_type)
        low, high = (
            None if target is None else _bound(member(side, *path), target, data_type, size) for side in (MIN_VALUES, MAX_VALUES)
        )
        columns[path] = ColumnStatistics(low, high, _null_count(member(NULL_COUNT, *path), data_type, size))
    num_records = _cast(member("numRecords"), pa.int64(), size)
    tight = pc.fill_null(_cast(member("tightBounds"), pa.bool_(), size), True)
    return FileStatistics(num_records, tight, columns)


def _bound(values: pa.Array | None, target: pa.DataType, data_type: DataType, size: int) -> pa.Array:
    if values is not None and pa.types.is_string(values.type) and target in TEXT_PARSERS:
        return parsed_texts(values, target)
    if values is not None and pa.types.is_timestamp(values.type) and values.type.unit == "ns":
        values = None
    return _as_written(_cast(values, target, size), data_type)


def _as_written(bound: pa.Array, data_type: DataType) -> pa.Array:
    """Round the bound of a FLOAT column to a float: the shortest digits of a float, read as a double, are another number."""
    return bound.cast(pa.float32(), safe=False).cast(pa.float64()) if data_type == "float" else bound


def _null_count(values: pa.Array | None, data_type: DataType, size: int) -> pa.Array:
    counts = _cast(values, pa.int64(), size)
    if isinstance(data_type, str):
        return counts
    # For arrays and maps, some writers copy the null counts of footers, which count elements instead of rows. Only zero is
    # reliable.
    return pc.if_else(pc.equal(counts, 0), counts, None)


def _cast(values: pa.Array | None, target: pa.DataType, size: int) -> pa.Array:
    if values is None:
        return pa.nulls(size, target)
    try:
        return (exact_integers(values) if pa.types.is_integer(target) else values).cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(size, target)
