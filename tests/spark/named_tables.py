# SPDX-License-Identifier: Apache-2.0
"""Tables with names, as the catalog shows them and as their logs are; the fixture `name` gives a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bayou

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.delta_log import DeltaLog


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
