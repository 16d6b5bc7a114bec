# SPDX-License-Identifier: Apache-2.0
"""Load the deletion vectors of a scan's files as constants for Spark's generated code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.log.rows.vector_reader import read_vectors
from bayou.spark.scan.vector_columns import EncodedVector, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap

_FAR: Final = 1 << 28
"""If a row this far is deleted, check whether the file has so many rows: its constants would take two megabytes."""
_MOST_ROWS: Final = 1 << 32
"""The constants for a deleted row before this one take 30 megabytes, and creating them ten times as much."""


def load_vectors(
    snapshot: Snapshot,
    descriptors: pa.StructArray,
    num_records: Callable[[], pa.Array],
    storage_options: Mapping[str, str] | None = None,
) -> list[EncodedVector | None]:
    """Return the vectors of some files as constants, aligned with the descriptors.

    Args:
        descriptors: the `deletion_vector` column of the files; NULL for a file without one.
        num_records: returns how many rows each file has, deleted ones included; null if the log does not state it.

    Raises:
        DeletionVectorError: a vector's file is missing or does not fit its descriptor. Or the greatest row that it deletes needs
            too much memory, and the log does not state that the file ends before it.
    """
    return encoded(read_vectors(snapshot, descriptors, storage_options), snapshot.table_uri, num_records)


def encoded(
    rows: Sequence[Bitmap | None], table_uri: str, num_records: Callable[[], pa.Array] | None = None
) -> list[EncodedVector | None]:
    """Return sets of rows of some files as constants of the files; None for an empty or missing set.

    Rows beyond the end of a file are left out. Raise DeletionVectorError as for `load_vectors`.

    Args:
        num_records: returns how many rows each file has, null if unknown; None if no count is known. Called only if it matters.
    """
    return [None if bitmap is None else encode(bitmap) for bitmap in within_files(rows, table_uri, num_records)]


def within_files(
    rows: Sequence[Bitmap | None], table_uri: str, num_records: Callable[[], pa.Array] | None = None
) -> list[Bitmap | None]:
    """Return sets of rows of some files without rows beyond the end of the file; None for an empty or missing set.

    Raise DeletionVectorError as for `load_vectors`.
    """
    bitmaps = list(rows)
    far = [place for place, bitmap in enumerate(bitmaps) if bitmap is not None and (bitmap.maximum or 0) >= _FAR]
    if far:
        counts = [None] * len(bitmaps) if num_records is None else num_records().to_pylist()
        for place in far:
            bitmaps[place] = _within(bitmaps[place], counts[place], table_uri)
    return [None if bitmap is None or bitmap.maximum is None else bitmap for bitmap in bitmaps]


def _within(rows: Bitmap | None, count: int | None, table_uri: str) -> Bitmap | None:
    if rows is None:
        return None
    within = rows if count is None else rows.below(count)
    last = within.maximum
    if last is None or last < _MOST_ROWS:
        return within
    says = "does not say how many rows the file has" if count is None else f"says that the file has {count} rows"
    raise failed("DELTA_DELETION_VECTOR_INVALID_ROW_INDEX/far-row", table=table_uri, row=last, says=says, most=_MOST_ROWS)
