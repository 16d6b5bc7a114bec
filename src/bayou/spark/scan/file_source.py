# SPDX-License-Identifier: Apache-2.0
"""The source of a scan's files: a snapshot, or anything else that lists files of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from bayou.protocol.actions import paths
from bayou.spark.scan import vector_columns
from bayou.spark.scan.vector_loading import load_vectors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bayou.log.snapshot.snapshot import Snapshot


class FileSource(Protocol):
    """An ordered list of a table's files. A file may occur more than once."""

    @property
    def key(self) -> str:
        """Distinguish it from other sources of files of the same table version."""
        ...

    def files(self, columns: Sequence[str]) -> pa.Table:
        """Return facts about the files: `path` as in the log, `size` in bytes, `modification_time` in ms."""
        ...

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:
        """Return the partition values as in the log, by physical name."""
        ...

    def vectors(self, positions: pa.Array | None, options: Mapping[str, str]) -> dict[str, pa.Array]:
        """Return the sets of rows of some files, or of all, as constants of the files; empty if no file has one."""
        ...

    def row_condition(self, vectors: dict[str, pa.Array], row: str) -> str:
        """Return the condition on a file's rows, as SQL over these constants and `row`, the SQL for a row's number in its file."""
        ...


@dataclass(frozen=True, slots=True)
class SnapshotFiles:
    """The files of a snapshot. Rows in their deletion vectors are not read."""

    snapshot: Snapshot

    @property
    def key(self) -> str:  # noqa: D102  (of FileSource, as all below)
        return ""

    def files(self, columns: Sequence[str]) -> pa.Table:  # noqa: D102
        return self.snapshot.files(columns=list(columns))

    def partition_texts(self) -> Mapping[str, pa.ChunkedArray]:  # noqa: D102
        return self.snapshot.partition_texts()

    def vectors(self, positions: pa.Array | None, options: Mapping[str, str]) -> dict[str, pa.Array]:  # noqa: D102
        found = self.snapshot.files(columns=["deletion_vector"])
        descriptors = (found if positions is None else found.take(positions))["deletion_vector"].combine_chunks()
        if descriptors.null_count == len(descriptors):
            return {}
        return vector_columns.to_arrow(load_vectors(self.snapshot, descriptors, lambda: self._num_records(positions), options))

    def _num_records(self, positions: pa.Array | None) -> pa.Array:
        counts = self.snapshot.statistics({}).num_records
        return counts if positions is None else counts.take(positions)

    def row_condition(self, vectors: dict[str, pa.Array], row: str) -> str:  # noqa: D102
        return vector_columns.row_is_live(vectors, row)


def uris(encoded: pa.Array, table_uri: str) -> pa.Array:
    """Return the URIs of files, without percent-encoding.

    Most paths are relative and have no escaped characters: Arrow converts all of them in one call, and Python only the others.

    Args:
        encoded: the paths of the files in the log.
    """
    joined = pc.binary_join_element_wise(table_uri.rstrip("/"), encoded, "/")
    is_special = pc.match_substring_regex(encoded, "^/|%|:")  # absolute, percent-encoded or with a scheme
    if not pc.any(is_special).as_py():
        return joined
    special = encoded.filter(is_special).to_pylist()
    decoded = pa.array([paths.to_uri(path, table_uri) for path in special], pa.string())
    return pc.replace_with_mask(joined, is_special, decoded)
