# SPDX-License-Identifier: Apache-2.0
"""The range of versions of a change data feed, resolved from versions or timestamps with delta-spark's errors.

Source: delta-spark's `CDCReader.getCDCRelation`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayou.errors import TimestampOutOfRangeError, failed
from bayou.log.segment.segment import earliest_version, version_not_found
from bayou.log.segment.time_travel import Timestamp, to_milliseconds
from bayou.protocol import arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from bayou.log.segment.commit_times import CommitTimes
    from bayou.log.segment.listing import LogListing

OUT_OF_RANGE_CONF = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"
"""The session's setting that allows a range to begin or end after the latest commit."""


@dataclass(frozen=True, slots=True)
class ChangeBounds:
    """The bounds of a change data feed, each a version or a timestamp.

    Attributes:
        starting_timestamp: the first version is the earliest one committed at or after it.
        ending_version: the last version; limited to the latest version.
        ending_timestamp: the last version is the latest one committed at or before it.
        time_zone: the zone of timestamps that name none.
        allow_out_of_range: whether a start after the latest commit gives no rows, and an end timestamp may be after it.
    """

    starting_version: int | None = None
    starting_timestamp: Timestamp | None = None
    ending_version: int | None = None
    ending_timestamp: Timestamp | None = None
    time_zone: str = "UTC"
    allow_out_of_range: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """The versions of a change data feed, both included; `end` is before `start` if the range is empty."""

    start: int
    end: int

    @property
    def is_empty(self) -> bool:
        """Whether the range has no version."""
        return self.end < self.start


def resolve_range(bounds: ChangeBounds, listing: LogListing, times: CommitTimes, latest: int, table: str) -> ChangeRange:
    """Return the versions within some bounds.

    Raises:
        InvalidOptionError: a start is missing, a side is given twice, or the end is before the start.
        VersionNotFoundError: the start is after the latest version, or its commit is gone.
        TimestampOutOfRangeError: a timestamp is after the latest commit, or the end is before the first one.
        InvalidTimestampError: a string is not a timestamp.
    """
    check_bounds(bounds, table)
    resolver = _Resolver(bounds, times, latest)
    start, end = resolver.start(), resolver.end()
    if start > latest:
        if bounds.allow_out_of_range:
            return ChangeRange(start, latest)
        raise failed("DELTA_CDC_START_VERSION_AFTER_LATEST", table=table, version=start, earliest=None, latest=latest)
    if resolver.ends_between_commits(start, end):
        return ChangeRange(start, end)
    if end < start:
        raise failed("DELTA_INVALID_CDC_RANGE", table=table, start=start, end=end)
    earliest = _earliest_changes(listing, end)
    if earliest is None or start < earliest:
        raise version_not_found(table, start, earliest, latest)
    return ChangeRange(start, end)


def _earliest_changes(listing: LogListing, end: int) -> int | None:
    """Return the first version from which all commits up to the end exist and can be reconstructed, or None."""
    reachable = earliest_version(listing)
    first = end + 1
    while reachable is not None and first - 1 >= reachable and first - 1 in listing.commits:
        first -= 1
    return first if first <= end else None


class _Resolver:
    """Converts bounds to versions."""

    def __init__(self, bounds: ChangeBounds, times: CommitTimes, latest: int) -> None:
        self._bounds = bounds
        self._times = times
        self._latest = latest
        self._start_ms = _milliseconds(bounds.starting_timestamp, bounds)
        self._end_ms = _milliseconds(bounds.ending_timestamp, bounds)

    def start(self) -> int:
        if self._start_ms is None:
            return self._bounds.starting_version or 0
        return self._or_after_latest(self._times.first_at_or_after, self._start_ms, self._latest + 1)

    def end(self) -> int:
        if self._end_ms is not None:
            return self._or_after_latest(self._times.version_at, self._end_ms, self._latest)
        given = self._bounds.ending_version
        return self._latest if given is None else min(given, self._latest)

    def ends_between_commits(self, start: int, end: int) -> bool:
        """Return whether both timestamps lie between two consecutive commits, so that the range is empty."""
        if self._start_ms is None or self._end_ms is None:
            return False
        return self._start_ms <= self._end_ms and end == start - 1

    def _or_after_latest(self, find: Callable[[int], int], timestamp: int, otherwise: int) -> int:
        try:
            return find(timestamp)
        except TimestampOutOfRangeError as error:
            if self._bounds.allow_out_of_range and error.error_class == "DELTA_TIMESTAMP_GREATER_THAN_COMMIT":
                return otherwise
            raise


def _milliseconds(timestamp: Timestamp | None, bounds: ChangeBounds) -> int | None:
    return None if timestamp is None else to_milliseconds(timestamp, bounds.time_zone)


def check_bounds(bounds: ChangeBounds, table: str) -> None:
    """Raise InvalidOptionError if a start is missing, a side is given twice, or a value has the wrong type."""
    arguments.instance(bounds, ChangeBounds, "bounds", "a ChangeBounds", table=table)
    sides = {
        "starting": (bounds.starting_version, bounds.starting_timestamp),
        "ending": (bounds.ending_version, bounds.ending_timestamp),
    }
    for side, (version, timestamp) in sides.items():
        if version is not None and timestamp is not None:
            raise failed("DELTA_MULTIPLE_CDC_BOUNDARY", table=table, side=side)
        arguments.optional_integer(version, f"{side}Version", table=table)
    if bounds.starting_version is None and bounds.starting_timestamp is None:
        raise failed("DELTA_NO_START_FOR_CDC_READ", table=table)
