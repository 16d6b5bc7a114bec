# SPDX-License-Identifier: Apache-2.0
"""Create or replace a table with the rows of a query: CREATE TABLE ... AS SELECT, and the writers that create their table."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.log.operations.create import refuse_other_files
from bayou.spark.create.place import check_same_place, creation_at, place_of
from bayou.spark.data_files.request import Statement, WriteContext, WriteOptions, WriteRequest
from bayou.spark.read.request import is_table
from bayou.spark.write.writer import write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from bayou.spark.catalog import Catalog
    from bayou.spark.create.place import Place
    from bayou.spark.create.statement import TableStatement
    from bayou.spark.session.application import Application


def create_with_rows(application: Application, rows: DataFrame, statement: TableStatement) -> None:
    """Create or replace a table with rows. A lock on the location serialises creations within this process.

    Raises:
        TableExistsError: the statement creates a table that exists.
        UnsupportedFeatureError: the catalog takes no entries of Delta tables.
        InvalidOptionError: an option would keep a part of a table that is replaced.
    """
    definition = statement.definition
    catalog = application.backend.catalog(rows.sparkSession)
    place = place_of(catalog, definition)
    check_same_place(place, definition)
    creates_table = statement.creates or not is_table(place.uri)
    with creation_at(place.uri) if creates_table else contextlib.nullcontext():
        # Look the place up again: another thread may have registered the table while this one waited for the lock.
        _write_table(application, rows, statement, catalog, place_of(catalog, definition))


def _write_table(application: Application, rows: DataFrame, statement: TableStatement, catalog: Catalog, place: Place) -> None:
    """Commit the rows as a new table or a new version, and register the table in the catalog if necessary."""
    definition = statement.definition
    if statement.creates and not is_table(place.uri):
        refuse_other_files(application.logs.get(place.uri, {}))
    options_of_writer = {name: value for name, value in statement.options.items() if name.lower() != "path"}
    if definition.cluster_by:
        options_of_writer["clusterBy"] = ",".join(definition.cluster_by)
    # Spark has checked whether the table exists. Another writer may have created it since then, so the mode checks again.
    if_absent = statement.kind == "createIfNotExists"
    mode = "ignore" if if_absent else "error" if statement.creates else "overwrite"
    options = WriteOptions.parse({**options_of_writer, "path": place.uri}, mode, list(definition.partition_by))
    properties = {name: value for name, value in definition.properties.items() if name not in options_of_writer}
    options, context = replace(options, properties={**options.properties, **properties}), WriteContext()
    # saveAsTable in mode overwrite keeps the table and overwrites its rows. Therefore replaceWhere, dynamic partitions and
    # overwriteSchema work as in a write to a path.
    overwrites = statement.writer == "saveAsTable" and statement.kind == "createOrReplace"
    if not (overwrites and options.replaces_a_part):
        replaces = not statement.creates and not (overwrites and place.is_registered)
        statement_of_commit = Statement(statement.operation, definition.comment, place.managed, replaces, overwrites)
        context = WriteContext(statement_of_commit)
        if replaces and not overwrites:
            options = whole(options, options_of_writer)
    write(application, rows, WriteRequest(options, context))
    if place.name is not None and not place.is_registered:
        catalog.create(place.name, place.uri, managed=place.managed, if_absent=if_absent or not statement.creates)


def whole(options: WriteOptions, options_of_writer: Mapping[str, str]) -> WriteOptions:
    """Return the options of a statement that replaces all rows, even if the session's partition overwrite mode is dynamic.

    Raises:
        InvalidOptionError: an option would keep a part of the table.
    """
    keeps_schema = any(
        key.lower() == "overwriteschema" and value.strip().lower() == "false" for key, value in options_of_writer.items()
    )
    keep_a_part = {
        "replaceOn": options.replace_on is not None,
        "replaceUsing": options.replace_using is not None,
        "replaceWhere": options.replace_where is not None,
        "partitionOverwriteMode": bool(options.dynamic_partitions),
        "overwriteSchema": keeps_schema,
    }
    option = next((name for name, is_asked in keep_a_part.items() if is_asked), None)
    if option is None:
        return replace(options, dynamic_partitions=False)
    by_match = option in {"replaceOn", "replaceUsing"}
    raise failed(
        "DELTA_ILLEGAL_USAGE",
        table=options.path,
        error_class="DELTA_DFV2_CREATE_REPLACE_INCOMPATIBLE_REPLACE_ON_OR_USING" if by_match else "DELTA_ILLEGAL_USAGE",
        option=option,
    )
