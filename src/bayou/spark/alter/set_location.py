# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE ... SET LOCATION: a name in the catalog stands for another Delta table of the same columns from then on.

No log changes and no file moves. Source: delta-spark's `AlterTableSetLocationDeltaCommand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import InvalidOptionError, InvalidSchemaError, TableNotFoundError
from bayou.protocol.columns.column_mapping import without_mapping
from bayou.protocol.types.char_varchar import type_text
from bayou.spark.jvm.core.session import settings_of
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application

_BYPASS: Final = "spark.databricks.delta.alterLocation.bypassSchemaCheck"


def set_location(application: Application, spark: SparkSession, text: str, location: str) -> None:
    """Lets a name stand for the table in another folder.

    Args:
        text: the name of a Delta table, as SQL has it.

    Raises:
        InvalidOptionError: the name is a path.
        TableNotFoundError: there is no Delta table in the folder.
        InvalidSchemaError: the table there has other columns, or is partitioned by others.
    """
    catalog = Catalog(application.jvm, spark)
    name, uri = catalog.name(text), qualify(location).uri
    if name.path is not None:
        raise InvalidOptionError(
            "Cannot change the location of a path based table.",
            table=name.path,
            error_class="DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER",
            option="location",
            next_step="read and write the other path; only a name in the catalog can stand for another folder.",
        )
    there = _there(application, uri)
    here = application.logs.get(qualify(catalog.delta_location(text)).uri, {}).update()
    if settings_of(spark).get(_BYPASS, "false").lower() != "true":
        _check_same(here, there)
    catalog.move(name, uri)


def _there(application: Application, uri: str) -> Snapshot:
    try:
        return application.logs.get(uri, {}).update()
    except TableNotFoundError:
        message = f"{uri} is not a Delta table, so that no name can stand for it."
        step = "write the table first."
        raise TableNotFoundError(message, table=uri, error_class="DELTA_MISSING_DELTA_TABLE", next_step=step) from None


def _check_same(here: Snapshot, there: Snapshot) -> None:
    # What a column's metadata says besides, such as how it is generated, is as much of a table as its type.
    is_same = without_mapping(here.schema) == without_mapping(there.schema)
    if is_same and here.partition_columns == there.partition_columns:
        return
    raise InvalidSchemaError(
        "The schema of the new Delta location is different than the current table schema.\n"
        f"original schema: {_described(here)}\ndestination schema: {_described(there)}",
        at=there,
        error_class="DELTA_SET_LOCATION_SCHEMA_MISMATCH",
        next_step=f"if this is intended, drop the name and create it there, or set {_BYPASS}=true.",
    )


def _described(snapshot: Snapshot) -> str:
    by = f", partitioned by {', '.join(snapshot.partition_columns)}" if snapshot.partition_columns else ""
    return type_text(snapshot.schema) + by
