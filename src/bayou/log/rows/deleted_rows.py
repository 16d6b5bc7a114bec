# SPDX-License-Identifier: Apache-2.0
"""Rows that a commit deletes by deletion vectors: the actions for them, and their metrics in the history.

If rows of a file remain, the commit removes the file with its old deletion vector and adds it with a new one. Otherwise it only
removes the file. Each file whose rows change is a Python object; there are far fewer of them than live files.

Sources: PROTOCOL.md, "Deletion Vectors" and "Add File and Remove File"; for the metrics delta-spark's
`DMLWithDeletionVectorsHelper`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from bayou.errors import failed
from bayou.log.actions.columns import ADD_SCHEMA, DELETION_VECTOR, to_objects
from bayou.log.rows.vector_reader import read_vectors
from bayou.log.staging.read_set import ReadSet
from bayou.protocol.actions.actions import AddFile, RemoveFile
from bayou.protocol.actions.paths import canonical
from bayou.protocol.deletion_vectors.descriptor import Bitmap, DeletionVectorDescriptor
from bayou.protocol.stats.wide_stats import num_records, with_wide_bounds

if TYPE_CHECKING:
    from bayou.log.rows.vector_writer import VectorFiles
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.staging.staged import StagedActions
    from bayou.storage import LogStore


@dataclass(frozen=True, slots=True)
class NotEvaluated:
    """The answer of an oracle that could not evaluate the condition for some row."""

    reason: str


class RowConflictOracle(Protocol):
    """The engine's part of conflict resolution: it reads rows if neither statistics nor deletion vectors decide a conflict.

    `spark/` implements it, because this folder cannot run Spark.
    """

    def matches_added_rows(self, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> bool | NotEvaluated:
        """Return whether files that a winning commit added hold a live row that the operation would have changed or joined.

        Args:
            added: the files, with the columns ADD_SCHEMA. A file may occur more than once.
            new_rows: the rows to check in each file; None for all.
        """
        ...

    def needed_rows(self, paths: Sequence[str]) -> Sequence[MarkedFile]:
        """Return the rows that the operation relies on in some of the files that it scanned, by their canonical paths."""
        ...


# MERGE has its own names for these metrics in the history.
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "numRemovedFiles": "numTargetFilesRemoved",
    "numRemovedBytes": "numTargetBytesRemoved",
    "numDeletionVectorsAdded": "numTargetDeletionVectorsAdded",
    "numDeletionVectorsRemoved": "numTargetDeletionVectorsRemoved",
    "numDeletionVectorsUpdated": "numTargetDeletionVectorsUpdated",
}
# The metric that identifies an overwrite: no other operation that deletes rows has it.
_OF_WRITE: Final = "numFiles"


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A live file with the rows that a commit deletes or relies on.

    Guarantees: every row of `rows` is within the file, and is not in `gone`.

    Attributes:
        path: the canonical path of the file.
        live: the file's `add` action in the snapshot.
        num_records: how many rows it has, deleted rows included.
        gone: the rows that the deletion vector in the snapshot already deletes.
        rows: the rows that the commit deletes.
        needed: rows that the commit relies on and does not delete, such as rows that a MERGE matched and left unchanged.
        vector: its new deletion vector; None if all rows are deleted, or the commit deletes none.
    """

    path: str
    live: AddFile
    num_records: int
    gone: Bitmap
    rows: Bitmap
    needed: Bitmap = field(default_factory=Bitmap)
    vector: DeletionVectorDescriptor | None = None

    @property
    def is_changed(self) -> bool:
        """Whether the commit deletes a row of the file."""
        return bool(self.rows.containers)

    @property
    def num_left(self) -> int:
        """The number of rows that remain. Rows that a deletion vector marks beyond the end of the file do not count."""
        return self.num_records - self.gone.below(self.num_records).cardinality - self.rows.cardinality

    @property
    def leaves(self) -> bool:
        """Whether the commit removes the file, because it deletes all remaining rows."""
        return self.is_changed and self.num_left == 0


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """Rows of live files that a commit deletes.

    Attributes:
        files: the files, by canonical path.
        vectors: the files that hold the new deletion vectors.
        deletion_timestamp: when the rows were deleted, in ms since the epoch.
        reads: the scans that found the rows. A winning commit conflicts if it adds a file that they match. It does not conflict if
            it changes a file that they match and in which this commit deletes no row.
        oracle: checks such added files if their statistics do not decide; if None, each of them conflicts.
        relied: the canonical paths of further files with rows that the commit relies on. The oracle reads these rows only for
            files that a winning commit changed.
        storage_options: settings for the file systems of deletion vectors outside the table.
    """

    snapshot: Snapshot
    store: LogStore
    files: Mapping[str, MarkedFile]
    vectors: VectorFiles
    deletion_timestamp: int
    reads: ReadSet
    oracle: RowConflictOracle | None = field(default=None, repr=False)
    relied: pa.Array = field(default_factory=lambda: pa.array([], pa.string()), repr=False)
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether the commit deletes no row."""
        return not any(file.is_changed for file in self.files.values())

    def removes(self) -> list[RemoveFile]:
        """Return the actions that remove the files in their former state."""
        return [_removed(file.live, self.deletion_timestamp) for file in self.files.values() if file.is_changed]

    def adds(self) -> list[AddFile]:
        """Return the actions that add the files with remaining rows again."""
        return [_marked(file) for file in self.files.values() if file.is_changed and not file.leaves]

    def applied(self, staged: StagedActions) -> StagedActions:
        """Return the actions of a commit, with the removes and adds for these rows."""
        return replace(staged, removes=[*staged.removes, *self.removes()], adds=[*staged.adds, *self.adds()])

    def metrics(self) -> dict[str, int]:
        """Return the metrics under the names of DELETE and UPDATE.

        A replaced deletion vector counts as added, removed and updated. `numRemovedFiles` and `numRemovedBytes` count files without
        remaining rows; `numDeletedRows` counts the rows that were live.
        """
        changed = [file for file in self.files.values() if file.is_changed]
        gone = [file for file in changed if file.leaves]
        had = [file for file in changed if file.live.deletion_vector is not None]
        return {
            "numDeletedRows": sum(file.rows.cardinality for file in changed),
            "numRemovedFiles": len(gone),
            "numRemovedBytes": sum(file.live.size for file in gone),
            "numDeletionVectorsAdded": len(changed) - len(gone),
            "numDeletionVectorsRemoved": len(had),
            "numDeletionVectorsUpdated": sum(1 for file in had if not file.leaves),
        }

    def metrics_of_write(self) -> dict[str, int]:
        """Return an overwrite's metrics for files with new deletion vectors: they count as written, and their rows as copied.

        Source: delta-spark's `WriteIntoDelta.registerReplaceWhereMetrics`.
        """
        marked = [file for file in self.files.values() if file.is_changed and not file.leaves]
        left = sum(file.num_left for file in marked)
        size = sum(file.live.size for file in marked)
        return {"numFiles": len(marked), "numOutputBytes": size, "numOutputRows": left, "numCopiedRows": left}

    def _all_metrics(self, metrics: Mapping[str, object]) -> dict[str, int]:
        return self.metrics() | (self.metrics_of_write() if _OF_WRITE in metrics else {})

    def corrected(self, metrics: Mapping[str, object], first: DeletedRows) -> dict[str, object]:
        """Return the metrics of an operation, adjusted by the difference between these rows and the rows before a rebase.

        Args:
            metrics: the metrics that the operation counted, under the names of DELETE and UPDATE, or of MERGE.
            first: the rows before the rebase.
        """
        before, corrected = first._all_metrics(metrics), dict(metrics)
        for name, now in self._all_metrics(metrics).items():
            for key in (name, _OTHER_NAMES.get(name, name)):
                counted = metrics.get(key)
                if isinstance(counted, int):
                    corrected[key] = counted + now - before[name]
        return corrected

    def discard(self) -> None:
        """Delete the new deletion vectors. Call this only if the commit is certainly not in the log."""
        self.vectors.discard()

    def relying(self, paths: Sequence[str]) -> DeletedRows:
        """Return these rows, together with the rows that the commit relies on in some files of `relied`."""
        needed = self.oracle.needed_rows(paths) if self.oracle is not None and paths else ()
        return replace(self, files={**self.files, **{file.path: file for file in needed}}) if needed else self

    def with_vectors(self, files: Iterable[MarkedFile], left: Collection[str] = ()) -> DeletedRows:
        """Return these rows with some files added or replaced.

        This writes the deletion vectors of these files, and deletes vectors that no file uses any more.

        Args:
            files: the files. A file without remaining rows needs no deletion vector.
            left: the canonical paths of files to leave out, because a winning commit moved their rows to other files.
        """
        changed = {file.path: file for file in files}
        with_vector = [file for file in changed.values() if file.is_changed and not file.leaves]
        written = self.vectors.write([file.gone.union(file.rows) for file in with_vector])
        changed |= {file.path: replace(file, vector=vector) for file, vector in zip(with_vector, written, strict=True)}
        unchanged = {path: file for path, file in self.files.items() if path not in left}
        result = replace(self, files={**unchanged, **changed})
        self.vectors.discard_unused(file.vector for file in result.files.values() if file.vector is not None)
        return result


def delete_rows(
    snapshot: Snapshot,
    store: LogStore,
    files: pa.Table,
    rows: Sequence[Bitmap],
    vectors: VectorFiles,
    *,
    deletion_timestamp: int,
    reads: ReadSet | None = None,
    needed: Sequence[Bitmap] = (),
    physical_rows: Mapping[str, int] | None = None,
    oracle: RowConflictOracle | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> DeletedRows:
    """Return the deletion of rows of live files, and write their new deletion vectors to the table's folder.

    Rows that are already deleted are left out. So are files in which nothing else is to be deleted.

    Args:
        files: the files, once each, with all columns of `Snapshot.files()`.
        rows: the positions of the rows to delete, in the order of the files.
        deletion_timestamp: the time of the commit, in ms since the epoch.
        reads: how the rows were searched; None for the whole table.
        needed: further rows that the operation relies on, in the order of the files. May be empty.
        physical_rows: by path, as in the log, the row counts of files whose statistics lack it.
        oracle: checks whether files that winning commits add hold rows to delete.
        storage_options: settings for the file systems of deletion vectors outside the table.

    Raises:
        InvalidCommitError: the row count of a file is unknown, or a row is beyond its end. Nothing was written.
        DeletionVectorError: a file's deletion vector cannot be read. Nothing was written.
        StorageError: the store failed. The written files are deleted.
    """
    if reads is None:
        reads = ReadSet(snapshot.table_uri)
        reads.note_whole_table()
    marked = marked_files(snapshot, store, files, rows, needed=needed, physical_rows=physical_rows, storage_options=storage_options)
    empty = DeletedRows(snapshot, store, {}, vectors, deletion_timestamp, reads, oracle, storage_options=storage_options)
    try:
        return empty.with_vectors(marked)
    except BaseException:
        vectors.discard()
        raise


def marked_files(
    snapshot: Snapshot,
    store: LogStore,
    files: pa.Table,
    rows: Sequence[Bitmap],
    *,
    needed: Sequence[Bitmap] = (),
    physical_rows: Mapping[str, int] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> list[MarkedFile]:
    """Return the live rows that a commit deletes or relies on, by file; a file without such rows is left out.

    Arguments and errors are those of `delete_rows`.
    """
    lives = live_files(files)
    gone = read_deleted(snapshot, store, [each.deletion_vector for each in lives], storage_options)
    relied = needed or [Bitmap()] * len(lives)
    marked = []
    for live, old, new, others in zip(lives, gone, rows, relied, strict=True):
        count = _counted(live, snapshot, physical_rows or {})
        file = MarkedFile(canonical(live.path, snapshot.table_uri), live, count, old, new.difference(old), others.difference(old))
        _check_rows(file, snapshot)
        if file.is_changed or file.needed.containers:
            marked.append(file)
    return marked


def live_files(files: pa.Table) -> list[AddFile]:
    """Return rows of `Snapshot.files()` as actions. Null values become the defaults of required fields."""
    columns = {name: to_objects(files[name]) for name in ADD_SCHEMA.names}
    columns["deletion_vector"] = [None if each is None else DeletionVectorDescriptor(**each) for each in columns["deletion_vector"]]
    columns["partition_values"] = [each or {} for each in columns["partition_values"]]
    columns["data_change"] = [each is not False for each in columns["data_change"]]
    columns["size"] = [each or 0 for each in columns["size"]]
    columns["modification_time"] = [each or 0 for each in columns["modification_time"]]
    names = list(columns)
    return [AddFile(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]


def added_again(add: AddFile) -> AddFile:
    """Return a live file in a form that a commit may add again.

    No commit may add a file that has both a deletion vector and tight bounds, but other engines write such files.
    """
    if add.deletion_vector is None:
        return add
    rows = num_records(add.stats)
    return add if rows is None else replace(add, stats=with_wide_bounds(add.stats, rows, add.deletion_vector.cardinality))


def read_deleted(
    snapshot: Snapshot,
    store: LogStore,
    descriptors: Sequence[DeletionVectorDescriptor | None],
    storage_options: Mapping[str, str] | None,
) -> list[Bitmap]:
    """Return the rows that deletion vectors delete: an empty bitmap for None. Each file of vectors is read once."""
    names = [field.name for field in DELETION_VECTOR]
    values = [None if descriptor is None else {name: getattr(descriptor, name) for name in names} for descriptor in descriptors]
    bitmaps = read_vectors(snapshot, pa.array(values, DELETION_VECTOR), storage_options, store=store)
    return [Bitmap() if bitmap is None else bitmap for bitmap in bitmaps]


def _counted(live: AddFile, snapshot: Snapshot, physical_rows: Mapping[str, int]) -> int:
    """Return the number of rows in a file, deleted ones included. Raise InvalidCommitError if it is unknown."""
    count = num_records(live.stats)
    count = physical_rows.get(live.path) if count is None else count
    if count is None:
        raise failed("DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS/delete", at=snapshot, file=live.path)
    return count


def _check_rows(file: MarkedFile, snapshot: Snapshot) -> None:
    last = file.rows.maximum
    if last is not None and last >= file.num_records:
        raise failed(
            "DELTA_DELETION_VECTOR_INVALID_ROW_INDEX", at=snapshot, file=file.live.path, row=last, num_rows=file.num_records
        )


def _removed(live: AddFile, deletion_timestamp: int) -> RemoveFile:
    return RemoveFile(
        path=live.path,
        deletion_timestamp=deletion_timestamp,
        extended_file_metadata=True,
        partition_values=live.partition_values,
        size=live.size,
        tags=live.tags,
        deletion_vector=live.deletion_vector,
        base_row_id=live.base_row_id,
        default_row_commit_version=live.default_row_commit_version,
    )


def _marked(file: MarkedFile) -> AddFile:
    stats = with_wide_bounds(file.live.stats, file.num_records, file.gone.cardinality)
    return replace(file.live, data_change=True, stats=stats, deletion_vector=file.vector)
