# SPDX-License-Identifier: Apache-2.0
"""The end of a MERGE: the rows that its commit depends on, its metrics in the history, and the commit itself."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.keys import canonical_paths
from bayou.log.commit.transaction import Unchanged
from bayou.log.rows.deleted_rows import delete_rows, marked_files
from bayou.log.rows.vector_writer import VectorFiles
from bayou.log.staging.read_set import ReadSet
from bayou.plan.row_changes import FileTotals
from bayou.protocol.deletion_vectors.roaring import Bitmap
from bayou.spark.dml.core.live_rows import uncounted_rows
from bayou.spark.dml.core.result import RowChangeResult
from bayou.spark.dml.core.row_counts import check_emptied
from bayou.spark.dml.core.touched_rows import has_new, row_numbers
from bayou.spark.dml.core.vectors import as_told, now
from bayou.spark.dml.merge.actions import KEPT, action_of, matched_action_of
from bayou.spark.dml.merge.counts import check_source
from bayou.spark.dml.merge.first_pass import Found, clauses_with, positions_of
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.jvm.core import nodes
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.log.commit.transaction import Transaction
    from bayou.log.rows.deleted_rows import DeletedRows, MarkedFile
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.merge.counts import FoundRows
    from bayou.spark.dml.merge.target_rows import Merge


def marked(merge: Merge, found: Found) -> DeletedRows:
    """Write deletion vectors for the rows that change, if any.

    If rows are inserted, the commit depends on the rows that matched and stay: without them other rows would be inserted.

    Raises:
        InvalidCommitError: a file with remaining rows would be removed. Nothing was written.
    """
    phase("marking rows")
    change, changed = merge.change, found.changed()
    check_emptied(change, {position: rows.cardinality for position, rows in changed.items()})
    relied = found.kept if clauses_with(merge, Action.INSERT) else {}
    positions = positions_of({*changed, *relied})
    snapshot, store = change.snapshot, change.target.log.store
    reads = ReadSet(snapshot.table_uri)
    change.note_reads(reads)
    return delete_rows(
        snapshot,
        store,
        snapshot.files().take(positions),
        [changed.get(each, Bitmap()) for each in positions.to_pylist()],
        VectorFiles(store, snapshot.table_uri, snapshot.metadata.configuration),
        deletion_timestamp=int(time.time() * 1000),
        reads=reads,
        needed=[relied.get(each, Bitmap()) for each in positions.to_pylist()],
        physical_rows=uncounted_rows(change, positions),
        holds=lambda added, new_rows: as_told(lambda: _hold(merge, added, new_rows)),
        storage_options=change.target.storage_options or None,
    )


def relying_on_matches(merge: Merge, deleted: DeletedRows) -> DeletedRows:
    """Add the rows that a MERGE without updates and deletes depends on: those with a match, for which it inserted nothing.

    They are only searched in files that winning commits changed.
    """
    change = merge.change
    uri, paths = change.snapshot.table_uri, change.snapshot.files(["path"])["path"].take(change.files.candidates)
    relied = pa.concat_arrays([pa.array([], pa.string()), *canonical_paths(paths, uri).chunks])

    def needs(wanted: Sequence[str]) -> list[MarkedFile]:
        phase("looking at the rows that others changed")
        places = change.files.candidates.filter(pc.is_in(relied, value_set=pa.array(wanted, pa.string())))
        condition = nodes.column(change.target.application.jvm, merge.resolution.condition)
        found = row_numbers(merge.rows(places, with_numbers=True).join(merge.source.marked(), condition, "left_semi"))
        check_source(merge)
        matched = positions_of(found)
        return marked_files(
            change.snapshot,
            change.target.log.store,
            change.snapshot.files().take(matched),
            [Bitmap()] * len(matched),
            needed=[found[each] for each in matched.to_pylist()],
            physical_rows=uncounted_rows(change, matched),
            storage_options=change.target.storage_options or None,
        )

    return replace(deleted, relied=relied, needs=needs)


def _hold(merge: Merge, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> bool:
    """Whether files of winning commits contain new rows that a clause changes, or for which no row is inserted."""
    found = now(merge.change, added, new_rows)
    if found is None:
        return True
    later, places = replace(merge, change=found[0]), found[1]
    condition = nodes.column(merge.change.target.application.jvm, merge.resolution.condition)
    orphans = bool(merge.resolution.of_kind(Kind.NOT_MATCHED_BY_SOURCE))
    rows = later.rows(pa.array(list(places), pa.int64()), with_numbers=True)
    joined = rows.join(merge.source.marked(), condition, "left" if orphans else "inner")
    action = action_of(later) if orphans else matched_action_of(later)
    least = KEPT if clauses_with(merge, Action.INSERT) else 0
    holds = has_new(joined.where(action >= least), places)
    check_source(merge)
    return holds


def metrics_of(merge: Merge, found: FoundRows, written: NewFiles, removed: pa.Array, deleted: DeletedRows | None) -> dict[str, int]:
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
    merge: Merge,
    transaction: Transaction,
    written: NewFiles,
    metrics: Mapping[str, int],
    uncommitted: UncommittedFiles,
    *,
    rewritten: int,
) -> RowChangeResult:
    """Commit what was prepared.

    Args:
        rewritten: the number of files of the table that were rewritten.

    Raises:
        ConcurrentModificationError: another commit excludes this one.
        StorageError: the store failed; the commit may be in the log nevertheless.
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
