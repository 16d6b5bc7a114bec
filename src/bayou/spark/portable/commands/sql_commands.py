# SPDX-License-Identifier: Apache-2.0
"""Run the SQL statements on Delta tables that a client answers itself."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, cast

from bayou.errors import SqlSyntaxError, failed
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.backend import is_of_connect
from bayou.spark.portable.commands.arguments import filled
from bayou.spark.portable.commands.explained import explained
from bayou.spark.portable.commands.identifiers import with_names
from bayou.spark.portable.commands.inserts import insert_of
from bayou.spark.portable.commands.refused import refuse_inserts_after_from, refuse_on_server, refuse_unread
from bayou.spark.portable.commands.row_changes import changed_rows
from bayou.spark.portable.commands.statements import statement_of
from bayou.spark.portable.commands.tables.statements import run_table_statement
from bayou.spark.portable.commands.tables.views import create_view
from bayou.spark.portable.commands.targets import refuse_view
from bayou.spark.portable.commands.variables import refuse_variables, with_variables
from bayou.spark.portable.requests.frames import frame_of
from bayou.spark.portable.text.literals import dialect_of
from bayou.spark.portable.text.row_changes import Insert, Merge, RowChange, row_change
from bayou.spark.portable.text.tables.creations import Create
from bayou.spark.portable.text.tables.statements import table_statement
from bayou.spark.portable.text.tables.views import temporary_view
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError
from bayou.spark.read.request import is_table
from bayou.spark.sql.statements.parameters import parameters_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.portable.requests.answers import CommandAnswer
    from bayou.spark.portable.text.queries import Part
    from bayou.spark.session.application import Application


def run_sql(application: Application, spark: SparkSession, command: proto.Relation) -> CommandAnswer | None:
    """Run a statement; None if it is the server's.

    Args:
        command: the statement as the client sends it, with its arguments and with the DataFrames that it names. The values of
            settings replace its variables in place.

    Raises:
        UnsupportedFeatureError: it names Delta tables by path, and only the server could run it.
    """
    text = with_variables(_sql_of(command).query, spark)
    if text != _sql_of(command).query:
        _sql_of(command).query = text
    refuse_on_server(_sql_of(command).query)
    named = with_names(_sql_of(command), spark)
    if named is not None:
        command = _with_sql(command, named)
    sql = _sql_of(command)
    answer = statement_of(application, spark, sql)
    if answer is not None:
        return answer

    def query(text: str) -> DataFrame:
        return _rows_of(spark, _with_text(command, text))

    dialect = dialect_of(sql.query, lambda: application.backend.settings(spark))
    view = temporary_view(sql.query, dialect) if "delta" in sql.query.lower() else None
    if view is not None and view.reads_delta:
        return create_view(spark, view, query)
    try:
        change = row_change(sql.query, dialect)
    except UnreadableTextError:
        change = None
    if change is None:
        refuse_inserts_after_from(sql.query)
        return _of_table(application, spark, command)
    return _of_rows(application, spark, command, change, query)


def _of_rows(
    application: Application,
    spark: SparkSession,
    command: proto.Relation,
    change: RowChange,
    query: Callable[[str], DataFrame],
) -> CommandAnswer | None:
    """Run a statement that changes the rows of a table; None if it is the server's."""
    path = change.table.path
    if path is None or not application.backend.catalog(spark).has_paths():
        if not isinstance(change, Insert):
            refuse_view(spark, change.table.parts, type(change).__name__.upper())
        return None
    refuse_variables(_sql_of(command).query, spark)
    if isinstance(change, Insert):
        if not is_table(path):
            raise failed("TABLE_OR_VIEW_NOT_FOUND", table=column_sql(change.table.parts))
        if _has_parameters(change.replace_where) or _has_parameters(change.replace_on):
            plain = _with_literals(command)
            refuse_variables(_sql_of(plain).query, spark)
            return run_sql(application, spark, plain)
        return insert_of(application, spark, change, path, query if change.by_name else lambda text: _with_names(query(text)))
    # The source of a MERGE is read by `query`, which has the DataFrames.
    with contextlib.nullcontext() if isinstance(change, Merge) else _given_frames(spark, command):
        text = filled(_sql_of(command), is_typed=True)
        refuse_variables(text, spark)  # Spark would also replace those in the values of arguments
        return changed_rows(application, spark, text, path, query)


@contextlib.contextmanager
def _given_frames(spark: SparkSession, command: proto.Relation) -> Iterator[None]:
    """Within the block, make the DataFrames that a statement names temporary views, which the subqueries of conditions can read."""
    references = command.with_relations.references if command.HasField("with_relations") else ()
    given = {each.subquery_alias.alias: each.subquery_alias.input for each in references if each.HasField("subquery_alias")}
    for name, relation in given.items():
        frame_of(spark, relation).createOrReplaceTempView(name)
    try:
        yield
    finally:
        for name in given:
            spark.catalog.dropTempView(name)


def _with_names(rows: DataFrame) -> DataFrame:
    """Return rows whose columns have different names, for an INSERT by position."""
    names = [name.lower() for name in rows.columns]
    if len(set(names)) == len(names):
        return rows
    return rows.toDF(*(f"{name}_{place}" if names.count(name.lower()) > 1 else name for place, name in enumerate(rows.columns)))


def _of_table(application: Application, spark: SparkSession, command: proto.Relation) -> CommandAnswer | None:
    """Run a statement that creates, alters or describes a table; None if it is the server's."""
    sql = _sql_of(command)
    if "delta" not in sql.query.lower():
        return None
    plain = command
    try:
        # The server gets the arguments of a query. Those in other places become literals.
        if not _has_query(sql.query):
            plain = _with_literals(command, is_typed=False)
    except SqlSyntaxError:
        return None

    def query(text: str) -> DataFrame:
        return _rows_of(spark, _with_text(plain, text))

    text = _sql_of(plain).query
    try:
        if "${" in text and not _has_query(text) and table_statement(text) is not None:
            refuse_variables(text, spark)
        return explained(application, spark, text, query) or run_table_statement(application, spark, text, query)
    except UnreadableTextError:
        refuse_unread(text, query)
        return None


def _has_parameters(part: Part | None) -> bool:
    return part is not None and bool(parameters_in(words(part.text)))


def _with_literals(command: proto.Relation, *, is_typed: bool = True) -> proto.Relation:
    """Return a statement with literals in place of all its parameters."""
    changed = _with_text(command, filled(_sql_of(command), is_typed=is_typed))
    for field in ("args", "pos_args", "named_arguments", "pos_arguments"):
        _sql_of(changed).ClearField(field)
    return changed


def _has_query(text: str) -> bool:
    """Whether a statement creates a table with the rows of a query."""
    try:
        statement = table_statement(text)
    except UnreadableTextError:
        return False
    return isinstance(statement, Create) and statement.query is not None


def _rows_of(spark: SparkSession, query: proto.Relation) -> DataFrame:
    """Return the rows of a query. A classic session finds the Delta tables in it, too, once `bayou.enable` has prepared it."""
    return frame_of(spark, query) if is_of_connect(spark) else spark.sql(filled(_sql_of(query), is_typed=True))


def _sql_of(command: proto.Relation) -> proto.SQL:
    return command.with_relations.root.sql if command.HasField("with_relations") else command.sql


def _with_text(command: proto.Relation, text: str) -> proto.Relation:
    """Return a statement with another text, and with the same arguments and DataFrames."""
    changed: Any = type(command)()
    changed.CopyFrom(command)
    changed.ClearField("common")
    _sql_of(changed).query = text
    return cast("proto.Relation", changed)


def _with_sql(command: proto.Relation, sql: proto.SQL) -> proto.Relation:
    changed: Any = type(command)()
    changed.CopyFrom(command)
    _sql_of(changed).CopyFrom(sql)
    return cast("proto.Relation", changed)
