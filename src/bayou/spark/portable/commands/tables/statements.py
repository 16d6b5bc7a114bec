# SPDX-License-Identifier: Apache-2.0
"""Run the statements that create, alter and describe tables, for tables by path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.alter.truncate import truncate
from bayou.spark.portable.commands.tables.alterations import altered, commented
from bayou.spark.portable.commands.tables.caches import cache_table, refresh_table, storage_level, uncache_table
from bayou.spark.portable.commands.tables.creations import created, created_like
from bayou.spark.portable.commands.tables.descriptions import described
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.queries import path_of
from bayou.spark.portable.text.tables.alterations import Alter, CommentOnColumn
from bayou.spark.portable.text.tables.creations import Create, CreateLike
from bayou.spark.portable.text.tables.descriptions import Cache, Refresh, Refused, Truncate, Uncache
from bayou.spark.portable.text.tables.statements import table_statement
from bayou.spark.portable.text.tree import UnreadableTextError
from bayou.spark.read.request import is_table
from bayou.spark.read.session_table import SessionTable
from bayou.spark.table.refused_commands import refused_command, refused_on_path, refuses
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.portable.text.tables.descriptions import Description
    from bayou.spark.portable.text.tables.statements import TableStatement
    from bayou.spark.session.application import Application

_DONE: Final = CommandAnswer()
_COMMANDS: Final = {
    "ANALYZE TABLE": "AnalyzeTableCommand",
    "DROP TABLE": "DropTableCommand",
    "LOAD DATA": "LoadDataCommand",
    "MSCK REPAIR TABLE": "RepairTableCommand",
}
"""Spark's classes of commands that are refused."""
_DELTA: Final = "delta"
_PATHS: Final = "spark.sql.runSQLOnFiles"
_TABLE: Final = len(("delta", "path"))


def run_table_statement(
    application: Application, spark: SparkSession, text: str, query: Callable[[str], DataFrame]
) -> CommandAnswer | None:
    """Run a statement about a table; None if it is another one, or is about a table that is not a Delta table.

    Args:
        text: the statement, without parameters.
        query: returns the rows of a query in the statement, given its text.

    Raises:
        UnreadableTextError: the statement is invalid, or bayou cannot read it.
    """
    statement = _read(application, spark, text)
    if statement is None:
        return None
    if isinstance(statement, Create):
        return created(application, spark, statement, query)
    if isinstance(statement, CreateLike):
        return created_like(application, spark, statement)
    if isinstance(statement, CommentOnColumn):
        return commented(application, spark, statement, statement.parts[1])
    path = statement.table.path or ""
    if isinstance(statement, Alter):
        return altered(application, spark, statement, path)
    return _described(application, spark, statement, path)


def _read(application: Application, spark: SparkSession, text: str) -> TableStatement | None:
    """Return a statement about a Delta table; None for another one, and if the session's SQL has no paths.

    The session's settings are read, in one request, only for a statement about a Delta table.
    """
    settings: dict[str, str] | None = None
    try:
        statement = table_statement(text)
    except UnreadableTextError:
        settings = application.backend.settings(spark)
        statement = _read_again(text, settings)
    if statement is None or not _is_about_delta(statement):
        return None
    settings = application.backend.settings(spark) if settings is None else settings
    if settings.get(_PATHS, "true").lower() != "true":
        return None
    dialect = Dialect.of(settings)
    return statement if dialect == Dialect() else table_statement(text, dialect)


def _read_again(text: str, settings: Mapping[str, str]) -> TableStatement | None:
    """Read a statement by the session's settings. Raise UnreadableTextError if they have their defaults."""
    dialect = Dialect.of(settings)
    if dialect == Dialect():
        raise UnreadableTextError("a statement that is not valid", 0)
    return table_statement(text, dialect)


def tables_of(statement: TableStatement) -> list[str]:
    """Return the paths of the Delta tables that a statement changes or describes."""
    if isinstance(statement, CommentOnColumn):
        path = path_of(statement.parts[:_TABLE]) if len(statement.parts) > _TABLE else None
    else:
        path = statement.table.path
    return [] if path is None else [path]


def _is_about_delta(statement: TableStatement) -> bool:
    """Whether a statement is about a table by path, or creates a table with USING delta."""
    if isinstance(statement, Create) and (statement.provider or "").lower() == _DELTA:
        return True
    return bool(tables_of(statement)) or (isinstance(statement, CreateLike) and statement.source.path is not None)


def _described(application: Application, spark: SparkSession, statement: Description, path: str) -> CommandAnswer:
    match statement:
        case Truncate(of_partition=of_partition):
            _truncate(application, spark, statement, path, of_partition=of_partition)
        case Refresh():
            refresh_table(application, spark, path)
        case Cache(is_lazy=is_lazy, level=level):
            cache_table(spark, path, is_lazy=is_lazy, level=storage_level(level))
        case Uncache():
            uncache_table(application, spark, path)
        case Refused():
            _refuse(statement, path)
        case _:
            return CommandAnswer(frame=described(application, spark, statement, path))
    return _DONE


def _truncate(application: Application, spark: SparkSession, statement: Truncate, path: str, *, of_partition: bool) -> None:
    if of_partition:
        raise refused_command("TruncateTableCommand")
    if not is_table(path):
        raise failed("TABLE_OR_VIEW_NOT_FOUND", table=column_sql(statement.table.parts))
    truncate(SessionTable.of(application, spark, qualify(path).uri, {}))


def _refuse(statement: Refused, path: str) -> None:
    """Raise the error of a statement that Delta tables do not have. Without a table, IF EXISTS does nothing."""
    command = _COMMANDS[statement.statement]
    if is_table(path):
        raise refused_on_path(command, path) if refuses(command) else refused_command(command)
    if not statement.if_exists:
        raise failed("TABLE_OR_VIEW_NOT_FOUND", table=column_sql(statement.table.parts))
