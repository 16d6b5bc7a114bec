# SPDX-License-Identifier: Apache-2.0
"""The new places of rows that a compaction moved, stored in tags of its `remove` actions.

A compaction reads whole files one after the other and writes their rows in that order into one file, without deleted rows. So the
tags only name the new file and the position of the first row in it, and deletion vectors of the old files can follow their rows.
Readers of a table need no such tag.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from bayou.protocol.deletion_vectors.descriptor import Bitmap

_FILE: Final = "BAYOU_MOVED_TO"
_FIRST_ROW: Final = "BAYOU_MOVED_TO_ROW"
_MOST_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class MovedRows:
    """The new place of a file's live rows: the new file, as the log names it, and the position of the first of the rows in it."""

    path: str
    first: int

    @classmethod
    def of(cls, tags: Mapping[str, str | None] | None) -> MovedRows | None:
        """Parse the tags of a `remove` action; None if they have no such place."""
        path, first = (tags or {}).get(_FILE), (tags or {}).get(_FIRST_ROW) or ""
        return cls(path, int(first)) if path and first.isdecimal() and len(first) <= _MOST_DIGITS else None

    @property
    def tags(self) -> dict[str, str]:
        """The tags that store it."""
        return {_FILE: self.path, _FIRST_ROW: str(self.first)}

    def places(self, rows: Bitmap, gone: Bitmap) -> Iterator[int]:
        """Return the positions of some rows in the new file.

        Args:
            rows: positions in the old file, of rows that were live when they moved.
            gone: the rows of the old file that were deleted at that time.
        """
        deleted = gone.to_list()
        return (self.first + row - bisect_left(deleted, row) for row in rows.to_list())


def with_moves(files: pa.Table, moves: Sequence[MovedRows | None]) -> pa.Table:
    """Return files that a compaction removes, tagged with the new places of their rows; None adds no tag."""
    tags = []
    for known, move in zip(files["tags"].to_pylist(), moves, strict=True):
        tags.append(known if move is None else list({**dict(known or ()), **move.tags}.items()))
    at = files.column_names.index("tags")
    return files.set_column(at, "tags", pa.array(tags, files.schema.field("tags").type))


def have_places(tags: pa.ChunkedArray) -> pa.Array:
    """Return for each file's tags whether they have the new place of its rows."""
    parts = [pc.is_valid(pc.map_lookup(each, pa.scalar(_FILE), "first")) for each in tags.chunks]
    return pa.concat_arrays([pa.array([], pa.bool_()), *parts])
