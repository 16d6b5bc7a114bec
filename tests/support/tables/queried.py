# SPDX-License-Identifier: Apache-2.0
"""Tables that Spark makes from a query, tables with names, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bayou

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.delta_log import DeltaLog


TEN = "select id, id % 2 p, if(id % 5 = 0, null, id) v from range(0, 10, 1, 1)"
"""Ten rows in one file, two of them without a value."""
HUNDRED = "select id, id div 25 p, if(id % 10 = 0, null, id) v from range(0, 100, 1, 4)"
"""A hundred rows in four files, some of them without a value."""


def make_table(spark: SparkSession, path: str, query: str, partition_by: Sequence[str] = (), **properties: str) -> bayou.DeltaTable:
    """A table with the rows of a query."""
    bayou.write(spark.sql(query), path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def rows(table: bayou.DeltaTable, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted; all columns where none are named."""
    return sorted((tuple(row) for row in table.toDF().select(*columns or "*").collect()), key=repr)


def ids(spark: SparkSession, path: str) -> list[Any]:
    """The column `id` of the table at a path, sorted."""
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())


FILES = {"delta.enableDeletionVectors": "false"}
"""Rows change by rewriting files."""
VECTORS = {"delta.enableDeletionVectors": "true"}
"""Rows change by deletion vectors and new files."""


def log_of(spark: SparkSession, name: str) -> DeltaLog:
    """The log of a table."""
    return bayou.open(bayou.DeltaTable.forName(spark, name).detail().first().location)


def operations(spark: SparkSession, name: str) -> list[str | None]:
    """What was done to a table, the first thing first."""
    return [each.operation for each in reversed(log_of(spark, name).history())]


def entry_of(spark: SparkSession, name: str) -> dict[str, str]:
    """What Spark describes of a table, its columns included."""
    rows = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    return {row.col_name: row.data_type for row in rows}


def people(spark: SparkSession, *rows: tuple[Any, ...]) -> DataFrame:
    """Rows of an id and a name."""
    return spark.createDataFrame(list(rows), "id long, name string")


OTHER_CATALOG = "elsewhere"
_SETTINGS = {
    "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    ".url": "jdbc:derby:memory:elsewhere;create=true",
    ".driver": "org.apache.derby.jdbc.EmbeddedDriver",
}


def add_catalog(session: SparkSession) -> None:
    """Gives a session the catalog."""
    for suffix, value in _SETTINGS.items():
        session.conf.set(f"spark.sql.catalog.{OTHER_CATALOG}{suffix}", value)
