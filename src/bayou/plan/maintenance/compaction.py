# SPDX-License-Identifier: Apache-2.0
"""Plan which files OPTIMIZE rewrites together: small files and files with many deleted rows.

The files are put into bins, and each bin becomes one new file.

Source: delta-spark's `OptimizeTableCommand`. bayou fills bins best-fit; delta-spark fills them one after the other.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.row_changes import aligned_text
from bayou.report.html import rows_html
from bayou.report.units import size_text

SMALLEST_TARGET: Final = 256 << 20
"""The size of new files in bytes in a table of at most `_SMALL_TABLE` bytes."""
_LARGEST_TARGET: Final = 1 << 30
_SMALL_TABLE: Final = 5 << 39  # 2.5 TiB
_LARGE_TABLE: Final = 10 << 40  # 10 TiB
_FULL_SHARE: Final = 0.75
_LONGEST_RUN: Final = 1000
_NO_ROOM: Final = (-1, -1)

TARGET_TAG: Final = "OPTIMIZE_TARGET_SIZE"
"""The tag of a file that OPTIMIZE filled: the target size in bytes. The name is delta-spark's."""
COMPACTED_TAG: Final = "BAYOU_COMPACTED"
"""The tag of every file that OPTIMIZE wrote, so that later runs do not rewrite a large file for each small file that is added."""

SMALL: Final = "small"
DELETED_ROWS: Final = "deleted rows"
LARGE: Final = "large enough"
OPTIMIZED: Final = "optimized before"
ALONE: Final = "no other file to go with"
NOT_CHOSEN: Final = "not chosen"
PURGED: Final = "holds deleted rows or dropped columns"
CLEAN: Final = "holds neither deleted rows nor dropped columns"


@dataclass(frozen=True, slots=True)
class SizeRules:
    """The size limits of OPTIMIZE, in bytes.

    Attributes:
        target: the size of a new file, and the capacity of a bin.
        small: the size below which a file is rewritten.
        max_deleted: the share of deleted rows above which a file is rewritten, whatever its size.
    """

    target: int
    small: int
    max_deleted: float = 0.05

    @property
    def full(self) -> int:
        """The size from which OPTIMIZE does not rewrite a file by default."""
        return int(self.target * _FULL_SHARE)

    @classmethod
    def of(cls, table_bytes: int, *, target: int | None = None, small: int | None = None, max_deleted: float = 0.05) -> SizeRules:
        """Return the rules for a table of some size; the session or the table may set each of them."""
        rules = cls(target_size(table_bytes) if target is None else target, 0, max_deleted)
        return replace(rules, small=rules.full if small is None else small)


def target_size(table_bytes: int) -> int:
    """Return the size of new files in bytes: 256 MiB in tables up to 2.5 TiB, 1 GiB in tables from 10 TiB on, linear in between."""
    share = min(1.0, max(0.0, (table_bytes - _SMALL_TABLE) / (_LARGE_TABLE - _SMALL_TABLE)))
    return SMALLEST_TARGET + int(share * (_LARGEST_TARGET - SMALLEST_TARGET))


@dataclass(frozen=True, slots=True, repr=False)
class CompactionPlan:
    """The files that are rewritten together.

    Attributes:
        files: a row for each file of the table: `path`, `size` in bytes, `bin` (null if the file is not rewritten), and `reason`
            (why it is or is not rewritten).
        considered: the number of candidates.
        partitions: the number of partitions with bins.
    """

    files: pa.Table
    sizes: SizeRules
    considered: int
    partitions: int

    @property
    def num_bins(self) -> int:
        """The number of new files."""
        count: int = pc.count_distinct(self.files["bin"]).as_py()  # nulls do not count
        return count

    @property
    def num_files(self) -> int:
        """The number of files to rewrite."""
        count: int = self.files.num_rows - self.files["bin"].null_count
        return count

    @property
    def num_bytes(self) -> int:
        """The size of the files to rewrite."""
        total: int | None = pc.sum(self.files["size"].filter(pc.is_valid(self.files["bin"]))).as_py()
        return total or 0

    @property
    def untouched(self) -> Mapping[str, int]:
        """The number of files that stay, by reason."""
        reasons = self.files["reason"].filter(pc.is_null(self.files["bin"])).value_counts()
        return {reason["values"].as_py(): reason["counts"].as_py() for reason in reasons}

    def _title(self) -> str:
        files = f"{self.num_files:,} of {self.files.num_rows:,} files"
        bins = "1 bin" if self.num_bins == 1 else f"{self.num_bins:,} bins"
        return f"Would rewrite {files}, {size_text(self.num_bytes)}, in {bins}"

    def _reasons(self) -> list[tuple[str, int, int]]:
        """Return the reasons of files that are rewritten, then of others, each with its number of files and of bytes."""
        stays = pc.is_null(self.files["bin"])
        grouped = self.files.select(["reason", "size"]).append_column("stays", stays).group_by(["stays", "reason"])
        found = grouped.aggregate([("size", "count"), ("size", "sum")]).sort_by([("stays", "ascending"), ("reason", "ascending")])
        return [
            (f"{'left' if row['stays'] else 'rewritten'}: {row['reason']}", row["size_count"], row["size_sum"])
            for row in found.to_pylist()
        ]

    def __repr__(self) -> str:
        counts = f"files={self.files.num_rows}, to_rewrite={self.num_files}, bytes={self.num_bytes}, bins={self.num_bins}"
        return f"{type(self).__name__}({counts})"

    def __str__(self) -> str:
        cells = [(reason, f"{count:,}", f"{size:,}") for reason, count, size in self._reasons()]
        return f"{self._title()}\n{aligned_text([('', 'files', 'bytes'), *cells])}"

    def _repr_html_(self) -> str:
        rows = [(reason, count, size_text(size)) for reason, count, size in self._reasons()]
        return rows_html(self._title(), ("", "files", "size"), rows)

    def positions(self, first: int = 0, last: int | None = None) -> tuple[pa.Array, pa.Array]:
        """Return the files of some bins as positions in the table's files, ordered by bin, and their bin numbers.

        Args:
            first: the first bin. The returned bin numbers count from it.
            last: the end of the range of bins, excluded; None for all further bins.
        """
        bins, end = self.files["bin"].combine_chunks(), self.num_bins if last is None else last
        positions = pc.indices_nonzero(pc.and_(pc.greater_equal(bins, first), pc.less(bins, end))).cast(pa.int64())
        positions = positions.take(
            pc.sort_indices(pa.table({"bin": bins.take(positions), "at": positions}), [("bin", "ascending"), ("at", "ascending")])
        )
        return positions, pc.subtract(bins.take(positions), first).cast(pa.int32())

    def batches(self, most_bytes: int | None) -> Iterator[tuple[int, int]]:
        """Yield ranges of bins, for one commit each; the end is excluded.

        Args:
            most_bytes: the maximum size of a range. A larger bin has a range of its own. None for one range of all bins.
        """
        count, first, total = self.num_bins, 0, 0
        if most_bytes is None:
            yield from [(0, count)] if count else []
            return
        rewritten = self.files.filter(pc.is_valid(self.files["bin"])).group_by("bin").aggregate([("size", "sum")]).sort_by("bin")
        for number, size in enumerate(rewritten["size_sum"].to_pylist()):
            if number > first and total + size > most_bytes:
                yield first, number
                first, total = number, 0
            total += size
        if first < count:
            yield first, count


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The columns of the table's files that the plan depends on, one value per file.

    Attributes:
        paths: the path as in the log.
        sizes: the size in bytes.
        partitions: the number of the file's partition.
        rows: the number of live rows; null if unknown.
        deleted: the number of rows that the deletion vector deletes; null without a deletion vector.
        targets: the value of the tag `OPTIMIZE_TARGET_SIZE`; null without the tag.
        compacted: whether OPTIMIZE wrote the file.
    """

    paths: pa.Array
    sizes: pa.Array
    partitions: pa.Array
    rows: pa.Array
    deleted: pa.Array
    targets: pa.Array
    compacted: pa.Array


def plan_compaction(
    facts: FileFacts, sizes: SizeRules, chosen: pa.Array | None = None, purged: pa.Array | None = None
) -> CompactionPlan:
    """Plan which files OPTIMIZE rewrites together.

    A bin has several files, so that the table gets fewer, or one file with many deleted rows. A file that OPTIMIZE wrote before
    joins a bin only if it is at most half of the bin. Such a file is therefore rewritten only when its data doubles.

    Args:
        chosen: for each file whether it is in the partitions that the user selected; None for all files.
        purged: for each file whether REORG rewrites it, whatever its size; None for OPTIMIZE, which decides by size.
    """
    candidates, alone, reasons = by_size(facts, sizes) if purged is None else (purged, purged, pc.if_else(purged, PURGED, CLEAN))
    if chosen is not None:
        candidates, reasons = pc.and_(candidates, chosen), pc.if_else(chosen, reasons, NOT_CHOSEN)
    places, bins, partitions = _bins(facts, sizes, alone, pc.indices_nonzero(candidates).cast(pa.int64()))
    at = pc.index_in(pa.array(range(len(candidates)), pa.int64()), value_set=places)
    bin_of_file = bins.take(at)
    reasons = pc.if_else(pc.and_(candidates, pc.is_null(bin_of_file)), ALONE, reasons)
    files = {"path": facts.paths, "size": facts.sizes, "bin": bin_of_file, "reason": reasons}
    return CompactionPlan(pa.table(files), sizes, pc.sum(candidates).as_py() or 0, partitions)


def by_size(facts: FileFacts, sizes: SizeRules) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return for each file whether it is a candidate, whether it is rewritten even as the only file of a bin, and the reason."""
    with_deleted = has_many_deleted(facts, sizes.max_deleted)
    done = pc.and_(pc.fill_null(pc.greater_equal(facts.targets, sizes.target), False), pc.invert(with_deleted))
    candidates = pc.and_(pc.or_(pc.less(facts.sizes, sizes.small), with_deleted), pc.invert(done))
    others = pc.if_else(candidates, SMALL, pc.if_else(done, OPTIMIZED, LARGE))
    return candidates, with_deleted, pc.if_else(with_deleted, DELETED_ROWS, others)


def _bins(facts: FileFacts, sizes: SizeRules, alone: pa.Array, candidates: pa.Array) -> tuple[pa.Array, pa.Array, int]:
    """Return the candidates that are in bins, the bin number of each, and the number of partitions with bins."""
    columns = {"partition": facts.partitions, "size": facts.sizes, "compacted": facts.compacted, "alone": alone}
    table = pa.table({name: values.take(candidates) for name, values in columns.items()} | {"at": candidates})
    table = table.sort_by([("partition", "ascending"), ("size", "descending"), ("at", "ascending")])
    files = _Candidates(*(table[name].to_pylist() for name in ("size", "compacted", "alone")))
    in_partition = table["partition"].to_pylist()
    rows: list[int] = []
    numbers: list[int] = []
    number = partitions = 0
    for _, group in groupby(range(table.num_rows), key=in_partition.__getitem__):
        first = number
        for filled in _best_fit(group, files.sizes, sizes.target):
            kept = files.without_compacted(filled)
            if len(kept) > 1 or any(files.alone[row] for row in kept):
                rows += kept
                numbers += [number] * len(kept)
                number += 1
        partitions += number > first
    places = table["at"].combine_chunks().take(pa.array(rows, pa.int64()))
    return places, pa.array(numbers, pa.int64()), partitions


class _Candidates(NamedTuple):
    """The files that may be rewritten, as one list for each fact: objects for millions of files would be slow.

    Attributes:
        sizes: the sizes in bytes.
        compacted: whether OPTIMIZE wrote the file.
        alone: whether the file is rewritten even as the only file of a bin.
    """

    sizes: list[int]
    compacted: list[bool]
    alone: list[bool]

    def without_compacted(self, filled: list[int]) -> list[int]:
        """Return a bin without files of earlier OPTIMIZE runs that are more than half of it and have few deleted rows."""
        if len(filled) == 1:
            return filled  # it is only rewritten if it goes alone
        total, kept = sum(self.sizes[row] for row in filled), []
        for row in filled:  # largest first, because a removed file makes the bin smaller, and the share of the other files larger
            if self.compacted[row] and not self.alone[row] and 2 * self.sizes[row] > total:
                total -= self.sizes[row]
            else:
                kept.append(row)
        return kept


def has_many_deleted(facts: FileFacts, most: float) -> pa.Array:
    """Return for each file with a deletion vector whether its share of deleted rows exceeds a limit, or is unknown."""
    deleted = facts.deleted.cast(pa.float64())
    share = pc.divide(deleted, pc.add(deleted, facts.rows.cast(pa.float64())))
    return pc.and_(pc.is_valid(deleted), pc.fill_null(pc.greater(share, most), True))


def _best_fit(files: Iterable[int], sizes: Sequence[int], capacity: int) -> list[list[int]]:
    """Fill bins: put each file into the fullest bin that has room for it, or into a new bin. Sizes are in bytes."""
    rooms = _OpenBins()
    bins: list[list[int]] = []
    for file in files:
        size = sizes[file]
        place = rooms.take(size)
        if place is None:
            place = capacity, len(bins)
            bins.append([])
        left, number = place
        bins[number].append(file)
        if left > size:
            rooms.put((left - size, number))
    return bins


class _OpenBins:
    """The bins with free space, each as its free bytes and its number, in order.

    They are in runs of a limited length: insertion into one list of all bins would take quadratic time.
    """

    def __init__(self) -> None:
        self._runs: list[list[tuple[int, int]]] = [[]]
        self._last: list[tuple[int, int]] = [_NO_ROOM]  # the last bin of each run

    def take(self, size: int) -> tuple[int, int] | None:
        """Remove and return the fullest bin with room for `size` bytes; None if no bin has room."""
        at = bisect_left(self._last, (size, -1))
        if at == len(self._runs):
            return None
        run = self._runs[at]
        found = run.pop(bisect_left(run, (size, -1)))
        if run:
            self._last[at] = run[-1]
        elif len(self._runs) > 1:
            del self._runs[at], self._last[at]
        else:
            self._last[at] = _NO_ROOM
        return found

    def put(self, place: tuple[int, int]) -> None:
        """Add a bin."""
        at = min(bisect_left(self._last, place), len(self._runs) - 1)
        run = self._runs[at]
        insort(run, place)
        if len(run) > _LONGEST_RUN:
            half = len(run) // 2
            self._runs[at : at + 1] = run[:half], run[half:]
            self._last[at : at + 1] = run[half - 1], run[-1]
        else:
            self._last[at] = run[-1]


def partition_numbers(columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Return the number of each file's partition, from the typed partition values: equal values have one number."""
    numbers = pa.array([0] * count, pa.int64())
    for column in columns:
        values = pc.add(column, 0.0) if pa.types.is_floating(column.type) else column  # 0.0 and -0.0 are the same value
        encoded = values.dictionary_encode(null_encoding="encode")
        both = pc.add(pc.multiply(numbers, len(encoded.dictionary) + 1), encoded.indices.cast(pa.int64()))
        numbers = both.dictionary_encode().indices.cast(pa.int64())
    return numbers
