# SPDX-License-Identifier: Apache-2.0
"""Many files that leave a table at once, as columns: an overwrite of a million files makes no object for each."""

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
        return joined_lines(self.files, self._texts)

    def documents(self) -> Iterator[dict[str, Any]]:
        """The `remove` actions as JSON objects."""
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
