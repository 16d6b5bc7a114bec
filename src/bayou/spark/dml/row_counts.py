# SPDX-License-Identifier: Apache-2.0
"""The rows that an operation found and those that it wrote have to add up, or rows would be lost, or be there twice.

An operation looks at the table, and at the source of a MERGE, once to find rows and once to write them. Where these are not the
same both times, as with a function that says of itself that it always gives the same and does not, nothing is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import InvalidCommitError

if TYPE_CHECKING:
    from bayou.log.snapshot import Snapshot


def check_written(snapshot: Snapshot, operation: str, *, written: int, expected: int, told: str) -> None:
    """Refuses files that do not hold the rows that they have to.

    Args:
        snapshot: the table's state.
        operation: DELETE, UPDATE or MERGE.
        written: how many rows the files hold, as their footers say.
        expected: how many they have to.
        told: what these are made of, for the error.

    Raises:
        InvalidCommitError: they hold more rows, or fewer.
    """
    if written != expected:
        raise other_rows(snapshot, operation, f"{written} rows were written, and {expected} had to be: {told}")


def other_rows(snapshot: Snapshot, operation: str, why: str) -> InvalidCommitError:
    """The error of an operation that wrote other rows than it had found.

    Args:
        snapshot: the table's state.
        operation: DELETE, UPDATE or MERGE, or an overwrite of a part.
        why: how that is known.
    """
    what, next_step = "The condition or a function in it", "look for functions that give something else for the same row."
    if operation == "MERGE":
        what = "The source, or a function"
        next_step = "set spark.databricks.delta.merge.materializeSource to all, or write the source to a table first."
    return InvalidCommitError(
        f"The two passes of this {operation} saw different rows: {why}. {what} gives something else each time.",
        table=snapshot.table_uri,
        version=snapshot.version,
        error_class="DELTA_NUM_RECORDS_MISMATCH",
        sql_state="XXKDS",
        next_step=next_step,
    )
