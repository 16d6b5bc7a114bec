# SPDX-License-Identifier: Apache-2.0
"""The many files that a commit adds at once, as columns: a clone of a million files creates no object for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.columns import ADD_SCHEMA
from bayou.log.actions.keys import canonical_paths
from bayou.log.staging.action_texts import joined_lines, map_texts, member, number, parsed, quoted

# The defaults of readers for missing values.
_DEFAULTS: Final = {"size": 0, "modification_time": 0, "data_change": True}


@dataclass(frozen=True, slots=True)
class AddedFiles:
    """Files without deletion vectors that a commit adds, ADD_SCHEMA. Sizes, times and `data_change` are not null."""

    files: pa.Table

    @classmethod
    def of(cls, files: pa.Table) -> AddedFiles:
        """Return rows of `Snapshot.files` (ADD_SCHEMA, without deletion vectors) as files that a commit adds again."""
        filled = [
            pc.fill_null(files[name], _DEFAULTS[name]) if name in _DEFAULTS and files[name].null_count else files[name]
            for name in ADD_SCHEMA.names
        ]
        return cls(pa.Table.from_arrays(filled, schema=ADD_SCHEMA))

    def __len__(self) -> int:
        return int(self.files.num_rows)

    @property
    def changes_data(self) -> bool:
        """Whether a file has rows that are new to the table."""
        return bool(pc.any(self.files["data_change"]).as_py())

    @property
    def moves_rows_without_ids(self) -> bool:
        """Whether rows of the table move to a file that does not state their ids."""
        moved = pc.and_(pc.invert(self.files["data_change"]), pc.is_null(self.files["base_row_id"]))
        return bool(pc.any(moved).as_py())

    @property
    def partition_values(self) -> list[dict[str, str | None]]:
        """The distinct partition values of the files."""
        return [json.loads(each or "{}") for each in pc.unique(map_texts(self.files["partition_values"])).to_pylist()]

    def paths(self, table_uri: str) -> pa.ChunkedArray:
        """Return their canonical paths."""
        return canonical_paths(self.files["path"], table_uri)

    def with_files(self, files: pa.Table) -> AddedFiles:
        """Return a copy with other columns, such as row ids."""
        return replace(self, files=files)

    def lines(self) -> Iterator[bytes]:
        """Yield the lines of the `add` actions; see `joined_lines`."""
        return joined_lines(self.files, _texts)

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield the `add` actions as JSON objects."""
        return parsed(self.lines())


def _texts(part: pa.Table) -> pa.ChunkedArray:
    pieces: list[Any] = [
        pa.scalar('{"add":{"path":'),
        quoted(part["path"]),
        pa.scalar(',"partitionValues":'),
        pc.fill_null(map_texts(part["partition_values"]), "{}"),
        pa.scalar(',"size":'),
        number(part["size"]),
        pa.scalar(',"modificationTime":'),
        number(part["modification_time"]),
        pa.scalar(',"dataChange":'),
        part["data_change"].cast(pa.string()),
        member("stats", quoted(part["stats"])),
        member("tags", map_texts(part["tags"])),
        member("baseRowId", number(part["base_row_id"])),
        member("defaultRowCommitVersion", number(part["default_row_commit_version"])),
        member("clusteringProvider", quoted(part["clustering_provider"])),
        pa.scalar("}}"),
    ]
    return pc.binary_join_element_wise(*pieces, "")
