# SPDX-License-Identifier: Apache-2.0
"""Run INSERT statements on Delta tables."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.protocol.columns.generated_columns import generation_expression
from bayou.protocol.columns.identity_columns import is_identity
from bayou.protocol.types.char_varchar import char_width
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.dml.statements.defaults import default_of
from bayou.spark.portable.commands.default_values import may_be_columns, with_defaults
from bayou.spark.portable.commands.replacing_inserts import replace_matches
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.literals import dialect_of
from bayou.spark.portable.text.subqueries import query_behind
from bayou.spark.portable.text.tables.reader import options_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import Name, Operation, UnreadableTextError
from bayou.spark.session.settings import is_on
from bayou.spark.types.char_columns import AS_TEXT
from bayou.spark.types.types import sql_type
from bayou.spark.write.inserts import InsertStatement, insert
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.portable.text.row_changes import Insert
    from bayou.spark.session.application import Application


def insert_of(
    application: Application, spark: SparkSession, statement: Insert, path: str, query: Callable[[str], DataFrame]
) -> CommandAnswer:
    """Write the rows of an INSERT.

    Args:
        statement: the statement.
        path: the table's path.
        query: returns the rows of a query in the statement, given its text.

    Raises:
        UnsupportedFeatureError: it says IF NOT EXISTS after its PARTITION clause.
    """
    if statement.if_not_exists:
        table = f"delta.{quoted_name(path)}"
        raise failed("UNSUPPORTED_FEATURE.INSERT_PARTITION_SPEC_IF_NOT_EXISTS", table=table, features=("IF NOT EXISTS",))
    options = _options(application, spark, statement)
    latest = functools.cache(application.logs.get(qualify(path).uri, {}).update)  # several steps need the table's columns
    static = _static_values(statement)
    with_clause = None if statement.with_clause is None else statement.with_clause.text
    rows = _as_written(statement, with_clause, query)
    if rows is None:
        rows = query(query_behind(with_clause, _without_defaults(application, spark, statement, static, latest)))
    name, columns = f"delta.{quoted_name(path)}", "position"
    if statement.replace_on is not None or statement.replace_using:
        replace_matches(application, rows, statement, InsertStatement(name, "overwrite", "", columns, options), path)
        return CommandAnswer()
    if statement.columns:
        _refuse_unknown(statement.columns, latest())
        rows, columns = _named(rows, statement.columns, name), "name"
    elif statement.by_name:
        columns = "name"
    condition = "" if statement.replace_where is None else statement.replace_where.text
    if statement.partition is not None:
        rows, of_partition = _in_partition(rows, statement, static, latest(), name, application.backend.settings(spark))
        columns, condition = "name", condition or of_partition
    how = "append"
    if statement.replace_where is not None:
        how = "replace"
    elif statement.is_overwrite:
        how = "dynamic" if overwrites_dynamically(application, spark) else "replace" if condition else "overwrite"
    insert(application, rows, InsertStatement(name, how, condition, columns, options), path)
    return CommandAnswer()


def _options(application: Application, spark: SparkSession, statement: Insert) -> dict[str, str]:
    """Return the writer's options in the clauses of an INSERT."""
    of_table = statement.table.options
    evolution = {"mergeSchema": "true"} if statement.with_schema_evolution else {}
    if of_table is None:
        return evolution
    dialect = dialect_of(of_table.text, lambda: application.backend.settings(spark))
    return {**options_of(statement.table, of_table.text, dialect), **evolution}


def _as_written(statement: Insert, with_clause: str | None, query: Callable[[str], DataFrame]) -> DataFrame | None:
    """Return the rows of a query whose DEFAULT are columns of that name; None for any other query.

    Spark does the same: it replaces DEFAULT by the default of a column if the query has no column of that name.
    """
    if not may_be_columns(statement.query.text):
        return None
    try:
        rows = query(query_behind(with_clause, statement.query.text))
        _ = rows.columns  # the server resolves the query
    except AnalysisException:
        return None
    return rows


def _without_defaults(
    application: Application, spark: SparkSession, statement: Insert, static: Mapping[str, str], latest: Callable[[], Snapshot]
) -> str:
    """Return the SQL of the query with the defaults of the columns in place of DEFAULT.

    Raises:
        InvalidSchemaError: a default has an expression that bayou does not allow there.
        UnsupportedFeatureError: the column is generated, or has no place in the statement.
    """
    text = statement.query.text
    if "default" not in text.lower():
        return text
    snapshot = latest()
    places = _columns_of_query(statement, static, snapshot)

    def value(place: int) -> str:
        field = snapshot.schema.field(places[place]) if place < len(places) else None
        if field is None or statement.by_name or generation_expression(field) or is_identity(field):
            raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what="DEFAULT in this place", features=("Spark Connect",))
        return f"({default_of(application.backend, spark, field, snapshot.schema, snapshot)})"

    return with_defaults(text, value)


def overwrites_dynamically(application: Application, spark: SparkSession) -> bool:
    """Whether the session's setting says that an overwrite replaces only the partitions that get rows."""
    return application.backend.settings(spark).get("spark.sql.sources.partitionOverwriteMode", "").lower() == "dynamic"


def _named(rows: DataFrame, columns: tuple[str, ...], table: str) -> DataFrame:
    """Return rows under the names of the columns that an INSERT lists."""
    found = rows.columns
    if len(found) != len(columns):
        raise failed(
            "DELTA_INSERT_COLUMN_ARITY_MISMATCH",
            table=table,
            num_found=len(found),
            found=found,
            num_wanted=len(columns),
            wanted=list(columns),
        )
    return rows.toDF(*columns)


def _refuse_unknown(columns: tuple[str, ...], snapshot: Snapshot) -> None:
    """Raise SchemaMismatchError if an INSERT lists a column twice, or one that the table does not have. It cannot add one."""
    known_names = set()
    for name in columns:
        if name.lower() in known_names:
            raise failed("COLUMN_ALREADY_EXISTS", at=snapshot, column=quoted_name(name.lower()))
        known_names.add(name.lower())
    for name in columns:
        if snapshot.schema.fields and snapshot.schema.field(name) is None:
            known = ", ".join(map(quoted_name, snapshot.schema.names))
            raise failed("UNRESOLVED_COLUMN.WITH_SUGGESTION", at=snapshot, column=quoted_name(name), columns=known)


def _static_values(statement: Insert) -> dict[str, str]:
    """Return the values in a PARTITION clause as SQL, by the names of their columns as written.

    Raises:
        UnsupportedFeatureError: a part of the clause is neither a column nor a column with a value.
    """
    static: dict[str, str] = {}
    for part in [] if statement.partition is None else _parts(statement.partition.text):
        try:
            tree = read_expression(part)
        except UnreadableTextError:
            tree = None
        if isinstance(tree, Operation) and tree.operator in ("=", "==") and isinstance(tree.operands[0], Name):
            static[tree.operands[0].parts[-1]] = _after_equals(part)
        elif not isinstance(tree, Name):
            raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=f"PARTITION ({part})", features=("Spark Connect",))
    return static


def _after_equals(text: str) -> str:
    """Return the value in `column = value`, without comments at its ends."""
    found = words(text)
    place = next(number for number, word in enumerate(found) if word.text in ("=", "=="))
    return text[found[place + 1].start : found[-1].end]


def _columns_of_query(statement: Insert, static: Mapping[str, str], snapshot: Snapshot) -> tuple[str, ...]:
    """Return the columns that the query of an INSERT by position fills, in order."""
    names = {name.lower() for name in static}
    return statement.columns or tuple(name for name in snapshot.schema.names if name.lower() not in names)


def _in_partition(
    rows: DataFrame, statement: Insert, static: Mapping[str, str], snapshot: Snapshot, table: str, settings: Mapping[str, str]
) -> tuple[DataFrame, str]:
    """Return rows with the values of a PARTITION clause, under the names of the table's columns, and the condition of its values.

    The condition is empty if the clause has no values.
    """
    fields = {each.name.lower(): each for each in snapshot.schema.fields if each.name in snapshot.partition_columns}
    names = {name.lower() for name in static}
    if not names <= fields.keys():
        raise failed(
            "DELTA_NON_PARTITION_COLUMN_SPECIFIED",
            at=snapshot,
            columns=[name for name in static if name.lower() not in fields],
            path="" if statement.partition is None else f"PARTITION {statement.partition.text}",
            partition_columns=list(snapshot.partition_columns),
        )
    named = rows if statement.by_name else _named(rows, _columns_of_query(statement, static, snapshot), table)
    values = {name: f"CAST({value} AS {sql_type(fields[name.lower()].type)})" for name, value in static.items()}
    written = {name: _written(value, fields[name.lower()], settings) for name, value in values.items()}
    condition = " AND ".join(f"{quoted_name(name)} <=> {value}" for name, value in written.items())
    return named.select("*", *(F.expr(value).alias(name) for name, value in static.items())), condition


def _written(value: str, field: StructField, settings: Mapping[str, str]) -> str:
    """Return the SQL of a partition value as the write stores it: chars are padded."""
    width = 0 if is_on(settings, AS_TEXT) else char_width(field)
    return f"if(length({value}) < {width}, rpad({value}, {width}, ' '), {value})" if width else value


def _parts(text: str) -> list[str]:
    """Split a PARTITION clause at its commas outside of parentheses."""
    found, depth, start = [], 0, 0
    for word in words(text):
        depth += (word.text == "(") - (word.text == ")")
        if word.text == "," and not depth:
            found.append(text[start : word.start].strip())
            start = word.end
    return [*found, text[start:].strip()]
