# SPDX-License-Identifier: Apache-2.0
"""The files of one version in the order in which a stream reads them, each with its index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.columns import ADD_SCHEMA
from bayou.log.streaming.request.path_filter import PathFilter

FILE_COLUMNS: Final = (
    *("path", "partition_values", "size", "modification_time", "deletion_vector"),
    *("base_row_id", "default_row_commit_version"),
)
"""The columns of a batch's file in addition to its statistics and its version."""
STREAM_FILES: Final = pa.schema(
    [
        *(ADD_SCHEMA.field(name) for name in FILE_COLUMNS),
        ADD_SCHEMA.field("stats"),
        ("commit_version", pa.int64()),
    ]
)
"""The columns of `StreamFiles.files`."""


@dataclass(frozen=True, slots=True)
class IndexedFiles:
    """The sizes (in bytes) and indices of a version's files that an `excludeRegex` does not leave out.

    The indices ascend; they are None if the index is the position.
    """

    sizes: pa.Array
    indices: pa.Array | None = None

    @classmethod
    def of(cls, sizes: pa.Array, paths: pa.Array | pa.ChunkedArray, exclude: PathFilter | None) -> IndexedFiles:
        """Index files in their order."""
        kept = None if exclude is None else exclude.keeps(paths)
        if kept is None or pc.all(kept, min_count=0).as_py():
            return cls(sizes)
        indices = pc.cast(pc.indices_nonzero(kept), pa.int64())
        return cls(sizes.take(indices), indices)

    def __len__(self) -> int:
        return len(self.sizes)

    def index_at(self, position: int) -> int:
        """Return the index of the file at a position."""
        return position if self.indices is None else int(self.indices[position].as_py())

    def position_after(self, index: int) -> int:
        """Return the position of the first file whose index is higher."""
        if index < 0:
            return 0
        if self.indices is None:
            return min(index + 1, len(self.sizes))
        return int(pc.sum(pc.less_equal(self.indices, index)).as_py() or 0)

    def size_after(self, position: int) -> int:
        """Return the total size of the files from a position on."""
        return int(pc.sum(self.sizes.slice(position)).as_py() or 0)


def take_rows(column: pa.ChunkedArray, places: pa.Array) -> pa.ChunkedArray:
    """Take rows of a column in the order of `places`, without copying the whole column.

    Arrow concatenates the chunks of a string column before it takes rows, which costs as much as the whole column.
    """
    if column.num_chunks <= 1:
        return column.take(places)
    order = pc.sort_indices(places)
    rising = places.take(order)
    taken = []
    start = 0
    for chunk in column.chunks:
        end = start + len(chunk)
        inside = rising.filter(pc.and_(pc.greater_equal(rising, start), pc.less(rising, end)))
        if len(inside):
            taken.append(chunk.take(pc.subtract(inside, pa.scalar(start, inside.type))))
        start = end
    joined = pa.concat_arrays(taken) if taken else pa.nulls(0, column.type)
    return pa.chunked_array([joined.take(pc.sort_indices(order))], column.type)
