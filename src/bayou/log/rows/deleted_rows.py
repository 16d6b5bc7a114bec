# SPDX-License-Identifier: Apache-2.0
"""Rows that a commit deletes by deletion vectors: the actions for them, and what the history says of them.

A file that keeps rows is removed with the vector that it had and added with a new one; a file that keeps none is removed.
There is one object for each file whose rows change, and nothing for any other. Sources: PROTOCOL.md, "Deletion Vectors" and
"Add File and Remove File"; delta-spark's `DMLWithDeletionVectorsHelper` for what is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

import pyarrow as pa

from bayou.errors import InvalidCommitError
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

Holds: TypeAlias = Callable[[pa.Table, Sequence["Bitmap | None"]], "bool | Untold"]
"""Whether a live row of some files, ADD_SCHEMA, is one that an operation would have changed, or that it would have joined. For each
file the rows that are asked about; all of them where None. A file may be there more than once."""


@dataclass(frozen=True, slots=True)
class Untold:
    """That nobody can tell, as where a condition fails on a row.

    Attributes:
        reason: what failed, in a line.
    """

    reason: str


Needs: TypeAlias = Callable[[Sequence[str]], Sequence["MarkedFile"]]
"""Some of the files that an operation looked through, by their canonical paths, with the rows of them that it relies on."""

# The history names what MERGE counts otherwise.
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "numRemovedFiles": "numTargetFilesRemoved",
    "numRemovedBytes": "numTargetBytesRemoved",
    "numDeletionVectorsAdded": "numTargetDeletionVectorsAdded",
    "numDeletionVectorsRemoved": "numTargetDeletionVectorsRemoved",
    "numDeletionVectorsUpdated": "numTargetDeletionVectorsUpdated",
}
# The metric by which an overwrite is known: no other operation that deletes rows has it.
_OF_WRITE: Final = "numFiles"


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A live file of which a commit deletes rows, or relies on some.

    Guarantees: no row of `rows` is in `gone`, and none lies beyond the file's end.

    Attributes:
        path: its canonical path.
        live: the file as the table has it.
        num_records: how many rows it has, deleted ones included.
        gone: the rows that its deletion vector deletes already.
        rows: the rows that the commit deletes.
        needed: rows that the commit relies on and does not delete, as a MERGE does on rows that it matched and left alone.
        vector: its new deletion vector; None where no row is left, or none is deleted.
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
        """Whether any row is deleted."""
        return bool(self.rows.containers)

    @property
    def num_left(self) -> int:
        """How many rows the commit leaves in it. A vector may name rows beyond the file's end; they are none."""
        return self.num_records - self.gone.below(self.num_records).cardinality - self.rows.cardinality

    @property
    def leaves(self) -> bool:
        """Whether the commit deletes the last rows that it has."""
        return self.is_changed and self.num_left == 0


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """Rows of live files that a commit deletes.

    Attributes:
        snapshot: what the commit was prepared for.
        store: the table's store.
        files: the files, by canonical path.
        vectors: the files that hold the new deletion vectors.
        deletion_timestamp: when they were deleted, in ms since the epoch.
        reads: how the rows were looked for in the table. A file that was looked through and keeps all its rows is no matter
            to the commit: another one may change it. Files that others add meanwhile are.
        holds: asked of such files where their statistics cannot tell; where None, they are taken to hold such a row.
        relied: the canonical paths of further files, which hold rows that the commit relies on. Which ones is only asked of those
            that others change meanwhile.
        needs: asked of these.
        storage_options: settings for the file systems of vectors that lie outside of the table.
    """

    snapshot: Snapshot
    store: LogStore
    files: Mapping[str, MarkedFile]
    vectors: VectorFiles
    deletion_timestamp: int
    reads: ReadSet
    holds: Holds | None = None
    relied: pa.Array = field(default_factory=lambda: pa.array([], pa.string()), repr=False)
    needs: Needs = field(default=lambda _: (), repr=False)
    storage_options: Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether no row is deleted."""
        return not any(each.is_changed for each in self.files.values())

    def removes(self) -> list[RemoveFile]:
        """The actions that take the files out as they were."""
        return [_removed(each.live, self.deletion_timestamp) for each in self.files.values() if each.is_changed]

    def adds(self) -> list[AddFile]:
        """The actions that put those with rows left in again."""
        return [_marked(each) for each in self.files.values() if each.is_changed and not each.leaves]

    def applied(self, staged: StagedActions) -> StagedActions:
        """The actions of a commit with these, too."""
        return replace(staged, removes=[*staged.removes, *self.removes()], adds=[*staged.adds, *self.adds()])

    def metrics(self) -> dict[str, int]:
        """What the history counts, by the names that DELETE and UPDATE have for it.

        A vector that takes the place of another is counted as added, as removed and as updated. `numRemovedFiles` and
        `numRemovedBytes` count files of which no row is left; `numDeletedRows` the rows that were live.
        """
        changed = [each for each in self.files.values() if each.is_changed]
        gone = [each for each in changed if each.leaves]
        had = [each for each in changed if each.live.deletion_vector is not None]
        return {
            "numDeletedRows": sum(each.rows.cardinality for each in changed),
            "numRemovedFiles": len(gone),
            "numRemovedBytes": sum(each.live.size for each in gone),
            "numDeletionVectorsAdded": len(changed) - len(gone),
            "numDeletionVectorsRemoved": len(had),
            "numDeletionVectorsUpdated": sum(1 for each in had if not each.leaves),
        }

    def metrics_of_write(self) -> dict[str, int]:
        """What an overwrite counts of the files with new vectors: as files that are written, and their rows as copied.

        Source: delta-spark's `WriteIntoDelta.registerReplaceWhereMetrics`.
        """
        marked = [each for each in self.files.values() if each.is_changed and not each.leaves]
        left = sum(each.num_left for each in marked)
        size = sum(each.live.size for each in marked)
        return {"numFiles": len(marked), "numOutputBytes": size, "numOutputRows": left, "numCopiedRows": left}

    def _all_metrics(self, metrics: Mapping[str, object]) -> dict[str, int]:
        """What an operation with some metrics counts of these rows."""
        return self.metrics() | (self.metrics_of_write() if _OF_WRITE in metrics else {})

    def corrected(self, metrics: Mapping[str, object], first: DeletedRows) -> dict[str, object]:
        """An operation's metrics after a rebase: what it counted, by either set of names, and what is different by now.

        Args:
            metrics: what the operation counted when it had made the first actions.
        """
        before, found = first._all_metrics(metrics), dict(metrics)
        for name, now in self._all_metrics(metrics).items():
            for known in (name, _OTHER_NAMES.get(name, name)):
                counted = metrics.get(known)
                if isinstance(counted, int):
                    found[known] = counted + now - before[name]
        return found

    def discard(self) -> None:
        """Delete the deletion vectors again: the commit is certainly not in the log."""
        self.vectors.discard()

    def relying(self, paths: Sequence[str]) -> DeletedRows:
        """These rows, and those that the commit relies on of some of the files that nobody has asked about yet."""
        return replace(self, files={**self.files, **{each.path: each for each in self.needs(paths)}}) if paths else self

    def with_vectors(self, files: Iterable[MarkedFile], left: Collection[str] = ()) -> DeletedRows:
        """These rows after some of the files were changed: new vectors are written for them, and unused ones deleted.

        Args:
            left: the canonical paths of files whose rows are in others by now.

        Raises:
            StorageError: the store failed.
        """
        changed = {each.path: each for each in files}
        wanted = [each for each in changed.values() if each.is_changed and not each.leaves]
        written = self.vectors.write([each.gone.union(each.rows) for each in wanted])
        changed |= {each.path: replace(each, vector=vector) for each, vector in zip(wanted, written, strict=True)}
        files_left = {path: each for path, each in self.files.items() if path not in left}
        found = replace(self, files={**files_left, **changed})
        self.vectors.discard_unused(each.vector for each in found.files.values() if each.vector is not None)
        return found


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
    holds: Holds | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> DeletedRows:
    """Delete rows of live files; their new deletion vectors are written, and in the table's folder once this returns.

    Rows that are deleted already are left out, and files of which nothing else is to be deleted with them.

    Args:
        files: the files, once each, with all columns of `Snapshot.files()`.
        rows: the positions of the rows to delete, in the order of the files.
        deletion_timestamp: the time of the commit, in ms since the epoch.
        reads: how the rows were looked for; the whole table where None.
        needed: further rows that the operation relies on, in the order of the files; empty where there are none.
        physical_rows: by path, as in the log, how many rows the files have whose statistics do not say it.
        holds: whether files that others add meanwhile hold rows to delete.
        storage_options: settings for the file systems of vectors that lie outside of the table.

    Raises:
        InvalidCommitError: nobody says how many rows a file has, or a row lies beyond its end. Nothing was written.
        DeletionVectorError: a vector that a file has cannot be read. Nothing was written.
        StorageError: the store failed. What was written is deleted again.
    """
    if reads is None:
        reads = ReadSet(snapshot.table_uri)
        reads.note_whole_table()
    marked = marked_files(snapshot, store, files, rows, needed=needed, physical_rows=physical_rows, storage_options=storage_options)
    empty = DeletedRows(snapshot, store, {}, vectors, deletion_timestamp, reads, holds, storage_options=storage_options)
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
    """Live files with the rows that a commit deletes or relies on, as far as they are not deleted; those without any left out.

    Arguments and errors are those of `delete_rows`.
    """
    lives = live_files(files)
    gone = read_gone(snapshot, store, [each.deletion_vector for each in lives], storage_options)
    relied = needed or [Bitmap()] * len(lives)
    marked = []
    for live, old, new, others in zip(lives, gone, rows, relied, strict=True):
        count = _counted(live, snapshot, physical_rows or {})
        found = MarkedFile(canonical(live.path, snapshot.table_uri), live, count, old, new.difference(old), others.difference(old))
        _check_rows(found, snapshot)
        if found.is_changed or found.needed.containers:
            marked.append(found)
    return marked


def live_files(files: pa.Table) -> list[AddFile]:
    """Files as actions."""
    columns = {name: to_objects(files[name]) for name in ADD_SCHEMA.names}
    columns["deletion_vector"] = [None if each is None else DeletionVectorDescriptor(**each) for each in columns["deletion_vector"]]
    columns["partition_values"] = [each or {} for each in columns["partition_values"]]
    columns["data_change"] = [each is not False for each in columns["data_change"]]
    columns["size"] = [each or 0 for each in columns["size"]]
    columns["modification_time"] = [each or 0 for each in columns["modification_time"]]
    names = list(columns)
    return [AddFile(**dict(zip(names, values, strict=True))) for values in zip(*columns.values(), strict=True)]


def added_again(add: AddFile) -> AddFile:
    """A live file as a commit may add it once more.

    An engine may have made the bounds of a file with a deletion vector tight again, and no commit adds such a file.
    """
    if add.deletion_vector is None:
        return add
    rows = num_records(add.stats)
    return add if rows is None else replace(add, stats=with_wide_bounds(add.stats, rows, add.deletion_vector.cardinality))


def read_gone(
    snapshot: Snapshot,
    store: LogStore,
    descriptors: Sequence[DeletionVectorDescriptor | None],
    storage_options: Mapping[str, str] | None,
) -> list[Bitmap]:
    """The rows that deletion vectors delete, each vector file read once; no rows where there is no vector.

    Raises:
        DeletionVectorError: one cannot be read.
    """
    names = [each.name for each in DELETION_VECTOR]
    values = [None if each is None else {name: getattr(each, name) for name in names} for each in descriptors]
    found = read_vectors(snapshot, pa.array(values, DELETION_VECTOR), storage_options, store=store)
    return [Bitmap() if each is None else each for each in found]


def _counted(live: AddFile, snapshot: Snapshot, physical_rows: Mapping[str, int]) -> int:
    known = num_records(live.stats)
    known = physical_rows.get(live.path) if known is None else known
    if known is None:
        raise InvalidCommitError(
            f"the file {live.path} cannot have a deletion vector: its statistics do not say how many rows it has",
            at=snapshot,
            file=live.path,
            error_class="DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS",
            next_step="Read the number of rows from the file's footer.",
        )
    return known


def _check_rows(file: MarkedFile, snapshot: Snapshot) -> None:
    last = file.rows.maximum
    if last is not None and last >= file.num_records:
        raise InvalidCommitError(
            f"row {last} of the file {file.live.path} cannot be deleted: the file has {file.num_records} rows",
            at=snapshot,
            file=file.live.path,
            error_class="DELTA_DELETION_VECTOR_INVALID_ROW_INDEX",
            next_step="Compare the file's statistics (numRecords) with its footer.",
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
