# SPDX-License-Identifier: Apache-2.0
"""Which versions a table's log has, and their snapshots: what everything else that looks at a log is built on."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayou.errors import (
    CorruptLogError,
    DeltaError,
    InvalidOptionError,
    StorageError,
    TableNotFoundError,
    TimestampOutOfRangeError,
    redact_uri,
)
from bayou.log.segment.commit_times import CommitTimes, InCommitTimestamps
from bayou.log.segment.listing import LogListing, list_versions
from bayou.log.segment.time_travel import Timestamp, to_milliseconds
from bayou.log.snapshot.loading import advance, find_version, load, newest_before
from bayou.protocol import arguments
from bayou.storage import LogStore, open_store, qualify

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot


class LogReader:
    """The reading side of a table's log. Keeps the latest snapshot that it read; threads may share a reader."""

    def __init__(self, table_uri: str, store: LogStore) -> None:
        self._table_uri = table_uri
        self._store = store
        self._lock = threading.RLock()
        self._latest: Snapshot | None = None
        self._end_of_checksums = -1
        self._last_checksum: tuple[int, str, Mapping[str, Any]] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({redact_uri(self._table_uri)!r})"

    @property
    def table_uri(self) -> str:
        """The table's URI, absolute, not percent-encoded."""
        return self._table_uri

    @property
    def store(self) -> LogStore:
        """The store that the table is kept in."""
        return self._store

    @property
    def known_version(self) -> int:
        """The latest version that was read, without looking for a later one; -1 where none was."""
        latest = self._latest
        return -1 if latest is None else latest.version

    @property
    def end_of_checksums(self) -> int:
        """The last version of which a commit of this log found that its checksum does not follow from an earlier one."""
        return self._end_of_checksums

    def note_end_of_checksums(self, version: int) -> None:
        """Remember that a version has no checksum, so that later commits do not look for one of it, or of those before."""
        self._end_of_checksums = max(version, self._end_of_checksums)

    def last_checksum(self, version: int) -> Mapping[str, Any] | None:
        """The checksum that this process wrote of a version, unless another table has taken the place of that one since."""
        found, latest = self._last_checksum, self._latest
        if found is None or latest is None or found[:2] != (version, latest.metadata.id):
            return None
        return found[2]

    def note_checksum(self, version: int, document: Mapping[str, Any]) -> None:
        """Remember the checksum that was written of a version, so that the next commit need not read it."""
        if self._latest is not None:
            self._last_checksum = version, self._latest.metadata.id, document

    @property
    def known(self) -> Snapshot | None:
        """The state that was read last, which need not be the latest by now; None where none was read."""
        return self._latest

    def snapshot(self, version: int | None = None, timestamp: Timestamp | None = None, *, time_zone: str = "UTC") -> Snapshot:
        """The table at its latest version, at a version, or at a moment.

        Args:
            version: the version wanted.
            timestamp: the version wanted is the latest one committed at or before it.
            time_zone: the zone of a timestamp that names none.

        Raises:
            TableNotFoundError: there is no table.
            VersionNotFoundError: the version does not exist, or the log that led to it is gone.
            TimestampOutOfRangeError: the timestamp is before the first or after the last readable commit.
            InvalidTimestampError: the text is no timestamp.
            UnsupportedFeatureError: the table needs what bayou cannot read.
            CorruptLogError: the log is broken.
        """
        if version is not None and timestamp is not None:
            raise InvalidOptionError(
                "a version and a timestamp were both given",
                table=self._table_uri,
                error_class="DELTA_ONEOF_IN_TIMETRAVEL",
                next_step="Give one of them.",
            )
        if timestamp is not None:
            version = self.version_at(timestamp, time_zone=time_zone)
        if version is None:
            return self.update()
        version = arguments.integer(version, "version", table=self._table_uri)
        latest = self._latest
        if latest is not None and latest.version == version:
            # A table may have been replaced. A later version that cannot be read is of no concern here.
            with contextlib.suppress(CorruptLogError, StorageError):
                latest = self.update()
                if latest.version == version:
                    return latest
        return load(self._store, self._table_uri, version)

    def update(self, written: Mapping[str, bytes] | None = None) -> Snapshot:
        """The latest snapshot.

        Costs one listing; only commits that are new since the last call are read and replayed.

        Args:
            written: what the caller has just put into the log itself, by path; it is not read again.

        Raises:
            TableNotFoundError: there is no table; what was known of one that was there is forgotten.
        """
        with self._lock:
            try:
                known = self._latest
                if known is None:
                    self._latest = load(self._store, self._table_uri, written=written)
                else:
                    self._latest = advance(known, written)
            except TableNotFoundError:
                self._latest = self._last_checksum = None
                self._end_of_checksums = -1
                raise
            return self._latest

    def forget(self) -> None:
        """Let go of the latest snapshot and of the memory that it takes; the next one begins at the newest checkpoint."""
        with self._lock:
            self._latest = None

    def version(self) -> int:
        """The latest version.

        Raises:
            TableNotFoundError: there is no table.
        """
        latest = self._latest
        if latest is not None:
            return self.update().version
        return find_version(self._store, self._table_uri)

    def version_at(self, timestamp: Timestamp, *, time_zone: str = "UTC") -> int:
        """The latest version that was committed at or before a moment.

        Raises:
            TimestampOutOfRangeError: the timestamp is before the first or after the last readable commit.
            InvalidTimestampError: the text is no timestamp.
        """
        wanted = to_milliseconds(timestamp, time_zone)
        latest, failure = self.latest_readable()
        listing = self._listing()
        if failure is None:
            return self._commit_times(listing, latest).version_at(wanted)
        try:
            return self._commit_times(listing.up_to(latest.version), latest).version_at(wanted)
        except TimestampOutOfRangeError as error:
            if error.error_class == TimestampOutOfRangeError.error_class:
                raise failure from error
            raise

    def latest_readable(self) -> tuple[Snapshot, DeltaError | None]:
        """The latest version that can be read, and why the latest of all cannot be; None where it is that one.

        Raises:
            TableNotFoundError: there is no table.
            CorruptLogError: no version can be read.
        """
        try:
            return self.update(), None
        except (CorruptLogError, StorageError) as error:
            found = newest_before(error, self._store, self._table_uri, self._listing())
            if found is None:
                raise
            return found, error

    def _commit_times(self, listing: LogListing, latest: Snapshot) -> CommitTimes:
        ict = InCommitTimestamps.of(latest.metadata.configuration)
        return CommitTimes(self._store, listing, ict, self._table_uri)

    def commit_times(self, snapshot: Snapshot) -> tuple[LogListing, CommitTimes]:
        """The files of the log, and when its versions were committed; for operations of this package.

        Args:
            snapshot: the latest version.
        """
        listing = self._listing()
        return listing, self._commit_times(listing, snapshot)

    def _listing(self) -> LogListing:
        return list_versions(self._store)


def open_reader(path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> LogReader:
    """Open the log of a table for reading; see `bayou.log.delta_log.open_log`."""
    return LogReader(*table_at(path, storage_options))


def table_at(path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> tuple[str, LogStore]:
    """The URI of a table, and the store that it is kept in; see `bayou.log.delta_log.open_log`."""
    place = qualify(path)
    options = arguments.text_map(storage_options, "storage_options", table=place.uri, shown=False)
    return place.uri, open_store(place, options)
