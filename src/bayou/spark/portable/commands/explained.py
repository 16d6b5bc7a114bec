# SPDX-License-Identifier: Apache-2.0
"""Run EXPLAIN of the statements on Delta tables that a client runs itself. It reads the log and changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from bayou.spark.portable.commands.row_changes import planned_change
from bayou.spark.portable.commands.tables.statements import tables_of
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.text.row_changes import Insert, row_change
from bayou.spark.portable.text.tables.statements import table_statement
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError
from bayou.spark.read.request import is_table
from bayou.spark.sql.statements.context import Context
from bayou.spark.sql.statements.kinds import MODES, shown
from bayou.spark.sql.statements.plan_text import plan_text, redacted, table_line
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.session.application import Application

_PLAN: Final = pa.schema([("plan", pa.string())])


def explained(application: Application, spark: SparkSession, text: str, query: Callable[[str], DataFrame]) -> CommandAnswer | None:
    """Explain a statement; None if the server runs it, or if it is not EXPLAIN.

    Args:
        text: the statement, without parameters.
        query: returns the rows of a query in the statement, given its text.
    """
    found = words(text)
    if not found or found[0].text.upper() != "EXPLAIN":
        return None
    mode = next((each for each in MODES if len(found) > 1 and found[1].text.upper() == each), "")
    rest = text[found[1 + bool(mode)].start :] if len(found) > 1 + bool(mode) else ""
    try:
        lines = _lines(application, spark, rest, query)
    except UnreadableTextError:
        return None
    if lines is None:
        return None
    context = Context(application, spark)
    return CommandAnswer(frame=context.rows(_PLAN, [{"plan": plan_text(shown(rest), mode, redacted(lines))}]))


def _lines(application: Application, spark: SparkSession, text: str, query: Callable[[str], DataFrame]) -> Sequence[str] | None:
    """Return the plan of a statement; None if the server runs it."""
    change = row_change(text)
    if change is None:
        statement = table_statement(text)
        paths = [] if statement is None else tables_of(statement)
        return [_table_line(application, path) for path in paths] or None
    path = change.table.path
    if path is None:
        return None
    if isinstance(change, Insert):
        return [_table_line(application, path)]
    return str(planned_change(application, spark, text, path, query).plan).splitlines()


def _table_line(application: Application, path: str) -> str:
    uri = qualify(path).uri
    return table_line(uri, application.logs.get(uri, {}).version() if is_table(path) else None)
