# SPDX-License-Identifier: Apache-2.0
"""Run DELETE and UPDATE statements on Delta tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.errors import failed
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.dml.core.result import COUNTS
from bayou.spark.dml.statements.entry import planned_delete, planned_update
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.text.row_changes import Delete, Update, row_change
from bayou.spark.read.session_table import SessionTable
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.session.application import Application


def changed_rows(application: Application, spark: SparkSession, text: str, path: str) -> CommandAnswer:
    """Run a DELETE or an UPDATE of a table.

    Args:
        text: the statement, without parameters.
        path: the table's path.

    Raises:
        UnsupportedFeatureError: it is another statement, or has a WITH clause.
    """
    change = row_change(text)
    target = SessionTable.of(application, spark, qualify(path).uri, {})
    if not isinstance(change, (Delete, Update)) or change.with_clause is not None:
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what="MERGE in SQL", features=("Spark Connect",))
    name = () if change.alias is None else (change.alias,)
    condition = None if change.condition is None else change.condition.text
    plan: PlannedChange
    if isinstance(change, Delete):
        plan = planned_delete(target, name, condition, None)
    else:
        values = {column_sql(each.target): each.value.text for each in change.assignments}
        plan = planned_update(target, name, condition, values, None)
    result = plan.run()
    counts = {each: [getattr(result, each)] for each in COUNTS[result.operation]}
    return CommandAnswer(rows=pa.table(counts, pa.schema([(each, pa.int64()) for each in counts])))
