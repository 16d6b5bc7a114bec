# SPDX-License-Identifier: Apache-2.0
"""The files of one batch of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.snapshot.partition_columns import partition_texts, physical_names, typed_partitions
from bayou.plan.statistics.columns import from_json

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.snapshot.statistics_cache import Fields
    from bayou.log.streaming.batches.initial_files import InitialFiles
    from bayou.plan.predicates.predicate import Filters
    from bayou.plan.statistics.columns import FileStatistics
    from bayou.protocol.types.schema import StructType


@dataclass(frozen=True, slots=True)
class InitialPart:
    """The files of a batch from the stream's first snapshot, by their places in it; they come first."""

    files: InitialFiles
    places: pa.Array


@dataclass(frozen=True, slots=True)
class StreamFiles:
    """The files of one batch, in the order of the stream. A path may occur again with another deletion vector.

    One row of `files` is one file: `path` (percent-encoded, as in the log), `partition_values` (by physical name), `size` in bytes,
    `modification_time` in ms, `deletion_vector`, `base_row_id`, `default_row_commit_version`, `stats` (JSON; NULL for files of the
    first snapshot, which has them) and `commit_version`: the version that added it, or the first snapshot's.

    Attributes:
        snapshot: the version whose schema, partition columns and column mapping apply to the files.
        initial: the files of the stream's first snapshot, or None.
    """

    snapshot: Snapshot
    files: pa.Table
    initial: InitialPart | None = field(default=None, repr=False)

    @property
    def size_bytes(self) -> int:
        """The total size of the files."""
        return pc.sum(self.files["size"]).as_py() or 0

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """Return the partition values as in the log, by physical name, aligned with `files`."""
        return _added(self.snapshot, self.files).partition_texts()

    def num_records(self) -> pa.Array:
        """Return the row count of each file, deleted rows included; null if unknown."""
        first = 0 if self.initial is None else len(self.initial.places)
        known = [] if self.initial is None else [self.initial.files.snapshot.statistics({}).num_records.take(self.initial.places)]
        return pa.concat_arrays([*known, from_json(self.files["stats"].slice(first), {}).num_records])

    def which_may_match(self, where: Filters) -> StreamFiles:
        """Return only the files that may hold a row that a filter keeps."""
        kept = self.may_match(where)
        initial = self.initial
        if initial is not None:
            initial = InitialPart(initial.files, initial.places.filter(kept.slice(0, len(initial.places))))
        return StreamFiles(self.snapshot, self.files.filter(kept), initial)

    def may_match(self, where: Filters) -> pa.BooleanArray:
        """Return for each file whether it may hold a row that a filter keeps; true if unknown."""
        from bayou.log.snapshot.data_skipping import may_match  # noqa: PLC0415  (a batch without filters needs no planning)

        parts = []
        first = 0
        if self.initial is not None:
            first = len(self.initial.places)
            parts.append(self.initial.files.may_match(where).take(self.initial.places))
        rest = self.files.slice(first)
        if rest.num_rows or not parts:
            parts.append(may_match(_added(self.snapshot, rest), where))
        return pa.concat_arrays([each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in parts])


class _Added:
    """Files that commits added, with the interface of a snapshot that data skipping needs."""

    def __init__(self, snapshot: Snapshot, files: pa.Table) -> None:
        self.schema: StructType = snapshot.schema
        self._columns = snapshot.partition_columns
        self._files = files

    def files(self, columns: Iterable[str] | None = None) -> pa.Table:
        return self._files if columns is None else self._files.select(list(columns))

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        return partition_texts(self._files["partition_values"], physical_names(self.schema, self._columns))

    def partitions(self) -> Mapping[tuple[str, ...], pa.Array]:
        return typed_partitions(self.schema, self.partition_texts())

    def statistics(self, fields: Fields) -> FileStatistics:
        return from_json(self._files["stats"], fields)


def _added(snapshot: Snapshot, files: pa.Table) -> _Added:
    return _Added(snapshot, files)
