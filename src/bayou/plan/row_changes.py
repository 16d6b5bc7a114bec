# SPDX-License-Identifier: Apache-2.0
"""What a change of rows is going to do, and what it did, as values that can be printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from typing_extensions import Self


class Way(Enum):
    """How an operation changes rows."""

    NOTHING = "nothing to do"
    METADATA = "by the log alone"
    APPEND = "by adding files"
    REWRITE = "by rewriting files"
    VECTORS = "by deletion vectors"


@dataclass(frozen=True, slots=True)
class FileTotals:
    """Some files.

    Attributes:
        files: how many.
        size_bytes: their size together.
    """

    files: int = 0
    size_bytes: int = 0

    @classmethod
    def of(cls, sizes: pa.ChunkedArray, chosen: pa.Array | None = None) -> Self:
        """The files of a table, or those of them that are chosen.

        Args:
            sizes: the sizes of all files, in bytes.
            chosen: their positions, or one bool for each file; None for all.
        """
        found = sizes
        if chosen is not None:
            found = sizes.filter(chosen) if pa.types.is_boolean(chosen.type) else sizes.take(chosen)
        return cls(len(found), pc.sum(found).as_py() or 0)


class FileOutcome(Enum):
    """What a plan has in mind for a file."""

    PRUNED_BY_PARTITION = "pruned by partition"
    PRUNED_BY_STATISTICS = "pruned by statistics"
    DELETED_UNREAD = "deleted unread"
    READ = "read"
    """Rows are looked for in it, and it stays as it is, with a deletion vector maybe."""
    MAY_BE_REWRITTEN = "may be rewritten"
    """Rows are looked for in it, and where it has some its other rows are copied."""


def files_by_outcome(files: pa.Table, *, in_partitions: pa.Array, to_read: pa.Array, unread: pa.Array, rewrites: bool) -> pa.Table:
    """The files of a table with what becomes of them: the columns `path`, `outcome`, a value of `FileOutcome`, and `size`.

    Shape: one row for each file, in the order that they come in.
    Units: size in bytes.

    Args:
        in_partitions: the positions of those whose partition values do not rule them out.
        to_read: the positions of those that are read.
        unread: the positions of those that are deleted unread.
        rewrites: whether files are written again.
    """
    read = FileOutcome.MAY_BE_REWRITTEN if rewrites else FileOutcome.READ
    numbers = pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), files.num_rows)), 1)
    names = pa.repeat(FileOutcome.PRUNED_BY_PARTITION.value, files.num_rows)
    chosen = ((in_partitions, FileOutcome.PRUNED_BY_STATISTICS), (to_read, read), (unread, FileOutcome.DELETED_UNREAD))
    for positions, outcome in chosen:
        names = pc.if_else(pc.is_in(numbers, value_set=positions.cast(pa.int64())), outcome.value, names)
    return pa.table({"path": files["path"], "outcome": names, "size": files["size"]})


def _no_files() -> pa.Table:
    return pa.table({"path": pa.array([], pa.string()), "outcome": pa.array([], pa.string()), "size": pa.array([], pa.int64())})


@dataclass(frozen=True, slots=True)
class RowChangePlan:
    """Which files a DELETE, an UPDATE or a MERGE reads, which it passes over and why, and which it may rewrite.

    Attributes:
        operation: DELETE, UPDATE or MERGE.
        table: the table's URI.
        version: the version that the plan was made for.
        condition: which rows it changes, as SQL; None for all.
        way: how.
        total: the files of the table.
        pruned_by_partition: the files whose partition values tell that no row of theirs is meant.
        pruned_by_statistics: the files whose statistics tell it.
        wholly_matched: the files of which every row is deleted, as the log tells; they are not read.
        to_read: the files in which the rows are looked for.
        may_rewrite: the files of which rows that stay may have to be copied; none where deletion vectors are used.
        files: lists the files when it is called: `path`, as the log has it, `outcome` and `size` (see `files_by_outcome`).
            There are none where the operation was done before.
    """

    operation: str
    table: str
    version: int
    condition: str | None
    way: Way
    total: FileTotals
    pruned_by_partition: FileTotals = field(default_factory=FileTotals)
    pruned_by_statistics: FileTotals = field(default_factory=FileTotals)
    wholly_matched: FileTotals = field(default_factory=FileTotals)
    to_read: FileTotals = field(default_factory=FileTotals)
    may_rewrite: FileTotals = field(default_factory=FileTotals)
    files: Callable[[], pa.Table] = field(default=_no_files, repr=False, compare=False)

    @property
    def num_pruned_files(self) -> int:
        """How many files are passed over, by their partition values or by their statistics."""
        return self.pruned_by_partition.files + self.pruned_by_statistics.files

    def __str__(self) -> str:
        rows = [
            ("table", self.total),
            ("pruned by partition", self.pruned_by_partition),
            ("pruned by statistics", self.pruned_by_statistics),
            ("deleted unread", self.wholly_matched),
            ("to read", self.to_read),
            ("may be rewritten", self.may_rewrite),
        ]
        where = "all rows" if self.condition is None else self.condition
        head = f"{self.operation} on {self.table} at version {self.version}, {self.way.value}: {where}"
        cells = [(name, str(each.files), str(each.size_bytes)) for name, each in rows]
        return f"{head}\n{aligned_text([('', 'files', 'bytes'), *cells])}"


@dataclass(frozen=True, slots=True)
class RowChangeCounts:
    """What an operation counted, by the names of the history's metrics; None where nothing tells.

    Attributes:
        changed_rows: the rows that were deleted or updated.
        copied_rows: the rows that were written again as they were.
        removed_files: the files that left the table.
        removed_bytes: their size.
        added_files: the files that were written.
        added_bytes: their size.
        vectors_added: the deletion vectors that were written, in the place of others, too.
        vectors_removed: the deletion vectors that the table had and has no longer.
        vectors_updated: those of them in whose place another stands.
        change_files: the files of change rows that were written.
    """

    changed_rows: int | None = 0
    copied_rows: int | None = 0
    removed_files: int = 0
    removed_bytes: int = 0
    added_files: int = 0
    added_bytes: int = 0
    vectors_added: int = 0
    vectors_removed: int = 0
    vectors_updated: int = 0
    change_files: int = 0

    def metrics(self, rows_name: str, times: Mapping[str, int]) -> dict[str, int]:
        """The metrics of the history. Source: delta-spark, `DeltaOperations`.

        Args:
            rows_name: under which name the rows are counted: `numDeletedRows` or `numUpdatedRows`.
            times: what took how long, in milliseconds.
        """
        found = {
            "numRemovedFiles": self.removed_files,
            "numRemovedBytes": self.removed_bytes,
            "numAddedFiles": self.added_files,
            "numAddedBytes": self.added_bytes,
            "numAddedChangeFiles": self.change_files,
            "numDeletionVectorsAdded": self.vectors_added,
            "numDeletionVectorsRemoved": self.vectors_removed,
            "numDeletionVectorsUpdated": self.vectors_updated,
            **times,
        }
        rows = {rows_name: self.changed_rows, "numCopiedRows": self.copied_rows}
        return found | {name: value for name, value in rows.items() if value is not None}


def aligned_text(rows: Sequence[Sequence[str]]) -> str:
    """Rows of texts as lines: the first column on the left, the others on the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)
