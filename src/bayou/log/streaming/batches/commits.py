# SPDX-License-Identifier: Apache-2.0
"""One commit as a stream of the table's rows reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.columns import ADD_SCHEMA, BROKEN_ACTION, actions_table
from bayou.log.changes.files import moves_only
from bayou.log.streaming.batches.indexed_files import FILE_COLUMNS, STREAM_FILES, IndexedFiles

if TYPE_CHECKING:
    from bayou.log.actions.action_files import ActionFile, Header
    from bayou.log.streaming.request.path_filter import PathFilter

_ADD = pa.schema([ADD_SCHEMA.field(name) for name in (*FILE_COLUMNS, "stats")])


@dataclass(frozen=True, slots=True)
class StreamCommit:
    """One commit, read.

    Attributes:
        header: its protocol and metadata, if it has any.
        info: its `commitInfo`; empty if it has none.
        adds: the files that it adds with `dataChange`, STREAM_FILES, in its order.
        removed: the path of the first file that it removes with `dataChange`, or None.
        indexed: the added files that the stream reads, by their positions in `adds`.
    """

    version: int
    header: Header
    info: Mapping[str, Any]
    adds: pa.Table
    removed: str | None
    indexed: IndexedFiles

    @property
    def is_atomic(self) -> bool:
        """Whether all its files belong in one batch: no, each file is read separately."""
        return False

    def files(self, start: int, end: int) -> pa.Table:
        """Return the files at a range of positions in `indexed`; the end is excluded."""
        if self.indexed.indices is None:
            return self.adds.slice(start, end - start)
        return self.adds.take(self.indexed.indices.slice(start, end - start))


def read_commit(file: ActionFile, exclude: PathFilter | None, *, skip_changes: bool) -> StreamCommit:
    """Read a commit; with `skip_changes`, its added files are ignored if it removes files."""
    adds: list[Mapping[str, Any]] = []
    removed = None
    info: Mapping[str, Any] = {}
    for action in file.actions():
        if (value := action.get("add")) is not None:
            if not moves_only(value):
                adds.append(value)
        elif (value := action.get("remove")) is not None:
            if removed is None and not moves_only(value):
                removed = str(value["path"]) if isinstance(value, dict) and "path" in value else ""
        elif isinstance(value := action.get("commitInfo"), dict):
            info = value
    if removed is not None and skip_changes:
        adds = []
    table = _table(file, adds)
    sizes = pc.fill_null(table["size"], 0).combine_chunks()
    return StreamCommit(file.version, file.header(), info, table, removed, IndexedFiles.of(sizes, table["path"], exclude))


def _table(file: ActionFile, adds: list[Mapping[str, Any]]) -> pa.Table:
    if not adds:
        return STREAM_FILES.empty_table()
    try:
        found = actions_table(adds, _ADD)
    except BROKEN_ACTION:
        for place, value in enumerate(adds, 1):
            file.check_action(value, "add", place, _ADD)
        raise
    versions = pa.repeat(pa.scalar(file.version, pa.int64()), len(adds))
    return pa.Table.from_arrays([*found.columns, versions], schema=STREAM_FILES)
