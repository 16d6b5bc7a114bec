# SPDX-License-Identifier: Apache-2.0
"""What a clock on the wall can show around an instant.

Clocks that are set back make a later instant show an earlier time, even an earlier date. A filter over what clocks showed must
allow for that, and for every zone where it is not known whose clock it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bayou.protocol.types.instants import INT64_MAX, INT64_MIN, MICROS_PER_DAY, format_timestamp, parse_timestamp

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
