# SPDX-License-Identifier: Apache-2.0
"""Tables that are made by a query for their rows to be changed, and the rows that they have afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bayou

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

TEN = "select id, id % 2 p, if(id % 5 = 0, null, id) v from range(0, 10, 1, 1)"
"""Ten rows in one file, two of them without a value."""
HUNDRED = "select id, id div 25 p, if(id % 10 = 0, null, id) v from range(0, 100, 1, 4)"
"""A hundred rows in four files, some of them without a value."""


def make(spark: SparkSession, path: str, query: str, partition_by: Sequence[str] = (), **properties: str) -> bayou.DeltaTable:
    """A table with the rows of a query."""
    bayou.write(spark.sql(query), path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def rows(table: bayou.DeltaTable, *columns: str) -> list[tuple[Any, ...]]:
    """The rows of a table, sorted; all columns where none are named."""
    return sorted((tuple(row) for row in table.toDF().select(*columns or "*").collect()), key=repr)


def ids(spark: SparkSession, path: str) -> list[Any]:
    """The column `id` of the table at a path, sorted."""
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())
