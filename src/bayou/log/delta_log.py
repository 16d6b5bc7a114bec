# SPDX-License-Identifier: Apache-2.0
"""`DeltaLog`, the entry point to a table without Spark: its snapshots, history, change feed, commits and maintenance.

The public methods check their arguments. The work is in other modules of `log/`, which they import when called: a program that only
reads a table does not load the code that writes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayou.errors import TableNotFoundError
from bayou.log import events
from bayou.log.segment.commit_times import CommitTimes
from bayou.log.segment.history import CommitChanges, History, HistoryPart, read_changes, read_history
from bayou.log.segment.listing import LogListing
from bayou.log.snapshot.log_reader import LogReader, table_at
from bayou.protocol import arguments

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.log.changes.checks import SchemaMode
    from bayou.log.changes.feed import ChangeFeed
    from bayou.log.changes.range import ChangeBounds, ChangeRange
    from bayou.log.checkpoint.writer import WrittenCheckpoint
    from bayou.log.commit.outcomes import Committed, Unchanged
    from bayou.log.commit.transaction import Transaction
    from bayou.log.maintenance.log_cleanup import ExpiredFiles
    from bayou.log.operations.clone import CloneResult
    from bayou.log.operations.compute_statistics import ComputedStatistics
    from bayou.log.operations.manifest import GeneratedManifests
    from bayou.log.operations.restore import RestoreResult
    from bayou.log.operations.vacuum import Kind, VacuumResult
    from bayou.log.segment.time_travel import Timestamp
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.plan.predicates.predicate import Filters
    from bayou.protocol.types.schema import StructType


class DeltaLog(LogReader):
    """The log of one table. It caches the latest snapshot that it read; threads may share a log.

    Examples:
        >>> log.create(schema, partition_by=["day"])
        >>> log.append(["day=2026-11-01/part-1.parquet"], txn=("loader", 17))
        >>> log.version(), log.snapshot(0).num_files, log.history(5), log.changes(0, 1)
        >>> log.checkpoint(), log.compact(0, 1), log.verify_checksum(), log.clean_up(dry_run=True)
        >>> log.vacuum(dry_run=True), log.restore(0), log.clone("/tmp/copy")
        >>> log.compute_statistics(missing_only=True), log.generate_manifests()
    """

    def committed_at(self, snapshot: Snapshot) -> int:
        """Return when a version was committed, in ms since the epoch: the time that `history` shows and `version_at` compares.

        Args:
            snapshot: the version. If the log no longer holds its commit, the result is `snapshot.timestamp`.
        """
        _, _, times = self._commits(snapshot.version)
        try:
            return times.of(snapshot.version)
        except KeyError:
            return snapshot.timestamp

    def history(self, limit: int | None = None, *, version: int | None = None, part: HistoryPart | None = None) -> History:
        """Return the commits that the log still holds, newest first.

        If the latest version cannot be read, the history begins at the latest readable version, and a `HistoryCutEvent` reports it.

        Args:
            limit: the maximum number of commits; None for all.
            version: begin at this version instead of the latest; later versions need not be readable.
            part: the commits to read; others are skipped. None for all.
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
        return read_history(self._store, listing, times, self._table_uri, last=last.version, limit=limit, part=part)

    def changes(self, start: int, end: int | None = None) -> list[CommitChanges]:
        """Return the actions of each commit from one version to another, both included.

        Args:
            start: the first version.
            end: the last version; None for the latest.

        Raises:
            VersionNotFoundError: a version of the range is not in the log.
            CorruptLogError: a commit cannot be read.
        """
        start = arguments.integer(start, "start", table=self._table_uri)
        end = arguments.optional_integer(end, "end", table=self._table_uri)
        _, listing, times = self._commits(end)
        return list(read_changes(self._store, listing, times, self._table_uri, start=start, end=end))

    def change_feed(self, bounds: ChangeBounds, *, schema_mode: SchemaMode | None = None, check_schemas: bool = True) -> ChangeFeed:
        """Return the files that hold the change data feed of a range of versions. Each commit is read once.

        Args:
            bounds: the range, by versions or timestamps.
            schema_mode: the version whose schema the feed has if the table has column mapping; None for the last of the range.
            check_schemas: whether to refuse a range with rows that were written under schemas incompatible with the feed's.

        Raises:
            InvalidOptionError: the start is missing, a bound has both a version and a timestamp, or the end is before the start.
            TimeTravelError: the range is not in the log, or its changes were not recorded.
            UnsupportedFeatureError: schemas in the range are incompatible, or a version uses a feature that bayou cannot read.
            CorruptLogError: a commit cannot be read.
        """
        from bayou.log.changes.feed import read_change_feed  # noqa: PLC0415  (most users of a log do not need it)
        from bayou.log.changes.range import check_bounds  # noqa: PLC0415

        check_bounds(bounds, self._table_uri)
        latest, listing, times = self._commits(bounds.ending_version)
        return read_change_feed(self, latest, listing, times, bounds, schema_mode=schema_mode, check_schemas=check_schemas)

    def change_range(self, bounds: ChangeBounds) -> ChangeRange:
        """Return the versions that the bounds of a change data feed select.

        Args:
            bounds: the range, by versions or timestamps.

        Raises:
            InvalidOptionError, TimeTravelError: as `change_feed`.
        """
        from bayou.log.changes.range import check_bounds, resolve_range  # noqa: PLC0415  (most users of a log do not need it)

        check_bounds(bounds, self._table_uri)
        latest, listing, times = self._commits(bounds.ending_version)
        return resolve_range(bounds, listing, times, latest.version, self._table_uri)

    def verify_checksum(self, version: int | None = None) -> bool:
        """Compare the checksum file of a version with the state that a replay of the log's actions gives.

        Args:
            version: the version; None for the latest.

        Returns:
            True if they agree, False if the version has no readable checksum file.

        Raises:
            ChecksumMismatchError: they disagree; `mismatches` lists the differences.
            DeltaError: the version cannot be read; see `snapshot`.
        """
        from bayou.log.checksum.verify import verify_checksum  # noqa: PLC0415  (not needed to read a table)

        return verify_checksum(self.snapshot(version))

    def transaction(
        self,
        operation: str = "Manual Update",
        parameters: Mapping[str, Any] | None = None,
        *,
        snapshot: Snapshot | None = None,
        **options: Any,
    ) -> Transaction:
        """Begin a transaction on the latest version. If the table does not exist, its commit creates it.

        Args:
            operation: the operation's name, for the history.
            parameters: its parameters; the log stores each value as a JSON string.
            snapshot: the snapshot that the commit is based on; None for the latest.
            options: `engine_info`, `user_metadata`, `txn`, `max_attempts` and `clock` of `Transaction`.

        Raises:
            UnsupportedFeatureError: the table has a writer feature that bayou does not support.

        Examples:
            >>> with log.transaction("DELETE") as transaction:
            ...     transaction.remove_files(transaction.files(where=[("day", "==", "2026-11-01")]))
            ...     transaction.commit()
        """
        from bayou.log.commit.transaction import Transaction  # noqa: PLC0415  (most users of a log only read)

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
            schema: the schema, or its JSON string in the format of Spark and of the log.
            partition_by: the partition columns.
            properties: the table properties.
            description: the description in the table's metadata.

        Raises:
            TableExistsError: the table exists already.
            InvalidSchemaError: the schema or the partition columns are invalid.
            InvalidOptionError: an argument has a wrong type, or a property cannot be set.
            UnsupportedFeatureError: a property requires a feature that bayou does not support.
        """
        from bayou.log.operations.create import create_table  # noqa: PLC0415  (most users of a log only read)
        from bayou.protocol.schema.given_schema import given_schema  # noqa: PLC0415

        table = self._table_uri
        parsed_schema = given_schema(schema, table=table)
        columns = arguments.texts(partition_by, "partition_by", table=table)
        configuration = arguments.text_map(properties, "properties", table=table)
        create_table(self, parsed_schema, columns, configuration, arguments.optional_text(description, "description", table=table))
        return self.update()

    def append(
        self, paths: Sequence[str], partition_values: Mapping[str, Mapping[str, Any]] | None = None, **options: Any
    ) -> Committed | Unchanged:
        """Commit Parquet files that another program wrote into the table's folder; see `Transaction.add_files`.

        Args:
            paths: the files, relative to the table, not percent-encoded.
            partition_values: the partition values by path and column; if left out, they are parsed from the folders of the path.
            options: `engine_info`, `user_metadata`, `txn` and `max_attempts` of `Transaction`.
        """
        paths = arguments.texts(paths, "paths", table=self._table_uri)
        with self.transaction("WRITE", {"mode": "Append", "partitionBy": "[]"}, **options) as transaction:
            adds = transaction.add_files(paths, partition_values)
            return transaction.commit(metrics={"numFiles": len(adds), "numOutputBytes": sum(each.size for each in adds)})

    def checkpoint(self, *, part_size: int | None = None) -> WrittenCheckpoint:
        """Write a checkpoint of the latest version. Commits also do this automatically every `delta.checkpointInterval` versions.

        Args:
            part_size: write a multi-part checkpoint with about this number of file actions per part. The protocol deprecates these.

        Raises:
            InvalidOptionError: `part_size` is set, and the table has V2 checkpoints.
            StorageError: the store failed. The log is still valid.
        """
        from bayou.log.commit.hooks import checkpoint  # noqa: PLC0415  (most users of a log only read)

        part_size = arguments.optional_integer(part_size, "part_size", table=self._table_uri)
        return checkpoint(self.update(), part_size=part_size)

    def compact(self, start: int, end: int) -> str:
        """Write a log compaction file, which readers use instead of the commits of a range.

        Returns:
            The path of the file, relative to the table.

        Raises:
            InvalidOptionError: the range contains nothing to compact.
            VersionNotFoundError: a version of the range is not in the log.
        """
        from bayou.log.maintenance.compaction import compact_log  # noqa: PLC0415  (most users of a log only read)

        return compact_log(self, start, end)

    def clean_up(self, *, dry_run: bool = False) -> ExpiredFiles:
        """Delete log files that are older than `delta.logRetentionDuration`. Commits also do this automatically.

        Args:
            dry_run: only list the files.

        Raises:
            StorageError: the store failed; some files are deleted, and all retained versions are still readable.
        """
        from bayou.log.maintenance.log_cleanup import clean_up, expired_files  # noqa: PLC0415  (most users of a log only read)

        arguments.flag(dry_run, "dry_run", table=self._table_uri)
        latest = self.update()
        return expired_files(latest, now_ms=int(time.time() * 1000)) if dry_run else clean_up(latest)

    def vacuum(
        self,
        retention_hours: float | None = None,
        *,
        kind: Kind = "full",
        dry_run: bool = False,
        inventory: pa.Table | None = None,
        keep_versions: Sequence[int] = (),
        check_retention: bool = True,
    ) -> VacuumResult:
        """Delete the files in the table's folder that neither the latest version nor versions within the retention need.

        Writers and readers may run concurrently. Afterwards, reads of a version older than the retention may fail on missing files.

        Args:
            retention_hours: the hours that a file is kept after a commit removed it, or after an operation wrote it without
                committing it. Fractions are allowed. None for the property `delta.deletedFileRetentionDuration`.
            kind: "full" lists the table's folder. "lite" reads the commits since the last VACUUM and lists nothing.
            dry_run: delete nothing, and commit nothing.
            inventory: a listing of the table's folder, used instead of listing it. Its columns are `path`, `length` in bytes,
                `isDir` and `modificationTime` in ms since the epoch.
            keep_versions: versions whose files are kept regardless of their age.
            check_retention: whether to refuse fewer hours than the property states.

        Returns:
            The files that were selected and deleted; `failed` lists those that could not be deleted.

        Raises:
            InvalidOptionError: the hours are negative or too few, the inventory lacks a column, or LITE needs commits that no
                longer exist.
            TimeTravelError: the retention reaches further back than the log.
            UnsupportedFeatureError: bayou cannot write to the table.
            StorageError: the store failed.
        """
        from bayou.log.operations.vacuum import VacuumRequest, vacuum  # noqa: PLC0415  (most users of a log only read)

        request = VacuumRequest(
            arguments.optional_number(retention_hours, "retention_hours", table=self._table_uri),
            kind,
            arguments.flag(dry_run, "dry_run", table=self._table_uri),
            inventory,
            tuple(arguments.integer(each, "keep_versions", table=self._table_uri) for each in keep_versions),
            arguments.flag(check_retention, "check_retention", table=self._table_uri),
        )
        return vacuum(self, request)

    def restore(
        self,
        version: int | None = None,
        timestamp: Timestamp | None = None,
        *,
        time_zone: str = "UTC",
        ignore_missing_files: bool = False,
        allow_protocol_downgrade: bool = False,
        dry_run: bool = False,
    ) -> RestoreResult:
        """Restore the table to an earlier version, by a new commit.

        The commit restores files and metadata. The protocol keeps features that later versions added.

        Args:
            version: the version to restore.
            timestamp: restore the latest version at this time instead.
            time_zone: the zone of a timestamp without one.
            ignore_missing_files: whether to restore the remaining files if some files of that version no longer exist.
            allow_protocol_downgrade: restore the protocol of that version, too.
            dry_run: check everything, and commit nothing.

        Returns:
            The numbers of restored and removed files. If the table is at that version already, nothing is committed.

        Raises:
            VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
            DataFileNotFoundError: files of that version no longer exist; `paths` lists them.
            UnsupportedFeatureError: the column mapping mode has changed since, or bayou cannot write to the table.
            ConcurrentModificationError: a winning commit conflicts.
            AppendOnlyError: the table accepts only appends.
        """
        from bayou.log.operations.restore import RestoreRequest, restore  # noqa: PLC0415  (most users of a log only read)

        table = self._table_uri
        request = RestoreRequest(
            arguments.optional_integer(version, "version", table=table),
            timestamp,
            time_zone,
            arguments.flag(ignore_missing_files, "ignore_missing_files", table=table),
            arguments.flag(allow_protocol_downgrade, "allow_protocol_downgrade", table=table),
            arguments.flag(dry_run, "dry_run", table=table),
        )
        return restore(self, request)

    def clone(
        self,
        target: str | os.PathLike[str],
        *,
        shallow: bool = False,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
        version: int | None = None,
        timestamp: Timestamp | None = None,
        time_zone: str = "UTC",
        storage_options: Mapping[str, str] | None = None,
        dry_run: bool = False,
    ) -> CloneResult:
        """Create an independent table from a version of this one.

        A deep clone copies the data files and deletion vectors. A shallow clone copies nothing: it refers to the files of this
        table, and becomes unreadable when VACUUM deletes them here. A clone has its own id and history, new row ids, and no `txn`
        actions.

        Args:
            target: the folder of the clone.
            shallow: whether the clone refers to this table's files.
            replace: whether to replace an existing table. A deep clone onto an earlier clone copies only new files and removes
                files that the source no longer has, in one commit.
            properties: table properties of the clone, in addition to those of this table.
            version: the version to clone; the latest by default.
            timestamp: clone the latest version at this time instead.
            time_zone: the zone of a timestamp without one.
            storage_options: credentials and settings of the clone's store.
            dry_run: check everything, and copy and commit nothing.

        Returns:
            The numbers of copied and removed files. If the clone has these files and metadata already, nothing is committed.

        Raises:
            TableExistsError: the target holds a table or other files, and `replace` is not set.
            VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
            DataFileNotFoundError: a file to copy no longer exists.
            InvalidOptionError: a property cannot be set.
            UnsupportedFeatureError: a shallow clone would replace a table with files, the column mapping mode would change, or
                bayou cannot write the clone.
            ConcurrentModificationError: a winning commit to the clone conflicts.
        """
        from bayou.log.operations.clone import CloneRequest, clone  # noqa: PLC0415  (most users of a log only read)

        table = self._table_uri
        request = CloneRequest(
            arguments.flag(shallow, "shallow", table=table),
            arguments.flag(replace, "replace", table=table),
            arguments.text_map(properties or {}, "properties", table=table),
            dry_run=arguments.flag(dry_run, "dry_run", table=table),
        )
        version = arguments.optional_integer(version, "version", table=table)
        source = self.update() if version is None and timestamp is None else self.snapshot(version, timestamp, time_zone=time_zone)
        return clone(source, self, open_log(target, storage_options), request)

    def generate_manifests(self) -> GeneratedManifests:
        """Write the manifests of the latest version, for engines that cannot read the log (GENERATE symlink_format_manifest).

        Each manifest is replaced atomically. Manifests of partitions that no longer exist are deleted last.

        Raises:
            UnsupportedFeatureError: the table has deletion vectors or column mapping, or bayou cannot write to it.
            StorageError: the store failed; some manifests may still describe an earlier version.
        """
        from bayou.log.operations.manifest import generate_manifests  # noqa: PLC0415  (most users of a log only read)

        return generate_manifests(self)

    def compute_statistics(self, where: Filters | None = None, *, missing_only: bool = False) -> ComputedStatistics:
        """Recompute from Parquet footers the file statistics by which queries prune files (COMPUTE STATS).

        Footers are not always sufficient: they include deleted rows, and some writers leave out bounds.
        `DeltaTable.computeStatistics` reads the rows of such files.

        Args:
            where: the partitions to process, as in `Snapshot.files`; None for all.
            missing_only: process only files whose statistics are incomplete or include deleted rows.

        Returns:
            The numbers of examined and changed files. If all statistics are correct, nothing is committed.

        Raises:
            InvalidOptionError: the filter names a column that is not a partition column.
            DataFileNotFoundError, UnreadableDataFileError: a file does not exist, or is not Parquet.
            UnsupportedFeatureError: bayou cannot write to the table.
            ConcurrentModificationError: other writers committed first in all attempts.
        """
        from bayou.log.operations.compute_statistics import compute_statistics  # noqa: PLC0415  (most users only read)

        return compute_statistics(self, where, missing_only=arguments.flag(missing_only, "missing_only", table=self._table_uri))

    def _commits(self, end: object = None) -> tuple[Snapshot, LogListing, CommitTimes]:
        """Return the latest version, the listing of the log, and its commit times.

        If the latest version cannot be read, but `end` is at or before the latest readable version, the result describes the log up
        to that one: a range that ends there does not depend on the unreadable versions.
        """
        latest, failure = self.latest_readable()
        listing = self._listing()
        if failure is not None:
            if not isinstance(end, int) or end > latest.version:
                raise failure
            listing = listing.up_to(latest.version)
        return latest, listing, self._commit_times(listing, latest)


def open_log(path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> DeltaLog:
    """Open the log of a table. This reads nothing: a missing table is only noticed by a method.

    Args:
        path: the table's path or URI.
        storage_options: credentials and settings of the store.

    Raises:
        StorageError: no store serves the path's scheme.
        InvalidOptionError: the path is empty, or is not a path.

    Examples:
        >>> log = bayou.open("/tmp/orders")
        >>> log.snapshot().num_files
    """
    return DeltaLog(*table_at(path, storage_options))
