# SPDX-License-Identifier: Apache-2.0
"""When each version was committed, and which version was the latest at a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from bayou.errors import CorruptLogError, DeltaError, failed
from bayou.log.actions.commit_info import read_commit_info
from bayou.log.segment.listing import LogListing
from bayou.log.segment.segment import earliest_version
from bayou.log.segment.time_travel import format_timestamp
from bayou.protocol import properties
from bayou.protocol.actions.actions import CommitInfo
from bayou.storage.store import FileStatus, LogStore

_PREVIEW: Final = "-preview"


@dataclass(frozen=True, slots=True)
class IctKeys:
    """The properties of in-commit timestamps under one name; version and timestamp are those of the first commit that has one."""

    enabled: properties.TableProperty[bool]
    version: properties.TableProperty[int | None]
    timestamp: properties.TableProperty[int | None]

    @property
    def since(self) -> tuple[str, str]:
        """The keys of the first version and its timestamp."""
        return self.version.key, self.timestamp.key


ICT_KEYS: Final = IctKeys(
    properties.ENABLE_IN_COMMIT_TIMESTAMPS, properties.ICT_ENABLEMENT_VERSION, properties.ICT_ENABLEMENT_TIMESTAMP
)
ICT_PREVIEW_KEYS: Final = IctKeys(
    replace(ICT_KEYS.enabled, key=ICT_KEYS.enabled.key + _PREVIEW),
    replace(ICT_KEYS.version, key=ICT_KEYS.version.key + _PREVIEW),
    replace(ICT_KEYS.timestamp, key=ICT_KEYS.timestamp.key + _PREVIEW),
)
"""The same under the names of the feature `inCommitTimestamp-preview`. Source: delta-spark 3.2, DeltaConfig."""


def ict_keys(configuration: Mapping[str, str]) -> IctKeys | None:
    """Return the keys of a table's in-commit timestamps; None if it has none."""
    return next((keys for keys in (ICT_KEYS, ICT_PREVIEW_KEYS) if keys.enabled.read(configuration)), None)


@dataclass(frozen=True, slots=True)
class InCommitTimestamps:
    """Whether, and from which version on, the commits of a table carry their own timestamps.

    Attributes:
        enabled: whether the latest version uses them.
        version: the first version that carries one.
        timestamp: that version's timestamp in ms; None if every version carries one.
    """

    enabled: bool
    version: int = 0
    timestamp: int | None = None

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> InCommitTimestamps:
        """Read a table's configuration, under the names of the feature or of its preview."""
        keys = ict_keys(configuration)
        if keys is None:
            return cls(enabled=False)
        version = keys.version.read(configuration)
        timestamp = keys.timestamp.read(configuration)
        return cls(enabled=True, version=version or 0, timestamp=timestamp if version else None)

    def covers(self, version: int) -> bool:
        """Return whether a version carries its own timestamp."""
        return self.enabled and version >= self.version


class CommitTimes:
    """The commit times of a listed log, in ms since the epoch, strictly increasing with the version.

    A commit's time is its in-commit timestamp if the table has them, otherwise its file's modification time. A file time that is
    not later than the predecessor's becomes one ms later: file times can be wrong, the order of versions cannot. Commits before the
    first version that can be reconstructed affect no other: a stalled writer may have committed them after a cleanup.
    """

    def __init__(self, store: LogStore, listing: LogListing, ict: InCommitTimestamps, table: str) -> None:
        self._store = store
        self._commits = listing.commits
        self._ict = ict
        self._table = table
        self._first = earliest_version(listing)
        self._adjusted = {version: status.modification_time for version, status in listing.commits.items()}
        self._adjusted |= adjusted_times(listing)

    def of(self, version: int) -> int:
        """Return the time of a listed commit."""
        if self._ict.covers(version):
            return in_commit_timestamp(self._store, self._commits[version], version, self._table)
        return self._adjusted[version]

    def given(self, version: int, info: CommitInfo | None) -> int:
        """Return the time of a commit whose `commitInfo` is known; its file's time if the timestamp is missing."""
        own = info.in_commit_timestamp if info is not None and self._ict.covers(version) else None
        return self._adjusted[version] if own is None else own

    @property
    def are_in_commits(self) -> bool:
        """Whether some commits must be read for their times."""
        return self._ict.enabled

    def between(self, versions: list[int], since: int | None, until: int | None) -> list[int]:
        """Return the versions that were committed in a range of times, both ends included. None means no bound.

        Versions with in-commit timestamps are searched by bisection, which reads few commits. A commit that has no timestamp or no
        longer exists counts with the time of its file, as in the history.

        Args:
            versions: the versions to search, the latest first.
        """
        if since is None and until is None:
            return versions
        with_ict = [version for version in versions if self._ict.covers(version)]
        without_ict = [version for version in versions if not self._ict.covers(version)]
        # Bisection needs ascending keys, and the versions descend: search by the negative time.
        start = 0 if until is None else bisect_left(with_ict, -until, key=lambda version: -self._of_commit_or_file(version))
        end = (
            len(with_ict)
            if since is None
            else bisect_right(with_ict, -since, key=lambda version: -self._of_commit_or_file(version))
        )
        lowest = min(self._adjusted.values(), default=0) if since is None else since
        highest = max(self._adjusted.values(), default=0) if until is None else until
        return with_ict[start:end] + [version for version in without_ict if lowest <= self._adjusted[version] <= highest]

    def _of_commit_or_file(self, version: int) -> int:
        try:
            return self.of(version)
        except (CorruptLogError, FileNotFoundError):  # the commit lacks its timestamp, or was cleaned up
            return self._adjusted[version]

    def version_at(self, timestamp: int) -> int:
        """Return the latest version that was committed at or before a time.

        Raises:
            TimestampOutOfRangeError: the time is before the first or after the last readable commit.
        """
        versions = self._versions()
        if not versions:
            raise self._out_of_range(timestamp, "no commit has a time", early=True)
        if timestamp > self.of(versions[-1]):
            last = format_timestamp(self.of(versions[-1]))
            raise self._out_of_range(
                timestamp, f"the latest commit, version {versions[-1]}, is of {last}", early=False, versions=versions
            )
        found = _last_at_or_before(self, self._candidates(versions, timestamp), timestamp)
        if found is None:
            first = format_timestamp(self.of(versions[0]))
            raise self._out_of_range(
                timestamp, f"the earliest commit, version {versions[0]}, is of {first}", early=True, versions=versions
            )
        return found

    def first_at_or_after(self, timestamp: int) -> int:
        """Return the earliest readable version committed at or after a time, or raise TimestampOutOfRangeError."""
        versions = self._versions()
        if versions and timestamp <= self.of(versions[0]):
            return versions[0]
        found = self.version_at(timestamp)
        return found if self.of(found) >= timestamp else found + 1

    def _versions(self) -> list[int]:
        return sorted(version for version in self._commits if self._first is not None and version >= self._first)

    def _candidates(self, versions: list[int], timestamp: int) -> list[int]:
        """Return the versions to search: file times and in-commit timestamps are two ranges that may overlap."""
        if not self._ict.enabled:
            return versions
        own = [version for version in versions if version >= self._ict.version]
        older = [version for version in versions if version < self._ict.version]
        start = self._ict.timestamp
        if start is None and own:
            start = self.of(own[0])
        if not older or start is None or timestamp >= start:
            return own or older
        return older

    def _out_of_range(self, timestamp: int, why: str, *, early: bool, versions: list[int] | None = None) -> DeltaError:
        known = versions or []
        bounds = (self.of(known[0]), self.of(known[-1])) if known else (None, None)
        span = f"; {format_timestamp(bounds[0])} to {format_timestamp(bounds[1])} is available" if known else ""
        return failed(
            "timestamp-out-of-range",
            table=self._table,
            error_class=f"DELTA_TIMESTAMP_{'EARLIER_THAN_COMMIT_RETENTION' if early else 'GREATER_THAN_COMMIT'}",
            wanted=format_timestamp(timestamp),
            why=why + span,
            timestamp=timestamp,
            earliest=bounds[0],
            latest=bounds[1],
            earliest_version=known[0] if known else None,
            latest_version=known[-1] if known else None,
        )


def adjusted_times(listing: LogListing) -> dict[int, int]:
    """Return strictly increasing file times by version, from the first version that can be reconstructed."""
    first = earliest_version(listing) or 0
    adjusted: dict[int, int] = {}
    previous: int | None = None
    for version in sorted(version for version in listing.commits if version >= first):
        time = listing.commits[version].modification_time
        previous = time if previous is None or time > previous else previous + 1
        adjusted[version] = previous
    return adjusted


def in_commit_timestamp(store: LogStore, status: FileStatus, version: int, table: str) -> int:
    """Return the timestamp that a commit carries, or raise CorruptLogError if it has none."""
    info = read_commit_info(store, status, version, table)
    if info is None or info.in_commit_timestamp is None:
        raise failed("DELTA_MISSING_COMMIT_TIMESTAMP", table=table, version=version, file=status.path)
    return info.in_commit_timestamp


def _last_at_or_before(times: CommitTimes, versions: list[int], timestamp: int) -> int | None:
    low, high = 0, len(versions)
    while low < high:
        middle = (low + high) // 2
        if times.of(versions[middle]) <= timestamp:
            low = middle + 1
        else:
            high = middle
    return versions[low - 1] if low else None
