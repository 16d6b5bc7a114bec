# SPDX-License-Identifier: Apache-2.0
"""Answers from the log without reading a data file: counts, minima and maxima, the files that a LIMIT needs.

Each function answers only if the answer is exact, and otherwise returns None.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates.exact import plain
from bayou.plan.predicates.partition_values import arrow_type
from bayou.plan.statistics.columns import ColumnStatistics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.plan.statistics.columns import FileStatistics
    from bayou.plan.statistics.members import Path

Extreme: TypeAlias = Literal["min", "max"]


def count_from_log(num_records: pa.Array, deleted: pa.Array) -> int | None:
    """Return the number of live rows of some files; None if the row count of a file is unknown.

    `num_records` includes deleted rows; `deleted` is the cardinality of each file's deletion vector, or null.
    """
    live = _live_rows(num_records, deleted)
    if live.null_count:
        return None
    total: int | None = pc.sum(live, min_count=0).as_py()
    return total


def min_max_from_log(
    which: Extreme,
    path: Path,
    data_type: str,
    statistics: FileStatistics,
    partitions: Mapping[Path, pa.Array],
    deleted: pa.Array,
) -> pa.Scalar | None:
    """Return the minimum or maximum of a column over all live rows; None if the log does not prove it.

    Partition columns: a value counts if its file has a live row. Other columns: integers and dates, if every bound is tight, no row
    is deleted, and each file has a bound or only NULLs; bounds of strings, timestamps and decimals can be truncated or rounded.
    Floats are left to the scan, which handles NaN, and so are dates that Python cannot hold.

    Args:
        data_type: its primitive type, as in the schema's JSON.
        statistics: of all the files, with the column if it is not a partition column.
        deleted: the cardinality of each file's deletion vector; null or zero without one.

    Returns:
        A scalar of the type that Spark exchanges with Arrow, null if no row has a value.
    """
    values = partitions.get(path)
    if values is not None:
        found = _partition_values(values, statistics.num_records, deleted)
    else:
        found = _proved_bounds(which, path, statistics, deleted)
    if found is None:
        return None
    extreme = pc.min(found) if which == "min" else pc.max(found)
    return _readable(extreme.cast(arrow_type(data_type)))


def take_until(num_records: pa.Array, deleted: pa.Array, limit: int) -> pa.Array | None:
    """Return the positions of as many files as hold `limit` live rows; None if the log does not prove so many.

    The files keep their order. Empty files and files with an unknown row count are skipped. The arguments are as in
    `count_from_log`.
    """
    live = pc.fill_null(_live_rows(num_records, deleted), 0)
    positions = pc.indices_nonzero(live)
    totals = pc.cumulative_sum(live.take(positions))
    needed: int = (pc.sum(pc.less(totals, limit), min_count=0).as_py() + 1) if limit > 0 else 0
    return positions.slice(0, needed) if needed <= len(positions) else None


def _partition_values(values: pa.Array, num_records: pa.Array, deleted: pa.Array) -> pa.Array | None:
    live = _live_rows(num_records, deleted)
    if live.null_count or pa.types.is_floating(values.type) or pa.types.is_binary(values.type):
        return None
    return plain(values).filter(pc.greater(live, 0))


def _proved_bounds(which: Extreme, path: Path, statistics: FileStatistics, deleted: pa.Array) -> pa.Array | None:
    column = statistics.columns.get(path, ColumnStatistics())
    bounds = column.min if which == "min" else column.max
    if bounds is None or column.null_count is None:
        return None
    if not (pa.types.is_integer(bounds.type) or pa.types.is_date32(bounds.type)):
        return None
    has_values = pc.not_equal(column.null_count, statistics.num_records)
    has_all_rows = pc.equal(pc.fill_null(deleted.cast(pa.int64()), 0), 0)
    is_proved = pc.and_kleene(
        pc.and_kleene(statistics.tight_bounds, has_all_rows),
        pc.or_kleene(pc.invert(has_values), pc.is_valid(bounds)),
    )
    # An unknown count leaves `has_values` null.
    if has_values.null_count or pc.all(is_proved, skip_nulls=False, min_count=0).as_py() is not True:
        return None
    return bounds.filter(has_values)


def _live_rows(num_records: pa.Array, deleted: pa.Array) -> pa.Array:
    """Return the live rows of each file; null if unknown, or if fewer rows are stated than deleted."""
    live = pc.subtract(num_records, pc.fill_null(deleted.cast(pa.int64()), 0))
    return pc.if_else(pc.greater_equal(live, 0), live, None)


def _readable(value: pa.Scalar) -> pa.Scalar | None:
    try:
        value.as_py()
    except (ValueError, OverflowError):
        return None
    return value
