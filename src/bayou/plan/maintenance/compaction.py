# SPDX-License-Identifier: Apache-2.0
"""Which files OPTIMIZE rewrites together: small files and files with many deleted rows, in bins of one new file each.

Source: delta-spark's `OptimizeTableCommand`. Bins are filled best-fit, where delta-spark fills them one after the other.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

SMALLEST_TARGET: Final = 256 << 20
"""The size of new files in bytes, in tables up to `_SMALL_TABLE` bytes."""
_LARGEST_TARGET: Final = 1 << 30
_SMALL_TABLE: Final = 5 << 39  # 2.5 TiB
_LARGE_TABLE: Final = 10 << 40  # 10 TiB
_FULL_SHARE: Final = 0.75

TARGET_TAG: Final = "OPTIMIZE_TARGET_SIZE"
"""The tag of a file that OPTIMIZE filled: the target size in bytes. The name is delta-spark's."""
COMPACTED_TAG: Final = "BAYOU_COMPACTED"
"""The tag of every file that OPTIMIZE wrote, so that later runs do not rewrite it for each small file that is added."""

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
        target: the size of a new file; a bin holds no more.
        small: a smaller file is rewritten.
        max_deleted: the share of deleted rows from which on a file is rewritten, whatever its size.
    """

    target: int
    small: int
    max_deleted: float = 0.05

    @property
    def full(self) -> int:
        """A file of this size is large enough to be left alone."""
        return int(self.target * _FULL_SHARE)

    @classmethod
    def of(cls, table_bytes: int, *, target: int | None = None, small: int | None = None, max_deleted: float = 0.05) -> SizeRules:
        """The sizes for a table.

        Args:
            target: the size of new files, where the session or the table says it.
            small: below which size a file is rewritten, where the session says it.
        """
        rules = cls(target_size(table_bytes) if target is None else target, 0, max_deleted)
        return replace(rules, small=rules.full if small is None else small)


def target_size(table_bytes: int) -> int:
    """The size of new files in bytes for a table of so many bytes: 256 MiB up to 2.5 TiB, 1 GiB from 10 TiB, linear between."""
    share = min(1.0, max(0.0, (table_bytes - _SMALL_TABLE) / (_LARGE_TABLE - _SMALL_TABLE)))
    return SMALLEST_TARGET + int(share * (_LARGEST_TARGET - SMALLEST_TARGET))


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Which files are rewritten together.

    Attributes:
        files: a row for each file of the table: `path`, `size` in bytes, `bin` (null where the file is not rewritten), and
            `reason` (why it is, or why it is not).
        sizes: the sizes that it went by.
        considered: how many files were candidates.
        partitions: how many partitions have bins.
    """

    files: pa.Table
    sizes: SizeRules
    considered: int
    partitions: int

    @property
    def num_bins(self) -> int:
        """How many new files there will be."""
        count: int = pc.count_distinct(self.files["bin"]).as_py()  # nulls do not count
        return count

    @property
    def num_files(self) -> int:
        """How many files are rewritten."""
        count: int = self.files.num_rows - self.files["bin"].null_count
        return count

    @property
    def num_bytes(self) -> int:
        """The size of the files that are rewritten."""
        total: int | None = pc.sum(self.files["size"].filter(pc.is_valid(self.files["bin"]))).as_py()
        return total or 0

    @property
    def untouched(self) -> Mapping[str, int]:
        """How many files stay, by the reason."""
        left = self.files["reason"].filter(pc.is_null(self.files["bin"])).value_counts()
        return {each["values"].as_py(): each["counts"].as_py() for each in left}

    def positions(self, first: int = 0, last: int | None = None) -> tuple[pa.Array, pa.Array]:
        """The files of some bins by their positions in the table's files, ordered by bin, and the number of each one's bin.

        Args:
            last: the bin before which they end; None for all.
        """
        bins, end = self.files["bin"].combine_chunks(), self.num_bins if last is None else last
        chosen = pc.indices_nonzero(pc.and_(pc.greater_equal(bins, first), pc.less(bins, end))).cast(pa.int64())
        chosen = chosen.take(
            pc.sort_indices(pa.table({"bin": bins.take(chosen), "at": chosen}), [("bin", "ascending"), ("at", "ascending")])
        )
        return chosen, pc.subtract(bins.take(chosen), first).cast(pa.int32())

    def batches(self, most_bytes: int | None) -> Iterator[tuple[int, int]]:
        """The bins in groups of so many bytes at most, at least one bin each: the first bin of a group, and the one after it.

        Args:
            most_bytes: the most bytes of one commit; None for one commit.
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
    """What compaction needs to know of the table's files, one value for each file.

    Attributes:
        paths: as in the log.
        sizes: bytes.
        partitions: a number for each partition; files of one partition have the same.
        rows: the rows that are not deleted; null where the log does not say.
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
    """Which files OPTIMIZE rewrites together.

    A bin is made if it leaves fewer files, or if many rows of its only file are deleted. A file that OPTIMIZE wrote before joins
    a bin only if it makes up no more than half of it: then a file is rewritten once each time that its data doubles.

    Args:
        purged: for each file whether it is rewritten, whatever its size; None where the sizes decide (REORG knows it, OPTIMIZE
            does not).
    """
    wanted, alone, reasons = _by_size(facts, sizes) if purged is None else (purged, purged, pc.if_else(purged, PURGED, CLEAN))
    if chosen is not None:
        wanted, reasons = pc.and_(wanted, chosen), pc.if_else(chosen, reasons, NOT_CHOSEN)
    places, bins, partitions = _bins(facts, sizes, alone, pc.indices_nonzero(wanted).cast(pa.int64()))
    at = pc.index_in(pa.array(range(len(wanted)), pa.int64()), value_set=places)
    found = bins.take(at)
    reasons = pc.if_else(pc.and_(wanted, pc.is_null(found)), ALONE, reasons)
    files = {"path": facts.paths, "size": facts.sizes, "bin": found, "reason": reasons}
    return CompactionPlan(pa.table(files), sizes, pc.sum(wanted).as_py() or 0, partitions)


def _by_size(facts: FileFacts, sizes: SizeRules) -> tuple[pa.Array, pa.Array, pa.Array]:
    """For each file whether it is rewritten, whether it is rewritten even alone, and the reason of either."""
    with_deleted = has_many_deleted(facts, sizes.max_deleted)
    done = pc.and_(pc.fill_null(pc.greater_equal(facts.targets, sizes.target), False), pc.invert(with_deleted))
    wanted = pc.and_(pc.or_(pc.less(facts.sizes, sizes.small), with_deleted), pc.invert(done))
    others = pc.if_else(wanted, SMALL, pc.if_else(done, OPTIMIZED, LARGE))
    return wanted, with_deleted, pc.if_else(with_deleted, DELETED_ROWS, others)


def _bins(facts: FileFacts, sizes: SizeRules, alone: pa.Array, candidates: pa.Array) -> tuple[pa.Array, pa.Array, int]:
    """The candidates that are in bins, the number of each one's bin, and how many partitions have bins."""
    columns = {"partition": facts.partitions, "size": facts.sizes, "compacted": facts.compacted, "alone": alone}
    table = pa.table({name: values.take(candidates) for name, values in columns.items()} | {"at": candidates})
    table = table.sort_by([("partition", "ascending"), ("size", "descending"), ("at", "ascending")])
    files = map(_Candidate, *(table[name].to_pylist() for name in ("at", "partition", "size", "compacted", "alone")))
    places: list[int] = []
    numbers: list[int] = []
    number = partitions = 0
    for _, group in groupby(files, key=lambda each: each.partition):
        first = number
        for filled in _best_fit(group, sizes.target):
            kept = _without_compacted(filled)
            if len(kept) > 1 or any(each.goes_alone for each in kept):
                places += [each.at for each in kept]
                numbers += [number] * len(kept)
                number += 1
        partitions += number > first
    return pa.array(places, pa.int64()), pa.array(numbers, pa.int64()), partitions


class _Candidate(NamedTuple):
    """A file that may be rewritten.

    Attributes:
        at: its position among the table's files.
        partition: the number of its partition.
        size: bytes.
        is_compacted: whether OPTIMIZE wrote it.
        goes_alone: whether it is rewritten even alone.
    """

    at: int
    partition: int
    size: int
    is_compacted: bool
    goes_alone: bool


def has_many_deleted(facts: FileFacts, most: float) -> pa.Array:
    """For each file whether so many of its rows are deleted that it is rewritten for that, or nobody knows how many.

    Args:
        most: the largest share of deleted rows that a file may have.
    """
    deleted = facts.deleted.cast(pa.float64())
    share = pc.divide(deleted, pc.add(deleted, facts.rows.cast(pa.float64())))
    return pc.and_(pc.is_valid(deleted), pc.fill_null(pc.greater(share, most), True))


def _best_fit(files: Iterable[_Candidate], capacity: int) -> list[list[_Candidate]]:
    """Fills bins, each file into the fullest bin that has room for it.

    Args:
        capacity: the bytes of a bin.
    """
    room: list[tuple[int, int]] = []  # what is left of each open bin, and its number
    bins: list[list[_Candidate]] = []
    for each in files:
        place = bisect_left(room, (each.size, -1))
        if place < len(room):
            left, number = room.pop(place)
        else:
            left, number = capacity, len(bins)
            bins.append([])
        bins[number].append(each)
        if left > each.size:
            insort(room, (left - each.size, number))
    return bins


def _without_compacted(filled: list[_Candidate]) -> list[_Candidate]:
    """A bin without the files that OPTIMIZE wrote before, that make up more than half of it, and that need not be rewritten."""
    total, kept = sum(each.size for each in filled), []
    for each in filled:  # the largest first: who is not too large for the rest, is not too large for the bin either
        if each.is_compacted and not each.goes_alone and 2 * each.size > total:
            total -= each.size
        else:
            kept.append(each)
    return kept


def partition_numbers(columns: Sequence[pa.Array], count: int) -> pa.Array:
    """A number for each file's partition, by its typed values.

    Args:
        columns: the partition columns' values, one for each file.
    """
    numbers = pa.array([0] * count, pa.int64())
    for column in columns:
        values = pc.add(column, 0.0) if pa.types.is_floating(column.type) else column  # 0.0 and -0.0 are one value
        encoded = values.dictionary_encode(null_encoding="encode")
        both = pc.add(pc.multiply(numbers, len(encoded.dictionary) + 1), encoded.indices.cast(pa.int64()))
        numbers = both.dictionary_encode().indices.cast(pa.int64())
    return numbers
