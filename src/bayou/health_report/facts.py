# SPDX-License-Identifier: Apache-2.0
"""The facts of a health report, and its formats: JSON, text, and HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from bayou.report.html import facts_html, rows_html
from bayou.report.units import age_text, size_text


@dataclass(frozen=True, slots=True)
class SizeClass:
    """The files of some sizes: below `below` bytes, and not in a smaller class; None for the largest files."""

    below: int | None
    files: int
    bytes: int


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
        name: the column, dotted if nested.
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
class Health:
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

    def to_json(self) -> dict[str, Any]:
        """Return the report as one JSON document."""
        document: dict[str, Any] = _to_json(self)
        return document

    def to_html(self) -> str:
        """Return the report as one HTML page with plots, which needs no other file.

        Raises:
            MissingPackageError: Matplotlib is not installed.

        Examples:
            >>> Path("health.html").write_text(bayou.health("/data/orders").to_html(), encoding="utf-8")
        """
        from bayou.health_report.page import page  # noqa: PLC0415  (only the page needs plots)

        return page(self)

    def facts(self) -> dict[str, str | None]:
        """Return the most important facts as text, by name. The value of an unknown fact is None."""
        sizes, log = self.sizes, self.log
        freed, freed_bytes = self.removed.expired_files, self.removed.expired_bytes
        if self.removed.listed_files is not None:
            freed, freed_bytes = self.removed.listed_files, self.removed.listed_bytes or 0
        checkpoint = "none" if log.checkpoint_version is None else f"of version {log.checkpoint_version}"
        return {
            "version": f"{self.version}, {age_text(log.timestamp)}",
            "files": f"{sizes.files:,}, {size_text(sizes.bytes)}",
            "partitions": f"{sizes.num_partitions:,}" if any(each.is_partition for each in self.columns) else None,
            "file sizes": None
            if sizes.median is None
            else f"{size_text(sizes.smallest)} to {size_text(sizes.largest)}, median {size_text(sizes.median)}",
            "deleted rows": f"{self.deleted.rows:,} in {self.deleted.files:,} files",
            "VACUUM frees": f"{size_text(freed_bytes)} in {freed:,} files",
            "VACUUM frees later": f"{size_text(self.removed.kept_bytes)} in {self.removed.kept_files:,} files",
            "log": f"{size_text(log.bytes)}, {log.commits:,} commits",
            "checkpoint": f"{checkpoint}, {log.commits_since:,} commits since",
        }

    def __str__(self) -> str:
        lines = [f"{name}: {value}" for name, value in self.facts().items() if value is not None]
        advice = [f"{each.why} {each.sql or each.python} {each.effect}" for each in self.advice]
        return "\n".join([f"Health of {self.table}", *lines, *advice])

    def __repr__(self) -> str:
        return f"Health({self.table!r}, version={self.version}, files={self.sizes.files}, advice={len(self.advice)})"

    def _repr_html_(self) -> str:
        advice = ((each.why, each.sql or each.python, each.effect) for each in self.advice)
        return facts_html(f"Health of {self.table}", self.facts()) + rows_html("What helps", ("why", "call", "effect"), advice)


def _to_json(value: Any) -> Any:
    if is_dataclass(value):
        return {_camel(each.name): _to_json(getattr(value, each.name)) for each in fields(value)}
    return [_to_json(each) for each in value] if isinstance(value, tuple) else value


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
