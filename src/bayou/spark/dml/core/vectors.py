# SPDX-License-Identifier: Apache-2.0
"""Write deletion vectors for a row change, and answer what the resolution of conflicts asks about its rows."""

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
from bayou.spark.jvm.core.callbacks import FAILED_CALL, reason_of
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.rows.deleted_rows import DeletedRows, MarkedFile
    from bayou.spark.dml.core.row_change import Change


@dataclass(frozen=True)
class SparkRowOracle(RowConflictOracle):
    """Answers by Spark jobs on the latest version. MERGE has a subclass, whose rows match if the source has a row for them."""

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
        """Return whether the operation would have changed a new row. Costs a job.

        The job may fail on a row of another writer, for example in a cast. The statement need not fail on it when it runs again:
        Spark chooses the order in which it evaluates the parts of a condition.
        """
        if self.change.has_constant_condition:
            return True
        try:
            found = self._on_latest(added, new_rows)
            if found is None:
                return True
            later, places = found
            return has_new(self.matching_rows(later, pa.array(list(places), pa.int64())), places)
        except FAILED_CALL as error:
            return NotEvaluated(reason_of(error))

    def _on_latest(self, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> tuple[Change, dict[int, Bitmap | None]] | None:
        """Return the operation on the latest version, and the new rows by the positions of their files, None for all rows.

        Return None if a file is no longer in the table or columns have changed. The next attempt to commit deals with it.
        """
        later = replace(self.change, snapshot=self.change.target.log.update())
        known = later.snapshot.files(["path"])["path"].combine_chunks()
        positions = pc.index_in(added["path"].combine_chunks(), value_set=known)
        if positions.null_count or without_marks(later.snapshot.schema) != without_marks(self.change.snapshot.schema):
            return None
        found: dict[int, Bitmap | None] = {}
        for position, rows in zip(positions.to_pylist(), new_rows, strict=True):
            others = found.get(position, Bitmap())
            found[position] = None if rows is None or others is None else others.union(rows)
        return later, found


def mark_rows(
    change: Change,
    changed: Mapping[int, Bitmap],
    needed: Mapping[int, Bitmap] | None = None,
    oracle: RowConflictOracle | None = None,
) -> DeletedRows:
    """Write deletion vectors for the rows that change; nothing if no row changes.

    Args:
        changed: the rows, by the positions of their files.
        needed: further rows that the operation relies on.
        oracle: answers for the operation when its commit conflicts; `SparkRowOracle` if None.

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
