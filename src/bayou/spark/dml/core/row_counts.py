# SPDX-License-Identifier: Apache-2.0
"""Check that a row change wrote as many rows as it had found. Otherwise rows could be lost or written twice.

An operation reads the table, and the source of a MERGE, once to find rows and once to write them. If the two passes read different
rows, nothing is committed. A typical cause is a function that is declared deterministic and returns different values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import DeltaError, failed, sample
from bayou.spark.dml.core.live_rows import rows_in_footers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.dml.core.row_change import Change


def check_written(change: Change, *, written: int, expected: int, what: str, counted: pa.Array | None = None) -> None:
    """Check the number of rows in new files.

    Args:
        written: the number of rows in the footers of the new files.
        what: the contents of the new files, for the message.
        counted: the positions of the old files whose row counts come from the log. If the numbers differ, their footers are read,
            because wrong statistics may be the reason.

    Raises:
        InvalidCommitError: the files hold more or fewer rows than expected.
    """
    if written != expected:
        raise other_rows(change, f"{written} rows were written, but {expected} were expected: {what}", counted=counted)


def check_emptied(change: Change, found: Mapping[int, int]) -> None:
    """Check that files really have no remaining rows if the log says so. Such files are removed and not marked.

    The row counts in the log may be too low. Therefore this reads the footers of these files.

    Args:
        found: the number of live rows that the operation deletes, by the positions of their files.

    Raises:
        InvalidCommitError: one of the files has more rows.
    """
    positions = pa.array(list(found), pa.int64())
    is_emptied = pc.equal(change.snapshot.live_rows(positions), pa.array(list(found.values()), pa.int64()))
    emptied = positions.filter(is_emptied)  # NULL if the row count is unknown: such files are left out
    if len(emptied) and (wrong := _wrong_statistics(change, emptied)):
        raise failed("DELTA_NUM_RECORDS_MISMATCH/emptied-by-statistics", at=change.snapshot, file=wrong[0][0], wrong=_shown(wrong))


def other_rows(change: Change, why: str, *, counted: pa.Array | None = None, operation: str | None = None) -> DeltaError:
    """Return the error of an operation whose two passes read different rows.

    Args:
        counted: the positions of the files whose row counts come from the log. Their footers are read: if they differ from the
            statistics, the error blames the statistics.
        operation: the name of the operation in the message; `Change.operation` if None.
    """
    snapshot, operation = change.snapshot, operation or change.operation
    if counted is not None and (wrong := _wrong_statistics(change, counted)):
        return failed(
            "DELTA_NUM_RECORDS_MISMATCH/counted-by-statistics",
            at=snapshot,
            file=wrong[0][0],
            operation=operation,
            why=why,
            wrong=_shown(wrong),
        )
    return failed(
        "DELTA_NUM_RECORDS_MISMATCH/passes-of-merge" if operation == "MERGE" else "DELTA_NUM_RECORDS_MISMATCH/passes",
        at=snapshot,
        operation=operation,
        why=why,
    )


def _wrong_statistics(change: Change, counted: pa.Array) -> list[tuple[str, int, int]]:
    """Return the files whose statistics have a wrong row count, as tuples: path, count in the statistics, count in the footer."""
    recorded = change.snapshot.statistics({}).num_records.take(counted)
    paths = change.snapshot.files(["path"])["path"].take(counted)
    found = rows_in_footers(change, counted)
    rows = (
        (path, count, found[path]) for path, count in zip(paths.to_pylist(), recorded.to_pylist(), strict=True) if path in found
    )
    return [(path, count, has) for path, count, has in rows if count is not None and count != has]


def _shown(wrong: list[tuple[str, int, int]]) -> str:
    return sample((f"{path} has {has} rows, not {count}" for path, count, has in wrong), "; ")
