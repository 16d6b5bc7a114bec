# SPDX-License-Identifier: Apache-2.0
"""Many files that leave a table at once, as columns: an overwrite of a million files makes no object for each.

A file action that only repeats what the log says of a live file is put together by Arrow, as text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.columns import VECTOR_JSON_NAMES, to_objects
from bayou.log.actions.keys import action_keys, canonical_paths
from bayou.protocol import arguments

COLUMNS: Final = (
    "path",
    "partition_values",
    "size",
    "tags",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)
"""The columns of a live file that its tombstone repeats."""

_BATCH: Final = 100_000
# Characters that JSON does not take as they are.
_ODD: Final = r'["\\\x00-\x1f]'


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """Files that a commit removes.

    Attributes:
        files: the files with COLUMNS, as `Snapshot.files` gives them.
        deletion_timestamp: when they were removed, in ms since the epoch.
        data_change: whether their rows leave the table with them.
    """

    files: pa.Table
    deletion_timestamp: int
    data_change: bool = True

    @classmethod
    def of(cls, files: pa.Table, deletion_timestamp: int, *, data_change: bool, table: str) -> RemovedFiles:
        """Files of a snapshot that a commit removes.

        Args:
            files: rows of `Snapshot.files`, with COLUMNS at least.
            deletion_timestamp: when they were removed, in ms since the epoch.
            data_change: whether their rows leave the table with them.
            table: the table's URI, for errors.

        Raises:
            InvalidOptionError: an argument is something else.
        """
        wanted = f"a table of Transaction.files() with the columns {', '.join(COLUMNS)}"
        arguments.instance(files, pa.Table, "files", wanted, table=table)
        if not set(COLUMNS) <= set(files.column_names):
            raise arguments.wrong("files", files.column_names, wanted, table=table)
        return cls(files.select(list(COLUMNS)), deletion_timestamp, arguments.flag(data_change, "data_change", table=table))

    def __len__(self) -> int:
        """How many there are."""
        return int(self.files.num_rows)

    @property
    def size_bytes(self) -> int:
        """Their size together."""
        return pc.sum(self.files["size"]).as_py() or 0

    def paths(self, table_uri: str) -> pa.ChunkedArray:
        """Their canonical paths."""
        return canonical_paths(self.files["path"], table_uri)

    def keys(self, table_uri: str) -> pa.ChunkedArray:
        """One key for each: its canonical path and its deletion vector."""
        return action_keys(self.files["path"], self.files["deletion_vector"], table_uri)

    def lines(self) -> Iterator[bytes]:
        """The `remove` actions as they stand in the log, some thousands in each piece; lines are ended, but for the last."""
        for start in range(0, len(self), _BATCH):
            part = self.files.slice(start, _BATCH)
            yield "\n".join(self._texts(part).to_pylist()).encode("utf-8")

    def documents(self) -> Iterator[dict[str, Any]]:
        """The `remove` actions as JSON objects."""
        for piece in self.lines():
            for line in piece.split(b"\n"):
                yield json.loads(line)

    def _texts(self, part: pa.Table) -> pa.ChunkedArray:
        head = f'"deletionTimestamp":{self.deletion_timestamp},"dataChange":{json.dumps(self.data_change)}'
        pieces: list[Any] = [
            pa.scalar('{"remove":{"path":'),
            _quoted(part["path"]),
            pa.scalar(f',{head},"extendedFileMetadata":true,"partitionValues":'),
            pc.fill_null(_map_texts(part["partition_values"]), "{}"),
            _member("size", _number(part["size"])),
            _member("tags", _map_texts(part["tags"])),
            _member("deletionVector", _vector_texts(part["deletion_vector"])),
            _member("baseRowId", _number(part["base_row_id"])),
            _member("defaultRowCommitVersion", _number(part["default_row_commit_version"])),
            pa.scalar("}}"),
        ]
        return pc.binary_join_element_wise(*pieces, "")


def _number(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _member(name: str, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """A field with its comma; nothing where the value is null, as the log leaves nulls out."""
    return pc.fill_null(pc.binary_join_element_wise(f',"{name}":', texts, ""), "")


def _quoted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pc.any(pc.match_substring_regex(column, _ODD)).as_py():
        return pc.binary_join_element_wise('"', column, '"', "")
    texts = [None if value is None else json.dumps(value, ensure_ascii=False) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _map_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Maps of texts as JSON objects; null where the map is."""
    return pa.chunked_array([_map_chunk(chunk) for chunk in column.chunks], pa.string())


def _map_chunk(chunk: pa.Array) -> pa.Array:
    if chunk.null_count == len(chunk):
        return pa.nulls(len(chunk), pa.string())
    items = pc.fill_null(_quoted(pa.chunked_array([chunk.items])), "null")
    members = pc.binary_join_element_wise(_quoted(pa.chunked_array([chunk.keys])), items, ":")
    # `keys` and `items` hold the whole child arrays, which the offsets of a slice point into.
    lists = pa.ListArray.from_arrays(chunk.offsets, pa.concat_arrays([*members.chunks, pa.array([], pa.string())]))
    objects = pc.binary_join_element_wise("{", pc.binary_join(lists, ","), "}", "")
    return pc.if_else(pc.is_valid(chunk), objects, pa.scalar(None, pa.string()))


def _vector_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Deletion vector descriptors as JSON objects; null where there is none."""
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), pa.string())])
    texts = []
    for value in to_objects(column):
        present = None if value is None else {VECTOR_JSON_NAMES[name]: item for name, item in value.items() if item is not None}
        texts.append(None if present is None else json.dumps(present, separators=(",", ":"), ensure_ascii=False))
    return pa.chunked_array([pa.array(texts, pa.string())])
