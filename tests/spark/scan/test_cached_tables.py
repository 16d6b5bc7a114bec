# SPDX-License-Identifier: Apache-2.0
"""Cached tables: equal ones share a cache, and none is shown after the table was written or replaced."""

from __future__ import annotations

import pytest
from tests.spark.scan.files_of_hundreds import wide_table
from tests.support.observing import plan_of
from tests.support.tables.built import file_of, ids
from tests.support.tables.queried import log_of

import bayou
from bayou.errors import SchemaChangedError


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


CHANGES = {
    "INSERT": "insert into {name} values (3, 30)",
    "DELETE": "delete from {name} where a = 1",
    "UPDATE": "update {name} set b = 0 where a = 1",
    "MERGE": "merge into {name} t using (select 1 a, 7 b) s on s.a = t.a when matched then update set *",
    "INSERT OVERWRITE": "insert overwrite {name} values (5, 50)",
    "TRUNCATE": "truncate table {name}",
    "properties": "alter table {name} set tblproperties ('a.b' = 'c')",
    "constraint": "alter table {name} add constraint positive check (a > 0)",
}


def uncached(spark, log):
    """The latest rows, read as those of a version: no cache of the table itself is asked."""
    return bayou.read(spark, log.table_uri, version=log.version())


@pytest.mark.smoke
@pytest.mark.parametrize("way", ["cacheTable", "CACHE TABLE", "cache"])
def test_a_cached_table_stays_cached_and_is_fresh_after_each_change_of_the_session(spark, name, way):
    spark.sql(f"create table {name} (a int, b int) using delta")
    spark.sql(f"insert into {name} values (1, 10), (2, 20)")
    log = log_of(spark, name)
    {
        "cacheTable": lambda: spark.catalog.cacheTable(name),
        "CACHE TABLE": lambda: spark.sql(f"cache table {name}"),
        "cache": lambda: spark.table(name).cache(),
    }[way]()
    try:
        for what, text in CHANGES.items():
            spark.sql(text.format(name=name))
            table = spark.table(name)
            assert spark.catalog.isCached(name), what
            assert "InMemoryRelation" in plan_of(table), what
            assert sorted(table.collect()) == sorted(uncached(spark, log).collect()), what
    finally:
        spark.catalog.uncacheTable(name)
    assert not spark.catalog.isCached(name)
    assert "InMemoryRelation" not in plan_of(spark.table(name))


def test_the_commit_of_another_program_is_read_past_the_cache_until_the_session_writes(spark, table_path):
    builder = wide_table(table_path, 1)
    cached = bayou.read(spark, table_path).cache()
    try:
        assert cached.count() == 100
        builder.commit(file_of(table_path, "more.parquet", {"id": [1000], "name": ["x"]}))
        assert bayou.read(spark, table_path).where("id is not null").count() == 101
        bayou.DeltaTable.forPath(spark, table_path).delete("id = 1000")
        again = bayou.read(spark, table_path)
        assert "InMemoryRelation" in plan_of(again)
        assert again.count() == cached.count() == 100
    finally:
        cached.unpersist()


@pytest.mark.parametrize(
    "statements",
    [
        ["alter table {name} alter column b first"],
        [
            "alter table {name} rename column a to c",
            "alter table {name} rename column b to a",
            "alter table {name} rename column c to b",
        ],
    ],
    ids=["moved", "renamed"],
)
def test_a_cached_table_whose_columns_change_their_places_shows_each_value_under_its_name(spark, name, statements):
    spark.sql(f"create table {name} (a int, b int) using delta tblproperties ('delta.columnMapping.mode' = 'name')")
    spark.sql(f"insert into {name} values (1, 10)")
    log = log_of(spark, name)
    spark.catalog.cacheTable(name)
    try:
        assert spark.table(name).collect() == [(1, 10)]
        for text in statements:
            spark.sql(text.format(name=name))
        assert [row.asDict() for row in spark.table(name).collect()] == [row.asDict() for row in uncached(spark, log).collect()]
    finally:
        spark.catalog.clearCache()


def test_a_cached_change_feed_without_an_end_is_fresh_after_a_write(spark, table_path):
    bayou.write(spark.range(2), table_path, **{"delta.enableChangeDataFeed": "true"})

    def feed():
        return spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 0).load(table_path)

    cached = feed().cache()
    try:
        assert cached.count() == 2
        bayou.write(spark.range(3), table_path, mode="append")
        assert "InMemoryRelation" in plan_of(feed())
        assert feed().count() == cached.count() == 5
    finally:
        cached.unpersist()
