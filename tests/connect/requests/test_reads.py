# SPDX-License-Identifier: Apache-2.0
"""DataFrames that name a table in `spark.read` and `spark.table`."""

from __future__ import annotations

import pytest


def test_a_read_by_path_has_the_rows_and_the_schema(spark, path):
    frame = spark.read.format("delta").load(path)
    assert frame.columns == ["id", "price"]
    assert [row.price for row in frame.sort("id").collect()] == [0, 10, 20]
    assert spark.read.load(path, format="DELTA").count() == 3


def test_a_read_follows_the_table_unless_it_names_a_version(spark, path, append):
    newest = spark.read.format("delta").load(path)
    first = spark.read.format("delta").option("versionAsOf", 0).load(path)
    assert (newest.count(), first.count()) == (3, 3)
    append(3)
    assert (newest.count(), first.count()) == (4, 3)
    assert newest.filter("id = 3").count() == 1


def test_a_table_by_path_and_by_name_is_replaced(spark, path, answers):
    answers.names["sales.orders"] = path
    assert spark.table(f"delta.`{path}`").count() == 3
    assert spark.read.table("sales.orders").count() == 3
    assert spark.catalog.tableExists("sales.orders")


def test_other_reads_and_names_are_the_servers(spark, path, tmp_path, answers):
    spark.range(2).write.parquet(str(tmp_path / "plain"))
    assert spark.read.parquet(str(tmp_path / "plain")).count() == 2
    assert not spark.catalog.tableExists("sales.nothing")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.table("sales.nothing").collect()


def test_columns_of_the_frame_resolve_on_it(spark, path):
    frame = spark.read.format("delta").load(path)
    assert frame.filter(frame["id"] == 1).select(frame["price"]).collect()[0].price == 10


def test_joins_of_a_table_with_itself_resolve(spark, path):
    one = spark.read.format("delta").load(path)
    other = spark.read.format("delta").load(path)
    assert one.join(other, one["id"] == other["id"]).select(one["id"], other["price"]).count() == 3
    left, right = one.alias("l"), one.alias("r")
    assert left.join(right, "id").select("l.price", "r.price").count() == 3


def test_the_analysis_of_a_frame_sees_the_table(spark, path, capsys):
    frame = spark.read.format("delta").load(path)
    same = spark.read.format("delta").load(path)
    assert not frame.isStreaming
    assert not frame.isLocal()
    assert frame.sameSemantics(same)
    assert frame.semanticHash() == same.semanticHash()
    assert len(frame.inputFiles()) >= 1
    assert all(f"{path}/0/" in file for file in frame.inputFiles())
    frame.explain()
    frame.printSchema()
    shown = capsys.readouterr().out
    assert "parquet" in shown.lower()
    assert "price" in shown


def test_subqueries_and_sets_of_frames_are_replaced(spark, path):
    frame = spark.read.format("delta").load(path)
    assert frame.unionAll(frame).count() == 6
    largest = spark.read.format("delta").load(path).selectExpr("max(id) AS id")
    if hasattr(largest, "scalar"):
        assert frame.where(frame["id"] == largest.scalar()).count() == 1
        assert frame.where(largest.exists()).count() == 3


def test_a_stream_of_a_table_is_replaced(spark, path, tmp_path):
    stream = spark.readStream.format("delta").load(path)
    assert stream.isStreaming
    started = stream.writeStream.format("memory").queryName("seen").option("checkpointLocation", str(tmp_path / "c"))
    query = started.trigger(availableNow=True).start()
    query.awaitTermination(60)
    assert spark.table("seen").count() == 3


def test_large_local_rows_beside_a_table_are_sent_as_they_are(spark, path):
    import pandas as pd

    rows = spark.createDataFrame(pd.DataFrame({"id": range(100_000), "text": ["x" * 10] * 100_000}))
    assert rows.join(spark.read.format("delta").load(path), "id").count() == 3


def test_a_compressed_plan_is_rewritten(spark, path):
    client = spark.client
    if not hasattr(client, "_plan_compression_threshold"):
        pytest.skip("this client compresses no plans")
    before = (client._plan_compression_threshold, client._plan_compression_algorithm)
    client._plan_compression_threshold, client._plan_compression_algorithm = 10, "ZSTD"
    try:
        frame = spark.read.format("delta").load(path).where("id in (" + ", ".join(map(str, range(500))) + ")")
        assert frame._plan.to_proto(client).WhichOneof("op_type") == "compressed_operation"
        assert frame.count() == 3
        assert frame.columns == ["id", "price"]
        assert spark.sql(f"SELECT count(*) AS n FROM delta.`{path}`").collect()[0].n == 3
    finally:
        client._plan_compression_threshold, client._plan_compression_algorithm = before


def test_calls_that_connect_lacks_fail_as_on_any_session(spark, path):
    with pytest.raises(Exception, match=r"not supported|NOT_IMPLEMENTED|JVM_ATTRIBUTE_NOT_SUPPORTED|ATTRIBUTE_NOT_SUPPORTED"):
        _ = spark.read.format("delta").load(path).rdd
