# SPDX-License-Identifier: Apache-2.0
"""Spark plans a Delta table as it plans Parquet: joins, exchanges, broadcasts, listeners, splits and filters."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.spark.scan.files_of_hundreds import wide_table
from tests.support.observing import jobs, plan_of
from tests.support.tables.built import file_of, ids, numbers, numbers_table, without_rows

import bayou
from bayou.testing.table_builder import TableBuilder, remove


@pytest.mark.smoke
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_joins_and_self_joins_give_the_rows_of_the_table(session, table_path, adaptive):
    wide_table(table_path)
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    frame = bayou.read(session, table_path)
    assert frame.join(frame, "id").count() == 400
    a, b = frame.alias("a"), frame.alias("b")
    assert a.join(b, F.col("a.id") == F.col("b.id") + 1).where("a.id < 100").count() == 99
    assert frame.join(frame.where("id < 10"), "id", "left_anti").count() == 390
    assert frame.union(frame).distinct().count() == 400


@pytest.mark.parametrize("way", ["one frame", "two frames", "vectors"])
def test_equal_exchanges_are_computed_once(session, table_path, way):
    builder = wide_table(table_path)
    if way == "vectors":
        builder.commit(
            remove("0.parquet"), file_of(table_path, "0.parquet", {"id": [1, 2], "name": ["1", "2"]}, **without_rows([0]))
        )
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    one = bayou.read(session, table_path)
    two = bayou.read(session, table_path) if way == "two frames" else one
    joined = one.groupBy("id").count().join(two.groupBy("id").count(), "id")
    joined.collect()
    assert "ReusedExchange" in plan_of(joined) or "ReusedQueryStage" in plan_of(joined)


@pytest.mark.smoke
def test_explain_shows_the_tables_path_and_reads_no_row(spark, table_path, capsys):
    wide_table(table_path)
    frame = bayou.read(spark, table_path).where("id > 350 and name like '3%'")
    with jobs(spark) as ran:
        frame.explain("formatted")
    shown = capsys.readouterr().out
    assert ran.value == 0
    assert table_path in shown
    assert "PushedFilters" in shown
    assert "GreaterThan(id,350)" in shown


def test_explaining_a_statement_runs_nothing(spark, table_path):
    numbers_table(table_path, [1])
    text = spark.sql(f"explain extended select count(*) from delta.`{table_path}`").first()[0]
    assert "Optimized Logical Plan" in text
    assert bayou.open(table_path).version() == 1


def test_a_dataframe_is_an_rdd(spark, table_path):
    builder = wide_table(table_path)
    builder.commit(file_of(table_path, "v.parquet", {"id": [1000, 1001], "name": ["a", "b"]}, **without_rows([1])))
    frame = bayou.read(spark, table_path)
    assert frame.rdd.map(lambda row: row.id).sum() == sum(range(400)) + 1000
    assert frame.rdd.getNumPartitions() >= 1
    assert sorted(row.id for row in frame.where("id >= 399").toLocalIterator()) == [399, 1000]


def test_observations_see_what_is_read(spark, table_path):
    wide_table(table_path)
    seen = Observation()
    bayou.read(spark, table_path).where("id < 50").observe(seen, F.count(F.lit(1)).alias("rows")).collect()
    assert seen.get == {"rows": 50}


@pytest.mark.smoke
def test_observations_see_what_is_written(spark, table_path):
    seen = Observation()
    spark.range(25).observe(seen, F.count(F.lit(1)).alias("rows"), F.max("id").alias("top")).write.format("delta").save(table_path)
    assert seen.get == {"rows": 25, "top": 24}


@pytest.mark.parametrize("way", ["data", "partitions"])
def test_the_size_after_pruning_decides_a_broadcast(session, table_path, tmp_path, way):
    noise = pa.array([bytes(range(256)).hex() * 2 + str(i) for i in range(500)])
    builder = TableBuilder(table_path).create({"id": "long", "p": "integer", "text": "string"}, partition_by=["p"])
    for number in range(8):
        rows = {"id": pa.array(range(number * 500, number * 500 + 500)), "text": noise}
        stats = {
            "numRecords": 500,
            "minValues": {"id": number * 500},
            "maxValues": {"id": number * 500 + 499},
            "nullCount": {"id": 0},
        }
        builder.commit(file_of(table_path, f"{number}.parquet", rows, stats=stats, partitionValues={"p": str(number)}))
    other = bayou.read(session, table_path)
    one_file = other._jdf.queryExecution().optimizedPlan().stats().sizeInBytes() // 8
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", str(one_file * 2))
    condition = "id < 100" if way == "data" else "p = 0"
    assert "BroadcastHashJoin" in plan_of(other.join(other.where(condition).select("id"), "id"))
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "10")
    assert "SortMergeJoin" in plan_of(other.join(other.where(condition), "id"))


@pytest.mark.parametrize("size", ["1000", "134217728"])
def test_the_sessions_partition_size_splits_files(session, table_path, size):
    wide_table(table_path)
    session.conf.set("spark.sql.files.maxPartitionBytes", size)
    session.conf.set("spark.sql.files.openCostInBytes", "1")
    partitions = bayou.read(session, table_path).rdd.getNumPartitions()
    assert (partitions > 4) if size == "1000" else (partitions <= 4)
    assert ids(bayou.read(session, table_path)) == list(range(400))


def test_the_vectorised_reader_may_be_off(session, table_path):
    builder = numbers_table(table_path, [1, 2, 3])
    builder.commit(numbers(table_path, "v.parquet", [4, 5], **without_rows([0])))
    session.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    frame = bayou.read(session, table_path)
    assert ids(frame) == [1, 2, 3, 5]
    assert "ColumnarToRow" not in plan_of(frame)


def test_code_generation_may_be_off(session, table_path):
    builder = numbers_table(table_path, [1, 2, 3])
    builder.commit(numbers(table_path, "v.parquet", [4, 5], **without_rows([0])))
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    assert ids(bayou.read(session, table_path).where("id > 1")) == [2, 3, 5]


def test_the_filters_of_a_query_reach_the_parquet_reader(spark, table_path):
    builder = wide_table(table_path)
    builder.commit(file_of(table_path, "v.parquet", {"id": [1000, 1001], "name": ["a", "b"]}, **without_rows([1])))
    frame = bayou.read(spark, table_path).where("id >= 399").select("id")
    assert ids(frame) == [399, 1000]
    pushed = re.search(r"PushedFilters: \[([^]]*)\]", plan_of(frame))
    assert "GreaterThanOrEqual(id,399)" in pushed[1]
    assert "name" not in re.search(r"ReadSchema: (\S+)", plan_of(frame))[1]
