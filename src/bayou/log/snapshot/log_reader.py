# SPDX-License-Identifier: Apache-2.0
"""`LogReader`: read the versions of a table as snapshots. `DeltaLog` extends it with operations and commits."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayou.errors import CorruptLogError, DeltaError, StorageError, TableNotFoundError, TimestampOutOfRangeError, failed, redact_uri
from bayou.log.segment.commit_times import CommitTimes, InCommitTimestamps
from bayou.log.segment.listing import LogListing, list_versions
from bayou.log.segment.time_travel import Timestamp, to_milliseconds
from bayou.log.snapshot.loading import advance, find_version, load, newest_before
from bayou.protocol import arguments
from bayou.storage import LogStore, open_store, qualify

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot


class LogReader:
    """Reads a table's log and caches its latest snapshot. Threads may share a reader."""

    def __init__(self, table_uri: str, store: LogStore) -> None:
        self._table_uri = table_uri
        self._store = store
        self._lock = threading.RLock()
        self._latest: Snapshot | None = None
        self._end_of_checksums = -1
        self._last_checksum: tuple[int, str, Mapping[str, Any]] | None = None

    def __repr__(self) -> str:
        version = "" if self._latest is None else f", version={self._latest.version}"
        return f"{type(self).__name__}({redact_uri(self._table_uri)!r}{version})"

    def _repr_html_(self) -> str:
        from bayou.report.html import facts_html  # noqa: PLC0415  (only notebooks need it)

        latest = self._latest
        return facts_html(f"Log of {redact_uri(self._table_uri)}", {} if latest is None else latest.facts_in_memory())

    @property
    def table_uri(self) -> str:
        """The table's URI, absolute, not percent-encoded."""
        return self._table_uri

    @property
    def store(self) -> LogStore:
        """The table's store."""
        return self._store

    @property
    def known_version(self) -> int:
        """The version of `known`; -1 if no snapshot was read."""
        latest = self._latest
        return -1 if latest is None else latest.version

    @property
    def end_of_checksums(self) -> int:
        """The last version whose checksum could not be computed from an earlier checksum, as far as commits of this log noticed."""
        return self._end_of_checksums

    def note_end_of_checksums(self, version: int) -> None:
        """Cache that a version has no checksum, so that later commits do not search one for it or for earlier versions."""
        self._end_of_checksums = max(version, self._end_of_checksums)

    def last_checksum(self, version: int) -> Mapping[str, Any] | None:
        """Return the checksum of a version if `note_checksum` cached it; None if not, or if the table was replaced since."""
        cached, latest = self._last_checksum, self._latest
        if cached is None or latest is None or cached[:2] != (version, latest.metadata.id):
            return None
        return cached[2]

    def note_checksum(self, version: int, document: Mapping[str, Any]) -> None:
        """Cache the checksum that was written for a version, so that the next commit need not read it."""
        if self._latest is not None:
            self._last_checksum = version, self._latest.metadata.id, document

    @property
    def known(self) -> Snapshot | None:
        """The cached snapshot, which may be outdated; None if no snapshot was read."""
        return self._latest

    def snapshot(self, version: int | None = None, timestamp: Timestamp | None = None, *, time_zone: str = "UTC") -> Snapshot:
        """Return the table at its latest version, at a version, or at a time.

        Args:
            version: the version; None for the latest.
            timestamp: selects the latest version committed at or before it.
            time_zone: the zone of a timestamp without one.

        Raises:
            TableNotFoundError: the table does not exist.
            VersionNotFoundError: the version does not exist, or log cleanup deleted the files that it needs.
            TimestampOutOfRangeError: the timestamp is before the first or after the last readable commit.
            InvalidTimestampError: the string is not a timestamp.
            UnsupportedFeatureError: bayou cannot read the table.
            CorruptLogError: the log is corrupt.
        """
        if version is not None and timestamp is not None:
            raise failed("DELTA_ONEOF_IN_TIMETRAVEL", table=self._table_uri)
        if timestamp is not None:
            version = self.version_at(timestamp, time_zone=time_zone)
        if version is None:
            return self.update()
        version = arguments.integer(version, "version", table=self._table_uri)
        latest = self._latest
        if latest is not None and latest.version == version:
            # Another table may have replaced this one: the cached version is only valid if it is still the latest of the log. An
            # unreadable later version does not matter here.
            with contextlib.suppress(CorruptLogError, StorageError):
                latest = self.update()
                if latest.version == version:
                    return latest
        return load(self._store, self._table_uri, version)

    def update(self, written: Mapping[str, bytes] | None = None) -> Snapshot:
        """Return the latest snapshot.

        Cost: one listing; only commits since the last call are read and replayed.

        Args:
            written: the content of files that the caller has just written to the log, by path; they are not read again.

        Raises:
            TableNotFoundError: the table does not exist. The cached state of a former table is dropped.
        """
        with self._lock:
            try:
                cached = self._latest
                if cached is None:
                    self._latest = load(self._store, self._table_uri, written=written)
                else:
                    self._latest = advance(cached, written)
            except TableNotFoundError:
                self._latest = self._last_checksum = None
                self._end_of_checksums = -1
                raise
            return self._latest

    def forget(self) -> None:
        """Drop the cached snapshot to free its memory; the next one is loaded from the newest checkpoint."""
        with self._lock:
            self._latest = None

    def version(self) -> int:
        """Return the latest version, or raise TableNotFoundError if the table does not exist."""
        latest = self._latest
        if latest is not None:
            return self.update().version
        return find_version(self._store, self._table_uri)

    def version_at(self, timestamp: Timestamp, *, time_zone: str = "UTC") -> int:
        """Return the latest version that was committed at or before a time.

        Raises:
            TimestampOutOfRangeError: the timestamp is before the first or after the last readable commit.
            InvalidTimestampError: the string is not a timestamp.
        """
        time_ms = to_milliseconds(timestamp, time_zone)
        latest, failure = self.latest_readable()
        listing = self._listing()
        if failure is None:
            return self._commit_times(listing, latest).version_at(time_ms)
        try:
            return self._commit_times(listing.up_to(latest.version), latest).version_at(time_ms)
        except TimestampOutOfRangeError as error:
            # After the latest readable version, the unreadable version may be the right one, so its error is the reason.
            if error.error_class == TimestampOutOfRangeError.error_class:
                raise failure from error
            raise

    def latest_readable(self) -> tuple[Snapshot, DeltaError | None]:
        """Return the latest readable version, and the error of a later unreadable version, or None.

        Raises:
            TableNotFoundError: the table does not exist.
            CorruptLogError: no version can be read.
        """
        try:
            return self.update(), None
        except (CorruptLogError, StorageError) as error:
            readable = newest_before(error, self._store, self._table_uri, self._listing())
            if readable is None:
                raise
            return readable, error

    def _commit_times(self, listing: LogListing, latest: Snapshot) -> CommitTimes:
        ict = InCommitTimestamps.of(latest.metadata.configuration)
        return CommitTimes(self._store, listing, ict, self._table_uri)

    def commit_times(self, snapshot: Snapshot) -> tuple[LogListing, CommitTimes]:
        """Return the files of the log and the commit times of its versions; `snapshot` must be the latest one."""
        listing = self._listing()
        return listing, self._commit_times(listing, snapshot)

    def _listing(self) -> LogListing:
        return list_versions(self._store)


def open_reader(path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> LogReader:
    """Open the log of a table for reading; see `bayou.log.delta_log.open_log`."""
    return LogReader(*table_at(path, storage_options))


def table_at(path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> tuple[str, LogStore]:
    """Return the URI and the store of a table; see `bayou.log.delta_log.open_log`."""
    place = qualify(path)
    options = arguments.text_map(storage_options, "storage_options", table=place.uri, shown=False)
    return place.uri, open_store(place, options)
