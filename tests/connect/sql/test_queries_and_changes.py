# SPDX-License-Identifier: Apache-2.0
"""SQL on Spark Connect about tables by path."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, ParseException

import bayou


@pytest.fixture
def path(spark, tmp_path):
    path = str(tmp_path / "table")
    bayou.write(spark.range(5).selectExpr("id", "cast(id as string) as s"), path)
    return path


def ids(frame):
    return sorted(row.id for row in frame.collect())


def test_queries_name_tables_by_their_paths(spark, path):
    assert ids(spark.sql(f"select id from delta.`{path}` where id > 2")) == [3, 4]
    assert ids(
        spark.sql(f"with t as (select * from delta.`{path}`) select a.id from t a join delta.`{path}` b using (id)")
    ) == list(range(5))
    assert spark.sql(f"select count(*) as n from delta.`{path}` where id < :most", {"most": 3}).collect()[0].n == 3


def test_names_may_be_keywords(spark, path):
    assert spark.sql(f"select from, s from (select id as from, s from delta.`{path}`) where s = '3'").collect() == [(3, "3")]
    windows = f"select window.start, count(*) from delta.`{path}` group by window(timestamp_seconds(id), '1 day')"
    assert [row[1] for row in spark.sql(windows).collect()] == [5]
    for text in (f"select id as select from delta.`{path}`", f"update delta.`{path}` set s = 1 where $from = 1"):
        with pytest.raises((bayou.errors.UnsupportedFeatureError, ParseException), match=r"keyword|PARSE"):
            spark.sql(text).collect()


def test_a_database_may_be_named_delta(spark):
    spark.sql("create database delta")
    try:
        spark.range(3).write.format("parquet").saveAsTable("delta.events")
        spark.sql("insert into delta.events values (3)")
        assert ids(spark.sql("select * from delta.events")) == ids(spark.table("delta.events")) == list(range(4))
    finally:
        spark.sql("drop database delta cascade")


def test_a_query_follows_the_table_and_travels_in_time(spark, path):
    frame = spark.sql(f"select * from delta.`{path}`")
    spark.sql(f"insert into delta.`{path}` values (5, 'five')")
    assert ids(frame) == list(range(6))
    assert ids(spark.sql(f"select * from delta.`{path}` version as of 0")) == list(range(5))
    assert ids(spark.sql(f"select * from delta.`{path}@v0` t where t.id = 1")) == [1]


def test_a_query_that_spark_keeps_as_text_is_refused(spark, path):
    with pytest.raises(bayou.errors.UnsupportedFeatureError, match="keeps the text of its query"):
        spark.sql(f"create view of_sql as select * from delta.`{path}`")
    assert not spark.catalog.tableExists("of_sql")


def test_temporary_views_follow_their_tables(spark, path):
    spark.sql(f"create temp view of_sql (number comment 'n', text) as select * from delta.`{path}` where id > :least", {"least": 2})
    with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
        spark.sql(f"create temporary view of_sql as select * from delta.`{path}`")
    assert spark.sql("select number from of_sql order by 1").collect() == [(3,), (4,)]
    assert spark.table("of_sql").schema["number"].metadata == {"comment": "n"}
    spark.sql(f"insert into delta.`{path}` values (5, 'five')")
    assert spark.sql("select max(number) from of_sql").collect() == [(5,)]
    spark.sql(f"create or replace temp view of_sql as with t as (select * from delta.`{path}`) select id from t where id = 0")
    assert ids(spark.table("of_sql")) == [0]
    spark.sql("drop view of_sql")
    assert not spark.catalog.tableExists("of_sql")


def test_a_cached_query_has_a_name(spark, path):
    spark.sql(f"cache table cached_sql as select id from delta.`{path}` where id > 2")
    assert ids(spark.table("cached_sql")) == [3, 4]
    spark.sql(f"insert into delta.`{path}` values (5, 'five')")
    assert ids(spark.table("cached_sql")) == [3, 4, 5]
    spark.sql("uncache table cached_sql")
    spark.sql("drop view cached_sql")


def test_inserts(spark, path):
    name = f"delta.`{path}`"
    spark.sql(f"insert into {name} (s, id) select 'x', 7")
    spark.sql(f"insert into {name} by name select 'y' as s, 8L as id")
    spark.sql(f"insert into {name} select id + 100, s from {name} where id = 7")
    assert ids(spark.read.table(name)) == [*range(5), 7, 8, 107]
    spark.sql(f"insert overwrite {name} values (1, 'one')")
    assert spark.read.table(name).collect() == [(1, "one")]


def test_inserts_by_position_need_no_names(spark, tmp_path):
    name = f"delta.`{tmp_path / 'three'}`"
    spark.sql(f"create table {name} (a int, b int, c int) using delta")
    spark.sql(f"insert into {name} select 1, null, null")
    spark.sql(f"insert into {name} select a, a, a from {name}")
    assert sorted(spark.read.table(name).collect(), key=str) == [(1, 1, 1), (1, None, None)]


def test_an_insert_needs_a_table(spark, table_path):
    with pytest.raises(bayou.errors.TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"insert into delta.`{table_path}` values (1)")
    for insert in (
        lambda rows: rows.write.insertInto(f"delta.`{table_path}`"),
        lambda rows: rows.writeTo(f"delta.`{table_path}`").append(),
    ):
        with pytest.raises(bayou.errors.TableNotFoundError, match="TABLE_OR_VIEW_NOT_FOUND"):
            insert(spark.range(1))
    assert not bayou.DeltaTable.isDeltaTable(spark, table_path)


def test_inserts_leave_out_columns_that_are_filled(spark, tmp_path):
    path = str(tmp_path / "filled")
    builder = bayou.DeltaTable.create(spark).location(path)
    builder.addColumn("id", "bigint", generatedAlwaysAs=bayou.IdentityGenerator(10, 5))
    builder.addColumn("twice", "int", generatedAlwaysAs="n * 2").addColumn("n", "int").execute()
    spark.sql(f"insert into delta.`{path}` (n) values (1)")
    spark.sql(f"insert into delta.`{path}` by name select 3 as n")
    rows = spark.read.format("delta").load(path).orderBy("n").collect()
    assert [row[1:] for row in rows] == [(2, 1), (6, 3)]
    assert len({row.id for row in rows}) == 2


def test_an_overwrite_of_a_partition_keeps_the_others(spark, tmp_path):
    path = str(tmp_path / "parts")
    name = f"delta.`{path}`"
    bayou.write(spark.range(6).selectExpr("id", "cast(id % 3 as int) as p"), path, partition_by=["p"])
    spark.sql(f"insert overwrite {name} partition (p = '2') values (7)")
    assert ids(spark.read.table(name)) == [0, 1, 3, 4, 7]
    spark.sql(f"insert overwrite {name} partition (P == 0) (id) select 9L")
    assert ids(spark.read.table(name)) == [1, 4, 7, 9]
    with pytest.raises(bayou.errors.InvalidOptionError, match="DELTA_NON_PARTITION_COLUMN_SPECIFIED"):
        spark.sql(f"insert overwrite {name} partition (id = 1) values (2)")
    assert ids(spark.read.table(name)) == [1, 4, 7, 9]


def test_insert_into_overwrites_partitions_if_the_session_says_so(spark, tmp_path):
    path = str(tmp_path / "parts")
    bayou.write(spark.range(6).selectExpr("id", "id % 3 as p"), path, partition_by=["p"])
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.range(8, 9).selectExpr("id", "1L as p").write.insertInto(f"delta.`{path}`", overwrite=True)
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert ids(spark.read.table(f"delta.`{path}`")) == [0, 2, 3, 5, 8]


def test_other_statements_are_the_servers(spark):
    assert spark.sql("select 1 as one").collect()[0].one == 1
    spark.sql("set spark.sql.shuffle.partitions = 2")


def test_delete_and_update(spark, path):
    name = f"delta.`{path}`"
    assert spark.sql(f"delete from {name} where id = 4").collect() == [(1,)]
    assert spark.sql(f"update {name} as t set s = concat(s, '!') where t.id < :most", {"most": 2}).collect() == [(2,)]
    assert sorted(spark.read.table(name).collect()) == [(0, "0!"), (1, "1!"), (2, "2"), (3, "3")]


def test_statements_of_delta_lake(spark, path):
    assert [row.version for row in spark.sql(f"describe history delta.`{path}`").collect()] == [0]
    assert spark.sql(f"describe detail delta.`{path}`").collect()[0].numFiles >= 1
    spark.sql(f"insert into delta.`{path}` values (9, 'nine')")
    spark.sql(f"optimize delta.`{path}`")
    assert bayou.open(path).update().num_files == 1
    spark.sql(f"restore table delta.`{path}` to version as of 0")
    assert ids(spark.read.format("delta").load(path)) == list(range(5))
    assert spark.sql(f"vacuum delta.`{path}` dry run").count() >= 0
