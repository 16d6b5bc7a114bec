# SPDX-License-Identifier: Apache-2.0
"""Turn a resolved CREATE TABLE ... LIKE into a command that creates a Delta table with the schema of another table.

Source: delta-spark's `DeltaAnalysis`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.protocol.types.schema import parse_schema
from bayou.spark.create.create import create
from bayou.spark.create.definition import TableDefinition, definition_like
from bayou.spark.jvm.core.callbacks import BiFunction
from bayou.spark.jvm.core.session import active_session, session_of
from bayou.spark.jvm.relations import commands
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.create_like import LikeStatement
from bayou.spark.native.session.jvm import jvm_of
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.jvm.relations.catalog import TableName
    from bayou.spark.session.application import Application


def like_command(application: Application, node: JavaObject) -> JavaObject | None:
    """Return the command for a statement that creates a Delta table, or None for a table of another format.

    The statement creates a Delta table if it has USING delta, or if it states no format and its source is a Delta table.
    """
    jvm = jvm_of(application)
    statement = LikeStatement.of(jvm, node)
    has_no_format = not statement.provider and not statement.is_stored_as
    creates_delta = statement.provider == "delta" or (
        has_no_format and _is_delta(Catalog(jvm, active_session(jvm)), statement.source)
    )
    if not creates_delta:
        return None
    return commands.command(jvm, BiFunction(jvm, lambda same, session: _run(application, same, session)), node, statement.text)


def _is_delta(catalog: Catalog, name: TableName) -> bool:
    entry = catalog.entry(name) if name.path is None else None
    return name.path is not None or (entry is not None and entry.provider == "delta")


def _run(application: Application, node: JavaObject, session: JavaObject) -> None:
    spark, statement = session_of(session), LikeStatement.of(jvm_of(application), node)
    mode = "createIfNotExists" if statement.if_not_exists else "create"
    create(application, spark, _definition(application, spark, statement), mode)


def _definition(application: Application, spark: SparkSession, statement: LikeStatement) -> TableDefinition:
    """Return the table to create. Raise TableNotFoundError if the source does not exist."""
    catalog = Catalog(jvm_of(application), spark)
    snapshot = _snapshot(application, catalog, statement.source)
    name_and_location = (statement.target.text, statement.location)
    if snapshot is None and catalog.entry(statement.source) is None:
        raise failed("DELTA_TABLE_NOT_FOUND/like", table=statement.source.text)
    if snapshot is None:
        schema, partitions, properties, comment = catalog.columns(statement.source)
        merged_properties = {**properties, **statement.properties}
        return TableDefinition(*name_and_location, parse_schema(schema), tuple(partitions), None, merged_properties, comment)
    return definition_like(*name_and_location, snapshot, statement.properties)


def _snapshot(application: Application, catalog: Catalog, source: TableName) -> Snapshot | None:
    """Return the snapshot of the source, or None if it is not a Delta table."""
    if source.path is not None:
        return application.logs.get(qualify(source.path).uri, {}).update()
    entry = catalog.entry(source)
    if entry is None or entry.provider != "delta":
        return None
    return application.logs.get(qualify(entry.location).uri, {}).update()
