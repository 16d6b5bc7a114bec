# SPDX-License-Identifier: Apache-2.0
"""Run SQL statements that only Delta Lake has, such as VACUUM and DESCRIBE HISTORY."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bayou.spark.portable.commands.arguments import literals_of
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError
from bayou.spark.sql.statements.context import Context
from bayou.spark.sql.statements.kinds import MODES, begins, read_statement, shown, tables_of
from bayou.spark.sql.statements.parameters import FilledText, parameters_in
from bayou.spark.sql.statements.plan_text import plan_text, redacted
from bayou.spark.sql.statements.reader import Reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.session.application import Application

_PLAN: Final = pa.schema([("plan", pa.string())])


def statement_of(application: Application, spark: SparkSession, sql: proto.SQL) -> CommandAnswer | None:
    """Run a statement; None if it is not a statement of Delta Lake, or is about a table of another catalog.

    Raises:
        SqlSyntaxError: it starts like a statement of Delta Lake, and the rest is not valid or a parameter has no value.
    """
    reader = _reader(sql)
    if reader is None:
        return None
    explains = reader.take("EXPLAIN")
    mode = (reader.take_one(*MODES) or "") if explains else ""
    start = reader.position
    statement = read_statement(reader)
    names = [] if statement is None else [each.name for each in tables_of(statement) if each.name is not None]
    if statement is None or any(application.backend.table_name(spark, name) is None for name in names):
        return None
    context = Context(application, spark)
    if explains:
        line = shown(reader.text[start:])
        rows = context.rows(_PLAN, [{"plan": plan_text(line, mode, redacted(statement.explain(context)))}])
        return CommandAnswer(frame=rows)
    found = statement.run(context)
    return CommandAnswer() if found is None else CommandAnswer(frame=found)


def _reader(sql: proto.SQL) -> Reader | None:
    """Return a reader of a statement in which literals replace the parameters; None if it is not one of Delta Lake's."""
    text = sql.query
    try:
        found = words(text)
    except UnreadableTextError:
        return None
    if not begins(Reader(text, found)):
        return None
    parameters = parameters_in(found)
    if not parameters:
        return Reader(text, found)
    filled = FilledText.of(text, parameters, literals_of(sql, parameters))
    return Reader(filled.text, words(filled.text), filled)
