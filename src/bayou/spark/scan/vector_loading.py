# SPDX-License-Identifier: Apache-2.0
"""The deletion vectors of a scan's files as constants that Spark's generated code reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import DeletionVectorError
from bayou.log.rows.vector_reader import read_vectors
from bayou.spark.scan.vector_columns import EncodedVector, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.deletion_vectors.roaring import Bitmap

_FAR: Final = 1 << 28
"""From this row on it is looked up whether a file has so many: its constants would take two megabytes."""
_MOST_ROWS: Final = 1 << 32
"""The constants of a file whose row before this is deleted take 30 megabytes, and making them ten times that."""


def load_vectors(
    snapshot: Snapshot,
    descriptors: pa.StructArray,
    num_records: Callable[[], pa.Array],
    storage_options: Mapping[str, str] | None = None,
) -> list[EncodedVector | None]:
    """The vectors of some files as constants, aligned with the descriptors.

    Args:
        descriptors: the `deletion_vector` column of the files; NULL for a file without one.
        num_records: gives how many rows each file has, deleted ones included; null where the log does not say.

    Raises:
        DeletionVectorError: a vector's file is missing, or is not what its descriptor says; or it deletes a row of so great a
            number that its constants would take too much memory, and the log does not say that the file ends before.
    """
    return encoded(read_vectors(snapshot, descriptors, storage_options), snapshot.table_uri, num_records)


def encoded(
    rows: Sequence[Bitmap | None], table_uri: str, num_records: Callable[[], pa.Array] | None = None
) -> list[EncodedVector | None]:
    """Sets of rows of some files as constants of theirs; None where a set is empty or there is none.

    A set may name rows beyond the end of its file: these are none of it.

    Args:
        num_records: gives how many rows each file has, null where that is not known; None where nobody knows. Asked only where
            it matters.

    Raises:
        DeletionVectorError: as for `load_vectors`.
    """
    found = list(rows)
    far = [place for place, each in enumerate(found) if each is not None and (each.maximum or 0) >= _FAR]
    if far:
        counts = [None] * len(found) if num_records is None else num_records().to_pylist()
        for place in far:
            found[place] = _within(found[place], counts[place], table_uri)
    return [None if each is None else encode(each) for each in found]


def _within(rows: Bitmap | None, count: int | None, table_uri: str) -> Bitmap | None:
    if rows is None:
        return None
    within = rows if count is None else rows.below(count)
    last = within.maximum
    if last is None or last < _MOST_ROWS:
        return within
    told = "does not say how many rows the file has" if count is None else f"says that the file has {count} rows"
    raise DeletionVectorError(
        f"A deletion vector deletes row {last} of its file. The log {told}, and bayou reads vectors of files of up to {_MOST_ROWS}"
        " rows: the memory that a vector takes to read follows the greatest row that it deletes.",
        table=table_uri,
        error_class="DELTA_DELETION_VECTOR_INVALID_ROW_INDEX",
        next_step="Write the file's rows again with the engine that wrote the vector, or add numRecords to the file's statistics.",
    )
