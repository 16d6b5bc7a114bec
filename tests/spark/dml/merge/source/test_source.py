# SPDX-License-Identifier: Apache-2.0
"""The source of a MERGE: whether it is evaluated once and kept, or read again, and which rows it has then."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812

import bayou
from bayou.spark.native.merge import first_pass
from bayou.spark.native.merge.source import source as source_rows


def rows(table):
    return sorted(tuple(row) for row in table.toDF().collect())


@pytest.fixture
def kept(spark, monkeypatch):
    """How often rows were evaluated to be kept."""
    kind = type(spark.range(1))  # what PySpark 4 has under the name DataFrame is only the base of it
    calls, checkpoint = [], kind.localCheckpoint

    def noted(frame, *given, **named):
        calls.append(frame)
        return checkpoint(frame, *given, **named)

    monkeypatch.setattr(kind, "localCheckpoint", noted)
    return calls


def as_json(spark, path):
    spark.read.parquet(f"{path}/*.parquet").write.json(f"{path}/json")
    return spark.read.schema("id bigint, v bigint").json(f"{path}/json")


SOURCES = {
    "a Delta table": (0, lambda spark, path: spark.read.format("delta").load(path)),
    "a part of one": (0, lambda spark, path: spark.read.format("delta").load(path).where("id > 1").selectExpr("id", "v * 2 v")),
    "an old version of one": (0, lambda spark, path: spark.read.format("delta").option("versionAsOf", 0).load(path)),
    "one in SQL": (0, lambda spark, path: spark.sql(f"select id, v from delta.`{path}` where v < 900")),
    "two of them": (0, lambda spark, path: spark.read.format("delta").load(path).union(spark.sql("select 50L id, 0L v"))),
    "files": (0, lambda spark, path: spark.read.parquet(f"{path}/*.parquet")),
    "files of lines": (1, as_json),
    "files that may be missing": (
        1,
        lambda spark, path: spark.read.option("ignoreMissingFiles", True).parquet(f"{path}/*.parquet"),
    ),
    "files that may be broken": (
        1,
        lambda spark, path: spark.read.option("IGNORECorruptFiles", "TRUE").parquet(f"{path}/*.parquet"),
    ),
    "files that may not": (0, lambda spark, path: spark.read.option("ignoreCorruptFiles", False).parquet(f"{path}/*.parquet")),
    "numbers": (0, lambda spark, _path: spark.range(3).selectExpr("id", "id v")),
    "a join": (1, lambda spark, path: spark.read.format("delta").load(path).join(spark.range(4), "id")),
    "an aggregate": (1, lambda spark, path: spark.read.format("delta").load(path).groupBy("id").max("v").toDF("id", "v")),
    "random rows": (1, lambda spark, _path: spark.range(3).selectExpr("id", "cast(rand() * 10 as bigint) v")),
    "a function of Python's": (1, lambda spark, _path: spark.range(3).withColumn("v", F.udf(lambda each: each, "long")("id"))),
}


def test_a_source_may_be_a_table_of_a_database(spark, table_path):
    options = {
        "url": "jdbc:derby:memory:source;create=true",
        "dbtable": "rows_to_merge",
        "driver": "org.apache.derby.jdbc.EmbeddedDriver",
    }
    spark.sql("select 1 id, 10 v union all select 7, 70").write.format("jdbc").options(**options).mode("overwrite").save()
    source = spark.read.format("jdbc").options(**options).load()
    spark.sql("select 1 id, 0 v").write.format("delta").save(table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table) == [(1, 10), (7, 70)]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("what", SOURCES)
def test_a_source_is_kept_only_where_reading_it_again_costs_more_or_gives_other_rows(spark, tmp_path, table_path, kept, what):
    other = str(tmp_path / "source")
    spark.range(5).selectExpr("id", "id * 100 v").coalesce(1).write.format("delta").save(other)
    spark.range(3).selectExpr("id", "-1L v").write.format("delta").save(table_path)
    times, source_of = SOURCES[what]
    if not what.startswith("files"):
        bayou.DeltaTable.forPath(spark, other).delete("id = 2")
    source = source_of(spark, other)
    expected = dict.fromkeys(range(3), -1)
    table = bayou.DeltaTable.forPath(spark, table_path)
    merged = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert len(kept) == times
    if what != "random rows":
        expected.update((row.id, row.v) for row in source.collect())
        assert dict(rows(table)) == expected
    assert merged.num_updated_rows + merged.num_inserted_rows > 0


@pytest.mark.parametrize("name", ["ignoreMissingFiles", "ignoreCorruptFiles"])
def test_files_that_the_session_lets_be_missing_are_kept_where_the_reader_does_not_say_otherwise(
    spark, tmp_path, table_path, kept, name
):
    spark.range(5).selectExpr("id", "7L v").write.parquet(str(tmp_path / "files"))
    spark.range(5).selectExpr("id", "8L v").write.format("delta").save(str(tmp_path / "delta"))
    spark.range(3).selectExpr("id", "-1L v").write.format("delta").save(table_path)
    files, table = str(tmp_path / "files"), bayou.DeltaTable.forPath(spark, table_path).alias("t")
    spark.conf.set(f"spark.sql.files.{name}", "true")
    try:
        for times, source in (
            (1, spark.read.parquet(files)),
            (1, spark.read.option(name, "false").parquet(files)),
            (1, spark.read.format("delta").load(str(tmp_path / "delta"))),
        ):
            table.merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
            assert len(kept) == times
    finally:
        spark.conf.unset(f"spark.sql.files.{name}")


def test_a_source_that_is_a_table_is_the_one_of_when_the_merge_was_planned(spark, tmp_path, table_path):
    other = str(tmp_path / "source")
    spark.range(2).selectExpr("id", "7L v").write.format("delta").save(other)
    spark.range(3).selectExpr("id", "-1L v").write.format("delta").save(table_path)
    source, table = spark.read.format("delta").load(other), bayou.DeltaTable.forPath(spark, table_path)
    plan = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().plan()
    spark.range(2, 9).selectExpr("id", "8L v").write.format("delta").mode("append").save(other)
    plan.execute()
    assert rows(table) == [(0, 7), (1, 7), (2, -1)]


def test_a_table_may_be_merged_with_itself(spark, table_path):
    spark.range(4).selectExpr("id", "id v").write.format("delta").save(table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    source = table.toDF().where("id < 3").selectExpr("id + 2 id", "v")
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table) == [(0, 0), (1, 1), (2, 0), (3, 1), (4, 2)]


def test_a_little_merge_whose_source_is_a_few_rows_of_much_is_written_by_as_many_tasks_as_read_it(spark, tmp_path, table_path):
    much = str(tmp_path / "much")
    spark.range(0, 600_000, 1, 2).selectExpr("id", "uuid() v").write.parquet(much)
    spark.range(2).selectExpr("id", "'x' v").write.format("delta").save(table_path)
    spark.conf.set("spark.sql.files.maxPartitionBytes", 8 << 20)
    try:
        source = spark.read.parquet(much).where("id % 200000 = 7")
        table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
        merged = table.merge(source.alias("s"), "t.id = s.id").whenNotMatchedInsertAll().execute()
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    assert merged.num_inserted_rows == 3
    assert merged.metrics["numTargetFilesAdded"] > 1


@pytest.mark.parametrize("is_materialised", [True, False])
def test_few_rows_of_long_texts_are_not_broadcast(spark, tmp_path, table_path, is_materialised, monkeypatch):
    spark.range(50).selectExpr("id", "'x' v").write.format("delta").save(table_path)
    rows = spark.range(0, 30, 1, 2).selectExpr("id", "repeat(uuid(), 30000) v")
    if not is_materialised:
        rows.write.option("compression", "none").parquet(str(tmp_path / "texts"))
        rows = spark.read.parquet(str(tmp_path / "texts"))
    found, marked = [], source_rows.Source.marked
    monkeypatch.setattr(source_rows.Source, "marked", lambda source: (found.append(source), marked(source))[1])
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "1MB")
    try:
        table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
        assert table.merge(rows.alias("s"), "t.id = s.id").whenMatchedUpdateAll().execute().num_updated_rows == 30
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    assert found
    assert not any(each.is_small for each in found)
    assert {each.is_materialised for each in found} == {is_materialised}


@pytest.mark.parametrize(
    ("properties", "times"), [({}, 1), ({"delta.autoOptimize.optimizeWrite": "true"}, 0), ({"delta.autoOptimize": "true"}, 0)]
)
def test_a_little_merge_is_read_by_many_tasks_where_its_rows_are_put_together_anyway(
    spark, table_path, monkeypatch, properties, times
):
    bayou.write(spark.range(100).selectExpr("id", "id v"), table_path, **properties)
    kind = type(spark.range(1))
    calls, coalesce = [], kind.coalesce

    def noted(frame, number):
        calls.append(number)
        return coalesce(frame, number)

    monkeypatch.setattr(kind, "coalesce", noted)
    monkeypatch.setattr(first_pass, "in_few_tasks", lambda rows, *_: rows)  # the search says for itself how many tasks it takes
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    source = spark.range(90, 110).selectExpr("id", "-id v").alias("s")
    merged = table.merge(source, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (merged.num_updated_rows, merged.num_inserted_rows, merged.metrics["numTargetFilesAdded"]) == (10, 10, 1)
    assert len(calls) == times


@pytest.fixture
def warnings_of_spark(spark):
    """What Spark logs about the rows that it keeps."""
    log4j = spark._jvm.org.apache.logging.log4j
    written, name = spark._jvm.java.io.StringWriter(), "org.apache.spark.rdd.MapPartitionsRDD"
    appender = log4j.core.appender.WriterAppender.createAppender(None, None, written, "test", False, True)
    logger = log4j.LogManager.getLogger(name)
    before = logger.getLevel()
    log4j.core.config.Configurator.setLevel(name, log4j.Level.WARN)
    appender.start()
    logger.addAppender(appender)
    yield written.toString
    logger.removeAppender(appender)
    log4j.core.config.Configurator.setLevel(name, before)


def test_the_rows_that_were_kept_are_dropped_without_a_warning(spark, table_path, warnings_of_spark):
    spark.range(3).selectExpr("id", "-1L v").write.format("delta").save(table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    new = spark.range(3).selectExpr("id", "cast(rand() * 10 as bigint) v")
    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    table.alias("t").merge(new.alias("s"), "t.id = s.id").whenMatchedUpdateAll().execute()
    assert set(spark.sparkContext._jsc.getPersistentRDDs()) == before
    assert not warnings_of_spark()
