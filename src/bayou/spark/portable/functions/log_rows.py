# SPDX-License-Identifier: Apache-2.0
"""Return rows about a table's log in SQL queries: `table_history`, `table_detail`, `table_files`, and DESCRIBE in parentheses."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.protocol.types.sql_text import column_sql
from bayou.spark.portable.functions.arguments import values_of
from bayou.spark.portable.names import path_in
from bayou.spark.portable.text.tokens import words
from bayou.spark.sql.functions.arguments import check_count
from bayou.spark.sql.statements.context import Context
from bayou.spark.sql.statements.description import DescribeDetail, DescribeHistory
from bayou.spark.sql.statements.reader import Reader, TableReference
from bayou.spark.table.file_rows import file_rows
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from bayou.spark.portable.commands.identifiers import Arguments
    from bayou.spark.portable.text.queries import FunctionCall

NAMES: Final = ("table_history", "table_detail", "table_files")
_MENTIONED: Final = re.compile(r"\bdesc(?:ribe)?\b.*?\b(?:history|detail)\b", re.IGNORECASE | re.DOTALL)
_STATEMENTS: Final[dict[str, type[DescribeHistory | DescribeDetail]]] = {"HISTORY": DescribeHistory, "DETAIL": DescribeDetail}
_PATH: Final = re.compile(r"/|[A-Za-z][\w+.-]*:/")
"""The beginning of a path: a slash or a URI scheme. No table name begins like this."""
_QUERY: Final = "SELECT 1"


@dataclass(frozen=True, slots=True)
class Described:
    """A DESCRIBE in parentheses in a query.

    Attributes:
        start: where it begins in the string, after the opening parenthesis.
        end: where it ends, before the closing one.
        statement: the statement.
    """

    start: int
    end: int
    statement: DescribeHistory | DescribeDetail


def described_in(text: str) -> list[Described]:
    """Return the DESCRIBE HISTORY and DESCRIBE DETAIL in parentheses, from left to right.

    Raises:
        SqlSyntaxError: one of them is not valid.
    """
    return list(_described(text)) if _MENTIONED.search(text) else []


def _described(text: str) -> Iterator[Described]:
    found = words(text)
    for place in range(len(found) - 3):
        parenthesis, describe, kind, first = (each.text.upper() for each in found[place : place + 4])
        if parenthesis != "(" or describe not in ("DESCRIBE", "DESC") or kind not in _STATEMENTS or first == ")":
            continue
        reader = Reader(text, found[place + 3 :])
        statement = _STATEMENTS[kind].read(reader)
        end = reader.position
        reader.expect(")")
        yield Described(found[place + 1].start, end, statement)


def with_queries(text: str, described: list[Described]) -> str:
    """Return a string of the same length with queries in place of the statements, which Spark's grammar has there."""
    for each in described:
        text = f"{text[: each.start]}{_QUERY.ljust(each.end - each.start)}{text[each.end :]}"
    return text


def log_rows(call: FunctionCall, arguments: Arguments, context: Context) -> DataFrame | None:
    """Return the rows of a call; None if it is the server's.

    Raises:
        InvalidOptionError: the number or the types of the arguments are wrong, or one is not a constant.
        TableNotFoundError: the table does not exist, or is not a Delta table.
    """
    if call.name not in NAMES:
        return None
    found = values_of(call, arguments)
    check_count(call.name, found)
    table, *more = found
    text = table.string(call.name, "table")
    limit = more[0].integer(call.name, "limit") if more else None
    path = text if _PATH.match(text) else path_in(text)
    reference = TableReference(text if path is None else column_sql(("delta", path)))
    if call.name == "table_history":
        return DescribeHistory(reference, limit).run(context)
    if call.name == "table_detail":
        return DescribeDetail(reference).run(context)
    log = context.application.logs.get(qualify(context.catalog.delta_location(text) if path is None else path).uri, {})
    return context.frame(file_rows(log.update()))
