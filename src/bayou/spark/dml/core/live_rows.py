# SPDX-License-Identifier: Apache-2.0
"""Count the rows of files by the log and by footers, and check commits that only move rows by these counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import InvalidCommitError
from bayou.spark.scan.footers import footers_in_turn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.dml.core.row_change import Change
    from bayou.spark.jvm.core.bridge import Jvm


def uncounted_rows(change: Change, positions: pa.Array) -> dict[str, int]:
    """Return the row counts of the files whose statistics lack them, from footers, by the paths in the log."""
    return _uncounted(change.target.application.jvm, change.snapshot, positions, change.target.options)


def _uncounted(jvm: Jvm, snapshot: Snapshot, positions: pa.Array, options: Mapping[str, str]) -> dict[str, int]:
    counts = snapshot.statistics({}).num_records.take(positions)
    unknown = positions.filter(counts.is_null())
    return _in_footers(jvm, snapshot, unknown, options, strict=True) if len(unknown) else {}


def rows_in_footers(change: Change, positions: pa.Array) -> dict[str, int]:
    """Return how many rows some files have, by their paths in the log, whatever their statistics say.

    Files that cannot be read are left out.
    """
    return _in_footers(change.target.application.jvm, change.snapshot, positions, change.target.options, strict=False)


def _in_footers(jvm: Jvm, snapshot: Snapshot, positions: pa.Array, options: Mapping[str, str], *, strict: bool) -> dict[str, int]:
    files = snapshot.files(["path", "size"]).take(positions)
    found = {}
    for path, footer in zip(files["path"].to_pylist(), footers_in_turn(jvm, files, snapshot.table_uri, options), strict=True):
        if not isinstance(footer, OSError):
            found[path] = footer.num_rows
        elif strict:
            raise footer
    return found


def known_live(change: Change, positions: pa.Array) -> int | None:
    """Return the number of live rows in some files; None if the log lacks the count of one of them."""
    known = change.snapshot.live_rows(positions)
    return None if known.null_count else pc.sum(known).as_py() or 0


def count_live(change: Change, positions: pa.Array) -> int:
    """Return the number of live rows in some files. Read the footers of files whose count the log lacks."""
    return count_rows(change.target.application.jvm, change.snapshot, positions, change.target.options)


def count_rows(jvm: Jvm, snapshot: Snapshot, positions: pa.Array, options: Mapping[str, str]) -> int:
    """Return the number of live rows in some files of a snapshot; see `count_live`."""
    known = snapshot.live_rows(positions)
    unknown = positions.filter(known.is_null())
    total: int = pc.sum(known).as_py() or 0
    if not len(unknown):
        return total
    vectors = snapshot.files(["deletion_vector"])["deletion_vector"].take(unknown).to_pylist()
    gone: int = sum(each["cardinality"] for each in vectors if each is not None)
    return total + sum(_uncounted(jvm, snapshot, unknown, options).values()) - gone


def check_moved_rows(jvm: Jvm, snapshot: Snapshot, removed: pa.Array, written: int, options: Mapping[str, str]) -> None:
    """Check that new files hold as many rows as the files that they replace. Read footers if statistics are missing.

    Args:
        removed: the paths of the removed files, as in the log.

    Raises:
        InvalidCommitError: they hold more or fewer rows.
    """
    if not len(removed):
        return
    positions = pc.index_in(removed, value_set=snapshot.files(["path"])["path"].combine_chunks()).cast(pa.int64())
    replaced = count_rows(jvm, snapshot, positions, options)
    if written != replaced:
        raise InvalidCommitError(
            f"The write states that it changes no data (dataChange is false), but it replaces {replaced} rows by {written}.",
            at=snapshot,
            error_class="DELTA_NUM_RECORDS_MISMATCH",
            next_step="Write all rows of the files that are replaced, or leave dataChange out. The settings "
            "spark.sql.files.ignoreMissingFiles and spark.sql.files.ignoreCorruptFiles skip rows.",
        )
