# SPDX-License-Identifier: Apache-2.0
"""The plan and the metrics of a DELETE, UPDATE or MERGE as values that users can print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.report.html import rows_html
from bayou.report.units import size_text

if TYPE_CHECKING:
    from typing_extensions import Self


class Way(Enum):
    """The method by which an operation changes rows."""

    NOTHING = "nothing to do"
    METADATA = "by the log alone"
    APPEND = "by adding files"
    REWRITE = "by rewriting files"
    VECTORS = "by deletion vectors"


@dataclass(frozen=True, slots=True)
class FileTotals:
    """The number of some files, and their total size."""

    files: int = 0
    size_bytes: int = 0

    @classmethod
    def of(cls, sizes: pa.ChunkedArray, chosen: pa.Array | None = None) -> Self:
        """Return the totals of a table's files.

        Args:
            sizes: the sizes of all files.
            chosen: the files to count: their positions, or one bool for each file of the table. None for all files.
        """
        counted = sizes
        if chosen is not None:
            counted = sizes.filter(chosen) if pa.types.is_boolean(chosen.type) else sizes.take(chosen)
        return cls(len(counted), pc.sum(counted).as_py() or 0)


class FileOutcome(Enum):
    """The part of a file in a plan."""

    PRUNED_BY_PARTITION = "pruned by partition"
    PRUNED_BY_STATISTICS = "pruned by statistics"
    DELETED_UNREAD = "deleted unread"
    READ = "read"
    """The file is searched for matching rows. It stays, possibly with a new deletion vector."""
    MAY_BE_REWRITTEN = "may be rewritten"
    """The file is searched for matching rows. If it has some, its other rows are copied to a new file."""


def files_by_outcome(files: pa.Table, *, in_partitions: pa.Array, to_read: pa.Array, unread: pa.Array, rewrites: bool) -> pa.Table:
    """Return the files of a table with the columns `path`, `outcome`, a value of `FileOutcome`, and `size` in bytes.

    Args:
        in_partitions: the positions of files that their partition values do not exclude.
        to_read: the positions of files that are read.
        unread: the positions of files that are deleted unread.
        rewrites: whether files are rewritten.
    """
    read = FileOutcome.MAY_BE_REWRITTEN if rewrites else FileOutcome.READ
    numbers = pc.subtract(pc.cumulative_sum(pa.repeat(pa.scalar(1, pa.int64()), files.num_rows)), 1)
    names = pa.repeat(FileOutcome.PRUNED_BY_PARTITION.value, files.num_rows)
    # Each step narrows the one before, so that a later outcome replaces an earlier one.
    steps = ((in_partitions, FileOutcome.PRUNED_BY_STATISTICS), (to_read, read), (unread, FileOutcome.DELETED_UNREAD))
    for positions, outcome in steps:
        names = pc.if_else(pc.is_in(numbers, value_set=positions.cast(pa.int64())), outcome.value, names)
    return pa.table({"path": files["path"], "outcome": names, "size": files["size"]})


def _no_files() -> pa.Table:
    return pa.table({"path": pa.array([], pa.string()), "outcome": pa.array([], pa.string()), "size": pa.array([], pa.int64())})


@dataclass(frozen=True, slots=True)
class RowChangePlan:
    """The files that a DELETE, UPDATE or MERGE reads, prunes, and may rewrite.

    Attributes:
        condition: the condition of the changed rows in SQL; None for all rows.
        total: the files of the table.
        pruned_by_partition: the files that their partition values exclude.
        pruned_by_statistics: the files that their statistics exclude.
        wholly_matched: the files in which the log proves every row deleted; they are not read.
        to_read: the files that are searched for rows.
        may_rewrite: the files whose remaining rows may have to be copied; none with deletion vectors.
        files: returns the files: `path`, as in the log, `outcome` and `size` (see `files_by_outcome`). It is empty if the
            operation is a replay.
        steps: how the operation joins and writes rows, if it has a choice.
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
    steps: tuple[str, ...] = ()

    @property
    def num_pruned_files(self) -> int:
        """The number of files pruned by partition values or statistics."""
        return self.pruned_by_partition.files + self.pruned_by_statistics.files

    @property
    def _title(self) -> str:
        where = "all rows" if self.condition is None else self.condition
        return f"{self.operation} on {self.table} at version {self.version}, {self.way.value}: {where}"

    def _totals(self) -> list[tuple[str, FileTotals]]:
        return [
            ("table", self.total),
            ("pruned by partition", self.pruned_by_partition),
            ("pruned by statistics", self.pruned_by_statistics),
            ("deleted unread", self.wholly_matched),
            ("to read", self.to_read),
            ("may be rewritten", self.may_rewrite),
        ]

    def __str__(self) -> str:
        cells = [(name, str(totals.files), str(totals.size_bytes)) for name, totals in self._totals()]
        steps = "".join(f"\n  {step}" for step in self.steps)
        return f"{self._title}\n{aligned_text([('', 'files', 'bytes'), *cells])}{steps}"

    def _repr_html_(self) -> str:
        rows = [(name, totals.files, size_text(totals.size_bytes)) for name, totals in self._totals()]
        steps = [(step, None, None) for step in self.steps]
        return rows_html(self._title, ("", "files", "size"), [*rows, *steps])


@dataclass(frozen=True, slots=True)
class RowChangeCounts:
    """The metrics of an operation, as in the history; None if unknown.

    Attributes:
        changed_rows: the rows that were deleted or updated.
        copied_rows: the rows that were rewritten unchanged.
        removed_files: the files that were removed.
        added_files: the files that were written.
        vectors_added: the deletion vectors that were written, including those that replace others.
        vectors_removed: the deletion vectors that the table no longer has.
        vectors_updated: the removed deletion vectors that were replaced by others.
        change_files: the change data files that were written.
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
        """Return the metrics of the history, with durations in ms. Source: delta-spark, `DeltaOperations`.

        Args:
            rows_name: the metric of the changed rows: `numDeletedRows` or `numUpdatedRows`.
            times: the durations by metric.
        """
        metrics = {
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
        return metrics | {name: value for name, value in rows.items() if value is not None}


def aligned_text(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of strings as lines: the first column left-aligned, the others right-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines)
