# SPDX-License-Identifier: Apache-2.0
"""Write the new files of a row change: remaining rows of touched files, updated rows of an UPDATE, and change data files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.columns.constraints import constraints_of
from bayou.spark.data_files.new_files import write_change_files, write_new_files
from bayou.spark.data_files.target import WriteTarget
from bayou.spark.dml.core.commit import write_request
from bayou.spark.dml.core.row_counts import check_written
from bayou.spark.read.change_rows import ROW_ACTION, RowAction
from bayou.spark.read.stored_rows import auxiliary_of_stored
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.protocol.columns.constraints import Constraint
    from bayou.spark.data_files.uncommitted_files import UncommittedFiles
    from bayou.spark.data_files.written_files import NewFiles
    from bayou.spark.dml.core.row_change import Change


def kept_rows(change: Change, positions: pa.Array, *, feeds: bool) -> DataFrame:
    """Return the remaining rows of some files, with their row ids.

    Args:
        feeds: whether to return all rows of the files, with `ROW_ACTION`, so that one job writes data files and change data files.
    """
    rows, ids = change.rows(positions, with_ids=True), change.row_ids
    names = ((name,) for name in readable_schema(change.snapshot.schema).names)
    columns = [*names, *(() if ids is None else ids.columns())]
    select = change.target.application.backend.select
    if feeds:
        return select(change.with_row_actions(rows), [*columns, (ROW_ACTION,)])
    return select(change.kept(rows), columns)


def deleted_rows(change: Change, positions: pa.Array) -> DataFrame:
    """Return the rows of some files that a DELETE matches, with `ROW_ACTION`."""
    names = ((name,) for name in readable_schema(change.snapshot.schema).names)
    row_action = F.lit(int(RowAction.DELETED)).alias(ROW_ACTION)
    return change.target.application.backend.select(change.affected(change.rows(positions)), [*names, row_action])


def write_rows(
    change: Change,
    rows: DataFrame,
    uncommitted: UncommittedFiles,
    provided: Iterable[str] | None = None,
    *,
    feeds: bool,
    before: Mapping[str, str] | None = None,
) -> NewFiles:
    """Write rows of the table as new files.

    Args:
        rows: the rows, with all columns of the table, its row id columns if it tracks rows, and `ROW_ACTION` if `feeds`.
        uncommitted: takes over the new files.
        provided: the columns with new values. Only constraints over them are checked; None checks no constraint.
        feeds: whether the same job also writes the change data files.
        before: the names of the columns with the old values, by the names of the columns with the new values. A change data file
            contains both, as pre-image and post-image.

    Raises:
        ConstraintViolationError: a row violates a constraint of the table.
    """
    snapshot = change.snapshot
    rules: tuple[Constraint, ...] = ()
    if provided is not None:
        rules = constraints_of(snapshot.metadata, snapshot.schema, provided=provided)
    target = replace(WriteTarget.of_snapshot(change.target.log, snapshot), constraints=rules)
    auxiliary = replace(auxiliary_of_stored(snapshot), feeds=feeds, before=before or {})
    frame = change.target.application.backend.select(rows, [(name,) for name in (*target.given.names, *auxiliary.given)])
    return write_new_files(change.target.application, frame, write_request(change), target, uncommitted, auxiliary=auxiliary)


def write_change_rows(
    change: Change,
    added: NewFiles,
    rows: DataFrame,
    uncommitted: UncommittedFiles,
    *,
    expected: int | None,
    counted: pa.Array | None = None,
    before: Mapping[str, str] | None = None,
) -> NewFiles:
    """Write the change rows of an operation whose data files are written already.

    Args:
        added: the data files.
        rows: the rows that change, with all columns of the table, `ROW_ACTION`, and the columns with the old values.
        uncommitted: takes over the change data files.
        expected: the number of change rows; None if it is unknown.
        counted: the positions of the files whose row counts come from the log. If the numbers differ, their footers are read.
        before: the names of the columns with the old values, by the names of the columns with the new values.

    Returns:
        The data files, with the change data files.

    Raises:
        InvalidCommitError: the job wrote another number of change rows than `expected`.
    """
    application, request = change.target.application, write_request(change)
    target, old = WriteTarget.of_snapshot(change.target.log, change.snapshot), before or {}
    frame = application.backend.select(rows, [(name,) for name in (*target.given.names, ROW_ACTION, *old.values())])
    written = write_change_files(application, frame, request, target, uncommitted, old)
    if expected is not None:
        what = "the change rows of the rows that were found"
        check_written(change, written=written.num_rows, expected=expected, what=what, counted=counted)
    return replace(added, changes=written.files)
