# SPDX-License-Identifier: Apache-2.0
"""How a comparison of a column becomes one of the partition column that is generated from it: one class for each way to generate.

What a rule gives holds for the partition of every row for which the comparison is true. A partition column has less in it than its
base, so that < becomes <= on the way. Source: delta-spark's `OptimizablePartitionExpression`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bayou.plan.generated.truncation import truncated
from bayou.plan.predicates.predicate import And, Column, Comparison, IsNull, Literal, Or, StartsWith
from bayou.protocol.types.instants import INT64_MAX, INT64_MIN, MICROS_PER_DAY, format_timestamp, parse_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bayou.plan.predicates.predicate import Operator, Path, Predicate

_WIDER: Final[dict[Operator, Operator]] = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">=", "=": "=", "<=>": "="}

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

    def compared(self, op: Operator, value: Any, time_zone: str | None) -> Predicate | None:  # noqa: ARG002  (for others)
        """What `base op value` says about the partition; None where it says nothing. The operator is never <=>."""
        return None

    def prefixed(self, prefix: str) -> Predicate | None:  # noqa: ARG002  (for others)
        """What it says about the partition that the base starts with a text; None where that is nothing."""
        return None

    def null(self) -> Predicate:
        """What it says about the partition that the base is NULL."""
        return IsNull(self.partition)

    def _or_null(self, *tests: Predicate) -> Predicate:
        """Kept where the partition value is NULL: an empty string, or a text that its type cannot hold."""
        return Or((*tests, IsNull(self.partition)))


@dataclass(frozen=True, slots=True)
class ClockRule(PartitionRule):
    """Partition columns that, taken together, are in the order of the wall clock that the base shows.

    Attributes:
        values: gives the columns their values for a wall clock; None where they have none in that order.
    """

    values: Callable[[int], Tests | None]

    def compared(self, op: Operator, value: Any, time_zone: str | None) -> Predicate | None:
        """See `PartitionRule`."""
        clock = _clock(value, self.base_type, time_zone)
        if clock is None:
            return None
        earliest, latest = self.values(clock.earliest), self.values(clock.latest)
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

    def compared(self, op: Operator, value: Any, time_zone: str | None) -> Predicate | None:
        """See `PartitionRule`."""
        # `super()` finds no class in a method of a slotted dataclass: that is another class than the one defined here.
        found = ClockRule.compared(self, op, value, time_zone)
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

    def compared(self, op: Operator, value: Any, time_zone: str | None) -> Predicate | None:
        """See `PartitionRule`."""
        bounds = self._bounds(value, time_zone)
        if bounds is None:
            return None
        least, greatest = (Literal(bound, "timestamp") for bound in bounds)
        tests: list[Predicate] = [Comparison(">=", self.partition, least)] if op in {"=", ">", ">="} else []
        tests += [Comparison("<=", self.partition, greatest)] if op in {"=", "<", "<="} else []
        return self._or_null(And(tuple(tests)))

    def _bounds(self, value: Any, zone: str | None) -> tuple[int, int] | None:
        clock = _clock(value, self.base_type, zone)
        if clock is None:
            return None
        earliest, latest = truncated(clock.earliest, self.unit), truncated(clock.latest, self.unit)
        if zone is None:
            # The zone in which the partition's text is read may be another one still.
            return earliest - ANY_ZONE, latest + ANY_ZONE
        least = instant_of(earliest, zone)
        greatest = value if self.base_type == "timestamp" else instant_of(latest, zone)
        return None if least is None or greatest is None else (least, greatest)


@dataclass(frozen=True, slots=True)
class SubstringRule(PartitionRule):
    """`substring(base, position, length)`; an empty one is NULL as a partition value.

    Attributes:
        position: of the first character, as in SQL.
        length: in characters.
    """

    position: int
    length: int

    def compared(self, op: Operator, value: Any, time_zone: str | None) -> Predicate | None:  # noqa: ARG002  (for others)
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

    def compared(self, op: Operator, value: Any, time_zone: str | None) -> Predicate | None:
        """See `PartitionRule`."""
        if self.base_type == "timestamp" and time_zone is None:
            return None
        return self._or_null(Comparison(op, self.partition, Literal(value, self.base_type)))

    def prefixed(self, prefix: str) -> Predicate | None:
        """See `PartitionRule`."""
        return self._or_null(StartsWith(self.partition, prefix))


def _clock(value: int, base_type: str, zone: str | None) -> ClockRange | None:
    if base_type == "timestamp":
        return clock_range(value, zone)
    wall = value * MICROS_PER_DAY if base_type == "date" else value
    return ClockRange(wall, wall)


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


_HOUR: Final = 3_600_000_000
ANY_ZONE: Final = 18 * _HOUR
"""How far a zone can be from UTC."""

_SAMPLE_EVERY: Final = 6 * _HOUR
_SAMPLES: Final = range(-9, 10)
"""Zones are at most 31 hours away from themselves, at a change of date line, and 18 from UTC: 54 hours reach beyond both."""

# Beyond these instants neither a sample nor a unit's start may be representable.
_MARGIN: Final = 400 * MICROS_PER_DAY


@dataclass(frozen=True, slots=True)
class ClockRange:
    """The wall clocks that matter for an instant: none up to it shows more than `latest`, none from it on less than `earliest`.

    Clocks that are set back make a later instant show an earlier time, even an earlier date. A filter over local times must allow
    for that, and for every zone if the writer's zone is not known.

    Attributes:
        earliest: microseconds of a wall clock since 1970-01-01T00:00:00.
        latest: the same.
    """

    earliest: int
    latest: int


def clock_range(instant: int, time_zone: str | None) -> ClockRange | None:
    """The wall clocks of an instant; None where the zone is not known by that name or the instant is at the end of time.

    Args:
        instant: microseconds since 1970-01-01T00:00:00Z.
        time_zone: the zone of the clock; None allows for every zone.
    """
    if not INT64_MIN + _MARGIN <= instant <= INT64_MAX - _MARGIN:
        return None
    if time_zone is None:
        return ClockRange(instant - ANY_ZONE, instant + ANY_ZONE)
    offsets = []
    for step in _SAMPLES:
        wall = instant + step * _SAMPLE_EVERY
        shown = instant_of(wall, time_zone)
        if shown is None:
            return None
        offsets.append(wall - shown)
    return ClockRange(instant + min(offsets), instant + max(offsets))


def instant_of(wall: int, time_zone: str) -> int | None:
    """The first instant at which a clock shows a time, or None where the zone is not known by that name."""
    return parse_timestamp(format_timestamp(wall), time_zone)
