# SPDX-License-Identifier: Apache-2.0
"""The log of a table: where everything that reads a table begins."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayou.errors import TableNotFoundError
from bayou.log import events
from bayou.log.segment.commit_times import CommitTimes
from bayou.log.segment.history import CommitChanges, HistoryEntry, HistoryPart, read_changes, read_history
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
    """A table's log. Keeps the latest snapshot that it read; threads may share a log."""

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

    def history(
        self, limit: int | None = None, *, version: int | None = None, part: HistoryPart | None = None
    ) -> list[HistoryEntry]:
        """The commits that the log still holds, newest first.

        Where the latest version cannot be read, the history begins at the latest one that can, and an event says so.

        Args:
            limit: at most so many.
            version: begin at this version instead of the latest; later ones need not be readable.
            part: which commits are wanted; others are not read. None for all.
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
            InvalidOptionError: a start is missing, a side is given twice, or the end is before the start.
            TimeTravelError: the range cannot be read: it is not in the log, or its changes were not recorded.
            UnsupportedFeatureError: its schemas do not fit, or a version needs what bayou cannot read.
            CorruptLogError: a commit cannot be read.
        """
        from bayou.log.changes.feed import read_change_feed  # noqa: PLC0415  (most users of a log do not need it)
        from bayou.log.changes.range import check_bounds  # noqa: PLC0415

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
        from bayou.log.changes.range import check_bounds, resolve_range  # noqa: PLC0415  (most users of a log do not need it)

        check_bounds(bounds, self._table_uri)
        latest, listing, times = self._commits(bounds.ending_version)
        return resolve_range(bounds, listing, times, latest.version, self._table_uri)

    def verify_checksum(self, version: int | None = None) -> bool:
        """Compare the checksum file of a version with the version's state, as the log has it.

        Args:
            version: the version; the latest where None.

        Returns:
            True where they agree, False where the version has no readable checksum file.

        Raises:
            ChecksumMismatchError: they disagree; `mismatches` says in what.
            DeltaError: the version cannot be read, as with `snapshot`.
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
            parameters: its parameters; each value is put into the log as JSON text.
            snapshot: the state that the commit is made from, where it is not the latest.
            options: `engine_info`, `user_metadata`, `txn`, `max_attempts` and `clock`, as `Transaction` takes them.

        Raises:
            UnsupportedFeatureError: the table asks its writers for what bayou does not do.
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
        from bayou.log.operations.create import create_table  # noqa: PLC0415  (most users of a log only read)
        from bayou.protocol.schema.given_schema import given_schema  # noqa: PLC0415

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
        from bayou.log.commit.hooks import checkpoint  # noqa: PLC0415  (most users of a log only read)

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
        from bayou.log.maintenance.compaction import compact_log  # noqa: PLC0415  (most users of a log only read)

        return compact_log(self, start, end)

    def clean_up(self, *, dry_run: bool = False) -> ExpiredFiles:
        """Delete log files that are older than `delta.logRetentionDuration`. Commits also do this automatically.

        Args:
            dry_run: list them, and delete nothing.

        Raises:
            StorageError: the store failed; some files are deleted, and every version that is kept can be read.
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
        """Delete the files of the table's folder that neither the table nor its recent versions need.

        Writers and readers may go on. Whoever reads a version older than the retention may miss files afterwards.

        Args:
            retention_hours: for how many hours a file is kept after it was removed from the table, or written and not used;
                fractions count. The property `delta.deletedFileRetentionDuration` says it if this is None.
            kind: "full" lists the table's folder. "lite" looks at the commits since the last VACUUM instead, and lists nothing.
            dry_run: delete nothing, and commit nothing.
            inventory: a listing of the table's folder to use instead of one of its own: `path`, `length` in bytes, `isDir` and
                `modificationTime` in ms since the epoch.
            keep_versions: versions whose files are kept, however old.
            check_retention: refuse fewer hours than the property says.

        Returns:
            What was found and deleted; `failed` names the files that could not be deleted.

        Raises:
            InvalidOptionError: the hours are negative or too few, the inventory lacks a column, or LITE needs commits that
                are gone.
            TimeTravelError: files are to be kept for longer than the log reaches back.
            UnsupportedFeatureError: bayou may not write to the table.
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

        Files and metadata are restored. The protocol keeps features that later versions added.

        Args:
            version: the version to restore.
            timestamp: restores the latest version at this time instead.
            time_zone: the zone of a timestamp that names none.
            ignore_missing_files: whether to restore the remaining files if files of that version do not exist any more.
            allow_protocol_downgrade: restore the version's own protocol, too.
            dry_run: check everything, and commit nothing.

        Returns:
            What was done. If the table is at that version already, nothing is committed.

        Raises:
            VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
            DataFileNotFoundError: files of that version are gone; `paths` names them.
            UnsupportedFeatureError: the column mapping mode has changed since, or bayou may not write to the table.
            ConcurrentModificationError: another writer's commit came first.
            AppendOnlyError: the table takes appends only.
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
        """Make a table of its own from this one.

        A deep clone copies the data files and deletion vectors. A shallow clone refers to this table's files: it costs no copy,
        and breaks when VACUUM deletes them here. A clone has its own id and history, new row ids, and no batches of applications.

        Args:
            target: the folder of the clone.
            shallow: whether the clone refers to this table's files.
            replace: whether a table that is there is replaced. A deep clone that is made again onto an earlier one copies only
                the files that are new, and removes those that are gone, in one commit.
            properties: properties that the clone gets in addition to this table's.
            version: the version to clone; the latest by default.
            timestamp: clone the latest version at this time instead.
            time_zone: the zone of a timestamp that names none.
            storage_options: credentials and settings of the clone's store.
            dry_run: check everything, and copy and commit nothing.

        Returns:
            What was done. If the clone has these files and metadata already, nothing is committed.

        Raises:
            TableExistsError: there is a table, or other files, and `replace` is not set.
            VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
            DataFileNotFoundError: a file to copy is gone.
            InvalidOptionError: a property cannot be set.
            UnsupportedFeatureError: a shallow clone would replace a table with files, the column mapping mode would change, or
                bayou may not write the clone.
            ConcurrentModificationError: another writer's commit to the clone came first.
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
        """Write the manifests of the latest version, for engines that read no log (GENERATE symlink_format_manifest).

        Each manifest is replaced at once; those of partitions that are gone are deleted last.

        Raises:
            UnsupportedFeatureError: rows are deleted by deletion vectors, columns are mapped, or bayou may not write to the table.
            StorageError: the store failed; some manifests may be those of an earlier version.
        """
        from bayou.log.operations.manifest import generate_manifests  # noqa: PLC0415  (most users of a log only read)

        return generate_manifests(self)

    def compute_statistics(self, where: Filters | None = None, *, missing_only: bool = False) -> ComputedStatistics:
        """Recompute file statistics from Parquet footers (COMPUTE STATS). Queries skip files by them.

        Footers are not always sufficient: they ignore deleted rows, and some writers leave bounds out.
        `DeltaTable.computeStatistics` reads the rows of such files.

        Args:
            where: the partitions to look at, as in `Snapshot.files`; all of them where None.
            missing_only: look at files alone whose statistics are incomplete, or not those of their live rows.

        Returns:
            What was done. Where all statistics are right, nothing is committed.

        Raises:
            InvalidOptionError: the filter names a column that is not a partition column.
            DataFileNotFoundError, UnreadableDataFileError: a file is gone, or is not Parquet.
            UnsupportedFeatureError: bayou may not write to the table.
            ConcurrentModificationError: other writers were always faster.
        """
        from bayou.log.operations.compute_statistics import compute_statistics  # noqa: PLC0415  (most users only read)

        return compute_statistics(self, where, missing_only=arguments.flag(missing_only, "missing_only", table=self._table_uri))

    def _commits(self, end: object = None) -> tuple[Snapshot, LogListing, CommitTimes]:
        """The latest version, the whole log, and its commit times; of the readable part of the log where the end lies in it."""
        latest, failure = self.latest_readable()
        listing = self._listing()
        if failure is not None:
            if not isinstance(end, int) or end > latest.version:
                raise failure
            listing = listing.up_to(latest.version)
        return latest, listing, self._commit_times(listing, latest)


def open_log(path: str | os.PathLike[str], storage_options: Mapping[str, str] | None = None) -> DeltaLog:
    """Open the log of a table; nothing is read yet.

    Args:
        path: the table's path or URI.
        storage_options: credentials and settings of the store.

    Raises:
        StorageError: no store serves the path's scheme.
        InvalidOptionError: the path is empty, or is not a path.
    """
    return DeltaLog(*table_at(path, storage_options))
