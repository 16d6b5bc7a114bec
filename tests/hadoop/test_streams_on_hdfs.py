# SPDX-License-Identifier: Apache-2.0
"""Streams between tables on a real HDFS, with their checkpoint there too."""

from __future__ import annotations

import time

import pytest
from pyspark.sql import functions as F  # noqa: N812
from tests.scenarios.spark.writers.test_killed_streams import run as run_and_kill
from tests.support.operations.streams import batches, run
from tests.support.tables.built import ids

import bayou
from bayou import DeltaTable


def test_a_table_is_streamed_into_another_in_batches_and_each_row_arrives_once(spark, folder, hdfs):
    source, sink, checkpoint = (f"{folder}/{name}" for name in ("source", "sink", "checkpoint"))
    for number in range(3):
        bayou.write(spark.range(number * 10, number * 10 + 10, numPartitions=1), source, mode="append")
    stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(source)
    assert batches(run(stream, checkpoint, sink)) == [10, 10, 10]
    bayou.write(spark.range(30, 35), source, mode="append")
    assert sum(batches(run(stream, checkpoint, sink))) == 5
    assert ids(spark.read.format("delta").load(sink)) == list(range(35))


def test_a_stream_of_changes_follows_a_schema_on_hdfs(spark, folder, hdfs):
    source, sink, checkpoint = (f"{folder}/{name}" for name in ("source", "sink", "checkpoint"))
    spark.range(3).write.format("delta").option("delta.enableChangeDataFeed", "true").save(source)
    options = {"readChangeFeed": "true", "schemaTrackingLocation": f"{checkpoint}/_schemas"}
    stream = spark.readStream.format("delta").options(**options).load(source)
    run(stream.select("id", "_change_type"), checkpoint, sink)
    DeltaTable.forPath(spark, source).delete("id = 1")
    run(stream.select("id", "_change_type"), checkpoint, sink)
    found = spark.read.format("delta").load(sink).where(F.col("_change_type") == "delete")
    assert ids(found) == [1]


@pytest.mark.soak
@pytest.mark.timeout(3600)  # each of them starts a Spark
def test_ten_kills_of_two_streams_on_hdfs_lose_no_row_and_write_none_twice(spark, folder, hdfs):
    run_and_kill(spark, folder, streams=2, kills=10, seed=time.time_ns())
