# SPDX-License-Identifier: Apache-2.0
"""New files for an operation: the rows of touched files that stay, or the rows as an UPDATE makes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bayou.protocol.constraints import constraints_of
from bayou.spark.change_rows import FATE
from bayou.spark.dml.commit import write_request
from bayou.spark.jvm.columns import select
from bayou.spark.new_files import write_new_files
from bayou.spark.stored_rows import beside_stored_rows
from bayou.spark.types import readable_schema
from bayou.spark.write_target import WriteTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.protocol.constraints import Constraint
    from bayou.spark.dml.change import Change
    from bayou.spark.new_files import NewFiles


def kept_rows(change: Change, positions: pa.Array) -> DataFrame:
    """The rows of some files that the statement does not mean, with their ids; for a change data feed all rows with `FATE`.

    Args:
        change: the operation.
        positions: the files.
    """
    rows, ids = change.rows(positions, with_ids=True), change.row_ids
    names = ((name,) for name in readable_schema(change.snapshot.schema).names)
    columns = [*names, *(() if ids is None else ids.columns())]
    jvm = change.target.application.jvm
    return select(jvm, change.with_fates(rows), [*columns, (FATE,)]) if change.feeds else select(jvm, change.kept(rows), columns)


def write_rows(
    change: Change, rows: DataFrame, provided: Iterable[str] | None = None, *, before: Mapping[str, str] | None = None
) -> NewFiles:
    """Writes rows of the table as new files of it.

    Args:
        change: the operation.
        rows: the rows, with all columns of the table, those of its row ids where it keeps them, and `FATE` where it has a
            change data feed.
        provided: the columns that have new values; the rows are checked against the table's rules then.
        before: for columns that have new values, the columns of the rows with the old ones; the change data feed has both.

    Raises:
        ConstraintViolationError: a row breaks a rule of the table.
    """
    snapshot = change.snapshot
    rules: tuple[Constraint, ...] = ()
    if provided is not None:
        rules = constraints_of(snapshot.metadata, snapshot.schema, provided=provided)
    given = readable_schema(snapshot.schema)
    target = WriteTarget(
        change.target.log, snapshot, snapshot.protocol, snapshot.metadata, snapshot.schema, given, constraints=rules
    )
    beside = replace(beside_stored_rows(snapshot), before=before or {})
    frame = select(change.target.application.jvm, rows, [(name,) for name in (*given.names, *beside.given)])
    return write_new_files(change.target.application, frame, write_request(change), target, beside=beside)
