# SPDX-License-Identifier: Apache-2.0
"""Check that a MERGE wrote as many rows of each kind as it had found, and that its source did not change meanwhile.

The footers of the new files have the exact total. If rows are inserted, the total does not show how many rows are updated. Then the
job that writes may count the rows of each kind by `DataFrame.observe`. Such a count may be too high if Spark retried a task, but it
is never too low.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.spark.backend import backend_of
from bayou.spark.dml.core.live_rows import count_live
from bayou.spark.dml.core.row_counts import check_written, other_rows
from bayou.spark.dml.merge.actions import ACTION, is_one_of
from bayou.spark.dml.merge.any_merge import MATERIALIZE
from bayou.spark.dml.merge.first_pass import clauses_with
from bayou.spark.dml.merge.resolution.clauses import Action, Kind

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.merge.any_merge import Found, MergeParts

OF_TABLE: Final = "bayou.merge.table"
"""The name of the observation of rows from `Part.TABLE` and `Part.BOTH`."""
OF_SOURCE: Final = "bayou.merge.source"
"""The name of the observation of rows from `Part.INSERTS` and `Part.SOURCE`."""
_KINDS: Final = ("updated", "deleted", "copied", "inserted")


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The numbers of table rows that the first pass of a MERGE found, by their fate: updated, deleted or copied.

    Attributes:
        updated: the updated rows, by the kind of the clause.
        deleted: the deleted rows, by the kind of the clause.
        copied: the rows that are rewritten unchanged.
        files: the positions of the files that are rewritten.
    """

    updated: Mapping[Kind, int]
    deleted: Mapping[Kind, int]
    copied: int
    files: pa.Array

    @classmethod
    def of(cls, merge: MergeParts, found: Found, removed: pa.Array) -> FoundRows:
        """Count the rows. Read the footers of files whose row count the log lacks.

        Args:
            removed: the positions of the files that are rewritten.
        """

        def by_kind(action: Action) -> dict[Kind, int]:
            return {
                kind: sum(found.count(each.number) for each in merge.resolution.of_kind(kind) if each.action is action)
                for kind in (Kind.MATCHED, Kind.NOT_MATCHED_BY_SOURCE)
            }

        updated, deleted = by_kind(Action.UPDATE), by_kind(Action.DELETE)
        live = count_live(merge.change, removed) if len(removed) else 0
        copied = live - sum(updated.values()) - sum(deleted.values()) if len(removed) else 0
        return cls(updated, deleted, copied, removed)

    @property
    def num_updated(self) -> int:
        """The number of updated rows."""
        return sum(self.updated.values())

    @property
    def num_deleted(self) -> int:
        """The number of deleted rows."""
        return sum(self.deleted.values())

    def num_inserted(self, written: NewFiles) -> int:
        """Return the number of inserted rows in new files: the written rows that are not updated or copied."""
        return written.num_rows - self.num_updated - self.copied


def observed(rows: DataFrame, merge: MergeParts, name: str) -> DataFrame:
    """Count the rows of each kind while a job writes them.

    Args:
        rows: the rows, with the column `ACTION`.
        name: the name of the observation.
    """

    def count(action: Action) -> str:
        numbers = clauses_with(merge, action)
        return f"count(if({is_one_of(numbers)}, 1, null))" if numbers else "sum(0)"

    counts = (count(Action.UPDATE), count(Action.DELETE), f"count(if({ACTION} < 0, 1, null))", count(Action.INSERT))
    columns = [F.expr(text).alias(kind) for text, kind in zip(counts, _KINDS, strict=True)]
    return backend_of(rows.sparkSession).observe(rows, name, columns)


def check_counts(merge: MergeParts, found: FoundRows, written: NewFiles, *, feeds: bool, is_counted: bool) -> None:
    """Check that the second pass wrote the rows that the first one found.

    Args:
        feeds: whether deleted rows passed through the second pass.
        is_counted: whether the second pass counted rows by kind; otherwise only their total is known.

    Raises:
        InvalidCommitError: a row of the table would be lost, or be duplicated.
    """
    if not clauses_with(merge, Action.INSERT):
        kinds = f"{found.num_updated} that are updated and {found.copied} that are copied"
        expected = found.num_updated + found.copied
        check_written(merge.change, written=written.num_rows, expected=expected, what=kinds, counted=found.files)
        return
    if found.num_inserted(written) < 0:
        why = f"{written.num_rows} rows were written, with {found.num_updated} that are updated and {found.copied} that are copied"
        raise other_rows(merge.change, why, counted=found.files)
    expected_counts = (found.num_updated, found.num_deleted if feeds else 0, found.copied)
    if not is_counted or not any(expected_counts):
        return
    observed_counts = _seen(written.observed)
    updated, deleted, copied, inserted = observed_counts
    # A retried task may count a row twice. Then the sum exceeds the exact total, and too high a count proves nothing.
    is_exact = updated + copied + inserted <= written.num_rows
    if any(a < b or (is_exact and a > b) for a, b in zip((updated, deleted, copied), expected_counts, strict=True)):
        was, had = (
            ", ".join(f"{count} {kind}" for count, kind in zip(counts, _KINDS, strict=False))
            for counts in (observed_counts[:3], expected_counts)
        )
        raise other_rows(merge.change, f"of the rows that were written, {was} were seen, and had to be {had}", counted=found.files)


def check_source(merge: MergeParts) -> None:
    """Check that the files of the source did not change since the MERGE began.

    Otherwise the two passes may have read different rows, and existing keys might be inserted again.

    Raises:
        ChangedSourceError: a file of the source was rewritten or deleted, or the list of its files was replaced.
    """
    what = None if merge.source.files is None else merge.source.files.changed()
    if what is not None:
        raise failed("DELTA_NUM_RECORDS_MISMATCH/merge-source-changed", at=merge.change.snapshot, changed=what, setting=MATERIALIZE)


def _seen(observed: Mapping[str, Sequence[int | None]]) -> tuple[int, int, int, int]:
    """Return the number of observed rows of each kind. Spark omits an observation of an empty relation."""
    parts = [observed[name] for name in (OF_TABLE, OF_SOURCE) if name in observed]
    updated, deleted, copied, inserted = (sum(each[place] or 0 for each in parts) for place in range(len(_KINDS)))
    return updated, deleted, copied, inserted
