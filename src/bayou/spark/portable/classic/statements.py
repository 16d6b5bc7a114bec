# SPDX-License-Identifier: Apache-2.0
"""Run `spark.sql` with Delta tables by path on a classic session that is served by the documented functions of PySpark."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import Column, SparkSession
from pyspark.sql.connect import functions as connect_functions
from pyspark.sql.connect import proto
from pyspark.sql.connect.expressions import LiteralExpression
from pyspark.sql.sql_formatter import SQLStringFormatter
from pyspark.sql.types import StructType

from bayou.spark.portable.classic.reads import answers_of
from bayou.spark.portable.commands.identifiers import with_names
from bayou.spark.portable.commands.sql_commands import run_sql
from bayou.spark.portable.requests.sql_text import replaced_text
from bayou.spark.session.application import Application
from bayou.spark.table.describe import rows_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.spark.portable.requests.answers import CommandAnswer, Reference


def sql(original: Callable[..., DataFrame], spark: SparkSession, text: str, arguments: Any, frames: Mapping[str, Any]) -> DataFrame:
    """Run a statement. Its tables by path become temporary views while Spark analyses it.

    Args:
        original: PySpark's own method of the session.
        spark: the session.
        text: the statement.
        arguments: the values of its parameters: a list, a dictionary or None.
        frames: what stands for names in braces.
    """
    formatter = SQLStringFormatter(spark)
    try:
        if frames:
            text = formatter.format(text, **frames)
        if not isinstance(arguments, (list, dict, type(None))):
            return original(text, arguments)  # which refuses it
        return _run(original, spark, text, arguments)
    finally:
        if frames:
            formatter.clear()


def _run(original: Callable[..., DataFrame], spark: SparkSession, text: str, arguments: Any) -> DataFrame:
    application = Application.of(spark)
    request: Any = proto.Relation(sql=_message(spark, text, arguments))
    answer = run_sql(application, spark, request)
    if answer is not None:
        return _frame(application, spark, answer)
    statement = with_names(request.sql, spark)
    if statement is None:
        statement = request.sql
    elif isinstance(arguments, list):
        arguments = _remaining(arguments, request.sql.pos_arguments, statement.pos_arguments)
    references = answers_of(spark).references(statement)
    if not references:
        return original(text, arguments)
    used = {number for reference in references for number in reference.arguments}
    if isinstance(arguments, list):
        arguments = [value for number, value in enumerate(arguments) if number not in used]
    return _with_views(original, spark, statement.query, references, arguments)


def _remaining(values: list[Any], before: Sequence[proto.Expression], after: Sequence[proto.Expression]) -> list[Any]:
    """Return those values whose expressions are left, in order. Equal ones may stand for each other."""
    found: list[Any] = []
    for value, expression in zip(values, before, strict=True):
        if len(found) < len(after) and expression == after[len(found)]:
            found.append(value)
    return found


def _with_views(
    original: Callable[..., DataFrame], spark: SparkSession, text: str, references: Sequence[Reference], arguments: Any
) -> DataFrame:
    """Run a query with temporary views in place of its tables. Spark looks for tables only when it makes the DataFrame."""
    names: dict[int, str] = {}

    def name_of(frame: DataFrame) -> str:
        if id(frame) not in names:
            name = names[id(frame)] = f"bayou_{uuid.uuid4().hex}"
            # With a view, Spark drops what is cached under its plan, so that it must not be the plan of a program's DataFrame.
            frame.where("true").createOrReplaceTempView(name)
        return names[id(frame)]

    try:
        return original(replaced_text(text, references, name_of), arguments)
    finally:
        for name in names.values():
            spark.catalog.dropTempView(name)


def _message(spark: SparkSession, text: str, arguments: Any) -> proto.SQL:
    """Return a statement as a client of Spark Connect sends it."""
    statement: Any = proto.SQL(query=text)
    if isinstance(arguments, dict):
        for name, value in arguments.items():
            statement.named_arguments[name].CopyFrom(_expression(spark, value))
    else:
        statement.pos_arguments.extend(_expression(spark, value) for value in arguments or ())
    return statement  # type: ignore[no-any-return]


def _expression(spark: SparkSession, value: Any) -> proto.Expression:
    """Return an argument as the expression that a client of Spark Connect sends."""
    unused: Any = None
    if not isinstance(value, Column):
        return cast("proto.Expression", cast("Any", connect_functions).lit(value).to_plan(unused))
    rows = spark.range(1).select(value.alias("value"))
    (row,) = rows.collect()
    return LiteralExpression(row[0], rows.schema[0].dataType).to_plan(unused)


def _frame(application: Application, spark: SparkSession, answer: CommandAnswer) -> DataFrame:
    if answer.frame is not None:
        return answer.frame
    if answer.rows is not None:
        return rows_frame(application, spark, answer.rows)
    return spark.createDataFrame([], StructType([]))
