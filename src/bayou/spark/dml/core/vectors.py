# SPDX-License-Identifier: Apache-2.0
"""Write the deletion vectors of a row change, and decide by Spark jobs whether winning commits touched its rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.rows.deleted_rows import NotEvaluated, RowConflictOracle, delete_rows
from bayou.log.rows.vector_writer import VectorFiles
from bayou.log.staging.read_set import ReadSet
from bayou.protocol.columns.identity_rules import without_marks
from bayou.protocol.deletion_vectors.roaring import Bitmap
from bayou.spark.dml.core.live_rows import uncounted_rows
from bayou.spark.dml.core.row_counts import check_emptied
from bayou.spark.dml.core.touched_rows import has_new
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.rows.deleted_rows import DeletedRows, MarkedFile
    from bayou.spark.dml.core.row_change import Change


@dataclass(frozen=True)
class SparkRowOracle(RowConflictOracle):
    """Finds out by Spark jobs on the latest version whether a winning commit conflicts with a row change.

    MERGE has a subclass: its rows match if they have a match in the source.
    """

    change: Change

    def matching_rows(self, later: Change, positions: pa.Array) -> DataFrame:
        """Return the rows of some files that the operation would change, with `FILE` and `METADATA`.

        Args:
            later: the operation on the latest version.
        """
        return later.affected(later.rows(positions, with_files=True, with_numbers=True))

    def needed_rows(self, paths: Sequence[str]) -> Sequence[MarkedFile]:  # noqa: ARG002
        """Return no rows: a DELETE or UPDATE only relies on the rows that it changes."""
        return ()

    def matches_added_rows(self, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> bool | NotEvaluated:
        """Return whether the operation would have changed one of the rows that a winning commit added. Runs a job.

        Evaluating the condition may fail on a row of another writer, for example in a cast. That does not prove a conflict, because
        a rerun of the statement may succeed: Spark chooses the order in which it evaluates the parts of a condition.
        """
        if self.change.has_constant_condition:
            return True
        backend = self.change.target.application.backend
        try:
            on_latest = self._on_latest(added, new_rows)
            if on_latest is None:
                return True
            later, rows_by_file = on_latest
            return has_new(self.matching_rows(later, pa.array(list(rows_by_file), pa.int64())), rows_by_file)
        except backend.failures as error:
            return NotEvaluated(backend.reason_of(error))

    def _on_latest(self, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> tuple[Change, dict[int, Bitmap | None]] | None:
        """Return the operation on the latest version, and the rows that winning commits added, by their files' positions there.

        Return None instead if one of the files has left the table or columns have changed: the latest version then lacks the rows
        or reads them differently.

        Args:
            added: the files that winning commits added; a file may occur more than once.
            new_rows: the rows that are new in each of these files; None for all of them, also in the result.
        """
        later = replace(self.change, snapshot=self.change.target.log.update())
        paths = later.snapshot.files(["path"])["path"].combine_chunks()
        positions = pc.index_in(added["path"].combine_chunks(), value_set=paths)
        if positions.null_count or without_marks(later.snapshot.schema) != without_marks(self.change.snapshot.schema):
            return None
        rows_by_file: dict[int, Bitmap | None] = {}
        for position, rows in zip(positions.to_pylist(), new_rows, strict=True):
            # Each winning commit that changed a file of several has its own entry in `added`.
            others = rows_by_file.get(position, Bitmap())
            rows_by_file[position] = None if rows is None or others is None else others.union(rows)
        return later, rows_by_file


def mark_rows(
    change: Change,
    changed: Mapping[int, Bitmap],
    needed: Mapping[int, Bitmap] | None = None,
    oracle: RowConflictOracle | None = None,
) -> DeletedRows:
    """Write deletion vectors for the rows that change. If no row changes, write nothing.

    Args:
        changed: the rows that change, by the positions of their files.
        needed: further rows, by file, that the operation depends on and does not change.
        oracle: decides whether a winning commit conflicts; `SparkRowOracle` if None.

    Raises:
        InvalidCommitError: a file would be removed although it has rows left. Nothing was written.
    """
    phase("marking rows")
    check_emptied(change, {position: rows.cardinality for position, rows in changed.items()})
    needed = needed or {}
    files = sorted({*changed, *needed})
    positions = pa.array(files, pa.int64())
    snapshot, store = change.snapshot, change.target.log.store
    reads = ReadSet(snapshot.table_uri)
    change.note_reads(reads)
    return delete_rows(
        snapshot,
        store,
        snapshot.files().take(positions),
        [changed.get(each, Bitmap()) for each in files],
        VectorFiles(store, snapshot.table_uri, snapshot.metadata.configuration),
        deletion_timestamp=int(time.time() * 1000),
        reads=reads,
        needed=[needed.get(each, Bitmap()) for each in files],
        physical_rows=uncounted_rows(change, positions),
        oracle=oracle or SparkRowOracle(change),
        storage_options=change.target.options or None,
    )
