# SPDX-License-Identifier: Apache-2.0
"""ALTER TABLE ... SET LOCATION: point a name in the catalog to another Delta table with the same columns.

No log changes and no file moves. Source: delta-spark's `AlterTableSetLocationDeltaCommand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import TableNotFoundError, failed
from bayou.protocol.columns.column_mapping import without_mapping
from bayou.protocol.types.char_varchar import type_text
from bayou.spark.session.settings import is_on
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application

_BYPASS: Final = "spark.databricks.delta.alterLocation.bypassSchemaCheck"


def set_location(application: Application, spark: SparkSession, text: str, location: str) -> None:
    """Point a table's name in SQL to the Delta table in another folder.

    Raises:
        InvalidOptionError: the name is a path.
        TableNotFoundError: the folder has no Delta table.
        InvalidSchemaError: the table there has other columns or partition columns.
    """
    catalog = application.backend.catalog(spark)
    name, uri = catalog.name(text), qualify(location).uri
    if name.path is not None:
        raise failed("DELTA_CANNOT_SET_LOCATION_ON_PATH_IDENTIFIER", table=name.path, option="location")
    new = _table_at(application, uri)
    current = application.logs.get(qualify(catalog.delta_location(text)).uri, {}).update()
    if not is_on(application.backend.settings(spark), _BYPASS):
        _check_same(current, new)
    catalog.move(name, uri)


def _table_at(application: Application, uri: str) -> Snapshot:
    try:
        return application.logs.get(uri, {}).update()
    except TableNotFoundError:
        raise failed("DELTA_MISSING_DELTA_TABLE/location", table=uri) from None


def _check_same(current: Snapshot, new: Snapshot) -> None:
    # A column's metadata, such as how it is generated, matters as much as its type.
    is_same = without_mapping(current.schema) == without_mapping(new.schema)
    if is_same and current.partition_columns == new.partition_columns:
        return
    schema, destination = _described(current), _described(new)
    raise failed("DELTA_SET_LOCATION_SCHEMA_MISMATCH", at=new, schema=schema, destination=destination, setting=_BYPASS)


def _described(snapshot: Snapshot) -> str:
    by = f", partitioned by {', '.join(snapshot.partition_columns)}" if snapshot.partition_columns else ""
    return type_text(snapshot.schema) + by
