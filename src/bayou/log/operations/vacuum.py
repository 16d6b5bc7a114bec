# SPDX-License-Identifier: Apache-2.0
"""VACUUM: delete the files of a table's folder that neither the table nor its recent versions need.

Source: delta-spark's `VacuumCommand`; docs/differences.md lists the differences.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import DeltaError, TableNotFoundError, failed, reason, redact_uri
from bayou.log import events
from bayou.log.actions.commit_info import VACUUM_END, VACUUM_START
from bayou.log.operations.maintained import Begin, plain_transactions, writable_snapshot
from bayou.log.operations.vacuum_files import Names, added_since, live_paths, needed_paths, removed_by_commits
from bayou.log.snapshot.partition_columns import physical_names
from bayou.log.snapshot.partition_folder import PartitionFolder
from bayou.plan.maintenance.vacuum import Retention, old_entries, retention_of, shown_names
from bayou.protocol import arguments, properties
from bayou.protocol.actions.file_names import LOG_FOLDER
from bayou.protocol.actions.paths import canonical, encode_uri
from bayou.report.html import facts_html
from bayou.report.units import size_text
from bayou.storage.trees import Deletions, delete_many, is_shown, list_tree, tree_schema

if TYPE_CHECKING:
    from bayou.log.segment.commit_times import CommitTimes
    from bayou.log.segment.listing import LogListing
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.storage.store import LogStore

Kind: TypeAlias = Literal["full", "lite"]

INFO_PATH: Final = f"{LOG_FOLDER}/_last_vacuum_info"
"""Stores the version up to which LITE can skip commits. Source: delta-spark's `LastVacuumInfo`."""
INVENTORY_COLUMNS: Final = ("path", "length", "isDir", "modificationTime")
_INFO_KEY: Final = "latestCommitVersionOutsideOfRetentionWindow"
_BATCH: Final = 10_000
# The schemes on which VACUUM logs its runs by default. Source: delta-spark's `VacuumCommandImpl.shouldLogVacuum`.
_NOTED_SCHEMES: Final = frozenset({"wasbs", "wasbss", "abfs", "abfss", "adl", "gs", "file", "hdfs"})


@dataclass(frozen=True, slots=True)
class VacuumRequest:
    """The options of a VACUUM; see `DeltaLog.vacuum`."""

    retention_hours: float | None = None
    kind: Kind = "full"
    dry_run: bool = False
    inventory: pa.Table | None = None
    keep_versions: Sequence[int] = ()
    check_retention: bool = True
    ignores_hours: bool = False
    is_logged: bool | None = None


@dataclass(frozen=True, slots=True)
class VacuumResult:
    """The outcome of a VACUUM, or what a dry run would do.

    Attributes:
        kind: which candidates were examined.
        cutoff: files that the table no longer needed at this time were deleted, in ms since the epoch.
        dry_run: whether nothing was deleted.
        files: the files and folders to delete, `bayou.storage.tree_schema`; paths are relative to the table's root.
        deleted: how many of them were deleted.
        num_folders: how many folders were examined, the table's own included.
        failed: the error of each path that could not be deleted.
    """

    table_uri: str
    kind: Kind
    cutoff: int
    dry_run: bool
    files: pa.Table
    deleted: int
    num_folders: int
    failed: Mapping[str, DeltaError]

    @property
    def size_bytes(self) -> int:
        """The known size of the files to delete, in bytes."""
        return pc.sum(self.files["size"]).as_py() or 0

    def __repr__(self) -> str:
        counts = f"files={self.files.num_rows}, size_bytes={self.size_bytes}, deleted={self.deleted}, failed={len(self.failed)}"
        return f"VacuumResult({redact_uri(self.table_uri)!r}, kind={self.kind!r}, dry_run={self.dry_run}, {counts})"

    def _repr_html_(self) -> str:
        facts = {
            "kind": self.kind,
            "files": self.files.num_rows,
            "size": size_text(self.size_bytes),
            "deleted": self.deleted,
            "failed": len(self.failed),
        }
        what = "VACUUM, dry run" if self.dry_run else "VACUUM"
        return facts_html(f"{what} of {redact_uri(self.table_uri)}", facts)

    def check_deleted(self) -> None:
        """Raise StorageError if files could not be deleted; it names the first, `failed` has all."""
        if self.failed:
            path, error = next(iter(self.failed.items()))
            raise failed(
                "files-not-deleted",
                table=self.table_uri,
                file=path,
                num_files=len(self.failed),
                reason=reason(error),
                next_step=error.next_step or None,
                failed=self.failed,
            )


def vacuum(log: LogReader, request: VacuumRequest, begin: Begin | None = None) -> VacuumResult:
    """Delete the files that a table does not need; see `DeltaLog.vacuum`. `begin` begins the transactions that log the run."""
    began = time.monotonic()
    _check(request, log.table_uri)
    snapshot = _table(log)
    now = int(time.time() * 1000)
    retention = retention_of(
        request.retention_hours,
        properties.DELETED_FILE_RETENTION_MS.read(snapshot.metadata.configuration),
        now,
        is_checked=request.check_retention,
        ignores_hours=request.ignores_hours,
        table=log.table_uri,
    )
    listing, times = log.commit_times(snapshot)
    kept = [log.snapshot(version) for version in request.keep_versions]
    needed = needed_paths(log, snapshot, retention, kept, listing, times)
    reached = _last_before(retention.cutoff, times, listing, snapshot.version)
    noted = examined_version(log.store, snapshot.version)
    candidates = _Candidates(log, snapshot, retention.cutoff)
    if request.inventory is not None:
        found = candidates.of_inventory(request.inventory)
    elif request.kind == "lite":
        found = candidates.of_commits(_lite_versions(log, listing, noted, reached))
    else:
        found = candidates.of_folders()
    names = Names(log.store)
    files = found.filter(names.not_among(found["path"], needed))
    result = VacuumResult(log.table_uri, request.kind, retention.cutoff, request.dry_run, files, 0, candidates.num_folders, {})
    if request.dry_run:
        return result
    is_logged = request.is_logged
    if is_logged is None:
        is_logged = log.table_uri.partition(":")[0] in _NOTED_SCHEMES
    run = _Run(log, (begin or plain_transactions(log)) if is_logged else None)
    run.start(retention, result)
    try:
        deletions = _delete(log, snapshot, names, files["path"])
    except BaseException:
        run.end(result, failed=True)
        raise
    result = replace(result, deleted=deletions.deleted, failed=deletions.failed)
    run.end(result, failed=bool(result.failed))
    # Only a complete run lets LITE skip the commits that it examined.
    if reached is not None and reached > noted and not result.failed and request.inventory is None and not request.keep_versions:
        log.store.put(INFO_PATH, json.dumps({_INFO_KEY: reached}).encode("utf-8"))
    events.emit(
        events.VacuumEvent(
            table=log.table_uri,
            kind=request.kind,
            num_deleted=result.deleted,
            num_failed=len(result.failed),
            size_bytes=result.size_bytes,
            duration_seconds=time.monotonic() - began,
        )
    )
    return result


class _Candidates:
    """Files that may be deleted if the table does not need them, as `tree_schema`."""

    def __init__(self, log: LogReader, snapshot: Snapshot, cutoff: int) -> None:
        self._log = log
        self._cutoff = cutoff
        names = physical_names(snapshot.schema, snapshot.partition_columns)
        self._shown = shown_names({*names, *names.values()})
        self.num_folders = 1

    def of_folders(self) -> pa.Table:
        """Return all old files below the table's root, and empty folders."""
        return pa.Table.from_batches(list(self._old(list_tree(self._log.store, self._shown))), tree_schema())

    def of_inventory(self, inventory: pa.Table) -> pa.Table:
        """Return the entries of a user's listing that are below the table's root."""
        paths = [canonical(encode_uri(path), self._log.table_uri) for path in inventory["path"].to_pylist()]
        columns = [paths, inventory["length"], inventory["modificationTime"], inventory["isDir"]]
        rows = pa.table(columns, names=tree_schema().names).cast(tree_schema())
        inside = [
            not path.startswith("/") and ":/" not in path and all(is_shown(part, self._shown) for part in path.split("/"))
            for path in paths
        ]
        others = _other_tables(paths)
        inside = [is_inside and others.isdisjoint(_parents(path)) for path, is_inside in zip(paths, inside, strict=True)]
        rows = rows.filter(pa.array(inside, pa.bool_()))
        # An inventory does not state whether a folder is empty: it counts as empty if no entry lies in it.
        parents = {parent for path in rows["path"].to_pylist() for parent in _parents(path)}
        listed = zip(*(rows[name].to_pylist() for name in ("path", "size", "is_folder")), strict=True)
        sizes = [int(path in parents) if is_folder else size for path, size, is_folder in listed]
        rows = rows.set_column(1, tree_schema().field("size"), [pa.array(sizes, pa.int64())])
        return pa.Table.from_batches(list(self._old(rows.to_batches())), tree_schema())

    def of_commits(self, versions: Sequence[int]) -> pa.Table:
        """Return the files that some commits removed, without listing folders."""
        found = removed_by_commits(self._log, versions)
        shown = [all(is_shown(part, self._shown) for part in path.split("/")) for path in found["path"].to_pylist()]
        return found.filter(pa.array(shown, pa.bool_()))

    def _old(self, batches: Iterator[pa.RecordBatch] | list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.num_folders += pc.sum(batch["is_folder"]).as_py() or 0
            yield old_entries(batch, self._cutoff)


class _Run:
    """The two commits that log a VACUUM; without `begin`, none are made."""

    def __init__(self, log: LogReader, begin: Begin | None) -> None:
        self._log = log
        self._begin = begin

    def start(self, retention: Retention, result: VacuumResult) -> None:
        parameters: dict[str, Any] = {
            "retentionCheckEnabled": retention.is_checked,
            "defaultRetentionMillis": retention.default,
        }
        if retention.specified is not None:
            parameters["specifiedRetentionMillis"] = retention.specified
        metrics = {"numFilesToDelete": result.files.num_rows, "sizeOfDataToDelete": result.size_bytes}
        self._commit(VACUUM_START, parameters, metrics)

    def end(self, result: VacuumResult, *, failed: bool) -> None:
        metrics = {} if failed else {"numDeletedFiles": result.deleted, "numVacuumedDirectories": result.num_folders}
        self._commit(VACUUM_END, {"status": "FAILED" if failed else "COMPLETED"}, metrics)

    def _commit(self, operation: str, parameters: Mapping[str, Any], metrics: Mapping[str, object]) -> None:
        if self._begin is not None:
            self._begin(self._log.update(), operation, parameters).commit(metrics=metrics, may_be_empty=True)


def _delete(log: LogReader, snapshot: Snapshot, names: Names, paths: pa.ChunkedArray) -> Deletions:
    """Delete files in batches. Before each batch, keep files that newer commits added or a replacing table has."""
    deleted, failed = 0, dict[str, DeltaError]()
    kept_paths = pa.array([], pa.string())
    for start in range(0, len(paths), _BATCH):
        latest = log.update()
        if latest.version < snapshot.version or latest.metadata.id != snapshot.metadata.id:
            kept_paths = pa.concat_arrays([kept_paths, live_paths(log.table_uri, [latest])])
        elif latest.version > snapshot.version:
            kept_paths = pa.concat_arrays([kept_paths, added_since(log, snapshot.version, latest.version)])
        snapshot = latest
        batch = paths.slice(start, _BATCH)
        found = delete_many(log.store, batch.filter(names.not_among(batch, kept_paths)).to_pylist())
        deleted += found.deleted
        failed |= found.failed
    return Deletions(deleted, failed)


def _table(log: LogReader) -> Snapshot:
    try:
        return writable_snapshot(log, "VACUUM")
    except TableNotFoundError as error:
        raise _not_the_table_itself(error, log.table_uri) from error


def _not_the_table_itself(error: TableNotFoundError, uri: str) -> DeltaError:
    """Return the error for a path without a table; if the path is a partition folder, it names the folder's table."""
    folder = PartitionFolder.below_table(uri, {})
    return error if folder is None else failed("DELTA_UNSUPPORTED_VACUUM_SPECIFIC_PARTITION", table=uri, base=folder.table)


def _check(request: VacuumRequest, table: str) -> None:
    if request.kind not in {"full", "lite"}:
        raise arguments.wrong("kind", request.kind, "'full' or 'lite'", table=table)
    if request.inventory is None:
        return
    if request.kind == "lite":
        raise failed("DELTA_PARSING_MUTUALLY_EXCLUSIVE_CLAUSES/inventory", table=table)
    missing = [name for name in INVENTORY_COLUMNS if name not in request.inventory.column_names]
    if missing:
        raise failed("DELTA_INVALID_INVENTORY_SCHEMA", table=table, columns=missing)


def _lite_versions(log: LogReader, listing: LogListing, noted: int, reached: int | None) -> Sequence[int]:
    """Return the commits whose removed files LITE examines, or raise InvalidOptionError if one is no longer in the log."""
    if reached is None:
        return ()
    first = noted + 1
    versions = range(first, reached + 1)
    missing = next((version for version in versions if version not in listing.commits), None)
    if missing is not None:
        raise failed("DELTA_CANNOT_VACUUM_LITE", table=log.table_uri, version=missing, first=first, last=reached)
    return versions


def examined_version(store: LogStore, latest: int) -> int:
    """Return the version up to which an earlier VACUUM examined the commits; -1 if unknown or beyond the table's latest version."""
    try:
        noted = json.loads(store.read(INFO_PATH)).get(_INFO_KEY)
    except (FileNotFoundError, ValueError, AttributeError):
        return -1
    return noted if type(noted) is int and 0 <= noted <= latest else -1


def _last_before(cutoff: int, times: CommitTimes, listing: LogListing, latest: int) -> int | None:
    """Return the latest version, at most `latest`, that was committed before the cutoff, or None."""
    versions = sorted(version for version in listing.commits if version <= latest)
    count = bisect_left(versions, cutoff, key=times.of)  # a time may cost a read
    return versions[count - 1] if count else None


def _other_tables(paths: Sequence[str]) -> set[str]:
    """Return the folders of an inventory that are other tables: those with a log."""
    return {path.partition(f"/{LOG_FOLDER}")[0] for path in paths if f"/{LOG_FOLDER}/" in f"{path}/"}


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path
