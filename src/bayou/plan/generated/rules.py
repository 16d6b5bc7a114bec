# SPDX-License-Identifier: Apache-2.0
"""Derive from a filter on a column a filter on a partition column that is generated from it, in order to prune partitions.

There is one rule class for each form of generation expression. The derived filter is true for the partition of every row for which
the filter on the base column is true. A partition value is coarser than the base value, so that < becomes <=. The log does not
state in which time zone a writer computed the partition values of timestamps: a rule allows for every zone, and prunes a partition
or two less. Source: delta-spark's `OptimizablePartitionExpression`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bayou.plan.generated.truncation import truncated
from bayou.plan.predicates.predicate import And, Column, Comparison, IsNull, Literal, Or, StartsWith
from bayou.protocol.types.instants import INT64_MAX, INT64_MIN, MICROS_PER_DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bayou.plan.predicates.predicate import Operator, Path, Predicate

_WIDER: Final[dict[Operator, Operator]] = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">=", "=": "=", "<=>": "="}

_ANY_ZONE: Final = 18 * 3_600_000_000
"""The maximum offset of a time zone from UTC, in microseconds."""

_MARGIN: Final = 400 * MICROS_PER_DAY
"""Values nearer to the first or last instant get no filter: the start of their unit may be outside the range of instants."""

Tests: TypeAlias = "Sequence[tuple[Column, Literal]]"
"""Partition columns with their values for one wall clock time, the most significant column first."""


@dataclass(frozen=True, slots=True)
class PartitionRule:
    """A generated partition column.

    Attributes:
        base: the physical path of the column that it is generated from.
        base_type: the type of that column.
        partition: the partition column. It is NULL if the base is NULL.
    """

    base: Path
    base_type: str
    partition: Column

    def compared(self, op: Operator, value: Any) -> Predicate | None:  # noqa: ARG002  (for others)
        """Return the partition filter that `base op value` implies; None if it implies nothing. The operator is never <=>."""
        return None

    def prefixed(self, prefix: str) -> Predicate | None:  # noqa: ARG002  (for others)
        """Return the partition filter that `startswith(base, prefix)` implies; None if it implies nothing."""
        return None

    def null(self) -> Predicate:
        """Return the partition filter that `base IS NULL` implies."""
        return IsNull(self.partition)

    def _or_null(self, *tests: Predicate) -> Predicate:
        """Return a filter that also keeps partitions with NULL: the log stores an empty string, or an unparsable one, as NULL."""
        return Or((*tests, IsNull(self.partition)))


@dataclass(frozen=True, slots=True)
class ClockRule(PartitionRule):
    """Partition columns that, compared in sequence, sort like the wall clock time of the base: year, month and day, for example.

    Attributes:
        values: returns the columns with their values for a wall clock time; None if the values do not sort like the time.
    """

    values: Callable[[int], Tests | None]

    def compared(self, op: Operator, value: Any) -> Predicate | None:
        """See `PartitionRule`."""
        clocks = _clocks(value, self.base_type)
        if clocks is None:
            return None
        earliest, latest = map(self.values, clocks)
        if earliest is None or latest is None:
            return None
        if op == "=" and earliest == latest:
            return self._or_null(And(tuple(Comparison("=", column, literal) for column, literal in earliest)))
        tests = [_lexicographic(">", earliest)] if op in {"=", ">", ">="} else []
        tests += [_lexicographic("<", latest)] if op in {"=", "<", "<="} else []
        return self._or_null(And(tuple(tests)))


@dataclass(frozen=True, slots=True)
class FormattedRule(ClockRule):
    """A partition column of formatted dates. Years after 9999 begin with a plus sign, which sorts before every digit."""

    def compared(self, op: Operator, value: Any) -> Predicate | None:
        """See `PartitionRule`."""
        # `super()` without arguments fails here: a slotted dataclass is a new class, not the one in which the method was defined.
        predicate = ClockRule.compared(self, op, value)
        if predicate is None or op in {"=", "<", "<="}:
            return predicate
        return Or((predicate, Comparison("<", self.partition, Literal("0", "string"))))


@dataclass(frozen=True, slots=True)
class TruncatedTimestampRule(PartitionRule):
    """`date_trunc`: the instant at which a unit of the wall clock starts, which is never after the base.

    Attributes:
        unit: one of `TIMESTAMP_UNITS`.
    """

    unit: str

    def compared(self, op: Operator, value: Any) -> Predicate | None:
        """See `PartitionRule`."""
        clocks = _clocks(value, self.base_type)
        if clocks is None:
            return None
        # A reader may parse the partition's string in yet another zone.
        earliest, latest = (truncated(clock, self.unit) for clock in clocks)
        least, greatest = Literal(earliest - _ANY_ZONE, "timestamp"), Literal(latest + _ANY_ZONE, "timestamp")
        tests: list[Predicate] = [Comparison(">=", self.partition, least)] if op in {"=", ">", ">="} else []
        tests += [Comparison("<=", self.partition, greatest)] if op in {"=", "<", "<="} else []
        return self._or_null(And(tuple(tests)))


@dataclass(frozen=True, slots=True)
class SubstringRule(PartitionRule):
    """`substring(base, position, length)`; an empty string is NULL as a partition value.

    Attributes:
        position: the position of the first character, as in SQL.
        length: the number of characters.
    """

    position: int
    length: int

    def compared(self, op: Operator, value: Any) -> Predicate | None:
        """See `PartitionRule`."""
        if op != "=" and self.position not in {0, 1}:
            return None
        cut = Literal(_substring(value, self.position, self.length), "string")
        return self._or_null(Comparison(_WIDER[op], self.partition, cut))

    def prefixed(self, prefix: str) -> Predicate | None:
        """See `PartitionRule`."""
        if self.position not in {0, 1}:
            return None
        return self._or_null(StartsWith(self.partition, _substring(prefix, self.position, self.length)))


@dataclass(frozen=True, slots=True)
class IdentityRule(PartitionRule):
    """A copy of the base, by which a nested field can partition a table. An empty string is NULL as a partition value."""

    def compared(self, op: Operator, value: Any) -> Predicate | None:
        """See `PartitionRule`."""
        if self.base_type == "timestamp":
            return None
        return self._or_null(Comparison(op, self.partition, Literal(value, self.base_type)))

    def prefixed(self, prefix: str) -> Predicate | None:
        """See `PartitionRule`."""
        return self._or_null(StartsWith(self.partition, prefix))


def _clocks(value: int, base_type: str) -> tuple[int, int] | None:
    """Return the earliest and the latest wall clock time of a value in any time zone; None near the first and last instants.

    If clocks are set back, a later instant has an earlier time, even an earlier date. The bounds allow for that: instants up to the
    value have no time after the latest, and instants from the value on have no time before the earliest. A wall clock time is in
    microseconds since 1970-01-01T00:00:00.
    """
    if base_type != "timestamp":
        wall = value * MICROS_PER_DAY if base_type == "date" else value
        return wall, wall
    is_safe = INT64_MIN + _MARGIN <= value <= INT64_MAX - _MARGIN
    return (value - _ANY_ZONE, value + _ANY_ZONE) if is_safe else None


def _lexicographic(op: Operator, bounds: Tests) -> Predicate:
    """Return the filter that the columns, compared in sequence, are `op` the bounds, or equal to them."""
    alternatives: list[Predicate] = []
    equal: list[Predicate] = []
    for position, (column, literal) in enumerate(bounds):
        is_last = position == len(bounds) - 1
        alternatives.append(And((*equal, Comparison(_WIDER[op] if is_last else op, column, literal))))
        equal.append(Comparison("=", column, literal))
    return Or(tuple(alternatives))


def _substring(text: str, position: int, length: int) -> str:
    """Return the substring as Spark's `UTF8String.substringSQL`: 0 and 1 are the first character, negatives count from the end."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)] if length > 0 else ""
