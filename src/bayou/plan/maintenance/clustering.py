# SPDX-License-Identifier: Apache-2.0
"""The files that OPTIMIZE clusters together: new files, and cubes of a size class. A cube is the result of one clustering.

Each size class holds cubes eight times as large as those of the class below. When a class has eight cubes, new files included, they
become one cube of the next class. A row is therefore written about once per class, and there are at most seven cubes of a class.

Source: delta-spark's `ClusteringStrategy`, which merges all cubes below one size at each run.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from bayou.plan.maintenance.compaction import (
    NOT_CHOSEN,
    CompactionPlan,
    FileFacts,
    SizeRules,
    has_many_deleted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_CLASS_BITS: Final = 3
_OF_A_CLASS: Final = 1 << _CLASS_BITS
"""How many cubes of a class become one of the next."""
_LARGEST: Final = 512 << 30
"""The size in bytes from which a cube stays."""
_MOST_BYTES: Final = 768 << 30
"""The maximum size of a new cube in bytes."""
_DELTA_SPARKS_TARGET: Final = 150 << 30
"""The same if a session sets a threshold, which is delta-spark's default."""

NEW: Final = "not clustered yet"
MERGED: Final = "its cube is merged with others of its size"
CLUSTERED: Final = "its cube stays"
BY_OTHERS: Final = "clustered by other columns, or by another program"


@dataclass(frozen=True, slots=True)
class CubeFacts:
    """The cubes of files, one value per file.

    Attributes:
        ids: the id of the cube, if it is clustered by the columns in question; otherwise null.
        are_others: whether the file is clustered by other columns, or by another program. It stays unless all files are clustered
            again.
        known: the id of the cube, whatever it is clustered by; null for a file without a cube.
    """

    ids: pa.Array
    are_others: pa.Array
    known: pa.Array


@dataclass(frozen=True, slots=True)
class CubeRules:
    """How cubes are merged.

    Attributes:
        threshold: all cubes smaller than so many bytes are merged with new files at each run; None for size classes.
        target: the maximum size of a new cube in bytes, if there is a threshold; None for delta-spark's 150 GiB.
        is_full: whether all files are clustered again, including those that are clustered by other columns.
    """

    threshold: int | None = None
    target: int | None = None
    is_full: bool = False

    @property
    def largest(self) -> int:
        """The size from which a cube stays, unless all are clustered again."""
        return _LARGEST if self.threshold is None else self.threshold

    @property
    def capacity(self) -> int:
        """The maximum size of a new cube in bytes."""
        if self.threshold is None:
            return _MOST_BYTES
        return max(1, self.threshold, _DELTA_SPARKS_TARGET if self.target is None else self.target)


@dataclass(frozen=True, slots=True)
class CubeCounts:
    """The numbers of files in cubes and of others, counted as delta-spark counts them.

    Attributes:
        cube_files: the files in cubes that are clustered by the columns in question; if all are clustered again, by any columns.
        merged_cubes: how many of them are rewritten.
    """

    cube_files: int = 0
    cube_bytes: int = 0
    other_files: int = 0
    other_bytes: int = 0
    cubes: int = 0
    merged_cubes: int = 0


@dataclass(frozen=True, slots=True)
class ClusteringPlan(CompactionPlan):
    """The files that are clustered together. A bin is a new cube of `outputs` files. `counts` describe the table before."""

    outputs: tuple[int, ...] = ()
    counts: CubeCounts = CubeCounts()

    @property
    def is_whole(self) -> bool:
        """Whether all candidates are rewritten."""
        return self.num_files == self.considered


class _Group(NamedTuple):
    """The files of a cube, or the new files of a partition (`cube` is None), with the bytes of their live rows."""

    partition: int
    cube: int | None
    size: int


def plan_clustering(
    facts: FileFacts, cubes: CubeFacts, sizes: SizeRules, rules: CubeRules, chosen: pa.Array | None = None
) -> ClusteringPlan:
    """Plan which files OPTIMIZE clusters together; files of different partitions never are."""
    count = len(facts.paths)
    every = pa.array([True] * count, pa.bool_())
    may_be, stays = every if chosen is None else chosen, pc.and_(cubes.are_others, not rules.is_full)
    taken = pc.and_(may_be, pc.invert(stays))
    numbers = cubes.ids.dictionary_encode().indices.cast(pa.int64())
    loose = pc.if_else(has_many_deleted(facts, sizes.max_deleted), pa.scalar(None, pa.int64()), numbers)
    live = _live_bytes(facts)
    files = pa.table({"at": pa.array(range(count), pa.int64()), "partition": facts.partitions, "cube": loose, "live": live})
    files = files.filter(taken)
    files = files.append_column("group", _group_numbers(files["partition"].combine_chunks(), files["cube"].combine_chunks()))
    found = files.group_by("group").aggregate([("partition", "min"), ("cube", "min"), ("live", "sum")]).sort_by("group")
    facts_of_groups = (found[name].to_pylist() for name in ("partition_min", "cube_min", "live_sum"))
    groups = [_Group(*each) for each in zip(*facts_of_groups, strict=True)]
    merges = list(_merges(groups, rules))
    bins, outputs = _bins(files, merges, sizes.target, rules.capacity)
    bins = bins.take(pc.index_in(pa.array(range(count), pa.int64()), value_set=files["at"].combine_chunks()))
    is_rewritten = pc.is_valid(bins)
    reasons = pc.if_else(pc.is_null(loose), NEW, pc.if_else(is_rewritten, MERGED, CLUSTERED))
    reasons = pc.if_else(may_be, pc.if_else(stays, BY_OTHERS, reasons), NOT_CHOSEN)
    table = pa.table({"path": facts.paths, "size": facts.sizes, "bin": bins, "reason": reasons})
    counted = cubes.known if rules.is_full else cubes.ids  # as delta-spark counts
    in_cubes = pc.and_(pc.is_valid(counted), may_be)
    return ClusteringPlan(
        table,
        sizes,
        pc.sum(may_be).as_py() or 0,
        len({groups[merge[0]].partition for merge in merges}),
        outputs,
        CubeCounts(
            *_counted(facts.sizes, in_cubes),
            *_counted(facts.sizes, pc.and_(may_be, pc.invert(in_cubes))),
            pc.count_distinct(counted.filter(in_cubes)).as_py(),
            pc.count_distinct(counted.filter(pc.and_(in_cubes, is_rewritten))).as_py(),
        ),
    )


def _group_numbers(partitions: pa.Array, cubes: pa.Array) -> pa.Array:
    """Return a number for each file's partition and cube, from 0 on; the new files of a partition share one, too."""
    cubes = pc.fill_null(cubes, -1)
    return pc.add(pc.multiply(partitions, (pc.max(cubes).as_py() or 0) + 2), cubes).dictionary_encode().indices.cast(pa.int64())


def _live_bytes(facts: FileFacts) -> pa.Array:
    """Return the bytes of each file's live rows, as far as the log states them."""
    rows = facts.rows.cast(pa.float64())
    deleted = pc.fill_null(facts.deleted, 0).cast(pa.float64())
    share = pc.fill_null(pc.divide(rows, pc.max_element_wise(pc.add(rows, deleted), 1.0)), 1.0)
    return pc.floor(pc.multiply(facts.sizes.cast(pa.float64()), share)).cast(pa.int64())


def _counted(sizes: pa.Array, which: pa.Array) -> tuple[int, int]:
    found = sizes.filter(which)
    return len(found), pc.sum(found).as_py() or 0


def _merges(groups: Sequence[_Group], rules: CubeRules) -> Iterator[list[int]]:
    """Yield the groups that become a cube together, or several cubes if they are too large for one."""
    by_partition: dict[int, list[int]] = defaultdict(list)
    for number, group in enumerate(groups):
        by_partition[group.partition].append(number)
    for partition in sorted(by_partition):
        numbers = by_partition[partition]
        new = [number for number in numbers if groups[number].cube is None]
        cubes = {number: groups[number].size for number in numbers if groups[number].cube is not None}
        if rules.is_full:
            total = sum(groups[number].size for number in numbers)
            if new or len(cubes) > _cubes_for(total, rules.capacity):
                yield numbers
        elif rules.threshold is not None:
            partial = [*new, *(number for number, size in cubes.items() if size < rules.threshold)]
            if new or len(partial) > 1:
                yield partial
        else:
            waiting = {number: size for number, size in cubes.items() if size < rules.largest}
            yield from _by_size_class(new, sum(groups[number].size for number in new), waiting)


def _cubes_for(size: int, capacity: int) -> int:
    return max(1, -(-size // capacity))


def _by_size_class(new: list[int], size: int, cubes: Mapping[int, int]) -> Iterator[list[int]]:
    """Yield the new files with the smaller cubes, and with those of their class if it is full; then the other full classes."""
    waiting = dict(cubes)
    merge = [*new]
    while merge or (merge := _crowded(waiting)):
        if merge[0] not in new:
            size = sum(waiting.pop(number) for number in merge)
        while joining := _joining(size, waiting):
            size += sum(waiting.pop(number) for number in joining)
            merge += joining
        yield merge
        merge = []


def _crowded(cubes: Mapping[int, int]) -> list[int]:
    """Return the cubes of the lowest class that is full (`_OF_A_CLASS`)."""
    by_class: dict[int, list[int]] = defaultdict(list)
    for number, size in cubes.items():
        by_class[_class_of(size)].append(number)
    return next((by_class[each] for each in sorted(by_class) if len(by_class[each]) >= _OF_A_CLASS), [])


def _joining(size: int, cubes: Mapping[int, int]) -> list[int]:
    """Return the cubes that a new cube absorbs: all smaller ones, and those of its class if they fill it."""
    of = _class_of(size)
    peers = [number for number, each in cubes.items() if _class_of(each) == of]
    smaller = [number for number, each in cubes.items() if _class_of(each) < of]
    return [*smaller, *(peers if len(peers) + 1 >= _OF_A_CLASS else [])]


def _class_of(size: int) -> int:
    return (max(size, 1).bit_length() - 1) // _CLASS_BITS


def _bins(files: pa.Table, merges: Sequence[Sequence[int]], target: int, capacity: int) -> tuple[pa.Array, tuple[int, ...]]:
    """Return the bin number of each file, null for one that stays, and the number of new files of each bin."""
    of_group = {group: number for number, merge in enumerate(merges) for group in merge}
    merged = pa.array([of_group.get(group) for group in range(files.num_rows)], pa.int64()).take(files["group"].combine_chunks())
    every = pa.array(range(files.num_rows), pa.int64())
    table = pa.table({"row": every, "merge": merged, "cube": pc.fill_null(files["cube"], -1), "live": files["live"]})
    table = table.filter(pc.is_valid(table["merge"])).sort_by([("merge", "ascending"), ("cube", "ascending"), ("row", "ascending")])
    rows: list[int] = []
    numbers: list[int] = []
    outputs: list[int] = []
    last, first, done = -1, 0, 0
    totals = table.group_by("merge").aggregate([("live", "sum")])
    total_of = dict(zip(totals["merge"].to_pylist(), totals["live_sum"].to_pylist(), strict=True))
    for row, merge, live in zip(*(table[name].to_pylist() for name in ("row", "merge", "live")), strict=True):
        if merge != last:
            last, first, done = merge, len(outputs), 0
            outputs += [0] * _cubes_for(total_of[merge], capacity)
        bins = len(outputs) - first
        number = first + min(bins - 1, done * bins // max(1, total_of[merge]))
        rows.append(row)
        numbers.append(number)
        outputs[number] += live
        done += live
    kept = sorted(set(numbers))  # a bin may get no file: a file is never divided
    new_number = {number: place for place, number in enumerate(kept)}
    found = pa.array([new_number[number] for number in numbers], pa.int64())
    at = pc.index_in(every, value_set=pa.array(rows, pa.int64()))
    return found.take(at), tuple(max(1, (outputs[number] + target // 2) // target) for number in kept)
