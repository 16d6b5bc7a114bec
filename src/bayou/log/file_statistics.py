# SPDX-License-Identifier: Apache-2.0
"""Column statistics of the live files: from `stats_parsed` where a checkpoint has it, else from JSON in bulk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, get_args

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.parquet_actions import ParquetActions
from bayou.plan import skipping
from bayou.plan.predicate import Predicate, columns, from_dnf
from bayou.plan.statistics import FileStatistics, coalesce, concat, from_json, from_struct
from bayou.protocol.schema import DataType, StructType, leaves
from bayou.protocol.stats import is_collated, skipping_types

if TYPE_CHECKING:
    from bayou.log.checkpoint import Part
    from bayou.log.snapshot import Filters

ColumnPath: TypeAlias = tuple[str, ...]
Fields: TypeAlias = Mapping[ColumnPath, DataType]

_PARSED = "add.stats_parsed"
_FLOAT_CHARACTERS = 12
_SIDES = ("minValues", "maxValues", "nullCount")


class StatisticsCache:
    """Statistics by column, each column loaded once. Threads may share a cache."""

    def __init__(self, load: Callable[[Fields], FileStatistics]) -> None:
        self._load = load
        self._known: FileStatistics | None = None
        self._lock = threading.RLock()

    def get(self, fields: Fields) -> FileStatistics:
        """The statistics of some columns, by physical path."""
        with self._lock:
            known = self._known
            missing = {path: kind for path, kind in fields.items() if known is None or path not in known.columns}
            if known is None or missing:
                loaded = self._load(missing)
                held = {} if known is None else known.columns
                first = loaded if known is None else known
                known = FileStatistics(first.num_records, first.tight_bounds, {**held, **loaded.columns})
                self._known = known
        chosen = {path: known.columns[path] for path in fields if path in known.columns}
        return FileStatistics(known.num_records, known.tight_bounds, chosen)

    @property
    def nbytes(self) -> int:
        """The memory that the statistics take."""
        known = self._known
        if known is None:
            return 0
        arrays = [known.num_records, known.tight_bounds]
        for column in known.columns.values():
            arrays += [each for each in (column.min, column.max, column.null_count) if each is not None]
        return sum(array.nbytes for array in arrays)


def part_statistics(part: Part, fields: Fields) -> FileStatistics:
    """The statistics of the live files in one part of a checkpoint; only the columns asked for are read."""
    parsed = _from_parsed(part, fields) if isinstance(part, ParquetActions) else None
    if parsed is not None and not parsed.num_records.null_count:
        return parsed
    texts = part.load(["stats"])["stats"]
    if parsed is None:
        return from_json(texts, fields)
    return parsed if texts.null_count == len(texts) else coalesce(parsed, from_json(texts, fields))


def merge_statistics(base: FileStatistics | None, kept: pa.ChunkedArray | None, adds: pa.Table, fields: Fields) -> FileStatistics:
    """The statistics of a checkpoint's files that are still live, and of the files after it.

    Args:
        base: the checkpoint's statistics; None without a checkpoint.
        kept: which of its files are live; None where all of them are.
        adds: the files after it.
        fields: the columns asked for.
    """
    if base is not None and kept is not None:
        base = base.filter(pa.concat_arrays(kept.chunks))
    if base is None:
        return from_json(adds["stats"], fields)
    return concat([base, from_json(adds["stats"], fields)]) if adds.num_rows else base


class PrunableFiles(Protocol):
    """Files of a table that skipping can decide about: a snapshot's, or those that a commit added. All columns are aligned."""

    @property
    def schema(self) -> StructType:
        """The table's schema."""
        ...

    def files(self, columns: Iterable[str] | None = None) -> pa.Table:
        """The files, one row each."""
        ...

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """The partition values as in the log, by physical name."""
        ...

    def partitions(self) -> Mapping[ColumnPath, pa.Array]:
        """The partition values typed, by physical path."""
        ...

    def statistics(self, fields: Fields) -> FileStatistics:
        """Statistics of some columns, by physical path."""
        ...


def may_match(snapshot: PrunableFiles, where: Filters) -> pa.BooleanArray:
    """For each file of a snapshot, whether it may hold a row that a filter keeps.

    Raises:
        InvalidOptionError: the filter cannot be understood.
    """
    predicate = to_predicate(where, snapshot.schema)
    return skipping.may_match(predicate, *_facts(snapshot, predicate, is_exact=predicate is where))


def must_match(snapshot: PrunableFiles, predicate: Predicate) -> pa.BooleanArray:
    """For each file of a snapshot, whether the log proves a predicate true for every row of it.

    Args:
        snapshot: the files.
        predicate: over physical paths.
    """
    from bayou.plan.proofs import must_match as proved  # noqa: PLC0415  (reading a table needs no proof)

    return proved(predicate, *_facts(snapshot, predicate, is_exact=True))


def _facts(
    snapshot: PrunableFiles, predicate: Predicate, *, is_exact: bool
) -> tuple[FileStatistics, Mapping[ColumnPath, pa.Array]]:
    """The statistics and the partition values that tell something about a predicate.

    Args:
        snapshot: the files.
        predicate: the predicate.
        is_exact: whether its instants are exact: whoever made it reads texts without a zone in a zone of his own.
    """
    used = columns(predicate)
    collated = {physical for _, physical, leaf in leaves(snapshot.schema) if is_collated(leaf)}
    wanted = {path: values for path, values in snapshot.partitions().items() if path in used - collated}
    partitions = {path: values for path, values in wanted.items() if _is_certain(snapshot.partition_texts()[path[0]], values)}
    if is_exact:
        partitions = {path: values for path, values in partitions.items() if _names_its_zone(snapshot, path, values.type)}
    types = skipping_types(snapshot.schema)
    fields = {path: types[path] for path in used if path in types and path not in partitions}
    return snapshot.statistics(fields) if fields else _nothing_known(snapshot.files(["path"]).num_rows), partitions


def to_predicate(where: Filters, schema: StructType) -> Predicate:
    """A filter as a predicate over physical paths.

    Raises:
        InvalidOptionError: the filter cannot be understood.
    """
    if isinstance(where, get_args(Predicate)):
        return cast("Predicate", where)
    return from_dnf(cast("Sequence[Any]", where), schema)


def _names_its_zone(snapshot: PrunableFiles, path: ColumnPath, kind: pa.DataType) -> bool:
    """Whether the values of a partition column mean the same to every reader: not so for timestamps without a zone."""
    if not (pa.types.is_timestamp(kind) and kind.tz is not None):
        return True
    texts = snapshot.partition_texts()[path[0]]
    zoned = pc.match_substring_regex(texts, r"^\d{4}-\d{1,2}-\d{1,2}[T ]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d*)?)?(Z|[+-]\d{1,2}:?\d{2})$")
    return pc.all(pc.fill_null(zoned, True)).as_py() is not False


def _is_certain(texts: pa.ChunkedArray, values: pa.Array) -> bool:
    """Whether every engine reads the texts of a partition column as these values.

    A text that Python reads as nothing may be something to Spark; and a float of many digits depends on how often it is
    rounded. No writer makes such texts, so that the whole column is given up for one.
    """
    if pa.types.is_float32(values.type):
        return pc.any(pc.greater(pc.utf8_length(texts), _FLOAT_CHARACTERS)).as_py() is not True
    said = pc.greater(pc.binary_length(pc.fill_null(texts, "")), 0)
    return pc.any(pc.and_(said, pc.is_null(values))).as_py() is not True


def _nothing_known(size: int) -> FileStatistics:
    return FileStatistics(pa.nulls(size, pa.int64()), pa.repeat(pa.scalar(value=True), size))


def _from_parsed(part: ParquetActions, fields: Fields) -> FileStatistics | None:
    if not part.has(f"{_PARSED}.numRecords"):
        return None
    wanted = [f"{_PARSED}.numRecords", f"{_PARSED}.tightBounds"]
    wanted += [".".join((_PARSED, side, *path)) for path in fields for side in _SIDES]
    structs = part.structs(wanted)
    return None if structs is None else from_struct(pc.struct_field(structs, "stats_parsed"), fields)
