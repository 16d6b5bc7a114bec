# SPDX-License-Identifier: Apache-2.0
"""The written but uncommitted bins of an OPTIMIZE, and their rebase on winning commits.

A bin is a group of old files that one task rewrites to one new file. If winning commits gave the old files deletion vectors, the
bin stays: the same rows are deleted in the new file. If a winning commit removed an old file, or the positions of its rows in the
new file are unknown, the bin is left out and its new file is deleted.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import DeltaError
from bayou.log.actions.keys import action_keys, canonical_paths
from bayou.log.rows.moved_rows import MovedRows, with_moves
from bayou.log.rows.vector_reader import read_vectors
from bayou.log.rows.vector_writer import VectorFiles
from bayou.protocol import properties
from bayou.protocol.actions.paths import canonical, decode
from bayou.protocol.deletion_vectors.descriptor import Bitmap
from bayou.protocol.features.features import writer_features
from bayou.protocol.stats.wide_stats import num_records, with_wide_bounds
from bayou.spark.maintenance.moved_rows import MovedFile, deleted_since

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import AddFile
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.read.session_table import SessionTable

_TASK: Final = re.compile(r"^part-(\d+)-")
"""The name of Spark's data files begins with the number of the task that wrote them."""


def task_of(add: AddFile) -> int:
    """Return the number of the task that wrote a file."""
    match = _TASK.match(add.path.rpartition("/")[2])
    if match is None:
        raise AssertionError(add.path)
    return int(match[1])


@dataclass(frozen=True, slots=True)
class WrittenBins:
    """Bins that are written and not yet committed.

    Attributes:
        table: the table.
        uncommitted: the owner of the new files and of their deletion vectors.
        added: the new files.
        old: the files that they replace, ADD_SCHEMA, as of the snapshot on which the bins were last rebased.
        numbers: the number of each old file's bin, which is that of the task that wrote it.
        written_from: the snapshot whose rows were written.
    """

    table: SessionTable
    uncommitted: UncommittedFiles
    added: NewFiles
    old: pa.Table
    numbers: pa.Array
    written_from: Snapshot

    def old_with_moves(self) -> pa.Table:
        """Return the old files, each with a tag that states where its rows are: the new file, and the position of its first row.

        By these tags, a concurrent commit that deletes rows of the old files can delete them in the new one. A bin gets no tags if
        its task wrote several files, if row counts are unknown or contradict each other, or if a commit has deleted rows of it
        since it was written: then positions do not follow from row counts.
        """
        uri = self.written_from.table_uri
        new: dict[int, list[AddFile]] = defaultdict(list)
        for each in self.added.files:
            new[task_of(each)].append(each)
        paths = canonical_paths(self.old["path"], uri).to_pylist()
        places = {path: place for place, path in enumerate(paths)}
        moves: list[MovedRows | None] = [None] * self.old.num_rows
        live = self._live_when_written(paths)
        for number, files in new.items():
            order = [places.get(canonical(each, uri)) for each in self.added.read_by_tasks[number]]
            counts = [None if place is None else live[place] for place in order]
            known = [each for each in counts if each is not None]
            if len(files) > 1 or len(known) < len(order) or sum(known) != num_records(files[0].stats):
                continue
            # The task wrote the live rows of its old files one after another.
            for place, first in zip(order, accumulate(known, initial=0), strict=False):
                moves[place or 0] = MovedRows(files[0].path, first)
        return with_moves(self.old, moves)

    def _live_when_written(self, paths: Sequence[str]) -> list[int | None]:
        """Return how many live rows each old file had when it was read; None if unknown, or if its vector has changed."""
        files = self.written_from.files(["path", "deletion_vector"])
        positions = pc.index_in(
            pa.array(paths, pa.string()), value_set=canonical_paths(files["path"], self.written_from.table_uri).combine_chunks()
        )
        vectors = files["deletion_vector"].take(positions).to_pylist()
        counts = self.written_from.live_rows(positions).to_pylist()
        facts = zip(counts, vectors, self.old["deletion_vector"].to_pylist(), strict=True)
        return [count if then == now else None for count, then, now in facts]

    def rebased_on(self, snapshot: Snapshot) -> tuple[WrittenBins, int]:
        """Return the bins that are valid for a later snapshot, and the number of the others, whose files are deleted."""
        marked_before = {task_of(add) for add in self.added.files if add.deletion_vector is not None}
        changed = self._changed(snapshot) | marked_before  # their vectors are written once more
        if not changed:
            return self, 0
        deleted = {number: rows for number in changed if (rows := self._deleted_since(snapshot, number)) is not None}
        lost = changed - deleted.keys()
        by_task: dict[int, list[AddFile]] = defaultdict(list)
        for add in self.added.files:
            by_task[task_of(add)].append(add)
        unneeded = [file for number in lost for file in by_task.pop(number, [])]
        marked = {number: by_task[number][0] for number, rows in deleted.items() if rows.containers}
        emptied = [number for number, file in marked.items() if num_records(file.stats) == deleted[number].cardinality]
        unneeded += [marked.pop(number) for number in emptied]
        old_vectors = [path for add in self.added.files if add.deletion_vector and (path := add.deletion_vector.relative_path)]
        if marked:
            vectors = VectorFiles(self.table.log.store, snapshot.table_uri, snapshot.metadata.configuration)
            try:
                descriptors = vectors.write([deleted[number] for number in marked])
            finally:
                self.uncommitted.add(vectors.paths)
            for number, vector in zip(marked, descriptors, strict=True):
                file = marked[number]
                stats = with_wide_bounds(file.stats, num_records(file.stats) or 0, vector.cardinality)
                by_task[number] = [replace(file, deletion_vector=vector, stats=stats)]
        for number in emptied:
            del by_task[number]
        self.uncommitted.delete([*(decode(add.path) for add in unneeded), *old_vectors])
        files = [file for number in sorted(by_task) for file in by_task[number]]
        is_kept = pc.invert(pc.is_in(self.numbers, value_set=pa.array(sorted(lost), pa.int32())))
        bins = replace(
            self,
            added=replace(self.added, files=files, num_bytes=sum(add.size for add in files)),
            old=self._now(snapshot, self.old.filter(is_kept)),
            numbers=self.numbers.filter(is_kept),
        )
        return bins, len(lost)

    def _changed(self, snapshot: Snapshot) -> set[int]:
        """Return the bins with an old file that a later snapshot does not have, or has with another deletion vector."""
        files = snapshot.files(["path", "deletion_vector"])
        current_keys = action_keys(files["path"], files["deletion_vector"], snapshot.table_uri).combine_chunks()
        keys = action_keys(self.old["path"], self.old["deletion_vector"], snapshot.table_uri).combine_chunks()
        return set(pc.unique(self.numbers.filter(pc.invert(pc.is_in(keys, value_set=current_keys)))).to_pylist())

    def _now(self, snapshot: Snapshot, old: pa.Table) -> pa.Table:
        """Return old files as a snapshot has them."""
        files = snapshot.files()
        old_paths = canonical_paths(old["path"], snapshot.table_uri).combine_chunks()
        return files.take(pc.index_in(old_paths, value_set=canonical_paths(files["path"], snapshot.table_uri).combine_chunks()))

    def _deleted_since(self, snapshot: Snapshot, number: int) -> Bitmap | None:
        """Return the positions in a bin's new file of rows that were deleted in the old files since; None if unknown."""
        metadata = snapshot.metadata.configuration
        if "deletionVectors" not in writer_features(snapshot.protocol) or not properties.ENABLE_DELETION_VECTORS.read(metadata):
            return None
        new = [file for file in self.added.files if task_of(file) == number]
        moved = self._moved(snapshot, number)
        rows = sum(file.num_moved for file in moved or ())
        if moved is None or len(new) > 1 or rows != sum(num_records(file.stats) or 0 for file in new):
            return None
        return deleted_since(moved) if all(file.keeps_deletions for file in moved) else None

    def _moved(self, snapshot: Snapshot, number: int) -> list[MovedFile] | None:
        """Return a bin's old files in the order in which they were read, with their deleted rows when the bin was written and now.

        Return None if that is unknown: a file was removed, the log lacks a row count, or a deletion vector cannot be read, for
        example because VACUUM deleted the old one.
        """
        order = [canonical(each, snapshot.table_uri) for each in self.added.read_by_tasks[number]]
        before, now = (_files_at(each, order) for each in (self.written_from, snapshot))
        if before is None or now is None:
            return None
        counts = self.written_from.statistics({}).num_records.take(before)
        if counts.null_count:
            return None
        try:
            deleted_before = _vectors(self.table, self.written_from, before)
            deleted_now = _vectors(self.table, snapshot, now)
        except DeltaError:
            return None
        return [MovedFile(*facts) for facts in zip(counts.to_pylist(), deleted_before, deleted_now, strict=True)]


def _files_at(snapshot: Snapshot, paths: Sequence[str]) -> pa.Array | None:
    """Return the positions of files in a snapshot, by canonical path; None if one is missing."""
    known = canonical_paths(snapshot.files(["path"])["path"], snapshot.table_uri).combine_chunks()
    positions = pc.index_in(pa.array(paths, pa.string()), value_set=known)
    return None if positions.null_count else positions


def _vectors(table: SessionTable, snapshot: Snapshot, positions: pa.Array) -> list[Bitmap]:
    """Read the deletion vectors of some files; an empty one for a file without a deletion vector."""
    column = snapshot.files(["deletion_vector"])["deletion_vector"].take(positions).combine_chunks()
    return [vector or Bitmap() for vector in read_vectors(snapshot, column, table.options, store=table.log.store)]
