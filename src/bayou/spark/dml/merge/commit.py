# SPDX-License-Identifier: Apache-2.0
"""Finish a MERGE: write deletion vectors, decide which rows its commit depends on, compute metrics, and commit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.keys import canonical_paths
from bayou.log.commit.transaction import Unchanged
from bayou.log.rows.deleted_rows import marked_files
from bayou.plan.row_changes import FileTotals
from bayou.protocol.deletion_vectors.roaring import Bitmap
from bayou.spark.dml.core.live_rows import uncounted_rows
from bayou.spark.dml.core.result import RowChangeResult
from bayou.spark.dml.core.touched_rows import row_numbers
from bayou.spark.dml.core.vectors import SparkRowOracle, mark_rows
from bayou.spark.dml.merge.any_merge import Found
from bayou.spark.dml.merge.counts import check_source
from bayou.spark.dml.merge.first_pass import clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.log.commit.transaction import Transaction
    from bayou.log.rows.deleted_rows import DeletedRows, MarkedFile, NotEvaluated
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.dml.merge.any_merge import AnyMerge
    from bayou.spark.dml.merge.counts import FoundRows


def marked(merge: AnyMerge, found: Found) -> DeletedRows:
    """Write deletion vectors for the rows that change. If no row changes, write none.

    If a clause inserts, the commit also depends on rows that matched and stay unchanged: without them, other rows would be
    inserted. A MERGE that only inserts has no first pass to find these rows. If a winning commit changes one of its files, conflict
    resolution searches that file for them (see `MergeRowOracle.needed_rows`).

    Raises:
        InvalidCommitError: a file would be removed although it has remaining rows. Nothing was written.
    """
    change = merge.change
    needed = found.kept if clauses_with(merge, Action.INSERT) else {}
    deleted = mark_rows(change, found.changed(), needed, MergeRowOracle(change, merge))
    if not merge.resolution.is_insert_only:
        return deleted
    paths = change.snapshot.files(["path"])["path"].take(change.files.candidates)
    scanned = canonical_paths(paths, change.snapshot.table_uri)
    return replace(deleted, relied=pa.concat_arrays([pa.array([], pa.string()), *scanned.chunks]))


@dataclass(frozen=True)
class MergeRowOracle(SparkRowOracle):
    """Finds out by joins with the source whether a winning commit conflicts with a MERGE."""

    merge: AnyMerge

    def matching_rows(self, later: Change, positions: pa.Array) -> DataFrame:
        """Return the rows of some files that a clause changes. If a clause inserts, return all rows with a match."""
        return self.merge.changing_rows(later, positions)

    def matches_added_rows(self, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> bool | NotEvaluated:
        """Return whether a clause would change a new row, or whether the MERGE would insert fewer rows because of it."""
        matches = SparkRowOracle.matches_added_rows(self, added, new_rows)
        check_source(self.merge)  # after the job, which reads the source once more
        return matches

    def needed_rows(self, paths: Sequence[str]) -> Sequence[MarkedFile]:
        """Return the rows of some files that match a row of the source. Runs a job."""
        phase("looking at the rows that others changed")
        merge, change = self.merge, self.change
        candidates = change.files.candidates
        candidate_paths = canonical_paths(change.snapshot.files(["path"])["path"].take(candidates), change.snapshot.table_uri)
        places = candidates.filter(pc.is_in(candidate_paths, value_set=pa.array(paths, pa.string())).combine_chunks())
        matching = row_numbers(merge.matching_rows(places))
        check_source(merge)
        matched = positions_of(matching)
        return marked_files(
            change.snapshot,
            change.target.log.store,
            change.snapshot.files().take(matched),
            [Bitmap()] * len(matched),
            needed=[matching[each] for each in matched.to_pylist()],
            physical_rows=uncounted_rows(change, matched),
            storage_options=change.target.options or None,
        )


def metrics_of(
    merge: AnyMerge, found: FoundRows, written: NewFiles, removed: pa.Array, deleted: DeletedRows | None
) -> dict[str, int]:
    """Return the metrics of the history. Source: delta-spark, `DeltaOperations`.

    Args:
        removed: the positions of the files that leave the table.
        deleted: the rows that deletion vectors delete; None if files are rewritten.
    """
    vectors = deleted.metrics() if deleted is not None else {}
    files = merge.change.snapshot.files(["size", "deletion_vector"]).take(removed)
    totals = FileTotals.of(files["size"])
    return {
        "numSourceRows": merge.source.rows,
        "numTargetRowsInserted": found.num_inserted(written),
        "numTargetRowsUpdated": found.num_updated,
        "numTargetRowsMatchedUpdated": found.updated[Kind.MATCHED],
        "numTargetRowsNotMatchedBySourceUpdated": found.updated[Kind.NOT_MATCHED_BY_SOURCE],
        "numTargetRowsDeleted": found.num_deleted,
        "numTargetRowsMatchedDeleted": found.deleted[Kind.MATCHED],
        "numTargetRowsNotMatchedBySourceDeleted": found.deleted[Kind.NOT_MATCHED_BY_SOURCE],
        "numTargetRowsCopied": found.copied,
        "numOutputRows": written.num_rows,
        "numTargetFilesAdded": len(written.files),
        "numTargetFilesRemoved": totals.files + vectors.get("numRemovedFiles", 0),
        "numTargetBytesAdded": written.num_bytes,
        "numTargetBytesRemoved": totals.size_bytes + vectors.get("numRemovedBytes", 0),
        "numTargetChangeFilesAdded": len(written.changes),
        "numTargetDeletionVectorsAdded": vectors.get("numDeletionVectorsAdded", 0),
        "numTargetDeletionVectorsRemoved": files.num_rows
        - files["deletion_vector"].null_count
        + vectors.get("numDeletionVectorsRemoved", 0),
        "numTargetDeletionVectorsUpdated": vectors.get("numDeletionVectorsUpdated", 0),
        "materializeSourceTimeMs": merge.source.materialised_in_ms,
    }


def commit_merge(
    merge: AnyMerge,
    transaction: Transaction,
    written: NewFiles,
    metrics: Mapping[str, int],
    uncommitted: UncommittedFiles,
    *,
    rewritten: int,
) -> RowChangeResult:
    """Commit the new files, removed files and deletion vectors of a MERGE.

    Args:
        rewritten: the number of files of the table that were rewritten.

    Raises:
        ConcurrentModificationError: a winning commit conflicts.
        StorageError: the store failed; the commit may nevertheless be in the log.
    """
    spark = merge.change.target.spark
    outcome = uncommitted.commit(transaction, written, metrics)
    if isinstance(outcome, Unchanged):
        return RowChangeResult("MERGE", outcome.version, committed=False, reason=outcome.reason, spark=spark)
    return RowChangeResult(
        "MERGE",
        outcome.version,
        committed=True,
        num_updated_rows=metrics["numTargetRowsUpdated"],
        num_deleted_rows=metrics["numTargetRowsDeleted"],
        num_inserted_rows=metrics["numTargetRowsInserted"],
        metrics=outcome.metrics or metrics,
        spark=spark,
        num_rewritten_files=rewritten,
    )
