# SPDX-License-Identifier: Apache-2.0
"""What a stream reads of a table, from where on, in which batches and order, and which options it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from tests.support.operations.streams import batches, error_class, read, run, stream
from tests.support.tables.built import ids, numbers, numbers_table, without_rows

import bayou
from bayou import DeltaTable
from bayou.log.delta_log import open_log
from bayou.protocol.actions.actions import Protocol
from bayou.spark.jvm.core.session import settings_of
from bayou.testing.table_builder import TableBuilder


def offsets(checkpoint):
    """The end of each batch, as the checkpoint has it."""
    notes = (each for each in Path(checkpoint, "offsets").iterdir() if each.name.isdigit())
    return [json.loads(each.read_text().splitlines()[2]) for each in sorted(notes, key=lambda each: int(each.name))]


@pytest.mark.smoke
def test_a_stream_reads_the_table_and_then_what_is_appended(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1, 2], [3])
    assert batches(run(stream(spark, table_path), checkpoint, out)) == [3]
    spark.range(4, 6).write.format("delta").mode("append").save(table_path)
    assert batches(run(stream(spark, table_path), checkpoint, out)) == [2]
    assert ids(read(spark, out)) == [1, 2, 3, 4, 5]
    table_id = open_log(table_path).snapshot().metadata.id
    assert all(each["reservoirId"] == table_id and each["sourceVersion"] == 1 for each in offsets(checkpoint))


def test_a_stream_needs_no_time_zone_among_the_settings_of_its_session(spark, table_path, checkpoint, out):
    assert "spark.sql.session.timeZone" not in settings_of(spark)
    numbers_table(table_path, [1])
    assert batches(run(stream(spark, table_path, startingTimestamp="2001-01-01"), checkpoint, out)) == [1]


def test_the_snapshot_is_split_over_batches_in_the_order_of_its_files(spark, table_path, checkpoint, out):
    files = [numbers(table_path, f"{i}.parquet", [i], modificationTime=1000 - i) for i in range(5)]
    TableBuilder(table_path).create().commit(*files)
    query = run(stream(spark, table_path, maxFilesPerTrigger=2), checkpoint, out)
    assert batches(query) == [2, 2, 1]
    first = DeltaTable.forPath(spark, out).history().where("version = 0").collect()[0]
    assert first.operation == "STREAMING UPDATE"
    assert ids(bayou.read(spark, out, version=0)) == [3, 4]


def test_limits_by_bytes_are_soft_and_one_file_is_always_read(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2], [3])
    assert batches(run(stream(spark, table_path, maxBytesPerTrigger="1b"), checkpoint, out)) == [1, 1, 1]


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_rows_deleted_by_a_vector_are_not_in_the_stream(spark, table_path, checkpoint, out, vectorised):
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    TableBuilder(table_path).create(protocol=Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))).commit(
        numbers(table_path, "0.parquet", [1, 2, 3], **without_rows([1]))
    )
    run(stream(session, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 3]


def test_a_table_is_read_by_its_name(spark, tmp_path, checkpoint, out):
    spark.range(3).write.format("delta").saveAsTable("of_names")
    try:
        run(spark.readStream.table("of_names"), checkpoint, out)
        assert ids(read(spark, out)) == [0, 1, 2]
        run(spark.readStream.option("maxFilesPerTrigger", 1).table("of_names"), checkpoint + "2", out)
        assert ids(read(spark, out)) == [0, 0, 1, 1, 2, 2]
    finally:
        spark.sql("DROP TABLE of_names")


def test_a_stream_starts_at_a_version_or_after_the_latest(spark, table_path, checkpoint, out, tmp_path):
    numbers_table(table_path, [1])
    spark.range(2, 3).write.format("delta").mode("append").save(table_path)
    run(stream(spark, table_path, startingVersion=2), checkpoint, out)
    assert ids(read(spark, out)) == [2]
    latest = stream(spark, table_path, startingVersion="latest")
    run(latest, checkpoint + "2", out)
    spark.range(3, 4).write.format("delta").mode("append").save(table_path)
    run(latest, checkpoint + "2", out)
    assert ids(read(spark, out)) == [2, 3]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"startingVersion": 1, "startingTimestamp": "2026-01-01"}, "DELTA_STARTING_VERSION_AND_TIMESTAMP_BOTH_SET"),
        ({"versionAsOf": 1}, "DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS"),
        ({"maxFilesPerTrigger": 0}, "DELTA_ILLEGAL_OPTION"),
        ({"maxBytesPerTrigger": "much"}, "DELTA_ILLEGAL_OPTION"),
        ({"ignoreDeletes": "perhaps"}, "DELTA_ILLEGAL_OPTION"),
    ],
)
def test_bad_options_are_refused_before_the_query_begins(spark, table_path, checkpoint, out, options, error):
    numbers_table(table_path, [1])
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path, **options), checkpoint, out)
    assert error_class(caught.value) == error
    assert not Path(out).exists()


def test_a_path_with_a_version_is_refused(spark, table_path):
    numbers_table(table_path, [1])
    with pytest.raises(PySparkException) as caught:
        stream(spark, f"{table_path}@v0")
    assert error_class(caught.value) == "DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS"


def test_partition_values_and_renamed_columns_are_read_as_the_table_has_them(spark, table_path, checkpoint, out):
    rows = spark.createDataFrame([(1, "a", 10), (2, "b", 20)], "id long, p string, v int")
    rows.write.format("delta").partitionBy("p").option("delta.columnMapping.mode", "name").save(table_path)
    DeltaTable.forPath(spark, table_path).renameColumn("v", "w")
    run(stream(spark, table_path), checkpoint, out)
    assert sorted(map(tuple, read(spark, out).select("id", "p", "w").collect())) == [(1, "a", 10), (2, "b", 20)]


def test_filters_skip_files_of_the_stream(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1, 2], [3, 4], [5, 6])
    Path(table_path, "0.parquet").unlink()
    run(stream(spark, table_path).where("id >= 3"), checkpoint, out)
    assert ids(read(spark, out)) == [3, 4, 5, 6]


def test_the_change_feed_is_a_stream(spark, table_path, checkpoint, out):
    spark.range(3).write.format("delta").option("delta.enableChangeDataFeed", "true").save(table_path)
    changes = stream(spark, table_path, readChangeFeed="true")
    assert changes.columns == ["id", "_change_type", "_commit_version", "_commit_timestamp"]
    run(changes.select("id", "_change_type", "_commit_version"), checkpoint, out)
    table = DeltaTable.forPath(spark, table_path)
    table.update("id = 1", {"id": "10L"})
    table.delete("id = 2")
    query = run(changes.select("id", "_change_type", "_commit_version"), checkpoint, out)
    assert sum(batches(query)) == 3
    assert sorted(map(tuple, read(spark, out).collect())) == [
        (0, "insert", 0),
        (1, "insert", 0),
        (1, "update_preimage", 1),
        (2, "delete", 2),
        (2, "insert", 0),
        (10, "update_postimage", 1),
    ]


def test_progress_tells_what_is_still_to_be_read(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2], [3])
    query = run(stream(spark, table_path, maxFilesPerTrigger=1), checkpoint, out)
    outstanding = [
        int(each["sources"][0]["metrics"]["numFilesOutstanding"]) for each in query.recentProgress if each["numInputRows"]
    ]
    assert outstanding == [2, 1, 0]
    assert int(query.recentProgress[0]["sources"][0]["metrics"]["numBytesOutstanding"]) > 0
    assert query.recentProgress[0]["sources"][0]["description"].startswith("DeltaSource[")


def test_the_first_rows_come_in_the_order_of_the_event_time_so_that_no_row_is_late(spark, table_path, checkpoint, out):
    for hour in (3, 1, 2):
        rows = spark.createDataFrame([(f"2026-01-01 0{hour}:00:00", hour)], "at string, v int")
        rows.select(F.to_timestamp("at").alias("at"), "v").write.format("delta").mode("append").save(table_path)
    spark.createDataFrame([("2026-01-02 00:00:00", 9)], "at string, v int").select(
        F.to_timestamp("at").alias("at"), "v"
    ).write.format("delta").mode("append").save(table_path)
    rows = stream(spark, table_path, withEventTimeOrder="true", maxFilesPerTrigger=1).withWatermark("at", "10 minutes")
    sums = rows.groupBy(F.window("at", "1 hour")).agg(F.sum("v").alias("sum")).select("sum")
    run(sums, checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3]


@pytest.mark.parametrize("deleted", [(), (1,)], ids=["plain", "with vectors"])
def test_sparks_facts_about_files_are_there_in_a_stream(spark, table_path, checkpoint, out, deleted):
    vectors = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    TableBuilder(table_path).create(protocol=vectors).commit(
        numbers(table_path, "0.parquet", [1, 2, 3], **(without_rows(deleted) if deleted else {}))
    )
    run(stream(spark, table_path).select("id", F.col("_metadata.file_name").alias("file")), checkpoint, out)
    assert {row.file for row in read(spark, out).collect()} == {"0.parquet"}
    assert ids(read(spark, out)) == ([1, 3] if deleted else [1, 2, 3])


def test_an_option_that_no_stream_has_is_told_of(spark, table_path, checkpoint, out, caplog):
    numbers_table(table_path, [1])
    run(stream(spark, table_path, maxFilePerTrigger="1"), checkpoint, out)
    assert "did you mean maxFilesPerTrigger" in caplog.text
