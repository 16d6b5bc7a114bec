# SPDX-License-Identifier: Apache-2.0
"""Count the rows of files by statistics or, if these are missing, by footers. Check that a commit that moves rows loses none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import failed
from bayou.spark.scan.footers import footers_in_turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.backend import Backend
    from bayou.spark.dml.core.row_change import Change


def uncounted_rows(change: Change, positions: pa.Array) -> dict[str, int]:
    """Return the row counts, from footers, of those files whose statistics lack the count. The keys are paths as in the log.

    The counts include rows that deletion vectors delete.
    """
    return _uncounted(change.target.application.backend, change.snapshot, positions, change.target.options)


def _uncounted(backend: Backend, snapshot: Snapshot, positions: pa.Array, options: Mapping[str, str]) -> dict[str, int]:
    counts = snapshot.statistics({}).num_records.take(positions)
    unknown = positions.filter(counts.is_null())
    return _in_footers(backend, snapshot, unknown, options, strict=True) if len(unknown) else {}


def rows_in_footers(change: Change, positions: pa.Array) -> dict[str, int]:
    """Return the row counts in the footers of some files, by their paths in the log. Unreadable files are left out."""
    return _in_footers(change.target.application.backend, change.snapshot, positions, change.target.options, strict=False)


def _in_footers(
    backend: Backend, snapshot: Snapshot, positions: pa.Array, options: Mapping[str, str], *, strict: bool
) -> dict[str, int]:
    files = snapshot.files(["path", "size"]).take(positions)
    counts = {}
    for path, footer in zip(files["path"].to_pylist(), footers_in_turn(backend, files, snapshot.table_uri, options), strict=True):
        if not isinstance(footer, OSError):
            counts[path] = footer.num_rows
        elif strict:
            raise footer
    return counts


def known_live(change: Change, positions: pa.Array) -> int | None:
    """Return the number of live rows in some files; None if the log lacks the count of one of them."""
    live = change.snapshot.live_rows(positions)
    return None if live.null_count else pc.sum(live).as_py() or 0


def count_live(change: Change, positions: pa.Array) -> int:
    """Return the number of live rows in some files. Read the footers of files whose count the log lacks."""
    return count_rows(change.target.application.backend, change.snapshot, positions, change.target.options)


def count_rows(backend: Backend, snapshot: Snapshot, positions: pa.Array, options: Mapping[str, str]) -> int:
    """Return the number of live rows in some files of a snapshot; see `count_live`."""
    live = snapshot.live_rows(positions)
    unknown = positions.filter(live.is_null())
    total: int = pc.sum(live).as_py() or 0
    if not len(unknown):
        return total
    vectors = snapshot.files(["deletion_vector"])["deletion_vector"].take(unknown).to_pylist()
    deleted: int = sum(each["cardinality"] for each in vectors if each is not None)
    return total + sum(_uncounted(backend, snapshot, unknown, options).values()) - deleted


def check_moved_rows(backend: Backend, snapshot: Snapshot, removed: pa.Array, written: int, options: Mapping[str, str]) -> None:
    """Check that new files hold as many rows as the files that they replace, for a commit with `dataChange` false.

    Read footers if statistics are missing.

    Args:
        removed: the paths of the removed files, as in the log.

    Raises:
        InvalidCommitError: the new files hold more or fewer rows.
    """
    if not len(removed):
        return
    positions = pc.index_in(removed, value_set=snapshot.files(["path"])["path"].combine_chunks()).cast(pa.int64())
    replaced = count_rows(backend, snapshot, positions, options)
    if written != replaced:
        raise failed("DELTA_NUM_RECORDS_MISMATCH/no-data-change", at=snapshot, replaced=replaced, written=written)
