# SPDX-License-Identifier: Apache-2.0
"""Evaluate one comparison with the statistics of files: may a row of the file satisfy it?

Every function returns one bool per file, never null: false only if no row can satisfy the comparison. Writers round bounds in
different ways, for which the functions allow: the maximum of floats may ignore NaN, the maximum of timestamps is truncated to
milliseconds, a decimal may have been converted to a double, and a string may be truncated.
"""

from __future__ import annotations

from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.predicates.comparisons import Constant, compare, constant
from bayou.protocol.stats.file_stats import DEFAULT_STRING_PREFIX_LENGTH
from bayou.protocol.types.instants import INT64_MAX, MICROS_PER_MILLISECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.plan.predicates.literals import Literal
    from bayou.plan.statistics.columns import ColumnStatistics

# The number of ranges that approximate a long IN list.
_IN_RANGES = 64
# Decimals with fewer digits survive a double unchanged.
_DOUBLE_SAFE_DIGITS = 15
# Two roundings to the nearest double, in the statistics and in the comparison below, and a safety factor of two.
_DOUBLE_TOLERANCE = 2.0**-50


class ColumnBounds:
    """The statistics of one leaf column, ready for comparisons."""

    def __init__(self, statistics: ColumnStatistics, num_records: pa.Array) -> None:
        self._size = len(num_records)
        self._num_records = num_records
        self._null_count = statistics.null_count
        self._low: Any = None
        self._high: Any = None
        if statistics.min is not None and statistics.max is not None:
            self._low, self._high = _known(statistics.min), _known(statistics.max)
            if pa.types.is_timestamp(self._high.type):
                self._high = _next_millisecond(self._high)

    @property
    def limits(self) -> tuple[pa.Array, pa.Array] | None:
        """The least and the greatest value of each file, null if unknown; None if no file has bounds."""
        return None if self._low is None else (self._low, self._high)

    def has_null(self) -> pa.Array:
        """Return whether the column may be NULL in a row."""
        # Wide bounds: only zero and "all rows" are reliable null counts (PROTOCOL.md), and only zero excludes a NULL.
        return self._everywhere() if self._null_count is None else _kept(pc.not_equal(self._null_count, 0))

    def has_value(self) -> pa.Array:
        """Return whether the column may be other than NULL in a row."""
        if self._null_count is None:
            return self._everywhere()
        return _kept(pc.not_equal(self._null_count, self._num_records))

    def may(self, op: str, literal: Literal) -> pa.Array:
        """Return whether `column op literal` may be true for a row; `op` is one of = != < <= > >=."""
        if literal.value is None:
            return self._nowhere()
        against = None if self._low is None else constant(literal, self._low.type)
        if against is None:
            return self.has_value()
        return pc.and_(self.has_value(), _kept(self._compared(op, against)))

    def may_equal_any(self, literals: Sequence[Literal]) -> pa.Array:
        """Return whether the column may equal one of the constants in a row."""
        present = [literal for literal in literals if literal.value is not None]
        if len(present) <= _IN_RANGES:
            return reduce(pc.or_, (self.may("=", literal) for literal in present), self._nowhere())
        if any(literal.value != literal.value for literal in present):
            return self.has_value()
        ranges = _ranges(sorted(present, key=lambda literal: literal.value))
        return reduce(pc.or_, (self._may_lie_between(*each) for each in ranges), self._nowhere())

    def may_differ_from_all(self, literals: Sequence[Literal]) -> pa.Array:
        """Return whether the column may be neither NULL nor any of the constants in a row; never if a constant is NULL."""
        if any(literal.value is None for literal in literals):
            return self._nowhere()
        if len(literals) > _IN_RANGES:
            return self.has_value()
        return reduce(pc.and_, (self.may("!=", literal) for literal in literals), self.has_value())

    def may_start_with(self, prefix: str) -> pa.Array:
        """Return whether the column may start with the string in a row."""
        if self._low is None or not pa.types.is_string(self._low.type):
            return self.has_value()
        reaches = pc.greater_equal(self._high, prefix)
        starts = pc.or_(pc.less_equal(self._low, prefix), pc.starts_with(self._low, prefix))
        return pc.and_(self.has_value(), _kept(pc.and_kleene(starts, reaches)))

    def may_start_otherwise(self, prefix: str) -> pa.Array:
        """Return whether the column may be not NULL and start with something else in a row."""
        if self._low is None or not pa.types.is_string(self._low.type):
            return self.has_value()
        # All strings between two with a common prefix have that prefix.
        always = pc.and_kleene(pc.starts_with(self._low, prefix), pc.starts_with(self._high, prefix))
        return pc.and_(self.has_value(), _kept(pc.invert(always)))

    def _may_lie_between(self, least: Literal, greatest: Literal) -> pa.Array:
        if self._low is None:
            return self.has_value()
        first, last = constant(least, self._low.type), constant(greatest, self._low.type)
        if first is None or last is None:
            return self.has_value()
        overlaps = pc.and_kleene(_bound("<=", self._low, last), _bound(">=", self._high, first))
        return pc.and_(self.has_value(), _kept(overlaps))

    def _compared(self, op: str, against: Constant) -> pa.Array:
        """Compare the bounds with the constant; null if they do not decide."""
        if pa.types.is_floating(self._low.type):
            return self._compared_float(op, against)
        if op == "=":
            # A constant between two values of the column's scale equals no value.
            inside = pc.and_kleene(_bound("<=", self._low, against), _bound(">=", self._high, against))
            return inside if against.is_exact else self._nowhere()
        if op == "!=":
            return self._differs(against)
        return _bound(op, self._low if op in {"<", "<="} else self._high, against)

    def _compared_float(self, op: str, against: Constant) -> pa.Array:
        """Compare bounds of floats: NaN may exceed every maximum, and exceeds every constant except itself."""
        if against.is_nan:
            return self._nowhere() if op == ">" else self._everywhere()
        if op == "=":
            return pc.and_kleene(compare("<=", self._low, against), compare(">=", self._high, against))
        return compare(op, self._low, against) if op in {"<", "<="} else self._everywhere()

    def _differs(self, against: Constant) -> pa.Array:
        if pa.types.is_string(self._low.type) and len(against.value.as_py()) >= DEFAULT_STRING_PREFIX_LENGTH:
            # Bounds of this length can be prefixes of longer strings.
            return self._everywhere()
        return pc.or_kleene(_bound("<", self._low, against), _bound(">", self._high, against))

    def _everywhere(self) -> pa.Array:
        return constant_mask(self._size, truth=True)

    def _nowhere(self) -> pa.Array:
        return constant_mask(self._size, truth=False)


def constant_mask(size: int, *, truth: bool) -> pa.Array:
    """Return the same bool for every file."""
    return pa.repeat(pa.scalar(truth), size)


def _kept(mask: pa.Array) -> pa.Array:
    """Return the mask with null as true: what the statistics do not decide may be true."""
    return pc.fill_null(mask, True)


def _ranges(ordered: list[Literal]) -> list[tuple[Literal, Literal]]:
    """Return a few ranges that cover many constants: cut at the widest gaps, or evenly if gaps have no width."""
    inner = range(1, len(ordered))
    if isinstance(ordered[0].value, int | float | Decimal):
        cuts = sorted(inner, key=lambda i: ordered[i].value - ordered[i - 1].value)[1 - _IN_RANGES :]
    else:
        cuts = [len(ordered) * i // _IN_RANGES for i in range(1, _IN_RANGES)]
    starts = [0, *sorted(cuts)]
    return [(ordered[start], ordered[end - 1]) for start, end in zip(starts, [*starts[1:], len(ordered)], strict=True)]


def _bound(op: str, bounds: pa.Array, against: Constant) -> pa.Array:
    """Compare the bounds with the constant; true as well if rounding may have moved a decimal bound across it."""
    result = compare(op, bounds, against)
    if not pa.types.is_decimal(bounds.type):
        return result
    # Compared as doubles: the bounds have up to 38 digits, which leaves decimals no room for the tolerance.
    doubles, target = bounds.cast(pa.float64()), float(against.value.as_py())
    is_close = pc.less_equal(pc.abs(pc.subtract(doubles, target)), abs(target) * _DOUBLE_TOLERANCE)
    is_long = pc.greater_equal(pc.abs(doubles), 10.0 ** (_DOUBLE_SAFE_DIGITS - bounds.type.scale))
    return pc.or_(result, pc.and_(is_close, is_long))


def _known(limits: pa.Array) -> pa.Array:
    """Return the bounds with NaN replaced by null, because writers give NaN different meanings."""
    return pc.if_else(pc.is_nan(limits), None, limits) if pa.types.is_floating(limits.type) else limits


def _next_millisecond(maximum: pa.Array) -> pa.Array:
    micros = maximum.cast(pa.int64())
    last = INT64_MAX - MICROS_PER_MILLISECOND
    raised = pc.add(pc.min_element_wise(micros, last, skip_nulls=False), MICROS_PER_MILLISECOND)
    return raised.cast(maximum.type)
