# SPDX-License-Identifier: Apache-2.0
"""Wall clocks cut down to a unit, as Spark's `trunc`, `date_trunc` and `date_format` do it.

A wall clock is microseconds since 1970-01-01T00:00:00 without a zone. Source: Spark's `DateTimeUtils.parseTruncLevel`.
"""

from __future__ import annotations

from typing import Final

from bayou.protocol.types.instants import (
    MICROS_PER_DAY,
    MICROS_PER_MILLISECOND,
    MICROS_PER_SECOND,
    civil_from_days,
    days_from_civil,
)

_UNITS: Final = {
    "microsecond": 1,
    "millisecond": MICROS_PER_MILLISECOND,
    "second": MICROS_PER_SECOND,
    "minute": 60 * MICROS_PER_SECOND,
    "hour": 3_600 * MICROS_PER_SECOND,
    "day": MICROS_PER_DAY,
    "dd": MICROS_PER_DAY,
}
_MONTHS: Final = {"mon": 1, "month": 1, "mm": 1, "quarter": 3, "year": 12, "yyyy": 12, "yy": 12}
_WEEK: Final = "week"
_EPOCH_WEEKDAY: Final = 3
"""1970-01-01 is a Thursday; weeks start on Monday."""

DATE_UNITS: Final = frozenset({*_MONTHS, _WEEK})
"""The units of `trunc`, in lower case; any other gives NULL."""

TIMESTAMP_UNITS: Final = DATE_UNITS | frozenset(_UNITS)
"""The units of `date_trunc`, in lower case; any other gives NULL."""

_FORMATS: Final = {"yyyy-MM": 7, "yyyy-MM-dd": 10, "yyyy-MM-dd-HH": 13}
DATE_FORMATS: Final = frozenset(_FORMATS)
"""The formats of `date_format` whose strings are in the order of time from year 1 to year 9999."""

_LAST_YEAR: Final = 9999


def truncated(wall: int, unit: str) -> int:
    """The greatest multiple of a unit that is not after a wall clock."""
    if unit in _UNITS:
        return wall - wall % _UNITS[unit]
    days = wall // MICROS_PER_DAY
    if unit == _WEEK:
        return (days - (days + _EPOCH_WEEKDAY) % 7) * MICROS_PER_DAY
    year, month, _ = civil_from_days(days)
    first = days_from_civil(year, month - (month - 1) % _MONTHS[unit], 1)
    return (days if first is None else first) * MICROS_PER_DAY


def formatted(wall: int, pattern: str) -> str | None:
    """A wall clock in one of `DATE_FORMATS`, or None outside the years that they put in order."""
    year, month, day = civil_from_days(wall // MICROS_PER_DAY)
    if not 1 <= year <= _LAST_YEAR:
        return None
    hour = wall % MICROS_PER_DAY // _UNITS["hour"]
    return f"{year:04d}-{month:02d}-{day:02d}-{hour:02d}"[: _FORMATS[pattern]]


def clock_parts(wall: int) -> tuple[int, int, int, int]:
    """The year, month, day and hour of a wall clock."""
    return (*civil_from_days(wall // MICROS_PER_DAY), wall % MICROS_PER_DAY // _UNITS["hour"])
