# SPDX-License-Identifier: Apache-2.0
"""Plan which files OPTIMIZE clusters together in a table with clustering columns: new files, and cubes of a similar size.

A cube (delta-spark's word for Z-cube) is the set of files that one clustering wrote; a tag of each file names its cube. Cubes have
size classes; the cubes of a class are eight times as large as those of the class below. When a class has eight cubes, new files
included, they become one cube of the next class. A row is therefore written about once per class, and a class has at most seven
cubes.

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
"""The number of cubes of a class that are merged into one cube of the next class."""
_LARGEST: Final = 512 << 30
"""The size in bytes from which a cube is not merged any more."""
_MOST_BYTES: Final = 768 << 30
"""The maximum size of a new cube in bytes."""
_DELTA_SPARKS_TARGET: Final = 150 << 30
"""The maximum size of a new cube in bytes if a session sets a threshold; delta-spark's default."""

NEW: Final = "not clustered yet"
MERGED: Final = "its cube is merged with others of its size"
CLUSTERED: Final = "its cube stays"
BY_OTHERS: Final = "clustered by other columns, or by another program"


@dataclass(frozen=True, slots=True)
class CubeFacts:
    """The cubes of the table's files, one value per file.

    Attributes:
        ids: the id of the cube if it is clustered by the table's clustering columns; otherwise null.
        are_others: whether the file is clustered by other columns, or by another program. Only a full clustering rewrites it.
        known: the id of the cube, whatever columns it is clustered by; null for a file without a cube.
    """

    ids: pa.Array
    are_others: pa.Array
    known: pa.Array


@dataclass(frozen=True, slots=True)
class CubeRules:
    """The rules for merging cubes.

    Attributes:
        threshold: each run merges all cubes smaller than this number of bytes with the new files; None to merge by size classes.
        target: the maximum size of a new cube in bytes if there is a threshold; None for delta-spark's 150 GiB.
        is_full: whether to cluster all files again, including files that are clustered by other columns (OPTIMIZE FULL).
    """

    threshold: int | None = None
    target: int | None = None
    is_full: bool = False

    @property
    def largest(self) -> int:
        """The size in bytes from which a cube is not merged any more, except by a full clustering."""
        return _LARGEST if self.threshold is None else self.threshold

    @property
    def capacity(self) -> int:
        """The maximum size of a new cube in bytes."""
        if self.threshold is None:
            return _MOST_BYTES
        return max(1, self.threshold, _DELTA_SPARKS_TARGET if self.target is None else self.target)


@dataclass(frozen=True, slots=True)
class CubeCounts:
    """The numbers of files in cubes and of other files, counted as delta-spark counts them.

    Attributes:
        cube_files: the files in cubes that are clustered by the table's clustering columns; for a full clustering, by any columns.
        cubes: the number of these cubes.
        merged_cubes: the number of these cubes that are rewritten.
    """

    cube_files: int = 0
    cube_bytes: int = 0
    other_files: int = 0
    other_bytes: int = 0
    cubes: int = 0
    merged_cubes: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class ClusteringPlan(CompactionPlan):
    """The files that are clustered together. Each bin becomes a new cube.

    Attributes:
        outputs: the number of new files of each bin.
        counts: describe the table before the clustering.
    """

    outputs: tuple[int, ...] = ()
    counts: CubeCounts = CubeCounts()

    @property
    def is_whole(self) -> bool:
        """Whether all candidates are rewritten."""
        return self.num_files == self.considered


class _Group(NamedTuple):
    """The files of a cube, or the new files of a partition (`cube` is None); `size` is the bytes of their live rows."""

    partition: int
    cube: int | None
    size: int
    num_files: int
    num_bytes: int


class ClusteringEstimate(NamedTuple):
    """The files that a clustering rewrites, their bytes, and about how many files it writes."""

    num_files: int
    num_bytes: int
    new_files: int


def plan_clustering(
    facts: FileFacts, cubes: CubeFacts, sizes: SizeRules, rules: CubeRules, chosen: pa.Array | None = None
) -> ClusteringPlan:
    """Plan which files OPTIMIZE clusters together; files of different partitions are never clustered together.

    Args:
        chosen: for each file whether it is in the partitions that the user selected; None for all files.
    """
    count = len(facts.paths)
    every = pa.array([True] * count, pa.bool_())
    selected, stays = every if chosen is None else chosen, pc.and_(cubes.are_others, not rules.is_full)
    is_candidate = pc.and_(selected, pc.invert(stays))
    cube_numbers = _cube_numbers(facts, cubes, sizes)
    files = _grouped(facts, cube_numbers, is_candidate)
    groups = _groups(files)
    merges = list(_merges(groups, rules))
    bins, outputs = _bins(files, merges, sizes.target, rules.capacity)
    bins = bins.take(pc.index_in(pa.array(range(count), pa.int64()), value_set=files["at"].combine_chunks()))
    is_rewritten = pc.is_valid(bins)
    reasons = pc.if_else(pc.is_null(cube_numbers), NEW, pc.if_else(is_rewritten, MERGED, CLUSTERED))
    reasons = pc.if_else(selected, pc.if_else(stays, BY_OTHERS, reasons), NOT_CHOSEN)
    table = pa.table({"path": facts.paths, "size": facts.sizes, "bin": bins, "reason": reasons})
    counted = cubes.known if rules.is_full else cubes.ids  # as delta-spark counts
    in_cubes = pc.and_(pc.is_valid(counted), selected)
    return ClusteringPlan(
        table,
        sizes,
        pc.sum(selected).as_py() or 0,
        len({groups[merge[0]].partition for merge in merges}),
        outputs,
        CubeCounts(
            *_counted(facts.sizes, in_cubes),
            *_counted(facts.sizes, pc.and_(selected, pc.invert(in_cubes))),
            pc.count_distinct(counted.filter(in_cubes)).as_py(),
            pc.count_distinct(counted.filter(pc.and_(in_cubes, is_rewritten))).as_py(),
        ),
    )


def estimate_clustering(facts: FileFacts, cubes: CubeFacts, sizes: SizeRules, rules: CubeRules) -> ClusteringEstimate:
    """Return how much `plan_clustering` would rewrite, without the bin of each file, which takes seconds for a million files."""
    files = _grouped(facts, _cube_numbers(facts, cubes, sizes), pc.invert(pc.and_(cubes.are_others, not rules.is_full)))
    groups = _groups(files)
    num_files = num_bytes = new_files = 0
    for merge in _merges(groups, rules):
        live = sum(groups[number].size for number in merge)
        new_cubes = _cubes_for(live, rules.capacity)
        new_files += new_cubes * max(1, (live // new_cubes + sizes.target // 2) // sizes.target)
        num_files += sum(groups[number].num_files for number in merge)
        num_bytes += sum(groups[number].num_bytes for number in merge)
    return ClusteringEstimate(num_files, num_bytes, new_files)


def _cube_numbers(facts: FileFacts, cubes: CubeFacts, sizes: SizeRules) -> pa.Array:
    """Return the number of each file's cube; null for a new file. A file with many deleted rows counts as new: it is rewritten."""
    numbers = cubes.ids.dictionary_encode().indices.cast(pa.int64())
    return pc.if_else(has_many_deleted(facts, sizes.max_deleted), pa.scalar(None, pa.int64()), numbers)


def _grouped(facts: FileFacts, cube_numbers: pa.Array, is_candidate: pa.Array) -> pa.Table:
    """Return the candidates with their positions and groups."""
    every = pa.array(range(len(cube_numbers)), pa.int64())
    columns = {"at": every, "partition": facts.partitions, "cube": cube_numbers, "size": facts.sizes, "live": _live_bytes(facts)}
    files = pa.table(columns).filter(is_candidate)
    return files.append_column("group", _group_numbers(files["partition"].combine_chunks(), files["cube"].combine_chunks()))


def _groups(files: pa.Table) -> list[_Group]:
    wanted = [("partition", "min"), ("cube", "min"), ("live", "sum"), ("size", "count"), ("size", "sum")]
    totals = files.group_by("group").aggregate(wanted).sort_by("group")
    return [_Group(*values) for values in zip(*(totals[f"{name}_{how}"].to_pylist() for name, how in wanted), strict=True)]


def _group_numbers(partitions: pa.Array, cubes: pa.Array) -> pa.Array:
    """Return the group number of each file, from 0 on: one for each partition and cube, and one for a partition's new files."""
    cubes = pc.fill_null(cubes, -1)
    return pc.add(pc.multiply(partitions, (pc.max(cubes).as_py() or 0) + 2), cubes).dictionary_encode().indices.cast(pa.int64())


def _live_bytes(facts: FileFacts) -> pa.Array:
    """Return the estimated bytes of each file's live rows: its size if the log does not state its row count."""
    rows = facts.rows.cast(pa.float64())
    deleted = pc.fill_null(facts.deleted, 0).cast(pa.float64())
    share = pc.fill_null(pc.divide(rows, pc.max_element_wise(pc.add(rows, deleted), 1.0)), 1.0)
    return pc.floor(pc.multiply(facts.sizes.cast(pa.float64()), share)).cast(pa.int64())


def _counted(sizes: pa.Array, which: pa.Array) -> tuple[int, int]:
    counted = sizes.filter(which)
    return len(counted), pc.sum(counted).as_py() or 0


def _merges(groups: Sequence[_Group], rules: CubeRules) -> Iterator[list[int]]:
    """Yield the numbers of the groups that are clustered together, into one cube or, if that would be too large, several cubes."""
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
    """Yield the merges by size class: first the new files with all cubes that they absorb, then each other full class.

    Args:
        new: the group of new files; empty without new files.
        size: the bytes of the new files.
        cubes: the size of each cube that may be merged, by group number.
    """
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
    """Return the cubes of the lowest full class, which has `_OF_A_CLASS` cubes or more; empty if no class is full."""
    by_class: dict[int, list[int]] = defaultdict(list)
    for number, size in cubes.items():
        by_class[_class_of(size)].append(number)
    return next((by_class[each] for each in sorted(by_class) if len(by_class[each]) >= _OF_A_CLASS), [])


def _joining(size: int, cubes: Mapping[int, int]) -> list[int]:
    """Return the cubes that a new cube absorbs: those of lower classes, and those of its own class if the new cube fills it."""
    own_class = _class_of(size)
    peers = [number for number, cube_size in cubes.items() if _class_of(cube_size) == own_class]
    smaller = [number for number, cube_size in cubes.items() if _class_of(cube_size) < own_class]
    return [*smaller, *(peers if len(peers) + 1 >= _OF_A_CLASS else [])]


def _class_of(size: int) -> int:
    return (max(size, 1).bit_length() - 1) // _CLASS_BITS


def _bins(files: pa.Table, merges: Sequence[Sequence[int]], target: int, capacity: int) -> tuple[pa.Array, tuple[int, ...]]:
    """Return the bin number of each file, null for a file that stays, and the number of new files of each bin.

    A merge that exceeds the capacity becomes several bins of about equal size. Files of one cube stay next to each other.
    """
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
    bin_numbers = pa.array([new_number[number] for number in numbers], pa.int64())
    at = pc.index_in(every, value_set=pa.array(rows, pa.int64()))
    return bin_numbers.take(at), tuple(max(1, (outputs[number] + target // 2) // target) for number in kept)
