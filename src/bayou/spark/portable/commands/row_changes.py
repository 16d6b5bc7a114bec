# SPDX-License-Identifier: Apache-2.0
"""Run DELETE, UPDATE and MERGE statements on Delta tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from bayou.errors import failed
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.dml.core.result import COUNTS
from bayou.spark.dml.statements.entry import planned_delete, planned_update
from bayou.spark.portable.commands.merges import planned_merge
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.text.row_changes import Delete, Merge, Update, row_change
from bayou.spark.read.session_table import SessionTable
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.session.application import Application


def changed_rows(
    application: Application, spark: SparkSession, text: str, path: str, query: Callable[[str], DataFrame]
) -> CommandAnswer:
    """Run a DELETE, an UPDATE or a MERGE of a table.

    Args:
        text: the statement, without parameters.
        path: the table's path.
        query: returns the rows of a query in the statement, given its text.

    Raises:
        UnsupportedFeatureError: it is a DELETE or an UPDATE with a WITH clause.
    """
    result = planned_change(application, spark, text, path, query).run()
    counts = {each: [getattr(result, each)] for each in COUNTS[result.operation]}
    return CommandAnswer(rows=pa.table(counts, pa.schema([(each, pa.int64()) for each in counts])))


def planned_change(
    application: Application, spark: SparkSession, text: str, path: str, query: Callable[[str], DataFrame]
) -> PlannedChange:
    """Plan a DELETE, an UPDATE or a MERGE of a table: see `changed_rows`."""
    change = row_change(text)
    target = SessionTable.of(application, spark, qualify(path).uri, {})
    plan: PlannedChange
    if isinstance(change, Merge):
        plan = planned_merge(target, change, text, query)
    elif not isinstance(change, (Delete, Update)) or change.with_clause is not None:
        what = "a WITH clause before DELETE or UPDATE"
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))
    else:
        name = () if change.alias is None else (change.alias,)
        condition = None if change.condition is None else change.condition.text
        if isinstance(change, Delete):
            plan = planned_delete(target, name, condition, None)
        else:
            values = {column_sql(each.target): each.value.text for each in change.assignments}
            plan = planned_update(target, name, condition, values, None)
    return plan
