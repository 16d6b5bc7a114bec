# SPDX-License-Identifier: Apache-2.0
"""New files for an operation: the rows of touched files that stay, or the rows as an UPDATE makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.constraints import constraints_of
from bayou.protocol.sql_text import quoted_name
from bayou.spark.change_rows import FATE, BesideColumns, Fate
from bayou.spark.dml.commit import write_request
from bayou.spark.new_files import write_new_files
from bayou.spark.types import readable_schema
from bayou.spark.write_target import WriteTarget

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from bayou.protocol.constraints import Constraint
    from bayou.spark.dml.change import Change
    from bayou.spark.new_files import NewFiles


def kept_rows(change: Change, positions: pa.Array) -> NewFiles:
    """Writes the rows of some files that the condition does not mean, as they are; the others for the change data feed."""
    matches = change.condition.matches(change.target.application.jvm)
    rows, ids = change.rows(positions, with_ids=True), change.row_ids
    if not change.feeds:
        rows = rows.where(~matches)
    names = (quoted_name(name) for name in readable_schema(change.snapshot.schema).names)
    fate = F.when(matches, int(Fate.DELETED)).otherwise(int(Fate.KEPT)).alias(FATE)
    return write_rows(change, rows.select(*names, *(() if ids is None else ids.columns()), *([fate] if change.feeds else [])))


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
    ids = change.row_ids
    beside = BesideColumns(() if ids is None else ids.names, change.feeds, before or {})
    frame = rows.select(*map(quoted_name, (*given.names, *beside.given)))
    return write_new_files(change.target.application, frame, write_request(change), target, beside=beside)
