# SPDX-License-Identifier: Apache-2.0
"""How many rows a MERGE found of each kind, whether it wrote as many, and whether its source was the same all the time.

Where rows are inserted, how many there are in the new files does not tell how many of them are updated: then the job that writes
them counts each kind. What a job counts may count a row twice where Spark ran a task again, and never too few; how many rows there
are in all, the footers of the files say.
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
"""The observation of the table's rows that are written, and of new ones that come out of the same join."""
OF_SOURCE: Final = "bayou.merge.source"
"""The observation of the source's rows that are written."""
_TOLD: Final = ("updated", "deleted", "copied", "inserted")


@dataclass(frozen=True, slots=True)
class FoundRows:
    """What becomes of the table's rows, as the first pass of a MERGE tells.

    Attributes:
        updated: how many are updated, by the kind of the clause.
        deleted: how many are deleted.
        copied: how many are written again as they were.
        files: the positions of the files that are written again.
    """

    updated: Mapping[Kind, int]
    deleted: Mapping[Kind, int]
    copied: int
    files: pa.Array

    @classmethod
    def of(cls, merge: Merge, found: Found, removed: pa.Array) -> FoundRows:
        """Counts them. Files that the log does not tell the number of rows of are opened.

        Args:
            removed: the positions of the files that are written again.
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
        """How many rows are updated."""
        return sum(self.updated.values())

    @property
    def num_deleted(self) -> int:
        """How many rows are deleted."""
        return sum(self.deleted.values())

    def num_inserted(self, written: NewFiles) -> int:
        """How many of the rows in new files are new."""
        return written.num_rows - self.num_updated - self.copied


def observed(rows: DataFrame, merge: Merge, name: str) -> DataFrame:
    """Rows that are written, with an observation that counts each kind.

    Args:
        rows: the rows, with the column `ACTION`.
    """

    def count(action: Action) -> str:
        numbers = clauses_with(merge, action)
        return f"count(if({is_one_of(numbers)}, 1, null))" if numbers else "sum(0)"

    counts = (count(Action.UPDATE), count(Action.DELETE), f"count(if({ACTION} < 0, 1, null))", count(Action.INSERT))
    return rows.observe(name, *(F.expr(text).alias(told) for text, told in zip(counts, _TOLD, strict=True)))


def check_counts(merge: Merge, found: FoundRows, written: NewFiles, *, feeds: bool, is_counted: bool) -> None:
    """Refuses what was written where it is not what was found: a row of the table would be lost, or be there twice.

    Args:
        written: what the second one wrote.
        feeds: whether rows that are deleted pass through the second one.
        is_counted: whether it counted rows by their kind. Where it did not, all that is known is how many there are.

    Raises:
        InvalidCommitError: it is not.
    """
    if not clauses_with(merge, Action.INSERT):
        told = f"{found.num_updated} that are updated and {found.copied} that are copied"
        expected = found.num_updated + found.copied
        check_written(merge.change, written=written.num_rows, expected=expected, what=told, counted=found.files)
        return
    if found.num_inserted(written) < 0:
        why = f"{written.num_rows} rows were written, with {found.num_updated} that are updated and {found.copied} that are copied"
        raise other_rows(merge.change, why, counted=found.files)
    wanted = (found.num_updated, found.num_deleted if feeds else 0, found.copied)
    if not is_counted or not any(wanted):
        return
    seen = _seen(written.observed)
    updated, deleted, copied, inserted = seen
    # Where a task ran again, the job may have counted a row twice, and what is too much says nothing.
    is_exact = updated + copied + inserted <= written.num_rows
    if any(a < b or (is_exact and a > b) for a, b in zip((updated, deleted, copied), wanted, strict=True)):
        was, had = (", ".join(f"{count} {each}" for count, each in zip(row, _TOLD, strict=False)) for row in (seen[:3], wanted))
        raise other_rows(merge.change, f"of the rows that were written, {was} were seen, and had to be {had}", counted=found.files)


class ChangedSourceError(InvalidCommitError):
    """Somebody changed what a source is read from: one pass over it may have seen other rows than another one."""


def check_source(merge: Merge) -> None:
    """Refuses what was made of a source whose files were changed since the MERGE began.

    One pass may have read the old rows, and the other one new ones: keys that were not looked for would be inserted once more.

    Raises:
        ChangedSourceError: a file of the source was written again or is gone, or the list of its files is another one.
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
    """Rows by what became of them. Spark leaves an observation out where it saw that there are no rows."""
    parts = [observed[name] for name in (OF_TABLE, OF_SOURCE) if name in observed]
    updated, deleted, copied, inserted = (sum(each[place] or 0 for each in parts) for place in range(len(_TOLD)))
    return updated, deleted, copied, inserted
