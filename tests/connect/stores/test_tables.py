# SPDX-License-Identifier: Apache-2.0
"""What works on a shared disk works where client and server share only an object store, each with credentials of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import bayou

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Options = dict[str, str]
RETENTION = "spark.databricks.delta.retentionDurationCheck.enabled"


def rows(spark: SparkSession, path: str, options: Options, **more: Any) -> list[int]:
    frame = spark.read.format("delta").options(**options, **more).load(path)
    return sorted(row[0] for row in frame.collect())


def write(spark: SparkSession, path: str, options: Options, start: int, end: int, **more: str) -> None:
    spark.range(start, end).coalesce(1).write.format("delta").mode("append").options(**options, **more).save(path)


@pytest.mark.parametrize("vectors", ["false", "true"])
def test_a_table_is_written_changed_and_maintained(spark: SparkSession, path: str, options: Options, vectors: str) -> None:
    feed = {"delta.enableDeletionVectors": vectors, "delta.enableChangeDataFeed": "true"}
    write(spark, path, options, 0, 50, **feed)
    write(spark, path, options, 50, 100)
    table = bayou.DeltaTable.forPath(spark, path, options)
    table.delete("id < 10")
    table.update("id = 10", {"id": "-1"})
    source = spark.range(95, 105)
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedDelete().whenNotMatchedInsertAll().execute()
    expected = sorted([-1, *range(11, 95), *range(100, 105)])
    assert rows(spark, path, options) == expected
    assert rows(spark, path, options, versionAsOf="1") == list(range(100))
    changes = spark.read.format("delta").options(**options, readChangeFeed="true", startingVersion="2").load(path)
    counts = {row[0]: row[1] for row in changes.groupBy("_change_type").count().collect()}
    assert counts == {"delete": 15, "update_preimage": 1, "update_postimage": 1, "insert": 5}
    table.optimize().executeCompaction()
    assert rows(spark, path, options) == expected
    spark.conf.set(RETENTION, "false")
    try:
        table.vacuum(0)
    finally:
        spark.conf.unset(RETENTION)
    assert rows(spark, path, options) == expected
    assert len(bayou.open(path, storage_options=options).history()) >= 6
