# SPDX-License-Identifier: Apache-2.0
"""Spark plans a Delta table as it plans Parquet: joins, exchanges, caches, broadcasts, limits, listeners."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.spark.counting import files_read, jobs, plan_of
from tests.spark.tables import file_of, ids, numbers, numbers_table, without_rows

import bayou
from bayou.errors import SchemaChangedError
from bayou.testing.table_builder import TableBuilder, remove


@pytest.fixture
def session(spark):
    """A session whose settings a test may change."""
    return bayou.enable(spark.newSession())


def wide_table(path, count=4):
    """Some files of a hundred rows each: `id` and the text of it."""
    builder = TableBuilder(path).create({"id": "long", "name": "string"})
    for number in range(count):
        rows = list(range(number * 100, number * 100 + 100))
        stats = {"numRecords": 100, "minValues": {"id": rows[0]}, "maxValues": {"id": rows[-1]}, "nullCount": {"id": 0, "name": 0}}
        builder.commit(file_of(path, f"{number}.parquet", {"id": rows, "name": [str(i) for i in rows]}, stats=stats))
    return builder


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
def test_equal_tables_hit_one_cache(spark, table_path):
    wide_table(table_path)
    cached = bayou.read(spark, table_path).cache()
    try:
        assert cached.count() == 400
        assert "InMemoryTableScan" in plan_of(bayou.read(spark, table_path))
        assert "InMemoryTableScan" in plan_of(bayou.read(spark, table_path).where("id > 3"))
        assert "InMemoryTableScan" not in plan_of(bayou.read(spark, table_path, version=1))
    finally:
        cached.unpersist()


def test_a_cache_of_an_older_version_is_not_a_newer_tables(spark, table_path):
    builder = wide_table(table_path, 1)
    pinned = bayou.read(spark, table_path, version=1).cache()
    try:
        assert pinned.count() == 100
        builder.commit(file_of(table_path, "more.parquet", {"id": [1000], "name": ["x"]}))
        assert bayou.read(spark, table_path).where("id is not null").count() == 101
        assert pinned.count() == 100
    finally:
        pinned.unpersist()


REPLACEMENTS = {
    "the builder": lambda spark, path: bayou.DeltaTable.replace(spark).location(path).addColumn("id", "BIGINT").execute(),
    "SQL": lambda spark, path: spark.sql(f"create or replace table delta.`{path}` (id bigint) using delta"),
}
OTHER_COLUMNS = {
    "the builder": lambda spark, path: bayou.DeltaTable.replace(spark).location(path).addColumn("x", "STRING").execute(),
    "a write": lambda spark, path: bayou.write(spark.range(0).toDF("x"), path, mode="overwrite", overwriteSchema=True),
}


@pytest.mark.parametrize("what", REPLACEMENTS)
def test_a_cached_table_is_empty_after_it_was_replaced(spark, table_path, what):
    spark.range(3).write.format("delta").save(table_path)
    cached = spark.read.format("delta").load(table_path).cache()
    try:
        assert cached.count() == 3
        REPLACEMENTS[what](spark, table_path)
        assert cached.count() == 0
    finally:
        cached.unpersist()


@pytest.mark.smoke
@pytest.mark.parametrize("what", OTHER_COLUMNS)
def test_what_gives_a_cached_table_other_columns_is_done_and_the_old_dataframe_is_refused(spark, table_path, what, caplog):
    spark.range(3).write.format("delta").save(table_path)
    cached, numbers = spark.read.format("delta").load(table_path).cache(), spark.range(5).cache()
    try:
        assert (cached.count(), numbers.count()) == (3, 5)
        OTHER_COLUMNS[what](spark, table_path)
        assert "not cached any longer" in caplog.text
        assert spark.read.format("delta").load(table_path).columns == ["x"]
        assert numbers.storageLevel.useMemory
        with pytest.raises(SchemaChangedError):
            cached.collect()
    finally:
        cached.unpersist()
        numbers.unpersist()


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["bayou.read", "format", "sql by path"])
def test_a_cached_count_changes_after_our_own_write(spark, table_path, way):
    bayou.write(spark.range(10), table_path)
    ways = {
        "bayou.read": lambda: bayou.read(spark, table_path),
        "format": lambda: spark.read.format("delta").load(table_path),
        "sql by path": lambda: spark.sql(f"select * from delta.`{table_path}`"),
    }
    cached = ways[way]().cache()
    filtered = ways[way]().where("id >= 5").cache()
    try:
        assert (cached.count(), filtered.count()) == (10, 5)
        bayou.write(spark.range(3), table_path, mode="append")
        assert (cached.count(), filtered.count()) == (13, 5)
        spark.range(7).write.format("delta").mode("overwrite").save(table_path)
        assert (cached.count(), filtered.count()) == (7, 2)
        assert ids(cached) == list(range(7))
    finally:
        cached.unpersist()
        filtered.unpersist()


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


@pytest.mark.smoke
def test_counts_and_extremes_come_from_the_log_without_a_job(spark, table_path):
    wide_table(table_path)
    frame = bayou.read(spark, table_path)
    with jobs(spark) as ran:
        assert frame.count() == 400
        assert frame.agg(F.count(F.lit(1)), F.min("id"), F.max("id")).first() == (400, 0, 399)
        assert spark.sql(f"select count(1) from delta.`{table_path}@v2`").first() == (200,)
    assert ran.value == 0


QUERIES = {
    "count(*)": 1,
    "count(id)": 1,
    "min(id)": 1,
    "max(id + 1)": 1,
    "count(distinct id)": 1,
    "sum(id)": 1,
    "count(*) filter (where id > 2)": 1,
    "min(name)": 1,
}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("state", ["plain", "vectors", "no statistics", "nulls", "wide"])
def test_an_aggregate_is_right_whether_or_not_the_log_answers_it(spark, table_path, query, state):
    builder = TableBuilder(table_path).create({"id": "long", "name": "string"})
    rows = {"id": [5, 1, 9], "name": ["b", "a", "c"]}
    stats = {
        "numRecords": 3,
        "minValues": {"id": 1, "name": "a"},
        "maxValues": {"id": 9, "name": "c"},
        "nullCount": {"id": 0, "name": 0},
    }
    fields = {"stats": stats}
    if state == "vectors":
        fields |= without_rows([1, 2])
    if state == "wide":
        fields = {"stats": {**stats, "tightBounds": False}, **without_rows([1, 2])}
    if state == "no statistics":
        fields = {"stats": None}
    if state == "nulls":
        rows = {"id": pa.array([None, None], pa.int64()), "name": pa.array([None, None], pa.string())}
        fields = {"stats": {"numRecords": 2, "nullCount": {"id": 2, "name": 2}}}
    builder.commit(file_of(table_path, "a.parquet", rows, **fields))
    live = [(5, "b"), (1, "a"), (9, "c")]
    live = {"vectors": live[:1], "wide": live[:1], "nulls": [(None, None)] * 2}.get(state, live)
    expected = spark.createDataFrame(live, "id long, name string").selectExpr(query).first()
    assert bayou.read(spark, table_path).selectExpr(query).first() == expected


def test_an_aggregate_over_a_filter_or_a_limit_is_not_the_tables(spark, table_path):
    wide_table(table_path)
    frame = bayou.read(spark, table_path)
    assert frame.where("id < 7").count() == 7
    assert frame.limit(7).count() == 7
    assert frame.sample(fraction=0.0).count() == 0
    assert frame.select(F.explode(F.array(F.lit(1), F.lit(2)))).count() == 800
    assert frame.selectExpr("id % 2 as id").agg(F.max("id")).first() == (1,)
    assert frame.groupBy("name").count().count() == 400


@pytest.mark.smoke
def test_a_limit_reads_only_the_files_that_it_needs(spark, table_path):
    wide_table(table_path)
    frame = bayou.read(spark, table_path)
    for limited, wanted, files in ((frame.limit(5), 5, 1), (frame.limit(150).select("name"), 150, 2), (frame.limit(1000), 400, 4)):
        assert len(limited.collect()) == wanted
        assert files_read(limited) == files
    assert len(frame.head(3)) == 3
    filtered = frame.where("id >= 250").limit(60)
    assert len(filtered.collect()) == 60


def test_a_limit_counts_rows_that_vectors_leave(spark, table_path):
    builder = numbers_table(table_path, [1, 2, 3], [4, 5, 6])
    builder.commit(remove("0.parquet"), numbers(table_path, "0.parquet", [1, 2, 3], **without_rows([0, 1])))
    assert len(bayou.read(spark, table_path).limit(3).collect()) == 3
    assert len(bayou.read(spark, table_path).limit(4).collect()) == 4


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
