# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from tests.support.operations.streams import Arrivals, batches, error_class, finish, forget_last_commit, rows, run
from tests.support.tables.built import ids

from bayou import DeltaTable
from bayou.log.delta_log import open_log


def history(path):
    return list(reversed(open_log(path).history()))


@pytest.mark.smoke
def test_each_batch_is_one_commit_that_says_which_batch_of_which_query_it_is(spark, arrivals, checkpoint, table_path):
    arrivals.bring([(3, 30)])
    query = run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(1, 10), (2, 20), (3, 30)]
    assert [entry.operation for entry in history(table_path)] == ["STREAMING UPDATE", "STREAMING UPDATE"]
    assert [dict(entry.operation_parameters) for entry in history(table_path)] == [
        {"outputMode": "Append", "queryId": query.id, "epochId": str(number)} for number in range(2)
    ]
    assert set(history(table_path)[0].operation_metrics) >= {"numAddedFiles", "numRemovedFiles", "numOutputRows", "numOutputBytes"}
    assert open_log(table_path).snapshot().transactions[query.id].version == 1
    assert query.lastProgress["sink"]["description"].startswith("DeltaSink[")


@pytest.mark.smoke
def test_a_batch_that_the_table_has_already_is_passed_over(spark, arrivals, checkpoint, table_path):
    run(arrivals.stream(), checkpoint, table_path)
    forget_last_commit(checkpoint)
    arrivals.bring([(3, 30)])
    run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(1, 10), (2, 20), (3, 30)]
    assert open_log(table_path).version() == 1


def test_several_queries_write_into_one_table_at_once_and_make_it(spark, arrivals, tmp_path, table_path):
    def start(name):
        writer = arrivals.stream().writeStream.format("delta").option("checkpointLocation", str(tmp_path / name))
        return writer.trigger(availableNow=True).start(table_path)

    for query in [start("one"), start("two")]:
        finish(query)
    assert ids(spark.read.format("delta").load(table_path)) == [1, 1, 2, 2]
    assert len(open_log(table_path).snapshot().transactions) == 2


def test_complete_mode_replaces_all_rows(spark, arrivals, checkpoint, table_path):
    counts = arrivals.stream().groupBy((F.col("id") % 2).alias("odd")).count()
    run(counts, checkpoint, table_path, "complete")
    arrivals.bring([(3, 30), (5, 50)])
    run(arrivals.stream().groupBy((F.col("id") % 2).alias("odd")).count(), checkpoint, table_path, "complete")
    assert rows(spark, table_path) == [(0, 1), (1, 3)]
    assert history(table_path)[-1].operation_metrics["numRemovedFiles"] != "0"


def test_complete_mode_replaces_all_rows_whatever_is_said_of_partitions(spark, arrivals, checkpoint, table_path):
    def run_it():
        counts = arrivals.stream().groupBy("id").count().where("count = 1")
        run(counts, checkpoint, table_path, "complete", partition_by=["id"], partitionOverwriteMode="dynamic")

    run_it()
    arrivals.bring([(2, 30)])
    run_it()
    assert rows(spark, table_path) == [(1, 1)]


def test_rows_of_a_query_with_state_are_appended_when_they_are_final(spark, tmp_path, checkpoint, table_path):
    times = Arrivals(spark, tmp_path / "times", "at string, v int")
    times.bring([("2026-01-01 00:00:01", 1), ("2026-01-01 00:00:02", 2)])
    times.bring([("2026-01-01 01:00:00", 5)])
    stream = times.stream().select(F.to_timestamp("at").alias("at"), "v").withWatermark("at", "1 minute")
    sums = stream.groupBy(F.window("at", "1 minute")).agg(F.sum("v").alias("sum")).select("sum")
    run(sums, checkpoint, table_path)
    assert rows(spark, table_path) == [(3,)]


def test_complete_mode_is_refused_where_the_table_only_takes_appends(spark, arrivals, checkpoint, table_path):
    spark.range(1).toDF("n").write.format("delta").option("delta.appendOnly", "true").save(table_path)
    with pytest.raises(PySparkException, match="appendOnly"):
        run(arrivals.stream().groupBy().agg(F.count("id").alias("n")), checkpoint, table_path, "complete")
    assert open_log(table_path).version() == 0


def test_the_output_mode_update_is_refused(arrivals, checkpoint, table_path):
    with pytest.raises(PySparkException, match="Update output mode") as caught:
        run(arrivals.stream().groupBy("id").count(), checkpoint, table_path, "update")
    assert error_class(caught.value) == "DELTA_UNSUPPORTED_OUTPUT_MODE"


def test_values_are_cast_to_the_types_of_the_table(spark, arrivals, checkpoint, table_path):
    spark.createDataFrame([], "id int, v string").write.format("delta").save(table_path)
    run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(1, "10"), (2, "20")]


def test_a_value_that_does_not_fit_stops_the_query_and_writes_nothing(spark, arrivals, checkpoint, table_path):
    spark.createDataFrame([], "id tinyint, v int").write.format("delta").save(table_path)
    arrivals.bring([(1000, 1)])
    with pytest.raises(PySparkException, match=r"CAST_OVERFLOW|Job aborted"):
        run(arrivals.stream(), checkpoint, table_path)
    assert all(row[0] < 128 for row in rows(spark, table_path))


def test_columns_of_nothing_but_null_are_refused(arrivals, checkpoint, table_path):
    with pytest.raises(PySparkException) as caught:
        run(arrivals.stream().withColumn("nothing", F.lit(None)), checkpoint, table_path)
    assert error_class(caught.value) == "DELTA_NULL_SCHEMA_IN_STREAMING_WRITE"


def test_a_further_column_is_refused_and_added_where_merge_schema_says_so(spark, arrivals, checkpoint, table_path):
    run(arrivals.stream().select("id"), checkpoint, table_path)
    arrivals.bring([(3, 30)])
    with pytest.raises(PySparkException) as caught:
        run(arrivals.stream(), checkpoint, table_path)
    assert error_class(caught.value) == "DELTA_METADATA_MISMATCH"
    run(arrivals.stream(), checkpoint, table_path, mergeSchema="true")
    assert rows(spark, table_path) == [(1, None), (2, None), (3, 30)]


def test_overwrite_schema_is_for_complete_mode(spark, arrivals, checkpoint, table_path):
    spark.range(1).toDF("other").write.format("delta").save(table_path)
    with pytest.raises(PySparkException, match="complete"):
        run(arrivals.stream(), checkpoint, table_path, overwriteSchema="true")
    counted = arrivals.stream().groupBy().agg(F.count("id").alias("n"))
    run(counted, checkpoint, table_path, "complete", overwriteSchema="true")
    assert spark.read.format("delta").load(table_path).columns == ["n"]


def test_a_row_that_breaks_a_rule_stops_the_query_and_nothing_is_lost(spark, arrivals, checkpoint, table_path):
    run(arrivals.stream(), checkpoint, table_path)
    table = DeltaTable.forPath(spark, table_path)
    table.addConstraint("small", "v < 100")
    arrivals.bring([(3, 300)])
    with pytest.raises(PySparkException, match="small"):
        run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(1, 10), (2, 20)]
    table.dropConstraint("small")
    run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(1, 10), (2, 20), (3, 300)]


def test_columns_are_computed_and_defaults_filled_in(spark, arrivals, checkpoint, table_path):
    table = DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT").addColumn("v", "INT")
    table.addColumn("twice", "INT", generatedAlwaysAs="v * 2").addColumn("note", "STRING")
    table.property("delta.feature.allowColumnDefaults", "supported").execute()
    DeltaTable.forPath(spark, table_path).setDefault("note", "'none'")
    run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(1, 10, 20, "none"), (2, 20, 40, "none")]


def test_partitions_notes_and_properties_are_those_of_a_write(spark, arrivals, checkpoint, table_path):
    options = {"userMetadata": "from a stream", "delta.appendOnly": "true"}
    run(arrivals.stream(), checkpoint, table_path, partition_by=["v"], **options)
    snapshot = open_log(table_path).snapshot()
    assert snapshot.partition_columns == ("v",)
    assert snapshot.properties["delta.appendOnly"] == "true"
    assert history(table_path)[0].user_metadata == "from a stream"


def test_a_stream_writes_into_tables_with_names(spark, arrivals, tmp_path):
    for number in range(2):
        writer = arrivals.stream().writeStream.format("delta").option("checkpointLocation", str(tmp_path / f"c{number}"))
        writer.trigger(availableNow=True).toTable("of_a_stream").awaitTermination()
    try:
        assert ids(spark.table("of_a_stream")) == [1, 1, 2, 2]
    finally:
        spark.sql("DROP TABLE of_a_stream")


def test_a_query_that_merges_each_batch_does_so_once(spark, arrivals, checkpoint, table_path):
    spark.createDataFrame([(1, 0)], "id long, v int").write.format("delta").save(table_path)

    def upsert(batch, number):
        table = DeltaTable.forPath(batch.sparkSession, table_path)
        merge = (
            table.alias("t")
            .merge(batch.alias("s"), "t.id = s.id", txn=("upserts", number))
            .whenMatchedUpdate(set={"v": "t.v + s.v"})
        )
        merge.whenNotMatchedInsertAll().execute()

    def upserts():
        writer = arrivals.stream().writeStream.foreachBatch(upsert).option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    assert batches(upserts()) == [2]
    forget_last_commit(checkpoint)
    upserts()
    assert rows(spark, table_path) == [(1, 10), (2, 20)]
    assert open_log(table_path).version() == 1


def test_a_batch_function_that_appends_does_so_once_with_the_options_for_it(spark, arrivals, checkpoint, table_path):
    def append(batch, number):
        options = {"txnAppId": "appends", "txnVersion": number}
        batch.write.format("delta").mode("append").options(**options).save(table_path)

    for _ in range(2):
        writer = arrivals.stream().writeStream.foreachBatch(append).option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()
        forget_last_commit(checkpoint)
    assert ids(spark.read.format("delta").load(table_path)) == [1, 2]


def test_a_batch_without_rows_is_noted_too(spark, arrivals, checkpoint, table_path):
    run(arrivals.stream().where("id = 1"), checkpoint, table_path)
    arrivals.bring([(3, 30)])
    query = run(arrivals.stream().where("id = 1"), checkpoint, table_path)
    assert open_log(table_path).snapshot().transactions[query.id].version == 1
    assert rows(spark, table_path) == [(1, 10)]


def test_a_new_table_is_clustered_as_the_writer_says(spark, arrivals, checkpoint, table_path):
    writer = arrivals.stream().writeStream.format("delta").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer = writer.clusterBy("id") if hasattr(writer, "clusterBy") else writer.option("clusterBy", "id")
    finish(writer.start(table_path))
    assert "clustering" in open_log(table_path).snapshot().protocol.writer_features
    assert open_log(table_path).snapshot().domain_metadata["delta.clustering"].configuration.count("id") == 1


def test_a_query_whose_trigger_is_continuous_is_refused(spark, table_path, tmp_path, checkpoint):
    spark.range(1).write.format("delta").save(table_path)
    rows = spark.readStream.format("delta").load(table_path)
    writer = rows.writeStream.format("delta").option("checkpointLocation", checkpoint).trigger(continuous="1 second")
    with pytest.raises((PySparkException, Py4JJavaError), match=r"(?i)continuous"):
        finish(writer.start(str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()
