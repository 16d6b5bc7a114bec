# SPDX-License-Identifier: Apache-2.0
"""Compare the rows that an operation found with those that it wrote. Otherwise rows could be lost or written twice.

An operation reads the table, and the source of a MERGE, once to find rows and once to write them. If the two passes see different
rows, nothing is committed. A function that is declared deterministic and is not can cause that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import InvalidCommitError
from bayou.spark.dml.core.live_rows import rows_in_footers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.dml.core.row_change import Change

_SAMPLE: Final = 3


def check_written(change: Change, *, written: int, expected: int, what: str, counted: pa.Array | None = None) -> None:
    """Check the number of rows in new files.

    Args:
        written: the number of rows by the footers of the files.
        what: what the files contain, for the message.
        counted: the positions of the files whose row counts come from the log.

    Raises:
        InvalidCommitError: the files hold more or fewer rows than expected.
    """
    if written != expected:
        raise other_rows(change, f"{written} rows were written, but {expected} were expected: {what}", counted=counted)


def check_emptied(change: Change, found: Mapping[int, int]) -> None:
    """Check that the files that would be removed, because all their rows are deleted, really have no row left.

    The row counts of the log may be too low. Therefore this reads the footers of these files.

    Args:
        found: the number of live rows that the operation deletes, by the positions of their files.

    Raises:
        InvalidCommitError: one of the files has more rows.
    """
    positions = pa.array(list(found), pa.int64())
    goes = pc.equal(change.snapshot.live_rows(positions), pa.array(list(found.values()), pa.int64()))
    gone = positions.filter(goes)  # without files whose row count is unknown
    if len(gone) and (wrong := _wrong_statistics(change, gone)):
        why = "By the log's statistics all rows of a file would be deleted, but the file has others"
        raise _error_of_statistics(change, why, wrong)


def other_rows(change: Change, why: str, *, counted: pa.Array | None = None, operation: str | None = None) -> InvalidCommitError:
    """Return the error of an operation that wrote other rows than it had found.

    Args:
        counted: the positions of the files whose row counts come from the log. Their footers are read now.
        operation: the name of the operation in the message; the change's own name if None.
    """
    snapshot, operation = change.snapshot, operation or change.operation
    if counted is not None and (wrong := _wrong_statistics(change, counted)):
        return _error_of_statistics(
            change, f"By the log's statistics the two passes of this {operation} saw different rows: {why}", wrong
        )
    what, next_step = "The condition or a function in it", "Look for functions that return different values for the same row."
    if operation == "MERGE":
        what = "The source, or a function"
        next_step = "Set spark.databricks.delta.merge.materializeSource to all, or write the source to a table first."
    return InvalidCommitError(
        f"The two passes of this {operation} saw different rows: {why}. {what} returns different values each time.",
        at=snapshot,
        error_class="DELTA_NUM_RECORDS_MISMATCH",
        next_step=next_step,
    )


def _wrong_statistics(change: Change, counted: pa.Array) -> list[tuple[str, int, int]]:
    """Return the files whose statistics have a wrong row count: path, count in the statistics, count in the file."""
    recorded = change.snapshot.statistics({}).num_records.take(counted)
    paths = change.snapshot.files(["path"])["path"].take(counted)
    found = rows_in_footers(change, counted)
    rows = (
        (path, count, found[path]) for path, count in zip(paths.to_pylist(), recorded.to_pylist(), strict=True) if path in found
    )
    return [(path, count, has) for path, count, has in rows if count is not None and count != has]


def _error_of_statistics(change: Change, what: str, wrong: list[tuple[str, int, int]]) -> InvalidCommitError:
    shown = "; ".join(f"{path} has {has} rows, not {count}" for path, count, has in wrong[:_SAMPLE])
    more = f"; and {len(wrong) - _SAMPLE} more files" if len(wrong) > _SAMPLE else ""
    return InvalidCommitError(
        f"{what}. These statistics are wrong: {shown}{more}.",
        at=change.snapshot,
        file=wrong[0][0],
        error_class="DELTA_NUM_RECORDS_MISMATCH",
        next_step="Find the writer of these files, which writes wrong numRecords. Overwriting the table with its own rows "
        "corrects the statistics.",
    )
