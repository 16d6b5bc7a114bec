# SPDX-License-Identifier: Apache-2.0
"""Compare the rows that a MERGE found with those that it wrote, and check that its source did not change.

If rows are inserted, the number of written rows does not show how many of them are updated, and the job that writes may count each
kind. A count may be too high if Spark retried a task, but never too low. The footers have the exact total.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import InvalidCommitError
from bayou.spark.dml.core.live_rows import count_live
from bayou.spark.dml.core.row_counts import check_written, other_rows
from bayou.spark.dml.merge.actions import ACTION, is_one_of
from bayou.spark.dml.merge.first_pass import clauses_with
from bayou.spark.dml.merge.resolution.clauses import Action, Kind
from bayou.spark.dml.merge.source.source import MATERIALIZE

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.merge.first_pass import Found
    from bayou.spark.dml.merge.target_rows import Merge

OF_TABLE: Final = "bayou.merge.table"
"""The observation of written rows of the table, and of new rows from the same join."""
OF_SOURCE: Final = "bayou.merge.source"
"""The observation of written rows of the source."""
_KINDS: Final = ("updated", "deleted", "copied", "inserted")


@dataclass(frozen=True, slots=True)
class FoundRows:
    """The number of rows of the table that the first pass of a MERGE found, by what becomes of them.

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
    def of(cls, merge: Merge, found: Found, removed: pa.Array) -> FoundRows:
        """Count the rows. Files whose number of rows is not in the log are opened.

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
        """Return the number of inserted rows in new files."""
        return written.num_rows - self.num_updated - self.copied


def observed(rows: DataFrame, merge: Merge, name: str) -> DataFrame:
    """Observe rows that are written: count each kind.

    Args:
        rows: the rows, with the column `ACTION`.
    """

    def count(action: Action) -> str:
        numbers = clauses_with(merge, action)
        return f"count(if({is_one_of(numbers)}, 1, null))" if numbers else "sum(0)"

    counts = (count(Action.UPDATE), count(Action.DELETE), f"count(if({ACTION} < 0, 1, null))", count(Action.INSERT))
    return rows.observe(name, *(F.expr(text).alias(kind) for text, kind in zip(counts, _KINDS, strict=True)))


def check_counts(merge: Merge, found: FoundRows, written: NewFiles, *, feeds: bool, is_counted: bool) -> None:
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
    wanted = (found.num_updated, found.num_deleted if feeds else 0, found.copied)
    if not is_counted or not any(wanted):
        return
    seen = _seen(written.observed)
    updated, deleted, copied, inserted = seen
    # If a task was retried, the job may have counted a row twice, so that too high a count proves nothing.
    is_exact = updated + copied + inserted <= written.num_rows
    if any(a < b or (is_exact and a > b) for a, b in zip((updated, deleted, copied), wanted, strict=True)):
        was, had = (", ".join(f"{count} {each}" for count, each in zip(row, _KINDS, strict=False)) for row in (seen[:3], wanted))
        raise other_rows(merge.change, f"of the rows that were written, {was} were seen, and had to be {had}", counted=found.files)


class ChangedSourceError(InvalidCommitError):
    """Files of a source were changed: its rows may have differed between the passes."""


def check_source(merge: Merge) -> None:
    """Check that the files of the source did not change since the MERGE began.

    Otherwise one pass may have read other rows than the other one, and existing keys would be inserted again.

    Raises:
        ChangedSourceError: a file of the source was rewritten or deleted, or the list of its files was replaced.
    """
    what = None if merge.source.files is None else merge.source.files.changed()
    if what is not None:
        raise ChangedSourceError(
            f"The passes of this MERGE may have seen different rows: somebody changed its source meanwhile, {what}.",
            at=merge.change.snapshot,
            error_class="DELTA_NUM_RECORDS_MISMATCH",
            next_step=f"repeat the MERGE; unless {MATERIALIZE} is none, it reads the source once where that happens.",
        )


def _seen(observed: Mapping[str, Sequence[int | None]]) -> tuple[int, int, int, int]:
    """Return the number of observed rows of each kind. Spark omits an observation of an empty relation."""
    parts = [observed[name] for name in (OF_TABLE, OF_SOURCE) if name in observed]
    updated, deleted, copied, inserted = (sum(each[place] or 0 for each in parts) for place in range(len(_KINDS)))
    return updated, deleted, copied, inserted
