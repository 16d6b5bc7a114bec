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
from bayou.spark.portable.commands.path_names import PathNames
from bayou.spark.portable.commands.targets import target_at
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.text.literals import dialect_of
from bayou.spark.portable.text.row_changes import Delete, Merge, Update, row_change
from bayou.spark.portable.text.subqueries import behind

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.dml.core.result import PlannedChange
    from bayou.spark.portable.text.queries import Part
    from bayou.spark.session.application import Application


def changed_rows(
    application: Application, spark: SparkSession, text: str, path: str, query: Callable[[str], DataFrame]
) -> CommandAnswer:
    """Run a DELETE, an UPDATE or a MERGE of a table.

    Args:
        text: the statement, without parameters.
        path: the table's path.
        query: returns the rows of a query in the statement, given its text.

    """
    result = planned_change(application, spark, text, path, query).run()
    counts = {each: [getattr(result, each)] for each in COUNTS[result.operation]}
    return CommandAnswer(rows=pa.table(counts, pa.schema([(each, pa.int64()) for each in counts])))


def planned_change(
    application: Application, spark: SparkSession, text: str, path: str, query: Callable[[str], DataFrame]
) -> PlannedChange:
    """Plan a DELETE, an UPDATE or a MERGE of a table: see `changed_rows`.

    Raises:
        UnsupportedFeatureError: the table has options.
    """
    change = row_change(text, dialect_of(text, lambda: application.backend.settings(spark)))
    assert isinstance(change, (Merge, Delete, Update))  # noqa: S101  (the caller has read the same statement)
    operation = type(change).__name__.upper()
    if change.table.options is not None:
        what = f"{operation} of a table with options after WITH"
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))
    target = target_at(application, spark, path, operation)
    names = PathNames(path, target.settings)

    def sql_of(part: Part) -> str:
        """Return the SQL of an expression, in whose queries the WITH clause of the statement stands."""
        text = part.text if change.with_clause is None else behind(change.with_clause.text, part.text, target.settings)
        return names.sql(text) if change.alias is None else text

    plan: PlannedChange
    if isinstance(change, Merge):
        plan = planned_merge(target, change, text, query, sql_of, names)
    else:
        condition = None if change.condition is None else sql_of(change.condition)
        assignments = () if isinstance(change, Delete) else change.assignments
        values = {column_sql(names.parts(each.target)): sql_of(each.value) for each in assignments}
        name = names.alias if change.alias is None else (change.alias,)
        if isinstance(change, Delete):
            plan = planned_delete(target, name, condition, None)
        else:
            plan = planned_update(target, name, condition, values, None)
    return plan
