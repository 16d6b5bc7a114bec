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

    Args:
        num_records: the number of rows of each file, deleted rows included; null if unknown.
        deleted: the cardinality of each file's deletion vector; null without one.
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

    A partition value counts if its file has a live row. For other columns, only integers and dates have exact bounds; those of
    strings, timestamps and decimals can be truncated or rounded. Their bounds prove the answer if all are tight, no row is deleted,
    and each file has a bound or only NULLs. Floats need a scan, which handles NaN, and so do dates that Python cannot represent.

    Args:
        path: the physical path of the column.
        data_type: the column's primitive type, as in the schema's JSON.
        statistics: the statistics of all files, with the column if it is not a partition column.
        partitions: the partition values, by physical path.
        deleted: the cardinality of each file's deletion vector; null or zero without one.

    Returns:
        A scalar of the type that Spark exchanges with Arrow, null if no row has a value.
    """
    values = partitions.get(path)
    if values is not None:
        candidates = _partition_values(values, statistics.num_records, deleted)
    else:
        candidates = _proved_bounds(which, path, statistics, deleted)
    if candidates is None:
        return None
    extreme = pc.min(candidates) if which == "min" else pc.max(candidates)
    return _readable(extreme.cast(arrow_type(data_type)))


def take_until(num_records: pa.Array, deleted: pa.Array, limit: int) -> pa.Array | None:
    """Return the positions of the first files that together hold `limit` live rows; None if the log does not prove that many.

    Empty files and files with an unknown row count are skipped. The arguments are as in `count_from_log`.
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
    """Return the number of live rows of each file; null if unknown, or if the log states more deleted rows than rows."""
    live = pc.subtract(num_records, pc.fill_null(deleted.cast(pa.int64()), 0))
    return pc.if_else(pc.greater_equal(live, 0), live, None)


def _readable(value: pa.Scalar) -> pa.Scalar | None:
    try:
        value.as_py()
    except (ValueError, OverflowError):
        return None
    return value
