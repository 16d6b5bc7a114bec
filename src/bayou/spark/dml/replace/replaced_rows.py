# SPDX-License-Identifier: Apache-2.0
"""The rows of a table that new rows replace: an overwrite of a part is a DELETE and an append in one commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.spark.backend import backend_of
from bayou.spark.data_files.carried_rows import OF_KEPT, CarriedRows
from bayou.spark.dml.core.live_rows import known_live
from bayou.spark.dml.core.removed_files import RemovedFiles
from bayou.spark.dml.core.rewrite import kept_rows
from bayou.spark.dml.core.row_counts import other_rows
from bayou.spark.dml.core.touched_rows import find_touched
from bayou.spark.dml.core.vectors import mark_rows
from bayou.spark.read.change_rows import ROW_ACTION, RowAction
from bayou.spark.read.stored_rows import auxiliary_of_stored

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from bayou.log.commit.transaction import Transaction
    from bayou.log.rows.deleted_rows import DeletedRows
    from bayou.spark.data_files.constraint_evaluation import RowRule
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.dml.core.statement import WatchedFiles


@dataclass(frozen=True, slots=True)
class ReplacedRows:
    """Deleted rows, and what becomes of their files.

    Attributes:
        change: the DELETE of the rows.
        files: the positions of the files that are removed, in the order of `Snapshot.files`.
        carried: what the write has to do: copy the remaining rows of these files, and check the new rows.
        num_deleted: the number of deleted rows; None if the log lacks it.
        marked: the rows that deletion vectors delete; None if no vectors are written.
        source: the files of the new rows, if the new rows decide which rows are deleted.
    """

    change: Change
    files: pa.Array
    carried: CarriedRows
    num_deleted: int | None
    marked: DeletedRows | None = None
    source: WatchedFiles | None = None

    @classmethod
    def of(cls, change: Change, rule: RowRule | None, *, data_change: bool = True) -> ReplacedRows:
        """Find the rows of a DELETE and the files to remove. Writes the deletion vectors.

        Args:
            data_change: whether rows change; with vectors they always do.
        """
        if change.uses_vectors and data_change:
            marked, whole = mark_rows(change, find_touched(change, change.files.in_part)), change.files.whole
            unread = known_live(change, whole)
            deleted = None if unread is None else unread + marked.metrics()["numDeletedRows"]
            return cls(change, whole, CarriedRows(rule), deleted, marked=marked)
        gone = RemovedFiles.of(change)
        if not len(gone.left):
            return cls(change, gone.files, CarriedRows(rule), gone.num_deleted)
        rows = kept_rows(change, gone.files_to_rewrite, feeds=change.feeds)
        kept = F.when(F.col(ROW_ACTION) == int(RowAction.KEPT), 1) if change.feeds else F.lit(1)
        rows = backend_of(rows.sparkSession).observe(rows, OF_KEPT, [F.count(kept).alias("count")])
        carried = CarriedRows(rule, gone.num_kept, rows, auxiliary_of_stored(change.snapshot))
        return cls(change, gone.files, carried, gone.num_deleted)

    def delete_rows(self, transaction: Transaction) -> None:
        """Pass the deletion vectors to the transaction. From then on its commit depends on what was read to find the rows."""
        if self.marked is None:
            self.change.note_reads(transaction.reads)
        else:
            transaction.delete_rows(self.marked)  # which contain what was read for them

    def remove_files(self, transaction: Transaction, *, data_change: bool) -> tuple[int, int]:
        """Remove the files.

        Args:
            data_change: whether rows change.

        Returns:
            The number of removed files, and their size in bytes.
        """
        removed = transaction.remove_files(self.change.snapshot.files().take(self.files), data_change=data_change)
        emptied = {} if self.marked is None else self.marked.metrics()
        return len(removed) + emptied.get("numRemovedFiles", 0), removed.size_bytes + emptied.get("numRemovedBytes", 0)

    def check(self, added: NewFiles) -> None:
        """Check that the files contain the remaining rows of the table, and the new rows that replace the others.

        Raises:
            InvalidCommitError: a row would be lost, or a replaced row would stay.
        """
        what = None if self.source is None else self.source.changed()
        if what is not None:
            raise failed("DELTA_NUM_RECORDS_MISMATCH/new-rows-changed", at=self.change.snapshot, changed=what)
        if self.carried.rows is None:
            return
        # Spark omits an observation of an empty relation.
        kept, new = (next(iter(added.observed.get(name, ())), None) or 0 for name in self.carried.observations)
        # If a task was retried, its rows may have been counted twice, so that too high a count proves nothing.
        is_exact = kept + new <= added.num_rows
        found = self.carried.num_kept
        if kept < found or (is_exact and kept > found):
            why = f"{kept} rows that stay were written, and {found} were found"
            raise other_rows(self.change, why, counted=self.files, operation="overwrite")

    def metrics(self, added: NewFiles) -> Mapping[str, int]:
        """Return the metrics of the history that differ from those of a write that replaces whole files.

        A file with a new deletion vector counts as written, and its rows as copied.
        """
        again = {} if self.marked is None else self.marked.metrics_of_write()
        written = {"numFiles": len(added.files), "numOutputRows": added.num_rows, "numOutputBytes": added.num_bytes}
        found = {name: count + again.get(name, 0) for name, count in written.items()}
        found["numAddedChangeFiles"] = len(added.changes)
        if self.num_deleted is None:
            return found
        return found | {"numCopiedRows": again.get("numCopiedRows", self.carried.num_kept), "numDeletedRows": self.num_deleted}
