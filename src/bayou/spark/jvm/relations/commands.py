# SPDX-License-Identifier: Apache-2.0
"""Create and run the commands that replace statements in Spark's plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.spark.jvm.core.session import dataset, java_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_EXECUTION = "org.apache.spark.sql.execution"
_ROW_CHANGE = "RowChange"
_STATEMENT = "DeltaStatement"
"""The names of the nodes in Spark's plans."""


def command(jvm: Jvm, body: Any, statement: JavaObject | None, text: str, counts: Sequence[str] = ()) -> JavaObject:
    """Return a command that replaces a statement until it is executed.

    Args:
        body: a `BiFunction`, called with the statement and the JVM session at execution. It returns a string.
        counts: the columns of the row of counts, whose values the body returns as JSON. Empty if Spark has resolved the statement,
            which then has no columns.
    """
    columns = jvm.seq([])
    if counts:
        types = jvm.module("org.apache.spark.sql.types.StructType").fromDDL(", ".join(f"{name} bigint" for name in counts))
        columns = jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(types)
    return jvm.static("bayou.Statement").of(body, statement, _ROW_CHANGE, text, columns)


def statement(jvm: Jvm, body: Any, text: str, columns: str) -> JavaObject:
    """Return a command for a statement of Delta Lake.

    Args:
        body: a `BiFunction`, called with None and the JVM session at execution. It returns the rows as a JVM DataFrame, or None.
        columns: the columns of the rows, as the JSON of a Spark schema.
    """
    schema = jvm.module("org.apache.spark.sql.types.DataType").fromJson(columns)
    attributes = jvm.module("org.apache.spark.sql.catalyst.types.DataTypeUtils").toAttributes(schema)
    return jvm.static("bayou.Statement").of(body, None, _STATEMENT, text, attributes)


def run_resolved(jvm: Jvm, spark: SparkSession, statement: JavaObject) -> str:
    """Let Spark resolve and run a parsed statement. Return its counts if it changes a Delta table, otherwise an empty string.

    On a Delta table, bayou's optimizer rule replaces the resolved statement by a command of `command`.
    """
    session = java_session(spark)
    # In other modes Spark runs the command itself and keeps only its rows. The counts are in the node of the command.
    execution = session.sessionState().executePlan(statement, jvm.module(f"{_EXECUTION}.CommandExecutionMode").SKIP())
    execution.assertAnalyzed()
    plan = execution.optimizedPlan()
    if plan.nodeName() != _ROW_CHANGE:  # not a Delta table, for example because the name now belongs to another catalog
        dataset(jvm, session, statement)
        return ""
    plan.run(session)
    counts: str = plan.counts()
    return counts


def run_write(jvm: Jvm, spark: SparkSession, insert: JavaObject, options: Mapping[str, str]) -> None:
    """Run an unresolved INSERT OVERWRITE, without options in its relation, with options of the writer.

    Spark 3.5 ignores options of the statement's relation.
    """
    session = java_session(spark)
    execution = session.sessionState().executePlan(insert, jvm.module(f"{_EXECUTION}.CommandExecutionMode").SKIP())
    write = execution.analyzed()
    dataset(jvm, session, jvm.static("bayou.Nodes").replaced(write, "writeOptions", jvm.scala_map(dict(options))))
