# SPDX-License-Identifier: Apache-2.0
"""How a comparison of a column becomes one of the partition column that is generated from it: one class for each way to generate.

What a rule gives holds for the partition of every row for which the comparison is true. A partition column has less in it than its
base, so that < becomes <= on the way. The log does not say in which zone the writer computed the partition values of timestamps: a
rule allows for every zone, and keeps a partition or two more. Source: delta-spark's `OptimizablePartitionExpression`.
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
"""How far a zone can be from UTC, in microseconds."""

_MARGIN: Final = 400 * MICROS_PER_DAY
"""The start of a unit may be no instant where one is nearer to the first or the last instant."""

Tests: TypeAlias = "Sequence[tuple[Column, Literal]]"
"""Partition columns with the values that they have for one wall clock, the most significant first."""


@dataclass(frozen=True, slots=True)
class PartitionRule:
    """A generated partition column.

    Attributes:
        base: the physical path of the column that it is generated from.
        base_type: the type of that column.
        partition: the partition column; where the base is NULL it is too.
    """

    base: Path
    base_type: str
    partition: Column

    def compared(self, op: Operator, value: Any) -> Predicate | None:  # noqa: ARG002  (for others)
        """What `base op value` says about the partition; None if it says nothing. The operator is never <=>."""
        return None

    def prefixed(self, prefix: str) -> Predicate | None:  # noqa: ARG002  (for others)
        """What it says about the partition that the base starts with a string; None if nothing."""
        return None

    def null(self) -> Predicate:
        """What it says about the partition that the base is NULL."""
        return IsNull(self.partition)

    def _or_null(self, *tests: Predicate) -> Predicate:
        """Kept where the partition value is NULL: an empty string, or a string that its type cannot hold."""
        return Or((*tests, IsNull(self.partition)))


@dataclass(frozen=True, slots=True)
class ClockRule(PartitionRule):
    """Partition columns that, taken together, are in the order of the wall clock that the base shows.

    Attributes:
        values: gives the columns their values for a wall clock; None if they have no values in that order.
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
    """A partition column of formatted dates: years after 9999 start with a sign, which is before every digit."""

    def compared(self, op: Operator, value: Any) -> Predicate | None:
        """See `PartitionRule`."""
        # `super()` finds no class in a method of a slotted dataclass: that is another class than the one defined here.
        found = ClockRule.compared(self, op, value)
        if found is None or op in {"=", "<", "<="}:
            return found
        return Or((found, Comparison("<", self.partition, Literal("0", "string"))))


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
        # The zone in which the partition's string is read may be another one still.
        earliest, latest = (truncated(clock, self.unit) for clock in clocks)
        least, greatest = Literal(earliest - _ANY_ZONE, "timestamp"), Literal(latest + _ANY_ZONE, "timestamp")
        tests: list[Predicate] = [Comparison(">=", self.partition, least)] if op in {"=", ">", ">="} else []
        tests += [Comparison("<=", self.partition, greatest)] if op in {"=", "<", "<="} else []
        return self._or_null(And(tuple(tests)))


@dataclass(frozen=True, slots=True)
class SubstringRule(PartitionRule):
    """`substring(base, position, length)`; an empty one is NULL as a partition value.

    Attributes:
        position: of the first character, as in SQL.
        length: in characters.
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
    """The base itself, which is how a nested field partitions a table; an empty string is NULL as a partition value."""

    def compared(self, op: Operator, value: Any) -> Predicate | None:
        """See `PartitionRule`."""
        if self.base_type == "timestamp":
            return None
        return self._or_null(Comparison(op, self.partition, Literal(value, self.base_type)))

    def prefixed(self, prefix: str) -> Predicate | None:
        """See `PartitionRule`."""
        return self._or_null(StartsWith(self.partition, prefix))


def _clocks(value: int, base_type: str) -> tuple[int, int] | None:
    """Return the earliest wall clock that any zone shows for a value, and the latest; None at the end of time.

    Clocks that are set back make a later instant show an earlier time, even an earlier date. No instant up to the value shows more
    than the latest, none from it on less than the earliest. A wall clock is microseconds since 1970-01-01T00:00:00.
    """
    if base_type != "timestamp":
        wall = value * MICROS_PER_DAY if base_type == "date" else value
        return wall, wall
    is_safe = INT64_MIN + _MARGIN <= value <= INT64_MAX - _MARGIN
    return (value - _ANY_ZONE, value + _ANY_ZONE) if is_safe else None


def _lexicographic(op: Operator, bounds: Tests) -> Predicate:
    """`columns op bounds` or equal, in the order of the first column, then the second, and so on."""
    ways: list[Predicate] = []
    equal: list[Predicate] = []
    for position, (column, literal) in enumerate(bounds):
        is_last = position == len(bounds) - 1
        ways.append(And((*equal, Comparison(_WIDER[op] if is_last else op, column, literal))))
        equal.append(Comparison("=", column, literal))
    return Or(tuple(ways))


def _substring(text: str, position: int, length: int) -> str:
    """As Spark cuts (`UTF8String.substringSQL`): 0 and 1 are the first character, negative ones count from the end."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)] if length > 0 else ""
