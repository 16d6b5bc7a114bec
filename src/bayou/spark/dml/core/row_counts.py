# SPDX-License-Identifier: Apache-2.0
"""The rows that an operation found and those that it wrote have to add up, or rows would be lost, or be there twice.

An operation looks at the table, and at the source of a MERGE, once to find rows and once to write them. Where these are not the
same both times, as with a function that says of itself that it always gives the same and does not, nothing is committed.
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


def check_written(change: Change, *, written: int, expected: int, told: str, counted: pa.Array | None = None) -> None:
    """Refuses files that do not hold the rows that they have to.

    Args:
        written: how many rows the files hold, as their footers say.

    Raises:
        InvalidCommitError: they hold more rows, or fewer.
    """
    if written != expected:
        raise other_rows(change, f"{written} rows were written, and {expected} had to be: {told}", counted=counted)


def check_emptied(change: Change, found: Mapping[int, int]) -> None:
    """Refuses to take files out of the table for having no row left that have some.

    It would be those of which as many rows go as the log says they have, and it says too few. Costs reading their footers.

    Args:
        found: how many rows go, of those that are not deleted yet, by the files' positions.

    Raises:
        InvalidCommitError: one of the files has more rows.
    """
    positions = pa.array(list(found), pa.int64())
    goes = pc.equal(change.snapshot.live_rows(positions), pa.array(list(found.values()), pa.int64()))
    gone = positions.filter(goes)  # not those whose rows nobody has counted
    if len(gone) and (wrong := _wrong_statistics(change, gone)):
        why = "As many rows of a file are to be deleted as it has by the log's statistics, and it has others"
        raise _error_of_statistics(change, why, wrong)


def other_rows(change: Change, why: str, *, counted: pa.Array | None = None, operation: str | None = None) -> InvalidCommitError:
    """The error of an operation that wrote other rows than it had found.

    Args:
        counted: the positions of the files for whose number of rows the log's word was taken; their footers are read now.
        operation: what the error calls the operation; its own name where None.
    """
    snapshot, operation = change.snapshot, operation or change.operation
    if counted is not None and (wrong := _wrong_statistics(change, counted)):
        told = f"By the log's statistics the two passes of this {operation} saw different rows: {why}"
        return _error_of_statistics(change, told, wrong)
    what, next_step = "The condition or a function in it", "look for functions that give something else for the same row."
    if operation == "MERGE":
        what = "The source, or a function"
        next_step = "set spark.databricks.delta.merge.materializeSource to all, or write the source to a table first."
    return InvalidCommitError(
        f"The two passes of this {operation} saw different rows: {why}. {what} gives something else each time.",
        at=snapshot,
        error_class="DELTA_NUM_RECORDS_MISMATCH",
        next_step=next_step,
    )


def _wrong_statistics(change: Change, counted: pa.Array) -> list[tuple[str, int, int]]:
    """The files that hold another number of rows than their statistics say: their paths, what these say, and what there is."""
    told = change.snapshot.statistics({}).num_records.take(counted)
    paths = change.snapshot.files(["path"])["path"].take(counted)
    found = rows_in_footers(change, counted)
    rows = ((path, count, found[path]) for path, count in zip(paths.to_pylist(), told.to_pylist(), strict=True) if path in found)
    return [(path, count, has) for path, count, has in rows if count is not None and count != has]


def _error_of_statistics(change: Change, told: str, wrong: list[tuple[str, int, int]]) -> InvalidCommitError:
    shown = "; ".join(f"those of {path} say {count} rows, and the file has {has}" for path, count, has in wrong[:_SAMPLE])
    more = f"; and {len(wrong) - _SAMPLE} more files" if len(wrong) > _SAMPLE else ""
    return InvalidCommitError(
        f"{told}. These statistics are wrong: {shown}{more}.",
        at=change.snapshot,
        file=wrong[0][0],
        error_class="DELTA_NUM_RECORDS_MISMATCH",
        next_step="look for the writer of these files, which writes wrong numRecords; an overwrite of the table with its own rows "
        "makes the statistics anew.",
    )
