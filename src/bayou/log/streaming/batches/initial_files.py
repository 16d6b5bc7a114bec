# SPDX-License-Identifier: Apache-2.0
"""The files of the snapshot that a stream begins with, in an order that a restart finds again.

Source: delta-spark's `DeltaSourceSnapshot`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.streaming.batches.event_time import least_values
from bayou.log.streaming.batches.indexed_files import FILE_COLUMNS, STREAM_FILES, IndexedFiles, take_rows

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.request.path_filter import PathFilter
    from bayou.plan.predicates.predicate import Filters


class InitialFiles:
    """The live files of a snapshot, ordered by modification time and path, or by the least event time before these.

    Beside what the snapshot holds this takes two or three integers a file.
    """

    def __init__(self, snapshot: Snapshot, exclude: PathFilter | None, event_time: str | None = None) -> None:
        self.snapshot = snapshot
        found = snapshot.files(["modification_time", "path", "size"])
        self._order = _order(snapshot, found, event_time)
        sizes = pc.fill_null(found["size"], 0).combine_chunks().take(self._order)
        paths = found["path"] if exclude is None else take_rows(found["path"], self._order)
        self.indexed = IndexedFiles.of(sizes, paths, exclude)
        self._matching: tuple[Filters, pa.Array] | None = None

    def places(self, start: int, end: int) -> pa.Array:
        """The places in the snapshot of the files from one position to another, the end not included."""
        if self.indexed.indices is None:
            return self._order.slice(start, end - start)
        return self._order.take(self.indexed.indices.slice(start, end - start))

    def table(self, places: pa.Array) -> pa.Table:
        """The files at some places, STREAM_FILES, without their statistics: the snapshot knows these."""
        found = self.snapshot.files(FILE_COLUMNS)
        columns = [take_rows(found[name], places) for name in FILE_COLUMNS]
        size = len(places)
        versions = pa.repeat(pa.scalar(self.snapshot.version, pa.int64()), size)
        return pa.Table.from_arrays([*columns, pa.nulls(size, pa.string()), versions], schema=STREAM_FILES)

    def may_match(self, where: Filters) -> pa.Array:
        """For each file of the snapshot, whether it may hold a row that a filter keeps; the last answer is kept."""
        known = self._matching
        if known is None or known[0] != where:
            known = self._matching = (where, self.snapshot.may_match(where))
        return known[1]


def _order(snapshot: Snapshot, files: pa.Table, event_time: str | None) -> pa.Array:
    columns = {"modification_time": pc.fill_null(files["modification_time"], 0), "path": files["path"]}
    if event_time is not None:
        least = least_values(snapshot, event_time, files.num_rows)
        columns = {"is_known": pc.cast(pc.is_valid(least), pa.int8()), "event_time": least, **columns}
    order = pc.sort_indices(pa.table(columns), sort_keys=[(name, "ascending") for name in columns])
    return pc.cast(order, pa.int64())
