# SPDX-License-Identifier: Apache-2.0
"""The change data feed of a table: the files of every row that changed in a range of versions.

Sources: PROTOCOL.md, "Change Data Files"; delta-spark's `CDCReader`.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import VersionNotFoundError, failed
from bayou.log.actions.action_files import ActionFile, file_actions
from bayou.log.changes.checks import RangeCheck, SchemaMode
from bayou.log.changes.files import CHANGE_FILES, DELETE, FeedCommit, change_files
from bayou.log.changes.range import ChangeBounds, ChangeRange, resolve_range
from bayou.log.changes.removed_file_facts import FACTS, with_file_facts
from bayou.log.rows.vector_reader import read_vectors
from bayou.log.snapshot.partition_columns import partition_texts, physical_names
from bayou.protocol.actions.file_names import commit_path
from bayou.protocol.schema.read_compatibility import column_mapping_mode
from bayou.protocol.schema.reserved_names import check_feed_names
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage.parallel import in_chunks

if TYPE_CHECKING:
    from bayou.log.segment.commit_times import CommitTimes
    from bayou.log.segment.listing import LogListing
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap
    from bayou.storage.store import LogStore

CHANGE_TYPE: Final = "_change_type"
COMMIT_VERSION: Final = "_commit_version"
COMMIT_TIMESTAMP: Final = "_commit_timestamp"
FEED_COLUMNS: Final = (
    StructField(CHANGE_TYPE, "string"),
    StructField(COMMIT_VERSION, "long"),
    StructField(COMMIT_TIMESTAMP, "timestamp"),
)
"""The columns of a change data feed in addition to the table's."""

_READERS: Final = 16
_FEW: Final = 8
_AT_ONCE: Final = 64
"""How many commits are held as bytes."""


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The files of a change data feed, with the positions that select rows in each.

    Attributes:
        files: CHANGE_FILES without files that contribute no row.
        rows: aligned with the files. For a difference, the rows that changed; for another file, the deleted rows to leave out,
            or None.
    """

    files: pa.Table
    rows: list[Bitmap | None]


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """The change data feed of a range of versions, as the files to read.

    One row of `files` is one file to read, CHANGE_FILES, in the order of the versions:

    - `kind`: "cdc" for a change data file, whose rows hold their `_change_type`; "insert" or "delete" for a data file, which is the
      `_change_type` of its rows.
    - `path` (percent-encoded, as in the log), `partition_values` (by physical name), `size` in bytes, `modification_time` in ms.
    - `commit_version`, and `commit_timestamp` in ms since the epoch.
    - `is_difference`: False if the file's rows count, except those in `deletion_vector`; True if only the rows in `deletion_vector`
      count, except those in `except_vector`. Either vector may be NULL.

    Attributes:
        end: the last version; before `start` if the range is empty.
        schema: the table's columns and FEED_COLUMNS.
        snapshot: the version whose schema, partition columns and column mapping apply to the files.
    """

    start: int
    end: int
    schema: StructType
    snapshot: Snapshot
    files: pa.Table
    store: LogStore = field(repr=False)

    @property
    def size_bytes(self) -> int:
        """The total size of the files."""
        return pc.sum(self.files["size"]).as_py() or 0

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """Return the partition values as in the log, by physical name, aligned with `files`."""
        names = physical_names(self.snapshot.schema, self.snapshot.partition_columns)
        return partition_texts(self.files["partition_values"], names)

    def changed_rows(self, storage_options: Mapping[str, str] | None = None) -> ChangedRows:
        """Return the files that contribute rows, and the positions that select the rows. Read each file of deletion vectors once.

        Differences without rows are left out. For example, a commit that only deletes further rows of a file also has an empty
        difference for rows that it restores.
        """
        columns = [self.files[name].combine_chunks() for name in ("deletion_vector", "except_vector")]
        found = read_vectors(self.snapshot, pa.concat_arrays(columns), storage_options, store=self.store)
        pairs = zip(found[: len(self.files)], found[len(self.files) :], strict=True)
        rows = [vector if vector is None or excluded is None else vector.difference(excluded) for vector, excluded in pairs]
        # Every difference has a vector, so the count of a file without one does not matter.
        count = pa.array((1 if each is None else each.cardinality for each in rows), pa.int64())
        kept = pc.or_(pc.invert(self.files["is_difference"]), pc.greater(count, 0))
        files = self.files.filter(kept)
        return ChangedRows(files, [each for each, keep in zip(rows, kept.to_pylist(), strict=True) if keep])


def read_change_feed(
    log: LogReader,
    latest: Snapshot,
    listing: LogListing,
    times: CommitTimes,
    bounds: ChangeBounds,
    *,
    schema_mode: SchemaMode | None = None,
    check_schemas: bool = True,
) -> ChangeFeed:
    """Return the change data feed of a range of versions; see `DeltaLog.change_feed`.

    Args:
        schema_mode: whose schema applies if the table has column mapping; None means END_VERSION.
    """
    versions = resolve_range(bounds, listing, times, latest.version, log.table_uri)
    if versions.is_empty:
        return _feed(log, versions, latest, CHANGE_FILES.empty_table())
    return _Reading(log, latest, times, versions).feed(schema_mode or SchemaMode.END_VERSION, check_schemas=check_schemas)


class _Reading:
    """One read of a range."""

    def __init__(self, log: LogReader, latest: Snapshot, times: CommitTimes, versions: ChangeRange) -> None:
        self._log = log
        self._latest = latest
        self._times = times
        self._versions = versions
        self._check = RangeCheck(versions, self._snapshot(versions.start).metadata, log.table_uri)
        self._starts_with_metadata = False

    def feed(self, schema_mode: SchemaMode, *, check_schemas: bool) -> ChangeFeed:
        files = change_files(self._commits(), self._log.table_uri)
        snapshot = self._snapshot_to_read(schema_mode)
        if check_schemas and files.num_rows:  # without rows no schema can be incompatible
            self._check.check_schemas(snapshot.metadata, snapshot.version)
            self._check_before_start(files, snapshot)
        files = with_file_facts(files, self._added_files(), self._log.table_uri, is_partitioned=bool(snapshot.partition_columns))
        return _feed(self._log, self._versions, snapshot, files)

    def _snapshot(self, version: int) -> Snapshot:
        return self._latest if version == self._latest.version else self._log.snapshot(version)

    def _snapshot_to_read(self, schema_mode: SchemaMode) -> Snapshot:
        if schema_mode is not SchemaMode.END_VERSION:
            return self._latest
        maps = self._check.maps_columns() or column_mapping_mode(self._latest.metadata) != "none"
        return self._snapshot(self._versions.end) if maps else self._latest

    def _commits(self) -> Iterator[FeedCommit]:
        for file in self._files():
            header = file.header()
            if file.version == self._versions.start:
                self._starts_with_metadata = header.metadata is not None
            self._check.see(file.version, header)
            info = file.commit_info()
            # As in a stream: a commit's own timestamp holds even if later commits have none.
            own = None if info is None else info.in_commit_timestamp
            yield FeedCommit(file, info, self._times.given(file.version, info) if own is None else own)

    def _files(self) -> Iterator[ActionFile]:
        wanted = range(self._versions.start, self._versions.end + 1)
        if len(wanted) <= _FEW:
            yield from map(self._read, wanted)
            return
        yield from in_chunks(wanted, self._read, readers=_READERS, at_once=_AT_ONCE)

    def _read(self, version: int) -> ActionFile:
        try:
            return ActionFile.of_commit(self._log.store, version, self._log.table_uri)
        except FileNotFoundError as error:
            raise failed(
                "DELTA_STATE_RECOVER_ERROR/feed-commit", table=self._log.table_uri, version=version, file=commit_path(version)
            ) from error

    def _check_before_start(self, files: pa.Table, snapshot: Snapshot) -> None:
        """Check the files that the first commit removed, which have the metadata before it if it replaced the table."""
        start = self._versions.start
        first = pc.and_(pc.equal(files["commit_version"], start), pc.equal(files["kind"], DELETE))
        if start > 0 and self._starts_with_metadata and pc.any(first).as_py():
            with contextlib.suppress(VersionNotFoundError):
                previous = self._log.snapshot(start - 1).metadata
                self._check.check_before(previous, snapshot.metadata, snapshot.version)

    def _added_files(self) -> Iterator[pa.Table]:
        """Yield the facts of `add` actions: those of the range, then those before it.

        If the log before the range is gone, the snapshot of its first version is used; the facts of files that this version removed
        may be missing then.
        """
        files = iter(self._files())
        while some := list(itertools.islice(files, _AT_ONCE)):
            yield file_actions(some).adds.select(FACTS)
        if self._versions.start > 0:
            try:
                before = self._log.snapshot(self._versions.start - 1)
            except VersionNotFoundError:
                before = self._snapshot(self._versions.start)
            yield before.files(FACTS)


def feed_schema(snapshot: Snapshot) -> StructType:
    """Return a table's columns and FEED_COLUMNS, or raise InvalidSchemaError if the table or its files have these names."""
    maps = column_mapping_mode(snapshot.metadata) != "none"
    check_feed_names(snapshot.schema, snapshot.table_uri, version=snapshot.version, column_mapping=maps, enables_feed=True)
    return StructType((*snapshot.schema.fields, *FEED_COLUMNS))


def _feed(log: LogReader, versions: ChangeRange, snapshot: Snapshot, files: pa.Table) -> ChangeFeed:
    return ChangeFeed(versions.start, versions.end, feed_schema(snapshot), snapshot, files, log.store)
