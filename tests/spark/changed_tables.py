# SPDX-License-Identifier: Apache-2.0
"""Tables that are made by a query for their rows to be changed, and the rows that they have afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import bayou

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

HUNDRED = "select id, id div 25 p, if(id % 10 = 0, null, id) v from range(0, 100, 1, 4)"
"""A hundred rows in four files, some of them without a value."""


def make(spark: SparkSession, path: str, query: str, partition_by: Sequence[str] = (), **properties: str) -> bayou.DeltaTable:
    """A table with the rows of a query."""
    bayou.write(spark.sql(query), path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def ids(spark: SparkSession, path: str) -> list[Any]:
    """The column `id` of the table at a path, sorted."""
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())
