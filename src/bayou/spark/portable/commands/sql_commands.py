# SPDX-License-Identifier: Apache-2.0
"""Run the SQL statements on Delta tables that a client answers itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.spark.portable.commands.arguments import filled
from bayou.spark.portable.commands.inserts import insert_of
from bayou.spark.portable.commands.refused import refuse_by_path
from bayou.spark.portable.commands.row_changes import changed_rows
from bayou.spark.portable.commands.statements import statement_of
from bayou.spark.portable.requests.frames import frame_of
from bayou.spark.portable.text.row_changes import Insert, row_change
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.portable.requests.answers import CommandAnswer
    from bayou.spark.session.application import Application


def run_sql(application: Application, spark: SparkSession, command: proto.Relation) -> CommandAnswer | None:
    """Run a statement; None if it is the server's.

    Args:
        command: the statement as the client sends it, with its arguments and with the DataFrames that it names.
    """
    sql = command.with_relations.root.sql if command.HasField("with_relations") else command.sql
    answer = statement_of(application, spark, sql)
    if answer is not None:
        return answer
    try:
        refuse_by_path(sql.query)
        change = row_change(sql.query)
    except UnreadableTextError:
        return None
    path = None if change is None else change.table.path
    if change is None or path is None:
        return None
    if isinstance(change, Insert):
        return insert_of(application, spark, change, path, lambda text: _query(spark, command, text))
    return changed_rows(application, spark, filled(sql), path, lambda text: _query(spark, command, text))


def _query(spark: SparkSession, command: proto.Relation, text: str) -> DataFrame:
    """Return the rows of a query in a statement, with the arguments and the DataFrames of the statement."""
    changed: Any = type(command)()
    changed.CopyFrom(command)
    changed.ClearField("common")
    sql = changed.with_relations.root.sql if changed.HasField("with_relations") else changed.sql
    sql.query = text
    return frame_of(spark, changed)
