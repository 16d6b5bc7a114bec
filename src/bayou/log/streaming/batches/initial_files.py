# SPDX-License-Identifier: Apache-2.0
"""The files of the snapshot that a stream begins with, in an order that survives a restart.

The order is by modification time and path, or by event time. Source: delta-spark's `DeltaSourceSnapshot`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.log.streaming.batches.indexed_files import FILE_COLUMNS, STREAM_FILES, IndexedFiles, take_rows
from bayou.protocol.stats.file_stats import skipping_types
from bayou.protocol.types.traverse import leaves

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.request.offsets import SourceOffset
    from bayou.log.streaming.request.path_filter import PathFilter
    from bayou.plan.predicates.predicate import Filters
    from bayou.storage.store import LogStore


class InitialFiles:
    """The live files of a snapshot, ordered by the minimum event time if requested, then by modification time and path.

    Takes two or three integers per file in addition to the snapshot.
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
        """Return the places in the snapshot of the files at a range of positions; the end is excluded."""
        if self.indexed.indices is None:
            return self._order.slice(start, end - start)
        return self._order.take(self.indexed.indices.slice(start, end - start))

    def table(self, places: pa.Array) -> pa.Table:
        """Return the files at some places as STREAM_FILES, without statistics, which the snapshot has."""
        found = self.snapshot.files(FILE_COLUMNS)
        columns = [take_rows(found[name], places) for name in FILE_COLUMNS]
        size = len(places)
        versions = pa.repeat(pa.scalar(self.snapshot.version, pa.int64()), size)
        return pa.Table.from_arrays([*columns, pa.nulls(size, pa.string()), versions], schema=STREAM_FILES)

    def may_match(self, where: Filters) -> pa.Array:
        """Return for each file of the snapshot whether it may hold a row that a filter keeps; the last answer is cached."""
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


NOTE: Final = "bayou-event-time-order"


def check_event_order(store: LogStore, event_time: str | None, reached: SourceOffset | None, table: str) -> None:
    """Store the order of a new query, or check that a resumed query has the same order.

    An offset in the first snapshot is a position in that order. Under another order, the position means other files: rows would be
    lost, and others read twice.

    Args:
        event_time: the column that orders the files; None if no column does.
        reached: how far the query has read; None if it is new.

    Raises:
        StreamingSourceError: the query is in the first snapshot and has read it in another order so far.
    """
    if reached is not None and not reached.is_starting_version:
        return
    try:
        noted = store.read(NOTE).decode() or None
    except FileNotFoundError:
        noted = None
    if noted == event_time:
        return
    if reached is not None:
        raise failed(
            "DELTA_INVALID_SOURCE_OFFSET_FORMAT/order",
            table=table,
            version=reached.version,
            order=_described(noted),
            new_order=_described(event_time),
        )
    store.put(NOTE, (event_time or "").encode())


def _described(column: str | None) -> str:
    return "in the order of its files" if column is None else f"in the order of {column!r}"


def least_values(snapshot: Snapshot, column: str, count: int) -> pa.Array | pa.ChunkedArray:
    """Return the minimum of a column, named in any case and with dots, in each file of a snapshot; NULL if unknown."""
    wanted = column.replace("`", "").lower()
    physical = next((place for names, place, _ in leaves(snapshot.schema) if ".".join(names).lower() == wanted), None)
    if physical is None:
        raise failed("DELTA_ILLEGAL_OPTION/event-time", at=snapshot, option="withEventTimeOrder", column=column)
    if physical in snapshot.partitions():
        return snapshot.partitions()[physical]
    kind = skipping_types(snapshot.schema).get(physical)
    if kind is None:
        return pa.nulls(count, pa.int64())
    found = snapshot.statistics({physical: kind}).columns.get(physical)
    return pa.nulls(count, pa.int64()) if found is None or found.min is None else found.min
