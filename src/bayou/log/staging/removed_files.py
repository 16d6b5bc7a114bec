# SPDX-License-Identifier: Apache-2.0
"""The many files that a commit removes at once, as columns: an overwrite of a million files creates no object for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.keys import action_keys, canonical_paths
from bayou.log.staging.action_texts import joined_lines, map_texts, member, number, parsed, quoted, vector_texts
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


@dataclass(frozen=True, slots=True)
class RemovedFiles:
    """Files that a commit removes, with COLUMNS, at a time in ms; without `data_change`, their rows stay in the table."""

    files: pa.Table
    deletion_timestamp: int
    data_change: bool = True

    @classmethod
    def of(cls, files: pa.Table, deletion_timestamp: int, *, data_change: bool, table: str) -> RemovedFiles:
        """Return rows of `Snapshot.files`, with at least COLUMNS, as files that a commit removes; arguments are checked."""
        wanted = f"a table of Transaction.files() with the columns {', '.join(COLUMNS)}"
        arguments.instance(files, pa.Table, "files", wanted, table=table)
        if not set(COLUMNS) <= set(files.column_names):
            raise arguments.wrong("files", files.column_names, wanted, table=table)
        return cls(files.select(list(COLUMNS)), deletion_timestamp, arguments.flag(data_change, "data_change", table=table))

    def __len__(self) -> int:
        return int(self.files.num_rows)

    @property
    def size_bytes(self) -> int:
        """The total size of the files."""
        return pc.sum(self.files["size"]).as_py() or 0

    def paths(self, table_uri: str) -> pa.ChunkedArray:
        """Return their canonical paths."""
        return canonical_paths(self.files["path"], table_uri)

    def keys(self, table_uri: str) -> pa.ChunkedArray:
        """Return one key for each: its canonical path and its deletion vector."""
        return action_keys(self.files["path"], self.files["deletion_vector"], table_uri)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the `remove` actions; see `joined_lines`."""
        return joined_lines(self.files, self._texts)

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield the `remove` actions as JSON objects."""
        return parsed(self.lines())

    def _texts(self, part: pa.Table) -> pa.ChunkedArray:
        head = f'"deletionTimestamp":{self.deletion_timestamp},"dataChange":{json.dumps(self.data_change)}'
        pieces: list[Any] = [
            pa.scalar('{"remove":{"path":'),
            quoted(part["path"]),
            pa.scalar(f',{head},"extendedFileMetadata":true,"partitionValues":'),
            pc.fill_null(map_texts(part["partition_values"]), "{}"),
            member("size", number(part["size"])),
            member("tags", map_texts(part["tags"])),
            member("deletionVector", vector_texts(part["deletion_vector"])),
            member("baseRowId", number(part["base_row_id"])),
            member("defaultRowCommitVersion", number(part["default_row_commit_version"])),
            pa.scalar("}}"),
        ]
        return pc.binary_join_element_wise(*pieces, "")
