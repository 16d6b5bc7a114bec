# SPDX-License-Identifier: Apache-2.0
"""How many files a filter `column = value` reads, for all values at once."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc


class PointReads(NamedTuple):
    """The number of files that are read, on average over the bounds of all files, and for the worst value."""

    average: float
    most: int


def point_reads(low: pa.Array, high: pa.Array, has_value: pa.Array) -> PointReads:
    """Return how many files have a range that holds a value.

    The values are the bounds of all files: the number of ranges that hold a value only changes at them. Files with an unknown bound
    are always read.

    Args:
        low: the least value of each file; null if unknown.
        high: the greatest value.
        has_value: whether the column may be other than NULL in a row. Other files are never read.
    """
    low, high = low.filter(has_value), high.filter(has_value)
    known = pc.and_(pc.is_valid(low), pc.is_valid(high))
    low, high = low.filter(known), high.filter(known)
    always, size = len(known) - len(low), len(low)
    if not size:
        return PointReads(float(always), always)
    bounds = pa.concat_arrays([low, high])
    order = pc.sort_indices(bounds)
    # At the last of equal bounds, both sums count all of them.
    begun = pc.cumulative_sum(pc.less(order, size).cast(pa.int64()))
    ended = pc.cumulative_sum(pc.greater_equal(order, size).cast(pa.int64()))
    ordered = bounds.take(order)
    differs = _differs(ordered.slice(1), ordered.slice(0, len(ordered) - 1))
    is_last = pa.concat_arrays([differs, pa.array([True])])
    begun, ended = begun.filter(is_last), ended.filter(is_last)
    zero = pa.array([0], pa.int64())
    ended_before = pa.concat_arrays([zero, ended.slice(0, len(ended) - 1)])
    holding = pc.subtract(begun, ended_before)
    bounds_until = pc.add(begun, ended)
    equal_bounds = pc.subtract(bounds_until, pa.concat_arrays([zero, bounds_until.slice(0, len(bounds_until) - 1)]))
    total = pc.sum(pc.multiply(holding, equal_bounds)).as_py()
    return PointReads(always + total / (2 * size), always + pc.max(holding).as_py())


def _differs(values: pa.Array, others: pa.Array) -> pa.Array:
    """Compare as Spark, to which NaN equals NaN."""
    differs = pc.not_equal(values, others)
    if not pa.types.is_floating(values.type):
        return differs
    return pc.and_not(differs, pc.and_(pc.is_nan(values), pc.is_nan(others)))
