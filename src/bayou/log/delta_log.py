# SPDX-License-Identifier: Apache-2.0
"""The log of a table: where everything that reads a table begins."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
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
from bayou.log import events
from bayou.log.history import CommitChanges, HistoryEntry, read_changes, read_history
from bayou.log.listing import LogListing, list_log, sort_listing
from bayou.log.snapshot_loading import advance, find_version, load, newest_before
from bayou.log.time_travel import Timestamp, to_milliseconds
from bayou.log.timestamps import CommitTimes, InCommitTimestamps
from bayou.protocol import arguments
from bayou.protocol.file_names import LOG_FOLDER
from bayou.storage import LogStore, open_store, qualify

if TYPE_CHECKING:
    from bayou.log.change_checks import SchemaMode
    from bayou.log.change_feed import ChangeFeed
    from bayou.log.change_range import ChangeBounds, ChangeRange
    from bayou.log.checkpoint_writer import WrittenCheckpoint
    from bayou.log.cleanup import ExpiredFiles
    from bayou.log.outcomes import Committed, Unchanged
    from bayou.log.snapshot import Snapshot
    from bayou.log.transaction import Transaction
    from bayou.protocol.schema import StructType


class DeltaLog:
    """A table's log. Keeps the latest snapshot that it read; threads may share a log."""

    def __init__(self, table_uri: str, store: LogStore) -> None:
        self._table_uri = table_uri
        self._store = store
        self._lock = threading.RLock()
        self._latest: Snapshot | None = None
        self._end_of_checksums = -1

    def __repr__(self) -> str:
        return f"DeltaLog({redact_uri(self._table_uri)!r})"

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
                sql_state="42601",
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

    def update(self) -> Snapshot:
        """The latest snapshot.

        Costs one listing; only commits that are new since the last call are read and replayed.

        Raises:
            TableNotFoundError: there is no table; what was known of one that was there is forgotten.
        """
        with self._lock:
            try:
                known = self._latest
                self._latest = load(self._store, self._table_uri) if known is None else advance(known)
            except TableNotFoundError:
                self._latest = None
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

    def committed_at(self, snapshot: Snapshot) -> int:
        """When a version was committed, in ms since the epoch, as `history` shows it and `version_at` finds it.

        Args:
            snapshot: the version. Without its commit in the log, the time is the one that the snapshot knows.
        """
        _, _, times = self._commits(snapshot.version)
        try:
            return times.of(snapshot.version)
        except KeyError:
            return snapshot.timestamp

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

    def history(self, limit: int | None = None, *, version: int | None = None) -> list[HistoryEntry]:
        """The commits that the log still holds, newest first.

        Where the latest version cannot be read, the history begins at the latest one that can, and an event says so.

        Args:
            limit: at most so many.
            version: begin at this version instead of the latest; later ones need not be readable.
        """
        limit = arguments.optional_integer(limit, "limit", table=self._table_uri)
        if version is None:
            last, failure = self.latest_readable()
            if failure is not None:
                events.emit(events.HistoryCutEvent(table=self._table_uri, version=last.version, error=str(failure)))
        else:
            last = self.snapshot(version)
        listing = self._listing()
        times = self._commit_times(listing, last)
        return read_history(self._store, listing, times, self._table_uri, last=last.version, limit=limit)

    def changes(self, start: int, end: int | None = None) -> list[CommitChanges]:
        """The actions of each commit from one version to another, both included.

        Args:
            start: the first version.
            end: the last version; the latest where None.

        Raises:
            VersionNotFoundError: a version of the range is not in the log.
            CorruptLogError: a commit cannot be read.
        """
        start = arguments.integer(start, "start", table=self._table_uri)
        end = arguments.optional_integer(end, "end", table=self._table_uri)
        _, listing, times = self._commits(end)
        return list(read_changes(self._store, listing, times, self._table_uri, start=start, end=end))

    def change_feed(self, bounds: ChangeBounds, *, schema_mode: SchemaMode | None = None, check_schemas: bool = True) -> ChangeFeed:
        """The rows that changed in a range of versions, as the files that they are read from. Reads each commit once.

        Args:
            bounds: the range, by versions or timestamps.
            schema_mode: whose schema counts where the table has column mapping; the range's last version's where None.
            check_schemas: whether a range is refused whose rows were written under schemas that do not fit.

        Raises:
            InvalidOptionError: there is no start, a side is given twice, or the end is before the start.
            TimeTravelError: the range cannot be read: it is not in the log, or its changes were not recorded.
            UnsupportedFeatureError: its schemas do not fit, or a version needs what bayou cannot read.
            CorruptLogError: a commit cannot be read.
        """
        from bayou.log.change_feed import read_change_feed  # noqa: PLC0415  (most users of a log do not need it)
        from bayou.log.change_range import check_bounds  # noqa: PLC0415

        check_bounds(bounds, self._table_uri)
        latest, listing, times = self._commits(bounds.ending_version)
        return read_change_feed(self, latest, listing, times, bounds, schema_mode=schema_mode, check_schemas=check_schemas)

    def change_range(self, bounds: ChangeBounds) -> ChangeRange:
        """The versions that a range stands for.

        Args:
            bounds: the range, by versions or timestamps.

        Raises:
            InvalidOptionError, TimeTravelError: as `change_feed`.
        """
        from bayou.log.change_range import check_bounds, resolve_range  # noqa: PLC0415  (most users of a log do not need it)

        check_bounds(bounds, self._table_uri)
        latest, listing, times = self._commits(bounds.ending_version)
        return resolve_range(bounds, listing, times, latest.version, self._table_uri)

    def transaction(
        self,
        operation: str = "Manual Update",
        parameters: Mapping[str, Any] | None = None,
        *,
        snapshot: Snapshot | None = None,
        **options: Any,
    ) -> Transaction:
        """Begin a transaction on the latest version; where there is no table, its commit creates one.

        Args:
            operation: the operation's name, for the history.
            parameters: its parameters; each value is put into the log as JSON text.
            snapshot: the state that the commit is made from, where it is not the latest.
            options: `engine_info`, `user_metadata`, `txn`, `max_attempts` and `clock`, as `Transaction` takes them.

        Raises:
            UnsupportedFeatureError: the table asks its writers for what bayou does not do.
        """
        from bayou.log.transaction import Transaction  # noqa: PLC0415  (most users of a log only read)

        if snapshot is None:
            try:
                snapshot = self.update()
            except TableNotFoundError:
                snapshot = None
        return Transaction(self, snapshot, operation, parameters, **options)

    def create(
        self,
        schema: StructType | str,
        *,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        description: str | None = None,
    ) -> Snapshot:
        """Create a table without rows.

        Args:
            schema: its schema, or the schema's JSON as Spark and the log spell it.
            partition_by: its partition columns.
            properties: its properties.
            description: what it is for.

        Raises:
            TableExistsError: there is a table.
            InvalidSchemaError: no table can have this schema or these partition columns.
            InvalidOptionError: an argument has a wrong type, or a property cannot be set.
            UnsupportedFeatureError: a property asks for what bayou does not do.
        """
        from bayou.log.create import create_table  # noqa: PLC0415  (most users of a log only read)
        from bayou.protocol.given_schema import given_schema  # noqa: PLC0415

        table = self._table_uri
        wanted = given_schema(schema, table=table)
        columns = arguments.texts(partition_by, "partition_by", table=table)
        given = arguments.text_map(properties, "properties", table=table)
        create_table(self, wanted, columns, given, arguments.optional_text(description, "description", table=table))
        return self.update()

    def append(
        self, paths: Sequence[str], partition_values: Mapping[str, Mapping[str, Any]] | None = None, **options: Any
    ) -> Committed | Unchanged:
        """Commit Parquet files that another program wrote into the table's folder; see `Transaction.add_files`.

        Args:
            paths: the files, relative to the table, not percent-encoded.
            partition_values: the partition values by path and column; from the path's folders where left out.
            options: `engine_info`, `user_metadata`, `txn` and `max_attempts`, as `Transaction` takes them.
        """
        paths = arguments.texts(paths, "paths", table=self._table_uri)
        with self.transaction("WRITE", {"mode": "Append", "partitionBy": "[]"}, **options) as transaction:
            adds = transaction.add_files(paths, partition_values)
            return transaction.commit(metrics={"numFiles": len(adds), "numOutputBytes": sum(each.size for each in adds)})

    def checkpoint(self, *, part_size: int | None = None) -> WrittenCheckpoint:
        """Write a checkpoint of the latest version now; commits write one by themselves after every few versions.

        Args:
            part_size: split it into parts of about so many file actions. The protocol deprecates that.

        Raises:
            InvalidOptionError: parts are asked for, and the table has V2 checkpoints.
            StorageError: the store failed; the log is as sound as before.
        """
        from bayou.log.post_commit import checkpoint  # noqa: PLC0415  (most users of a log only read)

        part_size = arguments.optional_integer(part_size, "part_size", table=self._table_uri)
        return checkpoint(self.update(), part_size=part_size)

    def compact(self, start: int, end: int) -> str:
        """Write a log compaction file: the commits of a range as one file, for readers between checkpoints.

        Returns:
            Its path, relative to the table.

        Raises:
            InvalidOptionError: the range holds nothing to compact.
            VersionNotFoundError: a version of the range is not in the log.
        """
        from bayou.log.compaction import compact_log  # noqa: PLC0415  (most users of a log only read)

        return compact_log(self, start, end)

    def clean_up(self, *, dry_run: bool = False) -> ExpiredFiles:
        """Delete the files of the log that `delta.logRetentionDuration` lets go of; commits do it by themselves, too.

        Args:
            dry_run: list them, and delete nothing.

        Raises:
            StorageError: the store failed; some files are deleted, and every version that is kept can be read.
        """
        from bayou.log.cleanup import clean_up, expired_files  # noqa: PLC0415  (most users of a log only read)

        arguments.flag(dry_run, "dry_run", table=self._table_uri)
        latest = self.update()
        return expired_files(latest, now_ms=int(time.time() * 1000)) if dry_run else clean_up(latest)

    def _commits(self, end: object = None) -> tuple[Snapshot, LogListing, CommitTimes]:
        """The latest version, the whole log, and its commit times; of the readable part of the log where the end lies in it."""
        latest, failure = self.latest_readable()
        listing = self._listing()
        if failure is not None:
            if not isinstance(end, int) or end > latest.version:
                raise failure
            listing = listing.up_to(latest.version)
        return latest, listing, self._commit_times(listing, latest)

    def _commit_times(self, listing: LogListing, latest: Snapshot) -> CommitTimes:
        ict = InCommitTimestamps.of(latest.metadata.configuration)
        return CommitTimes(self._store, listing, ict, self._table_uri)

    def _listing(self) -> LogListing:
        return sort_listing(list_log(self._store, f"{LOG_FOLDER}/"))


def open_log(path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> DeltaLog:
    """Open the log of a table; nothing is read yet.

    Args:
        path: the table's path or URI.
        storage_options: credentials and settings of the store.

    Raises:
        StorageError: no store serves the path's scheme.
        InvalidOptionError: the path is empty, or is not a path.
    """
    place = qualify(path)
    options = arguments.text_map(storage_options, "storage_options", table=place.uri, shown=False)
    return DeltaLog(place.uri, open_store(place, options))
