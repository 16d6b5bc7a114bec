# SPDX-License-Identifier: Apache-2.0
"""New files for an operation: the rows of touched files that stay, or the rows as an UPDATE makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.protocol.constraints import constraints_of
from bayou.protocol.sql_text import quoted_name
from bayou.spark.dml.commit import write_request
from bayou.spark.new_files import write_new_files
from bayou.spark.types import readable_schema
from bayou.spark.write_target import WriteTarget

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.protocol.constraints import Constraint
    from bayou.spark.dml.change import Change
    from bayou.spark.new_files import NewFiles


def kept_rows(change: Change, positions: pa.Array) -> NewFiles:
    """Writes the rows of some files that the condition does not mean, as they are."""
    matches = change.condition.matches(change.target.application.jvm)
    return write_rows(change, change.rows(positions).where(~matches))


def write_rows(change: Change, rows: DataFrame, provided: Iterable[str] | None = None) -> NewFiles:
    """Writes rows of the table as new files of it.

    Args:
        change: the operation.
        rows: the rows, with all columns of the table.
        provided: the columns that have new values; the rows are checked against the table's rules then.

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
    frame = rows.select(*(quoted_name(name) for name in given.names))
    return write_new_files(change.target.application, frame, write_request(change), target)
