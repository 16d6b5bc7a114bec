# SPDX-License-Identifier: Apache-2.0
"""The files that OPTIMIZE rewrites together: small files and files with many deleted rows, in bins of one new file each.

Source: delta-spark's `OptimizeTableCommand`. Bins are filled best-fit; delta-spark fills them one after the other.
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
        target: the size of a new file, and the capacity of a bin.
        small: a smaller file is rewritten.
        max_deleted: the share of deleted rows above which a file is rewritten, whatever its size.
    """

    target: int
    small: int
    max_deleted: float = 0.05

    @property
    def full(self) -> int:
        """The size from which a file is large enough to stay."""
        return int(self.target * _FULL_SHARE)

    @classmethod
    def of(cls, table_bytes: int, *, target: int | None = None, small: int | None = None, max_deleted: float = 0.05) -> SizeRules:
        """Return the sizes for a table, unless the session or the table sets them."""
        rules = cls(target_size(table_bytes) if target is None else target, 0, max_deleted)
        return replace(rules, small=rules.full if small is None else small)


def target_size(table_bytes: int) -> int:
    """Return the size of new files for a table's size, in bytes: 256 MiB up to 2.5 TiB, 1 GiB from 10 TiB, linear between."""
    share = min(1.0, max(0.0, (table_bytes - _SMALL_TABLE) / (_LARGE_TABLE - _SMALL_TABLE)))
    return SMALLEST_TARGET + int(share * (_LARGEST_TARGET - SMALLEST_TARGET))


@dataclass(frozen=True, slots=True)
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
        left = self.files["reason"].filter(pc.is_null(self.files["bin"])).value_counts()
        return {each["values"].as_py(): each["counts"].as_py() for each in left}

    def positions(self, first: int = 0, last: int | None = None) -> tuple[pa.Array, pa.Array]:
        """Return the positions of the files of some bins in the table's files, ordered by bin, and the bin number of each."""
        bins, end = self.files["bin"].combine_chunks(), self.num_bins if last is None else last
        chosen = pc.indices_nonzero(pc.and_(pc.greater_equal(bins, first), pc.less(bins, end))).cast(pa.int64())
        chosen = chosen.take(
            pc.sort_indices(pa.table({"bin": bins.take(chosen), "at": chosen}), [("bin", "ascending"), ("at", "ascending")])
        )
        return chosen, pc.subtract(bins.take(chosen), first).cast(pa.int32())

    def batches(self, most_bytes: int | None) -> Iterator[tuple[int, int]]:
        """Yield ranges of bins of at most so many bytes (None: any), with at least one bin each; the end is excluded."""
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
    """The facts about the table's files that compaction needs, one value per file.

    Attributes:
        paths: as in the log.
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

    A bin is made if it leaves fewer files, or if many rows of its only file are deleted. A file that OPTIMIZE wrote before joins a
    bin only if it is at most half of it, so that a file is rewritten once each time its data doubles.

    Args:
        purged: for each file whether it is rewritten, whatever its size, as for REORG; None if the sizes decide, as for OPTIMIZE.
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
    """Return for each file whether it is rewritten, whether it is rewritten even alone, and the reason."""
    with_deleted = has_many_deleted(facts, sizes.max_deleted)
    done = pc.and_(pc.fill_null(pc.greater_equal(facts.targets, sizes.target), False), pc.invert(with_deleted))
    wanted = pc.and_(pc.or_(pc.less(facts.sizes, sizes.small), with_deleted), pc.invert(done))
    others = pc.if_else(wanted, SMALL, pc.if_else(done, OPTIMIZED, LARGE))
    return wanted, with_deleted, pc.if_else(with_deleted, DELETED_ROWS, others)


def _bins(facts: FileFacts, sizes: SizeRules, alone: pa.Array, candidates: pa.Array) -> tuple[pa.Array, pa.Array, int]:
    """Return the candidates that are in bins, the bin number of each, and the number of partitions with bins."""
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
    """A file that may be rewritten, and whether it is rewritten even alone."""

    at: int
    partition: int
    size: int
    is_compacted: bool
    goes_alone: bool


def has_many_deleted(facts: FileFacts, most: float) -> pa.Array:
    """Return for each file whether its share of deleted rows exceeds a limit, or is unknown."""
    deleted = facts.deleted.cast(pa.float64())
    share = pc.divide(deleted, pc.add(deleted, facts.rows.cast(pa.float64())))
    return pc.and_(pc.is_valid(deleted), pc.fill_null(pc.greater(share, most), True))


def _best_fit(files: Iterable[_Candidate], capacity: int) -> list[list[_Candidate]]:
    """Fill bins of so many bytes, each file into the fullest bin that has room for it."""
    room: list[tuple[int, int]] = []  # the free bytes of each open bin, and its number
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
    """Return a bin without files of earlier OPTIMIZE runs that are more than half of it and need no rewrite."""
    total, kept = sum(each.size for each in filled), []
    for each in filled:  # largest first: a file that is not too large for the rest is not too large for the bin
        if each.is_compacted and not each.goes_alone and 2 * each.size > total:
            total -= each.size
        else:
            kept.append(each)
    return kept


def partition_numbers(columns: Sequence[pa.Array], count: int) -> pa.Array:
    """Return a number for each file's partition, from its typed values."""
    numbers = pa.array([0] * count, pa.int64())
    for column in columns:
        values = pc.add(column, 0.0) if pa.types.is_floating(column.type) else column  # 0.0 and -0.0 are the same value
        encoded = values.dictionary_encode(null_encoding="encode")
        both = pc.add(pc.multiply(numbers, len(encoded.dictionary) + 1), encoded.indices.cast(pa.int64()))
        numbers = both.dictionary_encode().indices.cast(pa.int64())
    return numbers
