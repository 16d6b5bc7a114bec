# SPDX-License-Identifier: Apache-2.0
"""Where a stream without a checkpoint begins.

Source: delta-spark's `DeltaSource.getStartingVersion`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import DeltaError, TimestampOutOfRangeError, UnsupportedFeatureError
from bayou.log.segment.commit_times import CommitTimes, InCommitTimestamps
from bayou.log.segment.listing import list_versions
from bayou.log.segment.segment import version_not_found
from bayou.log.segment.time_travel import to_milliseconds
from bayou.log.streaming.request.options import LATEST

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.log.streaming.request.settings import StreamSettings


def starting_version(log: LogReader, options: StreamOptions, settings: StreamSettings, time_zone: str) -> int | None:
    """Return the first version whose commit a stream reads; None if it begins with a snapshot.

    Raises:
        VersionNotFoundError: the version is after the latest one, or its commit is gone.
        TimestampOutOfRangeError: the timestamp is after the latest commit.
        InvalidTimestampError: the string is not a timestamp.
        UnsupportedFeatureError: bayou cannot read the version.
    """
    if options.starting_version == LATEST:
        return log.version() + 1
    if options.starting_version is not None:
        return _version(log, int(options.starting_version), options, settings)
    if options.starting_timestamp is not None:
        return _version_at(log, options.starting_timestamp, settings, time_zone)
    return None


def _version(log: LogReader, version: int, options: StreamOptions, settings: StreamSettings) -> int:
    latest = log.version()
    commits = list_versions(log.store).commits
    earliest = min(commits, default=None)
    is_early = earliest is None or version < earliest
    if (version > latest and not settings.allows_out_of_range) or (is_early and options.fail_on_data_loss):
        raise version_not_found(log.table_uri, version, earliest, latest)
    _check_readable(log, version)
    return version


def _version_at(log: LogReader, timestamp: str, settings: StreamSettings, time_zone: str) -> int:
    wanted = to_milliseconds(timestamp, time_zone)
    latest = log.update()
    listing = list_versions(log.store)
    times = CommitTimes(log.store, listing, InCommitTimestamps.of(latest.metadata.configuration), log.table_uri)
    try:
        found = times.first_at_or_after(wanted)
    except TimestampOutOfRangeError as error:
        if settings.allows_out_of_range and error.error_class == "DELTA_TIMESTAMP_GREATER_THAN_COMMIT":
            return latest.version + 1
        raise
    _check_readable(log, found)
    return found


def _check_readable(log: LogReader, version: int) -> None:
    """Check that bayou can read a version; pass if its snapshot cannot be loaded, because the log before it is gone."""
    try:
        log.snapshot(version)
    except UnsupportedFeatureError:
        raise
    except DeltaError:
        return
