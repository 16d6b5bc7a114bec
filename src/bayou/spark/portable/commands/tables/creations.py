# SPDX-License-Identifier: Apache-2.0
"""Run CREATE TABLE, REPLACE TABLE and CREATE TABLE ... LIKE."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed
from bayou.protocol.columns.clustering import names_of
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.constraints import add_constraint
from bayou.protocol.columns.generated_columns import GENERATION_EXPRESSION
from bayou.protocol.columns.identity_columns import identity_metadata
from bayou.protocol.types.schema import StructField, StructType, parse_schema
from bayou.protocol.types.sql_text import column_sql
from bayou.spark.alter.constraints import check_declared
from bayou.spark.create.create import create
from bayou.spark.create.definition import TableDefinition, definition_like, refused_transform
from bayou.spark.create.place import place_of
from bayou.spark.create.statement import TableStatement
from bayou.spark.create.with_rows import create_with_rows
from bayou.spark.portable.requests.answers import CommandAnswer
from bayou.spark.read.request import is_table
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.portable.text.tables.columns import Column, Constraint
    from bayou.spark.portable.text.tables.creations import Create, CreateLike
    from bayou.spark.session.application import Application

_DELTA: Final = "delta"
_DONE: Final = CommandAnswer()
_RANDOM: Final = 7
"""So many digits end the name of a constraint without a name, as Spark's do."""


def created(
    application: Application, spark: SparkSession, statement: Create, query: Callable[[str], DataFrame]
) -> CommandAnswer | None:
    """Create or replace a table; None if it is not a Delta table.

    Args:
        query: returns the rows of a query in the statement, given its text.
    """
    provider = statement.provider or application.backend.settings(spark).get("spark.sql.sources.default", "parquet")
    if provider.lower() != _DELTA:
        return None
    name = column_sql(statement.table.parts)
    if statement.transform is not None:
        raise refused_transform(statement.transform, name)
    columns = (*statement.columns, *statement.partition_columns)
    definition = TableDefinition(
        name=name,
        location=statement.location,
        schema=schema_of(application, spark, columns),
        partition_by=statement.partition_by,
        cluster_by=None if statement.cluster_by is None else tuple(names_of(statement.cluster_by)),
        properties=_properties(statement, name),
        comment=statement.comment,
        in_sql=True,
    )
    if statement.query is None:
        create(application, spark, definition, statement.kind)
    else:
        _create_as_select(application, spark, statement, definition, query)
    return _DONE


def _create_as_select(
    application: Application,
    spark: SparkSession,
    statement: Create,
    definition: TableDefinition,
    query: Callable[[str], DataFrame],
) -> None:
    """Run a statement with a query. The query runs only if the statement changes the table."""
    assert statement.query is not None  # noqa: S101  (checked by the caller)
    place = place_of(application.backend.catalog(spark), definition)
    exists = is_table(place.uri)
    if exists and statement.kind == "createIfNotExists":
        return
    if exists and statement.kind == "create":
        version = application.logs.get(place.uri, {}).version()
        raise failed("TABLE_OR_VIEW_ALREADY_EXISTS", table=place.uri, version=version, relation=definition.name)
    if not exists and statement.kind == "replace":
        raise failed("TABLE_OR_VIEW_NOT_FOUND/replace", table=place.uri, relation=definition.name)
    rows = query(statement.query.text)
    create_with_rows(application, rows, TableStatement(definition, statement.kind))


def created_like(application: Application, spark: SparkSession, statement: CreateLike) -> CommandAnswer | None:
    """Create a table with the definition of another Delta table; None if neither is a Delta table at a path.

    Raises:
        UnsupportedFeatureError: one of them is a table of the catalog, or the new one is not a Delta table.
    """
    if (statement.provider or _DELTA).lower() != _DELTA or statement.source.path is None:
        if statement.source.path is None and statement.table.path is None:
            return None
        what = "CREATE TABLE ... LIKE of a Delta table and a table that is not a Delta table at a path"
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))
    source = application.logs.get(qualify(statement.source.path).uri, {}).update()
    definition = definition_like(column_sql(statement.table.parts), statement.location, source, statement.properties)
    create(application, spark, definition, "createIfNotExists" if statement.if_not_exists else "create")
    return _DONE


def schema_of(application: Application, spark: SparkSession, columns: Sequence[Column]) -> StructType:
    """Return columns as a table has them. The server reads their types, all in one request.

    Raises:
        ParseException: a type is not valid.
    """
    if not columns:
        return StructType()
    texts = (f"c{number} {column.type}" for number, column in enumerate(columns))
    types = parse_schema(application.backend.columns_in_json(spark, ", ".join(texts))).fields
    return StructType(tuple(_field(column, field) for column, field in zip(columns, types, strict=True)))


def name_of(constraint: Constraint, table: str) -> str:
    """Return the name of a constraint, or a new one as Spark makes it."""
    if constraint.name is not None:
        return constraint.name
    return f"{table}_chk_{uuid.uuid4().hex[:_RANDOM]}" if constraint.kind == "CHECK" else f"{table}_{constraint.kind.lower()}"


def _field(column: Column, typed: StructField) -> StructField:
    metadata: dict[str, Any] = dict(typed.metadata)
    if column.comment is not None:
        metadata["comment"] = column.comment
    if column.default is not None:
        metadata[CURRENT_DEFAULT] = column.default
    if column.generated is not None:
        metadata[GENERATION_EXPRESSION] = column.generated
    if column.identity is not None:
        identity = column.identity
        metadata |= identity_metadata(identity.start, identity.step, allow_explicit_insert=identity.allows_explicit)
    return StructField(column.name, typed.type, column.nullable, metadata)


def _properties(statement: Create, name: str) -> dict[str, str]:
    """Return the properties of a table: those of the statement, Delta's among its options, and its CHECK constraints."""
    of_options = {key: value for key, value in statement.options.items() if key.lower().startswith("delta.")}
    found = {**of_options, **statement.properties}
    for each in statement.constraints:
        own = name_of(each, statement.table.parts[-1])
        check_declared(own, each.kind, says_rely=each.says_rely, table=name)
        found = add_constraint(found, own, each.condition, table=name)
    return found
