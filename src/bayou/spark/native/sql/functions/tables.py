# SPDX-License-Identifier: Apache-2.0
"""Resolve the table in the first argument of a table function."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.protocol.types.sql_text import column_sql, string_sql
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.parser import full_name, table_name
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.sql.statements.context import not_delta
from bayou.spark.sql.statements.reader import TableReference

if TYPE_CHECKING:
    from bayou.spark.sql.statements.context import Context

_PATH: Final = re.compile(r"/|[A-Za-z][\w+.-]*:/")
"""The beginning of a path: a slash or a URI scheme. No table name begins like this."""


def named(context: Context, text: str, database: str, *, paths: bool = True) -> TableReference:
    """Return the table with its full name, because the current database may change before the query runs.

    Args:
        text: the argument: a name in SQL, or a path.
        database: the name in SQL of the database of the view that contains the call; empty for the current database.
        paths: whether the string may be a path.

    Raises:
        TableNotFoundError: the string is not a name in the session's own catalog.
    """
    if paths and _PATH.match(text):
        return TableReference(None, string_sql(text))
    session = java_session(context.spark)
    parts = table_name(jvm_of(context.application), session, text)
    if parts is None:
        raise failed("DELTA_MISSING_DELTA_TABLE/other-catalog", table=text)
    if len(parts) == 1 and database:
        return TableReference(f"{database}.{column_sql(parts)}")
    name_in_database = column_sql(parts)
    return TableReference(
        name_in_database if context.catalog.is_temporary(name_in_database) else column_sql(full_name(session, parts))
    )


def delta_path(context: Context, reference: TableReference, operation: str) -> str:
    """Return the path of a Delta table, or raise TableNotFoundError."""
    path = context.path_of(reference)
    if path is not None:
        return path
    name = context.catalog.name(context.name_of(reference))
    entry = context.entry(name, operation)
    if entry.provider != "delta":
        raise not_delta(name.text, operation)
    return entry.location
