# SPDX-License-Identifier: Apache-2.0
"""The facts of a health report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bayou.report.units import age_text, count_text, size_text

_MOST_NAMES: Final = 8


@dataclass(frozen=True, slots=True)
class SizeClass:
    """The files of at least `least` and below `below` bytes; `below` is None for the largest files."""

    least: int
    below: int | None
    files: int
    bytes: int

    @property
    def text(self) -> str:
        """The range, such as 1.0 MiB to 4.0 MiB."""
        if self.below is None:
            return f"from {size_text(self.least)}"
        return f"{size_text(self.least)} to {size_text(self.below)}" if self.least else f"below {size_text(self.below)}"


@dataclass(frozen=True, slots=True)
class PartitionSizes:
    """The files of a partition.

    Attributes:
        values: the partition values as in the log, by column; empty for a table without partitions.
        small_files: the number of files that OPTIMIZE counts as small.
        deleted_rows: the number of rows that deletion vectors delete.
    """

    values: Mapping[str, str | None]
    files: int
    bytes: int
    small_files: int
    smallest: int
    largest: int
    deleted_rows: int

    @property
    def text(self) -> str:
        """The partition on one line, such as day=2026-01-01, city=NULL."""
        values = (f"{name}={'NULL' if value is None else value}" for name, value in self.values.items())
        return ", ".join(values) or "all files"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What an operation would rewrite: the files and bytes that it reads, and about how many files it writes."""

    files: int
    bytes: int
    new_files: int


@dataclass(frozen=True, slots=True)
class FileSizes:
    """The sizes of the live files, in bytes.

    Attributes:
        median: the median size; None without files, as `smallest` and `largest`.
        target: the size of the files that OPTIMIZE writes.
        classes: the number of files by size.
        num_partitions: the number of partitions with files.
        partitions: the partitions with the most small files.
        compaction: what OPTIMIZE would rewrite.
    """

    files: int
    bytes: int
    smallest: int | None
    median: int | None
    largest: int | None
    target: int
    classes: tuple[SizeClass, ...]
    num_partitions: int
    partitions: tuple[PartitionSizes, ...]
    compaction: Rewrite


@dataclass(frozen=True, slots=True)
class DeletedRows:
    """The rows that deletion vectors delete.

    Attributes:
        files: the number of files with a deletion vector.
        rows: the number of deleted rows.
        live_rows: the number of other rows of the table; None if a file has no count.
        purge: what REORG ... APPLY (PURGE) would rewrite.
    """

    files: int
    rows: int
    live_rows: int | None
    purge: Rewrite


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """How well files are skipped by a column.

    Attributes:
        name: the column as SQL names it: dotted if nested, in backticks if it is not a plain word.
        has_bounds: whether the statistics of its type have a minimum and a maximum. Partition values are exact.
        missing: the number of files without its statistics. A partition column needs none.
        average_reads: how many files a filter `column = value` reads, on average over the bounds of all files.
        most_reads: how many it reads for the worst value.
        single_values: the number of files in which the column has one value. Another order of the rows does not improve them.
    """

    name: str
    type: str
    is_partition: bool
    has_bounds: bool
    missing: int
    average_reads: float
    most_reads: int
    single_values: int


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """The files that the table no longer needs and that no VACUUM is known to have deleted.

    Attributes:
        expired_files: those that were removed before the retention began; VACUUM deletes them.
        kept_files: those that VACUUM deletes later.
        unknown_sizes: the number of them whose size the log does not state.
        retention_ms: how long VACUUM keeps removed files.
        listed_files: the files that VACUUM would delete by a listing of the table's folder; None if no listing was requested.
        listed_bytes: their size.
    """

    expired_files: int
    expired_bytes: int
    kept_files: int
    kept_bytes: int
    unknown_sizes: int
    retention_ms: int
    listed_files: int | None = None
    listed_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class LogFacts:
    """The files of the log. Sizes are in bytes, times in ms since the epoch.

    Attributes:
        timestamp: when the version was committed.
        oldest_version: the first version whose commit the log holds; None if it holds none.
        commits: the number of commits in the log.
        bytes: the size of the listed files of the log, all versions included.
        checkpoint_version: the checkpoint that the snapshot reads; None without one.
        checkpoint_bytes: the size of its parts and sidecar files.
        checkpoint_parts: the number of its files, without sidecar files.
        sidecars: the number of its sidecar files.
        commits_since: the number of versions after the checkpoint.
        bytes_since: the size of the commits and compacted files that are read after the checkpoint.
        checkpoint_interval: the value of `delta.checkpointInterval`.
    """

    timestamp: int
    oldest_version: int | None
    commits: int
    bytes: int
    checkpoint_version: int | None
    checkpoint_time: int | None
    checkpoint_bytes: int
    checkpoint_parts: int
    sidecars: int
    commits_since: int
    bytes_since: int
    checkpoint_interval: int


@dataclass(frozen=True, slots=True)
class Advice:
    """A call that helps.

    Attributes:
        why: the fact that it improves.
        sql: the statement; None if SQL has none.
        python: the call in Python.
        effect: what it would write or delete.
        files: the number of files that it would write or delete.
        bytes: their size.
    """

    why: str
    sql: str | None
    python: str
    effect: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """The health of a table at a version.

    Attributes:
        table: the URI of the table.
        sizes: the sizes of its files.
        deleted: its deleted rows.
        columns: its columns with statistics, and its partition columns.
        unindexed: the columns that get no statistics, by the table's properties.
        removed: the files that VACUUM deletes now or later.
        log: its log.
        advice: the calls that help.
    """

    table: str
    version: int
    sizes: FileSizes
    deleted: DeletedRows
    columns: tuple[ColumnFacts, ...]
    unindexed: tuple[str, ...]
    removed: RemovedFiles
    log: LogFacts
    advice: tuple[Advice, ...]

    def facts(self) -> dict[str, str | None]:
        """Return the most important facts as text, by name. The value of an unknown fact is None."""
        sizes, log = self.sizes, self.log
        freed, freed_bytes = self.removed.expired_files, self.removed.expired_bytes
        if self.removed.listed_files is not None:
            freed, freed_bytes = self.removed.listed_files, self.removed.listed_bytes or 0
        kept = self.removed.kept_files
        checkpoint = "none" if log.checkpoint_version is None else f"of version {log.checkpoint_version}"
        return {
            "version": f"{self.version}, {age_text(log.timestamp)}",
            "files": f"{sizes.files:,}, {size_text(sizes.bytes)}",
            "partitions": f"{sizes.num_partitions:,}" if any(each.is_partition for each in self.columns) else None,
            "file sizes": None
            if sizes.median is None
            else f"{size_text(sizes.smallest)} to {size_text(sizes.largest)}, median {size_text(sizes.median)}",
            "deleted rows": f"{self.deleted.rows:,} in {count_text(self.deleted.files, 'file')}" if self.deleted.files else "none",
            "VACUUM frees": f"{size_text(freed_bytes)} in {count_text(freed, 'file')}" if freed else "nothing",
            "VACUUM frees later": f"{size_text(self.removed.kept_bytes)} in {count_text(kept, 'file')}" if kept else None,
            "no statistics": self._unindexed_text,
            "log": f"{size_text(log.bytes)}, {count_text(log.commits, 'commit')}",
            "checkpoint": f"{checkpoint}, {count_text(log.commits_since, 'commit')} since",
        }

    @property
    def _unindexed_text(self) -> str | None:
        """The columns that get no statistics by the table's properties; None if all get some."""
        more = len(self.unindexed) - _MOST_NAMES
        return ", ".join((*self.unindexed[:_MOST_NAMES], *([f"{more:,} more"] if more > 0 else []))) or None
