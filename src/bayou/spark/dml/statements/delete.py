# SPDX-License-Identifier: Apache-2.0
"""DELETE: remove files whose rows all match. Delete other rows by deletion vectors, or by rewriting the remaining rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.plan.row_changes import FileTotals, RowChangeCounts, Way
from bayou.spark.data_files.written_files import NO_FILES
from bayou.spark.dml.core.commit import Outcome, run
from bayou.spark.dml.core.live_rows import known_live
from bayou.spark.dml.core.removed_files import RemovedFiles
from bayou.spark.dml.core.reruns import with_reruns
from bayou.spark.dml.core.result import PlannedChange
from bayou.spark.dml.core.rewrite import deleted_rows, kept_rows, write_change_rows, write_rows
from bayou.spark.dml.core.row_counts import check_written
from bayou.spark.dml.core.touched_rows import find_touched
from bayou.spark.dml.core.vectors import mark_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.plan.row_changes import RowChangePlan
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.core.commit import Stopwatch
    from bayou.spark.dml.core.result import RowChangeResult
    from bayou.spark.dml.core.row_change import Change


def plan_delete(change: Change) -> PlannedChange:
    """Plan a DELETE."""
    return PlannedChange(_plan(change), lambda: with_reruns(change, _run, lambda each: each.on_latest()))


def _run(change: Change) -> RowChangeResult:
    with change.settled() as settled:
        plan = _plan(settled)
        return run(settled, lambda _, uncommitted, watch: _prepared(settled, plan.way, uncommitted, watch)).by(plan)


def _plan(change: Change) -> RowChangePlan:
    reads = change.files.in_part
    if not len(change.files.candidates):
        way = Way.NOTHING
    elif not len(reads):
        way = Way.METADATA
    else:
        way = Way.VECTORS if change.uses_vectors else Way.REWRITE
    return change.plan(way, reads=reads)


def _prepared(change: Change, way: Way, uncommitted: UncommittedFiles, watch: Stopwatch) -> Outcome | None:
    if way is Way.NOTHING:
        return None
    if way is Way.METADATA:
        outcome = Outcome(_of_whole_files(change, change.files.whole), change.files.whole)
    elif way is Way.VECTORS:
        outcome = _by_vectors(change, watch)
    else:
        outcome = _by_rewriting(change, uncommitted, watch)
    return None if outcome.deleted is None and not len(outcome.removed) else outcome


def _of_whole_files(change: Change, positions: pa.Array) -> RowChangeCounts:
    """Return the counts for files that are removed unread. If the log lacks the row count of one, the row counts are None."""
    num_rows = known_live(change, positions)
    files = change.snapshot.files(["size", "deletion_vector"]).take(positions)
    vectors = files.num_rows - files["deletion_vector"].null_count
    totals = FileTotals.of(files["size"])
    return RowChangeCounts(
        changed_rows=num_rows,
        copied_rows=0 if num_rows is not None else None,
        removed_files=totals.files,
        removed_bytes=totals.size_bytes,
        vectors_removed=vectors,
    )


def _by_rewriting(change: Change, uncommitted: UncommittedFiles, watch: Stopwatch) -> Outcome:
    removed = RemovedFiles.of(change)
    watch.lap("scanTimeMs")
    if not len(removed.files):
        return Outcome(RowChangeCounts())
    counts, added = _of_whole_files(change, removed.files), NO_FILES
    if len(removed.left):
        added = _rewritten(change, removed, uncommitted)
        watch.lap("rewriteTimeMs")
    outcome_counts = RowChangeCounts(
        changed_rows=removed.num_deleted,
        copied_rows=added.num_rows,
        removed_files=counts.removed_files,
        removed_bytes=counts.removed_bytes,
        added_files=len(added.files),
        added_bytes=added.num_bytes,
        vectors_removed=counts.vectors_removed,
    )
    return Outcome(outcome_counts, removed.files, added, rewritten=len(removed.left))


def _rewritten(change: Change, removed: RemovedFiles, uncommitted: UncommittedFiles) -> NewFiles:
    """Write the remaining rows as new files, and the deleted rows as change data files if the table has a change data feed.

    A second job writes the change data files if it is certain to find the same rows. Otherwise one job writes both.
    """
    is_separate = change.feeds and change.finds_the_same
    in_one_job = change.feeds and not is_separate
    rows = kept_rows(change, removed.files_to_rewrite if in_one_job else removed.left, feeds=in_one_job)
    added = write_rows(change, rows, uncommitted, feeds=in_one_job)
    what = f"the remaining rows of {len(removed.left)} files"
    check_written(change, written=added.num_rows, expected=removed.num_kept, what=what, counted=removed.left)
    if not is_separate:
        return added
    deleted = deleted_rows(change, removed.files)
    return write_change_rows(change, added, deleted, uncommitted, expected=removed.num_deleted, counted=removed.files)


def _by_vectors(change: Change, watch: Stopwatch) -> Outcome:
    touched = find_touched(change, change.files.in_part)
    watch.lap("scanTimeMs")
    whole = _of_whole_files(change, change.files.whole)
    if not touched:
        return Outcome(whole, change.files.whole)
    marked = mark_rows(change, touched)
    counted = marked.metrics()
    counts = RowChangeCounts(
        changed_rows=None if whole.changed_rows is None else whole.changed_rows + counted["numDeletedRows"],
        removed_files=whole.removed_files + counted["numRemovedFiles"],
        removed_bytes=whole.removed_bytes + counted["numRemovedBytes"],
        vectors_added=counted["numDeletionVectorsAdded"],
        vectors_removed=whole.vectors_removed + counted["numDeletionVectorsRemoved"],
        vectors_updated=counted["numDeletionVectorsUpdated"],
    )
    watch.lap("rewriteTimeMs")
    return Outcome(counts, change.files.whole, deleted=marked)
