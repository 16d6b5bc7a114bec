# SPDX-License-Identifier: Apache-2.0
"""Action reconciliation in Arrow: from a checkpoint and later commits to the table's live files.

Source: PROTOCOL.md, "Action Reconciliation".
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.action_files import FileActions
from bayou.log.actions.columns import ADD_SCHEMA, REMOVE_SCHEMA
from bayou.log.actions.keys import action_keys
from bayou.log.actions.selection import Selection
from bayou.log.snapshot.checkpoint_reader import Checkpoint
from bayou.plan.statistics.members import one_array

if TYPE_CHECKING:
    from bayou.log.snapshot.statistics_cache import Fields, StatisticsCache
    from bayou.plan.statistics.columns import FileStatistics

_MOST_CHUNKS = 64
_NO_ADDS, _NO_REMOVES = ADD_SCHEMA.empty_table(), REMOVE_SCHEMA.empty_table()
_NO_KEYS = pa.chunked_array([], pa.string())


class FileState:
    """The live files of one version.

    The rows are the checkpoint's files that are still live, in its order, then those of later commits in the order of the log. The
    order never changes, so positions index every column. States share data: a state that is advanced by a commit copies no column
    of the checkpoint.
    """

    def __init__(
        self,
        checkpoint: Checkpoint | None,
        kept: Selection | None,
        *,
        adds: pa.Table,
        add_keys: pa.ChunkedArray,
        removes: pa.Table,
        remove_keys: pa.ChunkedArray,
    ) -> None:
        self.checkpoint = checkpoint
        self.adds = adds
        self._kept = kept
        self._add_keys = add_keys
        self._removes = removes
        self._remove_keys = remove_keys
        self._columns: dict[str, pa.ChunkedArray] = {}
        self._statistics: StatisticsCache | None = None
        self._lock = threading.RLock()

    @classmethod
    def initial(cls, checkpoint: Checkpoint | None) -> FileState:
        """Return the state of a checkpoint, or of a table without files."""
        return cls(checkpoint, None, adds=_NO_ADDS, add_keys=_NO_KEYS, removes=_NO_REMOVES, remove_keys=_NO_KEYS)

    def with_adds(self, adds: pa.Table, table_uri: str) -> FileState:
        """Return the state with these files, ADD_SCHEMA, instead of those of the commits after the checkpoint."""
        return self._with(adds=adds, add_keys=action_keys(adds["path"], adds["deletion_vector"], table_uri))

    def without_checkpoint(self) -> FileState:
        """Return only the files of the commits after the checkpoint."""
        return self._with(checkpoint=None, kept=None)

    def without(self, keys: pa.ChunkedArray, table_uri: str) -> FileState:
        """Return the state without the checkpoint's files that have one of these keys."""
        return self._with(kept=self._keep(keys, table_uri)) if len(keys) else self

    @property
    def touched(self) -> pa.ChunkedArray:
        """The keys of all files with an action after the checkpoint."""
        return _concat(self._add_keys, self._remove_keys)

    def _with(self, **changes: Any) -> FileState:
        parts: dict[str, Any] = {
            "checkpoint": self.checkpoint,
            "kept": self._kept,
            "adds": self.adds,
            "add_keys": self._add_keys,
            "removes": self._removes,
            "remove_keys": self._remove_keys,
        }
        return FileState(**(parts | changes))

    def advance(self, actions: FileActions, table_uri: str) -> FileState:
        """Return the state after further commits: for each key the latest action wins."""
        if not actions.adds.num_rows and not actions.removes.num_rows:
            return self
        add_keys = action_keys(actions.adds["path"], actions.adds["deletion_vector"], table_uri)
        remove_keys = action_keys(actions.removes["path"], actions.removes["deletion_vector"], table_uri)
        touched = _concat(add_keys, remove_keys)
        live, dead = _latest(add_keys, remove_keys, actions)
        old_adds = _untouched(self._add_keys, touched)
        old_removes = _untouched(self._remove_keys, touched)
        return FileState(
            self.checkpoint,
            self._keep(touched, table_uri),
            adds=_stack(_apply(old_adds, self.adds), _apply(live, actions.adds)),
            add_keys=_concat(old_adds.apply(self._add_keys), live.apply(add_keys)),
            removes=_stack(_apply(old_removes, self._removes), _apply(dead, actions.removes)),
            remove_keys=_concat(old_removes.apply(self._remove_keys), dead.apply(remove_keys)),
        )

    @property
    def kept(self) -> Selection | None:
        """The checkpoint's files that are still live; None without a checkpoint."""
        if self.checkpoint is None:
            return None
        if self._kept is None:
            self._kept = Selection.everything(self.checkpoint.num_files)
        return self._kept

    @property
    def num_files(self) -> int:
        """The number of live files."""
        kept = self.kept
        return int(self.adds.num_rows) + (kept.length if kept else 0)

    def columns(self, names: Iterable[str]) -> Mapping[str, pa.ChunkedArray]:
        """Return columns of the live files, by the names of ADD_SCHEMA."""
        with self._lock:
            missing = [name for name in names if name not in self._columns]
            kept = self.kept if missing else None
            base = self.checkpoint.columns(missing) if self.checkpoint and missing else {}
            for name in missing:
                tail = self.adds[name]
                self._columns[name] = tail if kept is None else _concat(kept.apply(base[name]), tail)
            return self._columns

    def batches(self, rows: int) -> Iterator[pa.Table]:
        """Yield the live files in their order, in tables of at most `rows` rows, without caching.

        A table has the columns of ADD_SCHEMA, and `stats_parsed` if its part of the checkpoint has it.
        """
        if self.checkpoint is not None:
            mask = None if self._kept is None or self._kept.is_everything else self._kept.to_mask()
            start = 0
            for batch in self.checkpoint.batches(rows):
                live = batch if mask is None else batch.filter(mask.slice(start, batch.num_rows))
                start += batch.num_rows
                if live.num_rows:
                    yield live
        for start in range(0, self.adds.num_rows, rows):
            yield self.adds.slice(start, rows)

    def statistics(self, fields: Fields) -> FileStatistics:
        """Return column statistics of the live files, by physical path; each column is read once."""
        from bayou.log.snapshot.statistics_cache import StatisticsCache, merge_statistics  # noqa: PLC0415  (needed for plans only)

        def load(wanted: Fields) -> FileStatistics:
            kept = self.kept
            base = self.checkpoint.statistics(wanted) if self.checkpoint else None
            mask = None if kept is None or kept.is_everything else kept.to_mask()
            return merge_statistics(base, mask, self.adds, wanted)

        with self._lock:
            if self._statistics is None:
                self._statistics = StatisticsCache(load)
            return self._statistics.get(fields)

    def tombstones(self, table_uri: str) -> pa.Table:
        """Return the `remove` actions that no later action cancels, REMOVE_SCHEMA."""
        if self.checkpoint is None:
            return self._removes
        old = self.checkpoint.removes()
        keys = action_keys(old["path"], old["deletion_vector"], table_uri)
        left = _untouched(keys, _concat(self._remove_keys, self._add_keys))
        return _stack(_apply(left, old), self._removes)

    @property
    def nbytes(self) -> int:
        """The memory of the state, the checkpoint's columns included."""
        own = self.adds.nbytes + self._removes.nbytes
        if self._statistics is not None:
            own += self._statistics.nbytes
        if self.checkpoint is None:
            return int(own)
        kept = self.kept if self._columns else None
        copied = kept is not None and kept.slices is None
        copies = sum(column.nbytes for column in self._columns.values()) if copied else 0
        return int(own + copies + self.checkpoint.nbytes)

    def _keep(self, touched: pa.ChunkedArray, table_uri: str) -> Selection | None:
        if self.checkpoint is None:
            return None
        gone = pc.is_in(self.checkpoint.keys(table_uri), value_set=one_array(touched))
        if not pc.any(gone).as_py():
            return self._kept
        mask = pc.invert(gone)
        return Selection.of(mask if self._kept is None else pc.and_(mask, self._kept.to_mask()))


def _latest(add_keys: pa.ChunkedArray, remove_keys: pa.ChunkedArray, actions: FileActions) -> tuple[Selection, Selection]:
    """Return which adds and which removes are the last action on their key."""
    keys = _concat(add_keys, remove_keys)
    if pc.count_distinct(keys).as_py() == len(keys):
        return Selection.everything(len(add_keys)), Selection.everything(len(remove_keys))
    order = pa.chunked_array([actions.add_order, actions.remove_order])
    grouped = pa.table([keys, order], names=["key", "order"]).group_by("key").aggregate([("order", "max")])
    last = one_array(grouped["order_max"])
    return _among(actions.add_order, last), _among(actions.remove_order, last)


def _among(order: pa.Array, last: pa.Array) -> Selection:
    return Selection.of(pa.chunked_array([pc.is_in(order, value_set=last)], pa.bool_()))


def _untouched(keys: pa.ChunkedArray, touched: pa.ChunkedArray) -> Selection:
    if not len(keys) or not len(touched):
        return Selection.everything(len(keys))
    gone = pc.is_in(keys, value_set=one_array(touched))
    return Selection.of(pc.invert(gone)) if pc.any(gone).as_py() else Selection.everything(len(keys))


def _apply(selection: Selection, table: pa.Table) -> pa.Table:
    if selection.is_everything:
        return table
    return pa.Table.from_arrays([selection.apply(column) for column in table.columns], schema=table.schema)


def _stack(old: pa.Table, new: pa.Table) -> pa.Table:
    if not new.num_rows:
        return old
    if not old.num_rows:
        return new
    stacked = pa.concat_tables([old, new])
    return stacked.combine_chunks() if stacked.column(0).num_chunks > _MOST_CHUNKS else stacked


def _concat(first: pa.ChunkedArray, second: pa.ChunkedArray) -> pa.ChunkedArray:
    if not len(second):
        return first
    chunks = [chunk for chunk in (*first.chunks, *second.chunks) if len(chunk)]
    whole = pa.chunked_array(chunks, second.type)
    small = whole.num_chunks > _MOST_CHUNKS and len(whole) < _MOST_CHUNKS * whole.num_chunks
    return pa.chunked_array([one_array(whole)], whole.type) if small else whole
