# SPDX-License-Identifier: Apache-2.0
"""What a log says about each version: protocol, metadata, and files by Action Reconciliation."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.checks.schema_json import Column, columns_of, parse_schema_json
from bayou.checks.statistics import Statistics, read_statistics
from bayou.protocol.features.features import FEATURES

if TYPE_CHECKING:
    from bayou.checks.checkpoint import Checkpoint
    from bayou.checks.log_file import Action, LogFile

_TABLE_FEATURES: Final = (3, 7)
_SEPARATOR: Final = "\x00"
_BETWEEN_MAPS: Final = "\x01"


@dataclass(eq=False)
class Epoch:
    """A range of versions with one protocol and one metadata.

    Attributes:
        start: the first version.
        end: the last version.
        protocol: the action in force; None if the log has none.
        metadata: the action in force; None if the log has none.
    """

    start: int
    end: int
    protocol: Action | None
    metadata: Action | None

    @cached_property
    def configuration(self) -> Mapping[str, str]:
        """The table properties that are strings."""
        found = self.metadata.value.get("configuration") if self.metadata else None
        return {name: each for name, each in found.items() if isinstance(each, str)} if isinstance(found, Mapping) else {}

    def is_on(self, name: str) -> bool:
        """Whether a property is true."""
        return self.configuration.get(name, "").lower() == "true"

    @cached_property
    def schema(self) -> Any:
        """The JSON of the schema; None if it cannot be parsed."""
        return parse_schema_json(self.metadata.value.get("schemaString")) if self.metadata else None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Each field of each struct of the schema."""
        return tuple(columns_of(self.schema))

    @cached_property
    def top_columns(self) -> Mapping[str, Column]:
        """The top-level columns by name."""
        return {each.path[0]: each for each in self.columns if len(each.path) == 1}

    @cached_property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the partition columns."""
        found = self.metadata.value.get("partitionColumns") if self.metadata else None
        return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()

    @cached_property
    def partition_keys(self) -> tuple[str, ...]:
        """The names of the partition columns as `partitionValues` has them."""
        found = (self.top_columns.get(each) for each in self.partition_columns)
        return tuple(
            name if column is None or not self.is_mapped else column.physical_path[0]
            for name, column in zip(self.partition_columns, found, strict=True)
        )

    @cached_property
    def versions(self) -> tuple[int, int]:
        """The reader and writer version; 0 for what is not a number."""
        value = self.protocol.value if self.protocol else {}
        found = (value.get("minReaderVersion"), value.get("minWriterVersion"))
        return tuple(each if type(each) is int else 0 for each in found)  # type: ignore[return-value]

    @cached_property
    def reader_features(self) -> frozenset[str]:
        """The features that readers must support, those that the version implies included."""
        reader = self.versions[0]
        if reader >= _TABLE_FEATURES[0]:
            return self.listed("readerFeatures")
        return frozenset(each.name for each in FEATURES.values() if each.legacy_reader and reader >= each.legacy_reader)

    @cached_property
    def writer_features(self) -> frozenset[str]:
        """The features that writers must support, those that the version implies included."""
        writer = self.versions[1]
        if writer >= _TABLE_FEATURES[1]:
            return self.listed("writerFeatures")
        return frozenset(each.name for each in FEATURES.values() if each.legacy_writer and writer >= each.legacy_writer)

    def listed(self, name: str) -> frozenset[str]:
        """Return the names in a list of features."""
        found = self.protocol.value.get(name) if self.protocol else None
        return frozenset(each for each in found if isinstance(each, str)) if isinstance(found, list) else frozenset()

    def supports(self, feature: str) -> bool:
        """Whether writers must support a feature, or its preview."""
        return feature in self.writer_features or f"{feature}-preview" in self.writer_features

    @cached_property
    def mapping_mode(self) -> str:
        """The mode of column mapping that is in force."""
        return self.configuration.get("delta.columnMapping.mode", "none") if self.supports("columnMapping") else "none"

    @property
    def is_mapped(self) -> bool:
        """Whether column mapping is in force."""
        return self.mapping_mode in {"id", "name"}


@dataclass(eq=False)
class Part:
    """File actions that share protocol and metadata.

    Attributes:
        checkpoint: the checkpoint that they come from; None for commits.
    """

    epoch: Epoch
    rows: pa.Table
    checkpoint: Checkpoint | None = None

    @cached_property
    def adds(self) -> pa.Table:
        """The `add` actions."""
        return self.rows.filter(pc.equal(self.rows["kind"], "add"))

    @cached_property
    def removes(self) -> pa.Table:
        """The `remove` actions."""
        return self.rows.filter(pc.equal(self.rows["kind"], "remove"))

    @cached_property
    def changes(self) -> pa.Table:
        """The `cdc` actions."""
        return self.rows.filter(pc.equal(self.rows["kind"], "cdc"))

    @cached_property
    def statistics(self) -> Statistics:
        """The statistics of the `add` actions."""
        return read_statistics(self.adds["stats"], self.epoch.columns, is_mapped=self.epoch.is_mapped)


@dataclass(frozen=True, slots=True)
class Heads:
    """The small actions of a version by Action Reconciliation."""

    protocol: Action | None
    metadata: Action | None
    transactions: Mapping[str, Action]
    domains: Mapping[str, Action]


class Timeline:
    """The versions of a log."""

    def __init__(self, commits: Mapping[int, LogFile], rows: pa.Table, checkpoints: Sequence[Checkpoint]) -> None:
        """Begin at the latest run of commits without a gap, or at the checkpoint that starts it."""
        self._commits = commits
        self._rows = rows
        self._checkpoints = checkpoints
        self.start = _start_of_last_run(list(commits))
        complete = [each for each in checkpoints if each.is_complete]
        later = [each for each in complete if each.version >= self.start - 1]
        self.base = None if self.start == 0 and commits else min(later or complete, key=lambda each: each.version, default=None)

    @cached_property
    def epochs(self) -> list[Epoch]:
        """The ranges of versions with one protocol and one metadata."""
        found: list[Epoch] = []
        protocol: Action | None = None
        metadata: Action | None = None
        base = {} if self.base is None else {self.base.version: self.base.actions}
        for version in sorted({*self._commits, *base}):
            commit = self._commits.get(version)
            actions = [*(base.get(version) or ()), *(commit.actions if commit else ())]
            before = protocol, metadata
            for each in actions:
                protocol = each if each.kind == "protocol" else protocol
                metadata = each if each.kind == "metaData" else metadata
            if found and _same(before[0], protocol) and _same(before[1], metadata):
                found[-1].end = version
            else:
                found.append(Epoch(version, version, protocol, metadata))
        return found

    def epoch_at(self, version: int) -> Epoch | None:
        """Return the protocol and metadata of a version; None if the log does not know them."""
        at = bisect.bisect_right([each.start for each in self.epochs], version) - 1
        return self.epochs[at] if at >= 0 else None

    def parts(self) -> list[Part]:
        """Return the file actions of commits by epoch, and those of each checkpoint."""
        versions = self._rows["version"].to_pylist() if len(self.epochs) > 1 else []
        found = []
        for each in self.epochs:
            if len(self.epochs) == 1:
                rows = self._rows
            else:
                start, end = bisect.bisect_left(versions, each.start), bisect.bisect_right(versions, each.end)
                rows = self._rows.slice(start, end - start)
            found.append(Part(each, rows))
        for checkpoint in self._checkpoints:
            epoch = self.epoch_at(checkpoint.version)
            if epoch is not None:
                found.append(Part(epoch, checkpoint.rows, checkpoint))
        return found

    @cached_property
    def known(self) -> range:
        """The versions that follow from what the log holds."""
        start = 0 if self.start == 0 and self._commits else -1
        first = start if self.base is None else self.base.version
        if first < 0:
            return range(0)
        later = (each for each in self._commits if each >= first and (self.base is None or each > first))
        end = first if self.base is not None else first - 1
        for version in later:
            if version != end + 1 or self._commits[version].problems:
                break
            end = version
        return range(first, end + 1)

    @cached_property
    def events(self) -> pa.Table:
        """The `add` and `remove` actions that the latest versions follow from, in their order."""
        rows = self._rows.filter(pc.not_equal(self._rows["kind"], "cdc"))
        if self.base is not None:
            later = rows.filter(pc.greater(rows["version"], self.base.version))
            rows = pa.concat_tables([self.base.rows, later])
        else:
            rows = rows.filter(pc.greater_equal(rows["version"], self.start))
        return rows.combine_chunks()

    def files_at(self, version: int) -> pa.Table:
        """Return the last action of each logical file up to a version."""
        return reconciled(self.events.filter(pc.less_equal(self.events["version"], version)))

    def live_at(self, version: int) -> pa.Table:
        """Return the live files of a version."""
        found = self.files_at(version)
        return found.filter(pc.equal(found["kind"], "add"))

    @cached_property
    def totals(self) -> pa.Table:
        """The number and size of live files after each version that changes them, one row per version."""
        rows = self.events.select(["key", "version", "kind", "size", "vectorId", "deletionVector"])
        rows = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
        rows = rows.take(pc.sort_indices(rows, sort_keys=[("key", "ascending"), ("place", "ascending")])).combine_chunks()
        if rows.num_rows == 0:
            return pa.table({name: pa.array([], pa.int64()) for name in ("version", "files", "bytes", "vectors", "deleted")})
        is_add = pc.equal(rows["kind"], "add").combine_chunks()
        key = rows["key"].combine_chunks()
        same = pa.concat_arrays([pa.array([False]), pc.fill_null(pc.equal(key[1:], key[:-1]), False)])
        before = pc.and_(same, pa.concat_arrays([pa.array([False]), is_add[:-1]]))
        cardinality = pc.struct_field(rows["deletionVector"].combine_chunks(), "cardinality")
        measures = {
            "files": pa.repeat(pa.scalar(1, pa.int64()), len(key)),
            "bytes": rows["size"].combine_chunks(),
            "vectors": pc.is_valid(rows["vectorId"]).combine_chunks().cast(pa.int64()),
            "deleted": cardinality,
        }
        changes = {"version": rows["version"].combine_chunks()}
        for name, measure in measures.items():
            full = pc.fill_null(measure, 0)
            earlier = pa.concat_arrays([pa.array([0], pa.int64()), full[:-1]])
            changes[name] = pc.subtract(pc.if_else(is_add, full, 0), pc.if_else(before, earlier, 0))
        summed = pa.table(changes).group_by("version").aggregate([(name, "sum") for name in measures]).sort_by("version")
        return pa.table({"version": summed["version"], **{name: pc.cumulative_sum(summed[f"{name}_sum"]) for name in measures}})

    def heads_at(self, versions: Iterable[int]) -> Iterator[tuple[int, Heads]]:
        """Yield the small actions of some versions, in ascending order. The mappings change with the next version."""
        wanted = sorted(set(versions))
        transactions: dict[str, Action] = {}
        domains: dict[str, Action] = {}
        last: dict[str, Action] = {}
        steps = {version: file.actions for version, file in self._commits.items() if self.start <= version}
        if self.base is not None:
            steps = {version: each for version, each in steps.items() if version > self.base.version}
            steps[self.base.version] = self.base.actions
        at = 0
        for version in sorted(steps):
            while at < len(wanted) and wanted[at] < version:
                at += 1
            for each in steps[version]:
                _apply(each, last, transactions, domains)
            if at < len(wanted) and wanted[at] == version:
                yield version, Heads(last.get("protocol"), last.get("metaData"), transactions, domains)


def _apply(action: Action, last: dict[str, Action], transactions: dict[str, Action], domains: dict[str, Action]) -> None:
    if action.kind == "txn":
        transactions[str(action.value.get("appId"))] = action
    elif action.kind == "domainMetadata":
        if action.value.get("removed"):
            domains.pop(str(action.value.get("domain")), None)
        else:
            domains[str(action.value.get("domain"))] = action
    else:
        last[action.kind] = action


def _same(one: Action | None, other: Action | None) -> bool:
    return one is other or (one is not None and other is not None and one.value == other.value)


def _start_of_last_run(versions: Sequence[int]) -> int:
    """Return the first version of the last run without a gap; 0 without commits."""
    start = versions[-1] if versions else 0
    for each in reversed(versions[:-1]):
        if each != start - 1:
            break
        start = each
    return start


def reconciled(rows: pa.Table) -> pa.Table:
    """Return the last action of each logical file. The rows are in the order of the log."""
    placed = rows.append_column("place", pa.array(range(rows.num_rows), pa.int64()))
    last = placed.group_by("key").aggregate([("place", "max")])["place_max"]
    return placed.filter(pc.is_in(placed["place"], last.combine_chunks())).drop_columns("place")


def differing(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Return the rows whose partition values or size are not those of the same logical file in the others."""
    places = pc.index_in(rows["key"].combine_chunks(), value_set=others["key"].combine_chunks())
    rows, others = rows.filter(pc.is_valid(places)), others.take(places.drop_null())
    other_size = pc.not_equal(pc.fill_null(rows["size"], -1), pc.fill_null(others["size"], -1)).combine_chunks()
    mine, theirs = (_map_texts(each["partitionValues"]) for each in (rows, others))
    pairs = pc.binary_join_element_wise(mine, theirs, _BETWEEN_MAPS)
    # The order of the keys means nothing. There are far fewer pairs of texts than files.
    suspects = pc.unique(pairs.filter(pc.not_equal(mine, theirs))).to_pylist()
    wrong = [each for each in suspects if len({frozenset(text.split(_SEPARATOR)) for text in each.split(_BETWEEN_MAPS)}) > 1]
    return rows.filter(pc.or_(other_size, pc.is_in(pairs, value_set=pa.array(wrong, pa.string()))))


def _map_texts(column: pa.ChunkedArray) -> pa.Array:
    """Return a string for each map. Maps with equal keys and values in the same order have equal strings."""
    maps = column.combine_chunks()
    maps = maps.combine_chunks() if isinstance(maps, pa.ChunkedArray) else maps
    # An empty partition value is null.
    entries = pc.binary_join_element_wise(maps.keys, pc.fill_null(maps.items, ""), "=")
    return pc.binary_join(pa.ListArray.from_arrays(maps.offsets, entries), _SEPARATOR)


def missing_from(rows: pa.Table, others: pa.Table) -> pa.Table:
    """Return the rows whose action and logical file the others lack."""
    mine, theirs = (pc.binary_join_element_wise(each["kind"], each["key"], " ") for each in (rows, others))
    return rows.filter(pc.invert(pc.is_in(mine, theirs.combine_chunks())))
