# SPDX-License-Identifier: Apache-2.0
"""Which version a DataFrame reads: the latest when a query is planned, one for each table in it, or the one that was named.

Spark keeps the plan of a query that ran for the very object that ran it: collecting one object twice gives the same rows twice
(with delta-spark too). Everything that is made from it is planned anew.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.tables.built import file_of, ids, numbers, numbers_table

import bayou
from bayou.errors import SchemaChangedError, TableNotFoundError
from bayou.protocol.actions.file_names import commit_path
from bayou.spark.session.application import Application, LogCache
from bayou.testing.table_builder import TableBuilder, metadata, remove


def now(frame):
    """What a new query over a DataFrame finds in its first column."""
    return ids(frame.select("*"))


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["bayou.read", "format"])
def test_each_execution_reads_the_version_that_is_the_latest_then(spark, table_path, way):
    builder = numbers_table(table_path, [1])
    frame = bayou.read(spark, table_path) if way == "bayou.read" else spark.read.format("delta").load(table_path)
    filtered = frame.where("id >= 0").selectExpr("id + 0 as id")
    assert now(filtered) == [1]
    builder.commit(numbers(table_path, "b.parquet", [2]))
    assert now(filtered) == [1, 2]
    assert frame.where("id = 2").count() == 1
    builder.commit(remove("0.parquet"))
    assert ids(frame.select("id")) == [2]


@pytest.mark.smoke
def test_a_named_version_stays(spark, table_path):
    builder = numbers_table(table_path, [1])
    pinned = bayou.read(spark, table_path, version=1)
    as_option = spark.read.format("delta").option("versionAsOf", 1).load(table_path)
    in_sql = spark.sql(f"select * from delta.`{table_path}@v1`")
    builder.commit(numbers(table_path, "b.parquet", [2]), remove("0.parquet"))
    for frame in (pinned, as_option, in_sql):
        assert ids(frame.select("id")) == [1]
        assert frame.where("id > 0").count() == 1
    assert ids(pinned.union(bayou.read(spark, table_path))) == [1, 2]


def test_a_timestamp_pins_the_version_that_it_means(spark, table_path):
    builder = numbers_table(table_path, [1])
    latest = bayou.DeltaTable.forPath(spark, table_path).history(1).first().timestamp
    pinned = bayou.read(spark, table_path, timestamp=str(latest))
    builder.commit(numbers(table_path, "b.parquet", [2]))
    assert ids(pinned.where("id is not null")) == [1]


@pytest.mark.smoke
def test_one_query_sees_one_version_of_a_table_that_grows_while_it_is_planned(spark, table_path, monkeypatch):
    builder = numbers_table(table_path, [1])
    frame = bayou.read(spark, table_path)
    joined = frame.alias("a").join(bayou.read(spark, table_path).alias("b"), "id", "full_outer")
    original = Application.snapshot
    asked = []

    def growing(self, *arguments, **options):
        """Another writer commits each time that the planner asks for the table's state."""
        found = original(self, *arguments, **options)
        asked.append(found.version)
        builder.commit(numbers(table_path, f"new{len(asked)}.parquet", [100 + len(asked)]))
        return found

    monkeypatch.setattr(Application, "snapshot", growing)
    rows = joined.selectExpr("a.id is null or b.id is null as differs").collect()
    assert [row.differs for row in rows] == [False]
    assert asked
    assert len(set(asked)) == 1


def test_a_subquery_sees_the_version_of_its_query(spark, table_path, monkeypatch):
    builder = numbers_table(table_path, [1])
    bayou.read(spark, table_path).createOrReplaceTempView("growing")
    query = spark.sql("select id, (select max(id + 0) from growing) m from growing where id in (select id from growing)")
    original = Application.snapshot

    def growing(self, *arguments, **options):
        found = original(self, *arguments, **options)
        builder.commit(numbers(table_path, f"new{builder.version}.parquet", [100 + builder.version]))
        return found

    monkeypatch.setattr(Application, "snapshot", growing)
    rows = query.collect()
    spark.catalog.dropTempView("growing")
    assert len(rows) >= 1
    assert all(row.m == max(other.id for other in rows) for row in rows)


CHANGES = {
    "a column is gone": {"id": "long"},
    "a column has another type": {"id": "long", "name": "long"},
    "a column has another name": {"id": "long", "title": "string"},
}


@pytest.mark.parametrize("change", CHANGES)
def test_an_incompatible_schema_change_is_an_error_and_not_other_rows(spark, table_path, change):
    builder = TableBuilder(table_path).create({"id": "long", "name": "string"})
    builder.commit(file_of(table_path, "a.parquet", {"id": [1], "name": ["one"]}))
    frame = bayou.read(spark, table_path)
    assert frame.select("*").collect() == [(1, "one")]
    builder.commit(metadata(CHANGES[change]))
    with pytest.raises(SchemaChangedError) as caught:
        frame.select("*").collect()
    assert isinstance(caught.value, AnalysisException)
    assert caught.value.getErrorClass() == "DELTA_SCHEMA_CHANGE_SINCE_ANALYSIS"
    assert caught.value.version == 2
    assert "\n\tat " not in str(caught.value)


def test_a_column_that_joins_leaves_the_dataframe_as_it_was(spark, table_path):
    builder = numbers_table(table_path, [1])
    frame = bayou.read(spark, table_path)
    builder.commit(metadata({"id": "long", "more": "string"}))
    builder.commit(file_of(table_path, "b.parquet", {"id": [2], "more": ["x"]}))
    assert now(frame) == [1, 2]
    assert frame.columns == ["id"]
    assert sorted(bayou.read(spark, table_path).collect()) == [(1, None), (2, "x")]


def test_a_column_that_is_not_read_may_go(spark, table_path):
    builder = TableBuilder(table_path).create({"id": "long", "name": "string"})
    builder.commit(file_of(table_path, "a.parquet", {"id": [1], "name": ["one"]}))
    only_id = bayou.read(spark, table_path).select("id")
    builder.commit(metadata({"id": "long"}))
    try:
        assert only_id.collect() == [(1,)]
    except SchemaChangedError:
        """The whole table's schema may be asked for, too: an error is safe."""


@pytest.mark.smoke
def test_a_table_that_is_dropped_and_made_again_is_read_anew(spark, table_path):
    numbers_table(table_path, [1], [2]).commit()
    frame = bayou.read(spark, table_path)
    assert now(frame) == [1, 2]
    shutil.rmtree(table_path)
    with pytest.raises(TableNotFoundError):
        frame.select("*").collect()
    with pytest.raises(TableNotFoundError):
        bayou.read(spark, table_path)
    numbers_table(table_path, [7])
    assert ids(bayou.read(spark, table_path)) == [7]
    assert ids(spark.read.format("delta").load(table_path)) == [7]


def test_a_table_made_again_at_the_same_version_is_another_one(spark, table_path):
    numbers_table(table_path, [1])
    assert ids(bayou.read(spark, table_path)) == [1]
    cached = bayou.read(spark, table_path).cache()
    assert cached.count() == 1
    shutil.rmtree(table_path)
    builder = TableBuilder(table_path)
    other = metadata({"id": "long"})
    other["metaData"]["id"] = "99999999-0000-0000-0000-000000000000"
    builder.commit({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, other)
    builder.commit(numbers(table_path, "x.parquet", [8, 9]))
    assert ids(bayou.read(spark, table_path)) == [8, 9]
    cached.unpersist()


def test_a_further_read_reads_only_new_commits(spark, table_path, monkeypatch):
    builder = numbers_table(table_path, [1])
    frame = bayou.read(spark, table_path)
    assert now(frame) == [1]
    application = Application.of(spark)
    store = application.logs.get(builder.uri, {}).store
    read = []
    original = type(store).read
    monkeypatch.setattr(type(store), "read", lambda self, path, *rest: (read.append(path), original(self, path, *rest))[1])
    assert now(frame) == [1]
    assert read == []
    builder.commit(numbers(table_path, "b.parquet", [2]))
    assert now(frame) == [1, 2]
    assert read == [commit_path(2)]


def test_the_logs_that_a_session_keeps_are_bounded(tmp_path):
    cache = LogCache(limit_bytes=1)
    for number in range(5):
        builder = numbers_table(str(tmp_path / str(number)), [number])
        snapshot = cache.get(builder.uri, {}).update()
        cache.measure(builder.uri, {}, snapshot)
    assert cache.tables() == [TableBuilder(tmp_path / "4").uri]
    cache.clear()
    assert cache.tables() == []


def test_a_commit_that_is_not_json_is_an_error_of_the_query_that_meets_it(spark, table_path):
    builder = numbers_table(table_path, [1])
    frame = bayou.read(spark, table_path)
    Path(table_path, commit_path(2)).write_text(json.dumps({"add": 1}) + "\n{not json\n", encoding="utf-8")
    with pytest.raises(bayou.DeltaError) as caught:
        frame.select("*").collect()
    assert caught.value.version == 2
    Path(table_path, commit_path(2)).unlink()
    builder.commit(numbers(table_path, "b.parquet", [2]))
    assert now(frame) == [1, 2]
