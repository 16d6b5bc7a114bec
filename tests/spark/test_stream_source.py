# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.counting import jobs
from tests.spark.streams import batches, error_class, finish, read, run, stream
from tests.spark.tables import ids, numbers, numbers_table, without_rows

import bayou
from bayou import DeltaTable
from bayou.errors import SchemaChangedError
from bayou.log.delta_log import open_log
from bayou.protocol.actions import Protocol
from bayou.spark.jvm.session import settings_of
from bayou.spark.streaming.stream_reader import StreamReader
from bayou.testing.table_builder import TableBuilder, remove


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


def test_a_query_takes_up_the_work_where_it_was_stopped(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2], [3], [4])
    writer = stream(spark, table_path, maxFilesPerTrigger=1).writeStream.format("delta").option("checkpointLocation", checkpoint)
    query = writer.trigger(processingTime="0 seconds").start(out)
    while not Path(out, "_delta_log", f"{1:020}.json").exists():
        assert query.isActive, query.exception()
        time.sleep(0.05)
    query.stop()
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3, 4]


@pytest.mark.parametrize("vectorised", ["true", "false"])
def test_rows_deleted_by_a_vector_are_not_in_the_stream(spark, table_path, checkpoint, out, vectorised):
    session = bayou.enable(spark.newSession())
    session.conf.set("spark.sql.parquet.enableVectorizedReader", vectorised)
    TableBuilder(table_path).create(protocol=Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))).commit(
        numbers(table_path, "0.parquet", [1, 2, 3], **without_rows([1]))
    )
    run(stream(session, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 3]


@pytest.mark.smoke
def test_deletes_stop_a_stream_and_the_error_says_what_happened_and_what_to_do(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1, 2], [3])
    run(stream(spark, table_path), checkpoint, out)
    DeltaTable.forPath(spark, table_path).delete("id = 3")
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out)
    assert error_class(caught.value) == "DELTA_SOURCE_IGNORE_DELETE"
    assert all(text in str(caught.value) for text in ("DELETE", "version 2", "ignoreDeletes"))
    run(stream(spark, table_path, ignoreDeletes="true"), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3]


def test_updates_stop_a_stream_unless_the_reader_skips_them_or_takes_the_rows_again(spark, table_path, checkpoint, out, tmp_path):
    numbers_table(table_path, [1, 2], [3])
    run(stream(spark, table_path), checkpoint, out)
    other = str(tmp_path / "other")
    run(stream(spark, table_path), checkpoint + "2", other)
    DeltaTable.forPath(spark, table_path).update("id = 1", {"id": "10L"})
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out)
    assert error_class(caught.value) == "DELTA_SOURCE_TABLE_IGNORE_CHANGES"
    run(stream(spark, table_path, skipChangeCommits="true"), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3]
    run(stream(spark, table_path, ignoreChanges="true"), checkpoint + "2", other)
    assert ids(read(spark, other)) == [1, 2, 2, 3, 10]


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


def test_a_table_that_was_replaced_stops_the_stream(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    run(stream(spark, table_path), checkpoint, out)
    (DeltaTable.replace(spark).location(table_path).addColumn("id", "BIGINT").execute())
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out)
    assert error_class(caught.value) == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"


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


def test_a_stream_may_write_into_the_table_that_it_reads(spark, table_path, checkpoint):
    numbers_table(table_path, [1, 2])
    run(stream(spark, table_path).where("id < 100").select((F.col("id") + 100).alias("id")), checkpoint, table_path)
    assert ids(read(spark, table_path)) == [1, 2, 101, 102]
    newest = next(iter(open_log(table_path).history(1)))
    assert not newest.is_blind_append


def test_two_tables_are_joined_and_united_as_streams(spark, tmp_path, checkpoint, out):
    numbers_table(str(tmp_path / "a"), [1, 2])
    numbers_table(str(tmp_path / "b"), [2, 3])
    a, b = stream(spark, str(tmp_path / "a")), stream(spark, str(tmp_path / "b"))
    run(a.union(b), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 2, 3]
    run(a.join(b, "id"), checkpoint + "2", out)
    assert ids(read(spark, out)) == [1, 2, 2, 2, 3]


def test_a_stream_is_joined_with_a_table(spark, tmp_path, checkpoint, out):
    numbers_table(str(tmp_path / "a"), [1, 2])
    numbers_table(str(tmp_path / "b"), [2, 3])
    run(stream(spark, str(tmp_path / "a")).join(read(spark, str(tmp_path / "b")), "id"), checkpoint, out)
    assert ids(read(spark, out)) == [2]


def test_an_idle_trigger_costs_no_job(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    run(stream(spark, table_path), checkpoint, out)
    with jobs(spark) as count:
        run(stream(spark, table_path), checkpoint, out)
    assert count.value == 0


def test_a_restart_reads_no_file_again(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2])
    run(stream(spark, table_path), checkpoint, out)
    for name in ("0.parquet", "1.parquet"):
        Path(table_path, name).unlink()
    spark.range(3, 4).write.format("delta").mode("append").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3]


def test_a_restart_asks_for_no_batch_that_is_committed(spark, table_path, checkpoint, out, monkeypatch):
    spark.range(0, 10, 1, 1).write.format("delta").option("delta.enableDeletionVectors", "true").save(table_path)
    bayou.DeltaTable.forPath(spark, table_path).delete("id = 3")
    run(stream(spark, table_path), checkpoint, out)
    asked, answer = [], StreamReader.__call__

    def noted(reader, facts, data):
        asked.append(facts.split("\0")[0])
        return answer(reader, facts, data)

    monkeypatch.setattr(StreamReader, "__call__", noted)
    run(stream(spark, table_path), checkpoint, out)
    assert "latest" in asked
    assert "batch" not in asked
    spark.range(20, 21).write.format("delta").mode("append").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    assert asked.count("batch") == 1
    assert ids(read(spark, out)) == [0, 1, 2, *range(4, 10), 20]


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


def test_a_missing_data_file_stops_the_query_and_names_it(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2])
    Path(table_path, "1.parquet").unlink()
    with pytest.raises(PySparkException, match=r"1\.parquet"):
        run(stream(spark, table_path), checkpoint, out)
    numbers(table_path, "1.parquet", [2])
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2]


def test_a_corrupt_offset_stops_the_query_with_a_clear_error(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    run(stream(spark, table_path), checkpoint, out)
    note = Path(checkpoint, "offsets", "0")
    lines = note.read_text().splitlines()
    note.write_text("\n".join([*lines[:2], lines[2].replace('"sourceVersion":1', '"sourceVersion":9')]))
    Path(checkpoint, "offsets", ".0.crc").unlink(missing_ok=True)
    spark.range(3, 4).write.format("delta").mode("append").save(table_path)
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out)
    assert error_class(caught.value) == "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION"


def test_commits_while_a_query_runs_are_seen_by_it(spark, table_path, checkpoint, out):
    numbers_table(table_path, [0])
    writer = stream(spark, table_path).writeStream.format("delta").option("checkpointLocation", checkpoint)
    query = writer.trigger(processingTime="50 milliseconds").start(out)
    threads = [
        threading.Thread(target=lambda i=i: spark.range(i, i + 1).write.format("delta").mode("append").save(table_path))
        for i in (1, 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    query.processAllAvailable()
    query.stop()
    finish(query)
    assert ids(read(spark, out)) == [0, 1, 2]


def test_a_file_that_is_removed_while_the_snapshot_is_read_is_still_in_it(spark, table_path, checkpoint, tmp_path):
    builder = numbers_table(table_path, [1], [2], [3])
    seen = []

    def take(batch, number):
        if number == 1 and not seen[1:]:
            seen.append("stopped")
            raise RuntimeError("stopped in the snapshot")
        seen.extend(ids(batch))

    def start():
        rows = stream(spark, table_path, maxFilesPerTrigger=1, ignoreDeletes="true")
        return finish(
            rows.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        )

    with pytest.raises(PySparkException, match="stopped in the snapshot"):
        start()
    builder.commit(remove("2.parquet"))
    start()
    assert seen == [1, "stopped", 2, 3]


def test_files_with_widened_types_are_read_in_a_stream(spark, table_path, checkpoint, out):
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id INT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    spark.createDataFrame([(1,)], "id int").write.format("delta").mode("append").save(table_path)
    DeltaTable.forPath(spark, table_path).changeColumn("id", dataType="BIGINT")
    spark.createDataFrame([(1 << 40,)], "id long").write.format("delta").mode("append").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 1 << 40]


def test_a_stream_follows_a_renamed_column_with_schema_tracking(spark, table_path, tmp_path, out):
    checkpoint = str(tmp_path / "checkpoint")
    options = {"delta.columnMapping.mode": "name"}
    spark.createDataFrame([(1, 10)], "id long, v int").write.format("delta").options(**options).save(table_path)
    tracked = {"schemaTrackingLocation": f"{checkpoint}/_schemas"}
    run(stream(spark, table_path, **tracked), checkpoint, out, mergeSchema="true")
    DeltaTable.forPath(spark, table_path).renameColumn("v", "w")
    spark.createDataFrame([(2, 20)], "id long, w int").write.format("delta").mode("append").save(table_path)
    said = []
    for allowed in ({}, {}, {"allowSourceColumnRename": "always"}):
        try:
            run(stream(spark, table_path, **tracked, **allowed), checkpoint, out, mergeSchema="true")
        except PySparkException as error:
            said.append(error_class(error))
    assert said[0] == "DELTA_STREAMING_METADATA_EVOLUTION"
    assert said[1].startswith("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION")
    assert sorted(map(tuple, read(spark, out).select("id", "v", "w").collect())) == [(1, 10, None), (2, None, 20)]


@pytest.mark.parametrize("change", ["rename", "drop", "retype"])
def test_a_change_of_the_schema_between_two_runs_stops_the_second(spark, table_path, checkpoint, out, change):
    rows = spark.createDataFrame([(1, 10)], "id long, v int")
    rows.write.format("delta").option("delta.columnMapping.mode", "name").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    table = DeltaTable.forPath(spark, table_path)
    if change == "rename":
        table.renameColumn("v", "w")
    elif change == "drop":
        table.dropColumns("v")
    else:
        spark.sql("select 1L id, 'a' v").write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(table_path)
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out, mergeSchema="true")
    assert isinstance(caught.value, SchemaChangedError) or "SCHEMA" in error_class(caught.value)


def test_a_change_is_told_to_a_run_that_begins_to_follow_the_schema(spark, table_path, tmp_path, out):
    checkpoint = str(tmp_path / "checkpoint")
    rows = spark.createDataFrame([(1, 10)], "id long, v int")
    rows.write.format("delta").option("delta.columnMapping.mode", "name").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    DeltaTable.forPath(spark, table_path).renameColumn("v", "w")
    said = []
    for _ in range(3):
        with pytest.raises(PySparkException) as caught:
            run(stream(spark, table_path, schemaTrackingLocation=f"{checkpoint}/_schemas"), checkpoint, out, mergeSchema="true")
        said.append(error_class(caught.value))
    assert said[-1].startswith("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION")


def test_two_sources_of_a_query_need_a_schema_log_each(spark, table_path, tmp_path, out):
    checkpoint = tmp_path / "checkpoint"
    numbers_table(table_path, [1], [2])
    tracked = {"schemaTrackingLocation": str(checkpoint / "_schemas")}
    left = stream(spark, table_path, **tracked)
    with pytest.raises(PySparkException) as caught:
        run(left.join(stream(spark, table_path, **tracked), "id"), checkpoint, out)
    assert error_class(caught.value) == "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT"
    assert not (checkpoint / "_schemas").exists()
    run(left.join(stream(spark, table_path, **tracked, streamingSourceTrackingId="right"), "id"), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2]


def test_two_sources_of_one_table_in_one_query_have_each_their_own_rows(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2])
    some = stream(spark, table_path, excludeRegex="0.parquet").select("id", F.lit("some").alias("of"))
    both = stream(spark, table_path).join(some, "id", "inner")
    run(both, checkpoint, out)
    assert ids(read(spark, out)) == [2]


def test_an_older_dataframe_is_refused_when_the_schema_has_changed(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    older = stream(spark, table_path)
    DeltaTable.forPath(spark, table_path).addColumns("v INT")
    with pytest.raises(PySparkException, match="make the DataFrame again"):
        run(older, checkpoint, out)
    run(stream(spark, table_path), checkpoint + "2", out)
    assert read(spark, out).columns == ["id", "v"]


def test_the_first_snapshot_cannot_go_on_in_another_order(spark, table_path, checkpoint, out):
    for hour in (3, 1, 2):
        rows = spark.createDataFrame([(f"2026-01-01 0{hour}:00:00",)], "at string").select(F.to_timestamp("at").alias("at"))
        rows.coalesce(1).write.format("delta").mode("append").save(table_path)

    def stop(batch, number):
        if number == 1:
            raise RuntimeError("stopped in the snapshot")

    ordered = stream(spark, table_path, withEventTimeOrder="true", maxFilesPerTrigger=1).withWatermark("at", "1 minute")
    with pytest.raises(PySparkException, match="stopped in the snapshot"):
        finish(ordered.writeStream.foreachBatch(stop).option("checkpointLocation", checkpoint).trigger(availableNow=True).start())
    with pytest.raises(PySparkException, match="rows would be lost"):
        run(stream(spark, table_path, maxFilesPerTrigger=1).withWatermark("at", "1 minute"), checkpoint, out)


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
