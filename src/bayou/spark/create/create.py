# SPDX-License-Identifier: Apache-2.0
"""Create or replace tables without rows, at a path or under a name in the session's catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.errors import ProtocolChangedException, TableExistsError, TableNotFoundError, failed
from bayou.log.operations.create import creation_parameters, refuse_other_files
from bayou.log.snapshot.clustering import logical_clustering, replaced_clustering
from bayou.protocol.columns.clustering import parse_columns
from bayou.protocol.columns.clustering_rules import ClusteringRules
from bayou.protocol.columns.column_defaults import CURRENT_DEFAULT
from bayou.protocol.columns.expression_checks import check_functions
from bayou.protocol.columns.expression_functions import ExpressionKind
from bayou.protocol.columns.generated_columns import check_references, check_type, generated_columns, generation_expression
from bayou.protocol.features.protocol_rules import merged
from bayou.protocol.types.char_varchar import DECLARED_TYPE, to_stored
from bayou.protocol.types.schema import StructType, parse_schema, schema_to_json
from bayou.spark.create.place import check_same_place, creation_at, place_of
from bayou.spark.expressions.constraint_definitions import check_constraints
from bayou.spark.expressions.default_checks import check_defaults
from bayou.spark.expressions.stored_expressions import called_by_name, check_stored
from bayou.spark.session.session_transaction import session_transaction
from bayou.spark.session.settings import is_on
from bayou.spark.types.alignment import same_names_and_types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.delta_log import DeltaLog
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.types.schema import StructField
    from bayou.spark.catalog import Catalog
    from bayou.spark.create.definition import TableDefinition
    from bayou.spark.create.place import Place
    from bayou.spark.session.application import Application

_EMPTY_SCHEMA = "spark.databricks.delta.createEmptySchemaTable.enabled"
"""delta-spark's setting that allows tables without columns."""
MODES = ("create", "createIfNotExists", "replace", "createOrReplace")
_OPERATIONS = {
    "create": "CREATE TABLE",
    "createIfNotExists": "CREATE TABLE",
    "replace": "REPLACE TABLE",
    "createOrReplace": "CREATE OR REPLACE TABLE",
}


def create(application: Application, spark: SparkSession, definition: TableDefinition, mode: str) -> str:
    """Create or replace a table, and return the URI of its folder.

    Raises:
        TableExistsError: the mode is `create`, and the table exists.
        TableNotFoundError: the mode is `replace`, and the table does not exist.
        InvalidSchemaError: no table can have these columns, or the table in the folder has others.
        InvalidOptionError: neither a name nor a location is set, or the two contradict each other.
        UnsupportedFeatureError: the table would need a feature that bayou does not support.
    """
    place, is_retry = place_of(application.backend.catalog(spark), definition), False
    with creation_at(place.uri):
        while not _created(application, spark, definition, mode, is_retry=is_retry):
            is_retry = True
    return place.uri


def _created(application: Application, spark: SparkSession, definition: TableDefinition, mode: str, *, is_retry: bool) -> bool:
    """Try to create or replace a table. Return False to retry, if another process created it in the meantime.

    A table has two parts: its log, and its entry in the catalog if it has a name. Either may exist without the other.
    """
    catalog = application.backend.catalog(spark)
    place = place_of(catalog, definition)
    if mode in ("replace", "createOrReplace"):
        check_same_place(place, definition)
    log = application.logs.get(place.uri, {})
    snapshot = _snapshot(log)
    if mode == "create" and (place.is_registered or (snapshot is not None and place.name is None)):
        version = None if snapshot is None else snapshot.version
        relation = _shown(definition, place)
        raise failed("TABLE_OR_VIEW_ALREADY_EXISTS", table=place.uri, version=version, relation=relation)
    if mode == "replace" and (snapshot is None or (place.name is not None and not place.is_registered)):
        raise failed("TABLE_OR_VIEW_NOT_FOUND/replace", table=place.uri, relation=_shown(definition, place))
    if snapshot is None:
        if not _created_first(application, spark, definition, (mode, place.managed), log):
            return False
    elif mode in ("replace", "createOrReplace"):
        _commit(application, spark, definition, (mode, place.managed), log, snapshot)
    # The table gets a name. One that another process has just created, and this call finds in its retry, may have other columns.
    elif not place.is_registered and place.name is not None and not (is_retry and mode == "createIfNotExists"):
        _check_same(definition, snapshot)
    _register(catalog, place, if_absent=mode != "create")
    return True


def _register(catalog: Catalog, place: Place, *, if_absent: bool) -> None:
    """Add a table that has a name to the catalog, unless the catalog has it. Drop what the session has cached of the table."""
    if place.name is None:
        return
    if not place.is_registered:
        catalog.create(place.name, place.uri, managed=place.managed, if_absent=if_absent)
    catalog.refresh(place.name)


def _created_first(
    application: Application, spark: SparkSession, definition: TableDefinition, how: tuple[str, bool], log: DeltaLog
) -> bool:
    """Try to create the table. Return False if another writer created it first.

    Args:
        how: the mode, and whether the catalog manages the table's folder.
    """
    try:
        refuse_other_files(log, is_expected=definition.is_expected)
        _commit(application, spark, definition, how, log, None)
    except (TableExistsError, ProtocolChangedException):
        if _snapshot(log) is None:
            raise
        return False
    return True


def _snapshot(log: DeltaLog) -> Snapshot | None:
    try:
        return log.update()
    except TableNotFoundError:
        return None


def _commit(
    application: Application,
    spark: SparkSession,
    definition: TableDefinition,
    how: tuple[str, bool],
    log: DeltaLog,
    snapshot: Snapshot | None,
) -> None:
    """Make the first commit of a table, or the commit that replaces an existing table.

    Args:
        how: the mode, and whether the catalog manages the table's folder.
        snapshot: the table to replace; None if it does not exist.
    """
    mode, managed = how
    settings = application.backend.settings(spark)
    # A new table without columns gets them by addColumns, or by the first write that merges its schema.
    may_be_empty = snapshot is None and is_on(settings, _EMPTY_SCHEMA, default=True)
    first = definition.first_actions(
        log.table_uri, settings, may_be_empty=may_be_empty, replaced=None if snapshot is None else snapshot.metadata
    )
    protocol, metadata, domains = first.protocol, first.metadata, first.domains
    schema = parse_schema(metadata.schema_string)
    _check_generated(application, spark, schema, log.table_uri)
    check_defaults(application.backend, spark, schema, table=log.table_uri)
    check_constraints(application.backend, spark, metadata, table=log.table_uri)
    parameters = creation_parameters(metadata, first.cluster_by, managed=managed)
    with session_transaction(
        application, spark, log, snapshot, _OPERATIONS[mode], parameters, settings=settings, replaces_table=snapshot is not None
    ) as transaction:
        if snapshot is not None:
            domains = replaced_clustering(snapshot, metadata, first.cluster_by)
            transaction.remove_files(transaction.files())
            protocol = merged(snapshot.protocol, protocol)  # a replaced table keeps its features
        if snapshot is None or protocol != snapshot.protocol:
            transaction.stage(protocol)
        transaction.commit([metadata, *domains], metrics={})
    if snapshot is not None:
        application.backend.refresh_caches(spark, log, {})


def _check_generated(application: Application, spark: SparkSession, schema: StructType, table: str) -> None:
    """Raise an error if a generation expression is not a function of the other columns, or does not have its column's type."""
    kind = ExpressionKind.GENERATED_COLUMN
    for column in generated_columns(schema):
        expression = application.backend.parsed(spark, column.expression)
        called = called_by_name(expression, schema)
        check_functions(sorted(expression.functions | called), kind, owner=column.name, table=table)
        if expression.has_lambda:
            raise failed(
                "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN", table=table, column=column.name, expression=column.expression
            )
        columns = [path for path in sorted(expression.columns) if path[0].lower() not in called]
        check_references(schema, {column.name: columns}, table=table)
        check_stored(expression, kind, schema, of=f"the generated column {column.name!r}", table=table, version=None)
    for column in generated_columns(schema):
        found = application.backend.expression_type(spark, schema_to_json(schema), column.expression)
        check_type(column, parse_schema(found).fields[0].type, table=table)


def _check_same(definition: TableDefinition, snapshot: Snapshot) -> None:
    """Raise an error if an existing table does not have the columns, partitioning and properties of a definition.

    Parts that the definition leaves out may be anything.
    """
    table = snapshot.table_uri
    described = to_stored(definition.schema)
    if described.fields and not _is_same(described, snapshot.schema):
        columns, existing = definition.schema.names, snapshot.schema.names
        raise failed("DELTA_CREATE_TABLE_SCHEME_MISMATCH", at=snapshot, columns=columns, existing=existing)
    if (described.fields or definition.partition_by) and definition.partition_by != snapshot.partition_columns:
        columns, existing = definition.partition_by, snapshot.partition_columns
        raise failed("DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING", at=snapshot, columns=columns, existing=existing)
    if definition.cluster_by is not None:
        rules = ClusteringRules(table, snapshot.version)
        rules.check_same(parse_columns(definition.cluster_by), logical_clustering(snapshot), described=True)
    other = {key: value for key, value in definition.properties.items() if snapshot.properties.get(key) != value}
    if other:
        raise failed("DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY", at=snapshot, properties=other, option="property")


def _is_same(described: StructType, schema: StructType) -> bool:
    """Whether two schemas have the same columns, with the same constraints and comments."""
    if not same_names_and_types(described, schema):
        return False
    pairs = zip(described.fields, schema.fields, strict=True)
    return all(one.nullable == two.nullable and _declared(one) == _declared(two) for one, two in pairs)


def _declared(field: StructField) -> list[object]:
    """Return what a definition may declare of a column, apart from its name and type."""
    declared = (field.metadata.get(key) for key in ("comment", CURRENT_DEFAULT, DECLARED_TYPE))
    return [generation_expression(field), *declared]


def _shown(definition: TableDefinition, place: Place) -> str:
    """Return the table's name as the user wrote it; catalogs use lower case."""
    return definition.name or f"delta.`{definition.location or place.uri}`"
