# SPDX-License-Identifier: Apache-2.0
"""RESTORE: return a table to an earlier version, by a new commit.

Files are compared by path and deletion vector. Source: delta-spark's `RestoreTableCommand`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import ConcurrentModificationError, TimestampOutOfRangeError, VersionNotFoundError, failed, sample
from bayou.log.actions.columns import ADD_SCHEMA
from bayou.log.actions.commit_info import VACUUM_END, VACUUM_START
from bayou.log.actions.keys import action_keys
from bayou.log.operations.maintained import Begin, missing_files, plain_transactions, writable_snapshot
from bayou.log.rows.deleted_rows import added_again, live_files
from bayou.log.rows.row_tracking import high_water_mark
from bayou.log.segment.time_travel import format_timestamp, to_milliseconds
from bayou.log.snapshot.clustering import logical_clustering, replaced_clustering
from bayou.log.staging.added_files import AddedFiles
from bayou.protocol.columns.identity_columns import high_water_marks, with_high_water_marks
from bayou.protocol.features.protocol_rules import merged, supported_features
from bayou.protocol.properties import COLUMN_MAPPING_MODE, ENABLE_ROW_TRACKING, MAX_COLUMN_ID
from bayou.protocol.types.schema import schema_to_json
from bayou.report.html import facts_html

if TYPE_CHECKING:
    from bayou.log.segment.time_travel import Timestamp
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import Metadata, Protocol

_MOST_VACUUMS: Final = 10
"""How often a RESTORE is rerun because of concurrent VACUUMs."""


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """The options of a RESTORE; see `DeltaLog.restore`. Without `checks_files`, only the log is read."""

    version: int | None = None
    timestamp: Timestamp | None = None
    time_zone: str = "UTC"
    ignore_missing_files: bool = False
    allow_protocol_downgrade: bool = False
    dry_run: bool = False
    checks_files: bool = True


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The outcome of a RESTORE.

    Attributes:
        version: the committed version; None for a dry run or a no-op.
        restored_version: the version whose files and metadata the table has again.
        num_removed_files: how many files were removed.
        num_restored_files: how many files were restored.
        removed_bytes: the size of the removed files.
        restored_bytes: the size of the restored files.
        missing: the paths of files of that version that no longer exist and are not restored.
        later_batches: the latest batch of each application that committed one since that version. Their rows are gone, but a replay
            of the batch is still skipped.
    """

    version: int | None
    restored_version: int
    size_bytes: int
    num_files: int
    num_removed_files: int = 0
    num_restored_files: int = 0
    removed_bytes: int = 0
    restored_bytes: int = 0
    missing: Sequence[str] = ()
    later_batches: Mapping[str, int] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, int]:
        """The counts under the names of the history's metrics."""
        return {
            "tableSizeAfterRestore": self.size_bytes,
            "numOfFilesAfterRestore": self.num_files,
            "numRemovedFiles": self.num_removed_files,
            "numRestoredFiles": self.num_restored_files,
            "removedFilesSize": self.removed_bytes,
            "restoredFilesSize": self.restored_bytes,
        }

    def _repr_html_(self) -> str:
        what = "no commit" if self.version is None else f"made version {self.version}"
        return facts_html(
            f"RESTORE to version {self.restored_version}: {what}", {**self.metrics, "missing": len(self.missing) or None}
        )


def restore(
    log: LogReader, request: RestoreRequest, begin: Begin | None = None, storage_options: Mapping[str, str] | None = None
) -> RestoreResult:
    """Return a table to an earlier version; see `DeltaLog.restore`."""
    for _ in range(_MOST_VACUUMS):
        try:
            return _restore_once(log, request, begin, storage_options)
        except ConcurrentModificationError as error:
            # VACUUM does not change the table, but may have deleted files to restore: check them again.
            if error.facts.get("conflicting_operation") not in {VACUUM_START, VACUUM_END}:
                raise
    return _restore_once(log, request, begin, storage_options)


def _restore_once(
    log: LogReader, request: RestoreRequest, begin: Begin | None, storage_options: Mapping[str, str] | None
) -> RestoreResult:
    latest = writable_snapshot(log, "RESTORE")
    target = _target(log, latest, request)
    if target.version == latest.version:
        return RestoreResult(None, latest.version, latest.size_bytes, latest.num_files)
    _check_mapping(latest, target)
    then, removed = _difference(latest, target)
    # No commit adds a file without rows.
    restored = then.filter(pc.fill_null(pc.not_equal(then["num_records"], 0), True)).select(ADD_SCHEMA.names)
    highest_row_id = high_water_mark(latest.domain_metadata)
    missing = missing_files(log, restored, storage_options) if request.checks_files else ()
    if missing and not request.ignore_missing_files:
        paths = sorted(missing)
        raise failed(
            "DELTA_FILE_NOT_FOUND_DETAILED/restore",
            at=target,
            file=paths[0],
            num_files=len(paths),
            sample=sample(paths),
            paths=paths,
        )
    found = restored.filter(pc.invert(pc.is_in(restored["path"], value_set=pa.array(sorted(missing), pa.string()))))
    found = _as_restored(found, highest_row_id)
    metadata = _metadata(latest, target)
    if latest.files(["base_row_id"])["base_row_id"].null_count > removed["base_row_id"].null_count:
        # Row tracking was dropped since, and the remaining files have no row ids. Enabling it again assigns them.
        metadata = replace(metadata, configuration=_without_row_tracking(metadata.configuration))
    protocol = target.protocol if request.allow_protocol_downgrade else merged(latest.protocol, target.protocol)
    parameters = {"version": request.version, "timestamp": None if request.timestamp is None else str(request.timestamp)}
    restored_bytes = _bytes(found)
    result = RestoreResult(
        None,
        target.version,
        target.size_bytes - (_bytes(then) - restored_bytes),
        target.num_files - (then.num_rows - found.num_rows),
        removed.num_rows,
        found.num_rows,
        _bytes(removed),
        restored_bytes,
        sorted(missing),
        _later_batches(latest, target),
    )
    if request.dry_run:
        return result
    dropped = supported_features(latest.protocol) - supported_features(protocol)  # none unless a downgrade is allowed
    with (begin or plain_transactions(log))(latest, "RESTORE", parameters, dropped_features=dropped) as transaction:
        transaction.read_whole_table()
        # Until this commit the table does not need the restored files, so a concurrent VACUUM conflicts.
        transaction.reads.unneeded_files = bool(found.num_rows)
        transaction.remove_files(removed)
        transaction.stage(*_header(latest, metadata, protocol))
        transaction.stage(*replaced_clustering(latest, metadata, logical_clustering(target)))
        marked = pc.is_valid(found["deletion_vector"])
        transaction.add_again(AddedFiles.of(found.filter(pc.invert(marked))))
        adds = [added_again(each) for each in live_files(found.filter(marked))]
        committed = transaction.commit(adds, metrics=result.metrics, may_be_empty=True)
    return replace(result, version=committed.version)


def _bytes(files: pa.Table) -> int:
    return pc.sum(files["size"]).as_py() or 0


def _target(log: LogReader, latest: Snapshot, request: RestoreRequest) -> Snapshot:
    """Return the snapshot to restore.

    Raises:
        InvalidOptionError: the request has neither a version nor a timestamp, or has both.
        VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
    """
    if (request.version is None) == (request.timestamp is None):
        raise failed("DELTA_ILLEGAL_OPTION/restore", table=log.table_uri)
    version = request.version
    if request.timestamp is not None:
        version = _version_at(log, latest, request.timestamp, request.time_zone)
    try:
        return latest if version == latest.version else log.snapshot(version)
    except VersionNotFoundError as error:
        raise failed(
            "DELTA_CANNOT_RESTORE_TABLE_VERSION",
            table=log.table_uri,
            version=version,
            earliest=error.facts.get("earliest"),
            latest=error.facts.get("latest"),
        ) from error


def _version_at(log: LogReader, latest: Snapshot, timestamp: Timestamp, time_zone: str) -> int:
    """Return the latest version at a time, which may be after the last commit but not before the first readable one."""
    listing, times = log.commit_times(latest)
    wanted = to_milliseconds(timestamp, time_zone)
    if wanted >= times.of(latest.version):
        return latest.version
    try:
        return times.version_at(wanted)
    except TimestampOutOfRangeError as error:
        first = format_timestamp(times.of(min(listing.commits)))
        raise failed(
            "DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER", table=log.table_uri, timestamp=str(timestamp), first=first
        ) from error


def _difference(latest: Snapshot, target: Snapshot) -> tuple[pa.Table, pa.Table]:
    """Return the files to restore, with a column `num_records`, and the files to remove."""
    now, then = latest.files(), target.files()
    keys_now = action_keys(now["path"], now["deletion_vector"], latest.table_uri)
    keys_then = action_keys(then["path"], then["deletion_vector"], latest.table_uri)
    counted = then.append_column("num_records", target.statistics({}).num_records)
    restored = counted.filter(pc.invert(pc.is_in(keys_then, value_set=keys_now.combine_chunks())))
    removed = now.filter(pc.invert(pc.is_in(keys_now, value_set=keys_then.combine_chunks())))
    return restored, removed


def _without_row_tracking(configuration: Mapping[str, str]) -> dict[str, str]:
    if not ENABLE_ROW_TRACKING.read(configuration):
        return dict(configuration)
    return {**configuration, ENABLE_ROW_TRACKING.key: "false"}


def _as_restored(files: pa.Table, highest_row_id: int) -> pa.Table:
    """Return restored files as ADD_SCHEMA."""
    # An id above the highest one was assigned before row tracking was dropped. It may be assigned again, so the rows get new ids.
    known = pc.fill_null(pc.less_equal(files["base_row_id"], highest_row_id), True)
    columns = {
        "data_change": pa.repeat(pa.scalar(value=True), files.num_rows),
        "base_row_id": pc.if_else(known, files["base_row_id"], None),
        "default_row_commit_version": pc.if_else(known, files["default_row_commit_version"], None),
    }
    return pa.Table.from_arrays([columns.get(name, files[name]) for name in ADD_SCHEMA.names], schema=ADD_SCHEMA)


def _metadata(latest: Snapshot, target: Snapshot) -> Metadata:
    """Return the target's metadata, with the high water marks of the latest version so that no number is reused."""
    schema = with_high_water_marks(target.schema, high_water_marks(latest.schema))
    configuration = dict(target.metadata.configuration)
    ids = [MAX_COLUMN_ID.read(each.metadata.configuration) or 0 for each in (latest, target)]
    if MAX_COLUMN_ID.key in configuration:
        configuration[MAX_COLUMN_ID.key] = str(max(ids))
    # A replaced table got another id, but all commits of one table have the same.
    return replace(target.metadata, id=latest.metadata.id, schema_string=schema_to_json(schema), configuration=configuration)


def _header(latest: Snapshot, metadata: Metadata, protocol: Protocol) -> list[Metadata | Protocol]:
    return [
        *([] if protocol == latest.protocol else [protocol]),
        *([] if metadata == latest.metadata else [metadata]),
    ]


def _check_mapping(latest: Snapshot, target: Snapshot) -> None:
    """Raise UnsupportedFeatureError if the column mapping mode has changed since the target."""
    now, then = (COLUMN_MAPPING_MODE.read(each.metadata.configuration).lower() for each in (latest, target))
    if now != then:
        raise failed(
            "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE/restore", at=target, features=("columnMapping",), mode=now, old_mode=then
        )


def _later_batches(latest: Snapshot, target: Snapshot) -> dict[str, int]:
    """Return the latest batches that applications committed after a version."""
    then = {name: each.version for name, each in target.transactions.items()}
    return {name: each.version for name, each in latest.transactions.items() if then.get(name) != each.version}
