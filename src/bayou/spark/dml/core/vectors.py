# SPDX-License-Identifier: Apache-2.0
"""Rows marked as deleted in deletion vectors."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.rows.deleted_rows import NotEvaluated, delete_rows
from bayou.log.rows.vector_writer import VectorFiles
from bayou.log.staging.read_set import ReadSet
from bayou.protocol.columns.identity_rules import without_marks
from bayou.protocol.deletion_vectors.roaring import Bitmap
from bayou.spark.dml.core.live_rows import uncounted_rows
from bayou.spark.dml.core.row_counts import check_emptied
from bayou.spark.dml.core.touched_rows import has_new
from bayou.spark.jvm.core.callbacks import FAILED_CALL, reason_of
from bayou.spark.session.progress import phase

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bayou.log.rows.deleted_rows import DeletedRows
    from bayou.spark.dml.core.row_change import Change


def mark_rows(change: Change, touched: Mapping[int, Bitmap]) -> DeletedRows:
    """Writes deletion vectors for some rows.

    Args:
        touched: the rows by the files' positions.

    Raises:
        InvalidCommitError: a file would go that has rows left. Nothing was written.
    """
    phase("marking rows")
    check_emptied(change, {position: rows.cardinality for position, rows in touched.items()})
    positions = pa.array(sorted(touched), pa.int64())
    snapshot, store = change.snapshot, change.target.log.store
    files = snapshot.files().take(positions)
    reads = ReadSet(snapshot.table_uri)
    change.note_reads(reads)
    return delete_rows(
        snapshot,
        store,
        files,
        [touched[position] for position in positions.to_pylist()],
        VectorFiles(store, snapshot.table_uri, snapshot.metadata.configuration),
        deletion_timestamp=int(time.time() * 1000),
        reads=reads,
        physical_rows=uncounted_rows(change, positions),
        holds=lambda added, new_rows: as_told(lambda: _hold(change, added, new_rows)),
        storage_options=change.target.storage_options or None,
    )


def now(change: Change, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> tuple[Change, dict[int, Bitmap | None]] | None:
    """The operation on the table as it is by now, and the rows that are new in files of it, by the files' positions.

    Args:
        new_rows: the rows of each that are new; None where all are.

    Returns:
        None where a file has gone again since, or columns have changed: this is left to a new attempt.
    """
    later = replace(change, snapshot=change.target.log.update())
    known = later.snapshot.files(["path"])["path"].combine_chunks()
    positions = pc.index_in(added["path"].combine_chunks(), value_set=known)
    if positions.null_count or without_marks(later.snapshot.schema) != without_marks(change.snapshot.schema):
        return None
    found: dict[int, Bitmap | None] = {}
    for position, rows in zip(positions.to_pylist(), new_rows, strict=True):
        others = found.get(position, Bitmap())
        found[position] = None if rows is None or others is None else others.union(rows)
    return later, found


def as_told(asks: Callable[[], bool]) -> bool | NotEvaluated:
    """What a query tells of rows that others added; where it fails, as a cast does on one of them, that nobody can tell.

    The statement itself may not fail on them, when it is run again: its parts are evaluated in the order that Spark chooses.
    """
    try:
        return asks()
    except FAILED_CALL as error:
        return NotEvaluated(reason_of(error))


def _hold(change: Change, added: pa.Table, new_rows: Sequence[Bitmap | None]) -> bool:
    """Whether files that others have added meanwhile hold new rows that the operation would have changed."""
    found = None if change.means_all else now(change, added, new_rows)
    if found is None:
        return True
    later, places = found
    rows = later.rows(pa.array(list(places), pa.int64()), with_files=True, with_numbers=True)
    return has_new(later.meant(rows), places)
