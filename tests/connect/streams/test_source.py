# SPDX-License-Identifier: Apache-2.0
"""Streams from Delta tables on a stock Spark Connect server: which rows come, in which batches."""

from __future__ import annotations

import time

import pytest
from pyspark.sql import functions as F  # noqa: N812

SECONDS = 60


def wait_for(condition):
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_stream_has_the_columns_of_the_table(source):
    source.add(1, columns="id; cast(id as string) as s")
    stream = source.stream()
    assert stream.isStreaming
    assert stream.columns == ["id", "s"]
    assert stream.where("id > 0").schema["s"].dataType.simpleString() == "string"


def test_available_now_reads_the_table_and_then_what_is_new(source):
    source.add(1, 2)
    source.add(3)
    source.run()
    assert source.ids() == [1, 2, 3]
    source.add(4)
    source.run()
    assert source.ids() == [1, 2, 3, 4]
    assert source.batches() == 2


def test_a_limit_of_files_splits_the_batches(source):
    for each in range(4):
        source.add(each)
    source.run(maxFilesPerTrigger=2)
    assert source.batches() == 2
    source.add(4)
    source.add(5)
    source.add(6)
    source.run(maxFilesPerTrigger=2)
    assert source.ids() == list(range(7))
    assert source.batches() == 4


def test_a_limit_of_bytes_splits_the_batches(source):
    for each in range(3):
        source.add(each)
    source.run(maxBytesPerTrigger="1b")
    assert source.batches() == 3
    assert source.ids() == [0, 1, 2]


def test_once_reads_everything_in_one_batch(source):
    for each in range(3):
        source.add(each)
    source.run(trigger={"once": True}, maxFilesPerTrigger=1)
    assert source.ids() == [0, 1, 2]
    assert source.batches() == 1
    source.add(3)
    source.add(4)
    source.run(trigger={"once": True}, maxFilesPerTrigger=1)
    assert source.ids() == [0, 1, 2, 3, 4]
    assert source.batches() == 2


@pytest.mark.parametrize("trigger", [{}, {"processingTime": "100 milliseconds"}], ids=["default", "interval"])
def test_a_running_query_reads_what_is_committed(source, trigger):
    source.add(1)
    query = source.start(trigger=trigger)
    try:
        wait_for(lambda: source.ids() == [1])
        source.add(2)
        source.add(3)
        wait_for(lambda: source.ids() == [1, 2, 3])
    finally:
        query.stop()
    wait_for(lambda: not source.left_behind())


def test_process_all_available_waits_for_what_is_committed(source):
    source.add(1)
    query = source.start(trigger={})
    try:
        query.processAllAvailable()
        assert source.ids() == [1]
        source.add(2)
        query.processAllAvailable()
        assert source.ids() == [1, 2]
    finally:
        query.stop()


def test_a_table_is_also_read_by_the_name_of_its_path(source):
    source.add(1)
    stream = source.spark.readStream.table(f"delta.`{source.path}`")
    writer = stream.writeStream.format("parquet").option("path", str(source.target))
    query = writer.option("checkpointLocation", str(source.checkpoint)).trigger(availableNow=True).start()
    assert query.awaitTermination(SECONDS)
    assert source.ids() == [1]


def test_two_streams_of_one_query(source):
    source.add(1)
    source.run(lambda stream: stream.union(source.stream().select(F.col("id") + 100)))
    assert source.ids() == [1, 101]
    source.add(2)
    source.run(lambda stream: stream.union(source.stream(skipChangeCommits=True).select(F.col("id") + 100)))
    assert source.ids() == [1, 2, 101, 102]


def test_a_stream_joins_a_table_and_keeps_a_state(source):
    source.add(1, 2)
    names = source.spark.createDataFrame([(1, "one"), (2, "two"), (3, "three")], "id long, name string")
    source.run(lambda stream: stream.join(names, "id").dropDuplicates(["name"]).select("id"))
    source.add(2, 3)
    source.run(lambda stream: stream.join(names, "id").dropDuplicates(["name"]).select("id"))
    assert source.ids() == [1, 2, 3]


def test_columns_of_the_dataframe_and_a_watermark(source):
    source.add(1, 2, 3, columns="id; timestamp_seconds(id) as time")
    names = source.spark.createDataFrame([(1, "one"), (2, "two")], "id long, name string")

    def change(stream):
        joined = stream.where(stream["id"] < 3).join(names, stream["id"] == names["id"])
        return joined.withWatermark("time", "1 hour").groupBy(stream["id"].alias("id"), F.window("time", "1 second")).count()

    query = change(source.stream()).writeStream.format("memory").queryName("counts").outputMode("complete")
    assert query.trigger(availableNow=True).start().awaitTermination(SECONDS)
    assert sorted((row.id, row["count"]) for row in source.spark.table("counts").collect()) == [(1, 1), (2, 1)]


def test_a_query_without_a_checkpoint(source):
    source.add(1)
    query = source.stream().writeStream.format("memory").queryName("rows_in_memory").trigger(availableNow=True).start()
    assert query.awaitTermination(SECONDS)
    assert source.spark.table("rows_in_memory").collect() == [(1,)]
