# SPDX-License-Identifier: Apache-2.0
"""Which call helps for which fact, and what it would write."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.health_report.facts import Advice
from bayou.report.units import count_text, size_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bayou.health_report.facts import ColumnFacts, DeletedRows, FileSizes, LogFacts, RemovedFiles, Rewrite

_MANY_READ: Final = 0.5
"""The share of the files that a point filter reads, from which another order of the rows helps."""
_LEAST_FILES: Final = 4
"""Below this number of files of the target size, no order of the rows saves much."""
_MOST_COLUMNS: Final = 3
_OVERDUE: Final = 2
"""Advise a checkpoint after this many checkpoint intervals."""


@dataclass(frozen=True, slots=True)
class Names:
    """How calls name the table: in SQL, and as the path of a Python call."""

    sql: str
    path: str

    @property
    def delta_table(self) -> str:
        """The Python expression for the `DeltaTable`."""
        return f"DeltaTable.forPath(spark, {self.path!r})"

    @property
    def log(self) -> str:
        """The Python expression for the `DeltaLog`."""
        return f"bayou.open({self.path!r})"


def advice(
    names: Names,
    *,
    sizes: FileSizes,
    deleted: DeletedRows,
    columns: Iterable[ColumnFacts],
    clustering: Iterable[str],
    reordered: Callable[[str | None], Rewrite],
    removed: RemovedFiles,
    log: LogFacts,
) -> tuple[Advice, ...]:
    """Return the calls that help, in the order in which to run them.

    Args:
        names: how the calls name the table.
        clustering: the clustering columns.
        reordered: returns what a Z-order by a column would rewrite, or OPTIMIZE FULL for None.
    """
    known, clustered_by = list(columns), list(clustering)
    found = (
        _optimize(names, sizes, is_clustered=bool(clustered_by)),
        _purge(names, deleted),
        _statistics(names, known),
        _order(names, sizes, known, clustered_by, reordered),
        _vacuum(names, removed),
        _checkpoint(names, log),
    )
    return tuple(each for group in found for each in group)


def _optimize(names: Names, sizes: FileSizes, *, is_clustered: bool) -> Iterator[Advice]:
    plan = sizes.compaction
    why = "are not clustered, or are in cubes to merge" if is_clustered else "are small or have many deleted rows"
    if plan.files:
        yield Advice(
            f"{plan.files:,} of {sizes.files:,} files {why}.",
            f"OPTIMIZE {names.sql}",
            f"{names.delta_table}.optimize().executeCompaction()",
            f"It writes about {count_text(plan.new_files, 'file')}, {size_text(plan.bytes)}.",
            plan.new_files,
            plan.bytes,
        )


def _purge(names: Names, deleted: DeletedRows) -> Iterator[Advice]:
    plan = deleted.purge
    if plan.files:
        yield Advice(
            f"{count_text(plan.files, 'file')} {'holds' if plan.files == 1 else 'hold'} {deleted.rows:,} deleted rows.",
            f"REORG TABLE {names.sql} APPLY (PURGE)",
            f"{names.delta_table}.reorg()",
            f"It writes about {count_text(plan.new_files, 'file')}, at most {size_text(plan.bytes)}.",
            plan.new_files,
            plan.bytes,
        )


def _statistics(names: Names, columns: list[ColumnFacts]) -> Iterator[Advice]:
    missing = max((each.missing for each in columns), default=0)
    if missing:
        affected = [each.name for each in columns if each.missing]
        yield Advice(
            f"{count_text(missing, 'file')} {'lacks' if missing == 1 else 'lack'} statistics of {_listed(affected)}.",
            f"ANALYZE TABLE {names.sql} COMPUTE DELTA STATISTICS",
            f"{names.delta_table}.computeStatistics(missing_only=True)",
            "It reads footers, and rows if necessary. It writes one commit only.",
            0,
            0,
        )


def _order(
    names: Names,
    sizes: FileSizes,
    columns: list[ColumnFacts],
    clustering: list[str],
    reordered: Callable[[str | None], Rewrite],
) -> Iterator[Advice]:
    after = math.ceil(sizes.bytes / sizes.target)
    many = [each for each in columns if not each.missing and each.has_bounds and _could_skip_more(each, sizes.files)]
    if after < _LEAST_FILES or not many:
        return
    clustered = [each for each in many if each.name in clustering]
    if clustered:
        why = f"A filter on {_listed([each.name for each in clustered])} reads more than half of the files."
        sql = f"OPTIMIZE {names.sql} FULL"
        plan = reordered(None)
        if plan.files > sizes.compaction.files:  # otherwise OPTIMIZE clusters all of them too
            yield from _rewrites(why, sql, f"spark.sql({sql!r})", plan)
    for each in [] if clustering else sorted(many, key=lambda each: -each.average_reads)[:_MOST_COLUMNS]:
        why = f"A filter on {each.name} reads {each.average_reads:,.0f} of {sizes.files:,} files. If your queries filter by it:"
        sql = f"OPTIMIZE {names.sql} ZORDER BY ({each.name})"
        yield from _rewrites(why, sql, f"{names.delta_table}.optimize().executeZOrderBy({each.name!r})", reordered(each.name))


def _rewrites(why: str, sql: str, python: str, plan: Rewrite) -> Iterator[Advice]:
    """Yield the advice if the call would rewrite anything: it does not order rows again that are in this order."""
    if plan.files:
        effect = f"It writes about {count_text(plan.new_files, 'file')}, {size_text(plan.bytes)}."
        yield Advice(why, sql, python, effect, plan.new_files, plan.bytes)


def _could_skip_more(column: ColumnFacts, files: int) -> bool:
    """Whether a point filter reads many files, and not because they all have the same value."""
    return column.average_reads > _MANY_READ * files and column.single_values <= _MANY_READ * files


def _vacuum(names: Names, removed: RemovedFiles) -> Iterator[Advice]:
    files, size = removed.expired_files, removed.expired_bytes
    if removed.listed_files is not None:
        files, size = removed.listed_files, removed.listed_bytes or 0
    if files:
        yield Advice(
            f"{count_text(files, 'file')} {'is' if files == 1 else 'are'} no longer needed.",
            f"VACUUM {names.sql}",
            f"{names.log}.vacuum()",
            f"It deletes {count_text(files, 'file')}, {size_text(size)}.",
            files,
            size,
        )


def _checkpoint(names: Names, log: LogFacts) -> Iterator[Advice]:
    if log.commits_since > _OVERDUE * log.checkpoint_interval:
        since = "in the log without a checkpoint" if log.checkpoint_version is None else "since the last checkpoint"
        size = log.checkpoint_bytes + log.bytes_since
        yield Advice(
            f"Readers read {log.commits_since:,} commits {since}.",
            None,
            f"{names.log}.checkpoint()",
            f"It writes 1 checkpoint, at most about {size_text(size)}.",
            1,
            size,
        )


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_MOST_COLUMNS])
    return shown if len(names) <= _MOST_COLUMNS else f"{shown} and {len(names) - _MOST_COLUMNS:,} more columns"
