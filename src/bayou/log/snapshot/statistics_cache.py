# SPDX-License-Identifier: Apache-2.0
"""Column statistics of the live files: from `stats_parsed` if a checkpoint has it, otherwise parsed from JSON in bulk."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.parquet_actions import ParquetActions
from bayou.plan.statistics.columns import FileStatistics, coalesce, concat, from_json, from_struct
from bayou.protocol.types.schema import DataType

if TYPE_CHECKING:
    from bayou.log.snapshot.checkpoint_part import Part

ColumnPath: TypeAlias = tuple[str, ...]
Fields: TypeAlias = Mapping[ColumnPath, DataType]

_PARSED = "add.stats_parsed"
_SIDES = ("minValues", "maxValues", "nullCount")


class StatisticsCache:
    """Statistics by column, each loaded once. Threads may share a cache."""

    def __init__(self, load: Callable[[Fields], FileStatistics]) -> None:
        self._load = load
        self._known: FileStatistics | None = None
        self._lock = threading.RLock()

    def get(self, fields: Fields) -> FileStatistics:
        """Return the statistics of some columns, by physical path."""
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
        """The memory of the statistics."""
        known = self._known
        if known is None:
            return 0
        arrays = [known.num_records, known.tight_bounds]
        for column in known.columns.values():
            arrays += [each for each in (column.min, column.max, column.null_count) if each is not None]
        return sum(array.nbytes for array in arrays)


def part_statistics(part: Part, fields: Fields) -> FileStatistics:
    """Return the statistics of the live files in one part of a checkpoint; only the requested columns are read."""
    parsed = _from_parsed(part, fields) if isinstance(part, ParquetActions) else None
    if parsed is not None and not parsed.num_records.null_count:
        return parsed
    texts = part.load(["stats"])["stats"]
    if parsed is None:
        return from_json(texts, fields)
    return parsed if texts.null_count == len(texts) else coalesce(parsed, from_json(texts, fields))


def merge_statistics(base: FileStatistics | None, kept: pa.ChunkedArray | None, adds: pa.Table, fields: Fields) -> FileStatistics:
    """Return the statistics of a checkpoint's files that `kept` (None: all) marks as live, and of later files."""
    if base is not None and kept is not None:
        base = base.filter(pa.concat_arrays(kept.chunks))
    if base is None:
        return from_json(adds["stats"], fields)
    return concat([base, from_json(adds["stats"], fields)]) if adds.num_rows else base


def _from_parsed(part: ParquetActions, fields: Fields) -> FileStatistics | None:
    if not part.has(f"{_PARSED}.numRecords"):
        return None
    wanted = [f"{_PARSED}.numRecords", f"{_PARSED}.tightBounds"]
    wanted += [".".join((_PARSED, side, *path)) for path in fields for side in _SIDES]
    structs = part.structs(wanted)
    return None if structs is None else from_struct(pc.struct_field(structs, "stats_parsed"), fields)
