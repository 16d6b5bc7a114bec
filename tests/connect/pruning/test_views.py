# SPDX-License-Identifier: Apache-2.0
"""Conditions on the rows of temporary views leave out files of their tables, where the views mean the same."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.connect.pruning.conftest import rows
from tests.support.cases import in_one_test

import bayou

ALL = {0, 1, 2, 3}
NONE: set[int] = set()


@pytest.fixture
def views(spark, tables):
    """The views v and w of the tables."""
    names = ("v", "w", "of_sql", "Mixed", "outer_view")
    for name, table in zip(names, tables, strict=False):
        spark.read.format("delta").load(table.path).createOrReplaceTempView(name)
    yield
    for name in names:
        spark.catalog.dropTempView(name)
    spark.catalog.dropGlobalTempView("g")
    spark.catalog.clearCache()


TEXTS = {
    "select x from v where id = 12": ({1}, NONE),
    "select v.x, `v`.id from v where v.id = 12": ({1}, NONE),
    "select t.x from v t where t.id = 12": ({1}, NONE),
    "select V.x from V where V.id = 12": ({1}, NONE),
    "select v.id, w.id from v join w on v.x = w.x where v.id = 12 and w.y < 50": ({1}, {0}),
    "select v.id from v left join w on v.id = w.id and w.id = 13 where v.id = 13": ({1}, {1}),
    "select t.id, u.id from v t join v u on t.x = u.x where t.id = 12 and u.id = 3": ({0, 1}, NONE),
    "select v.id from v join {b} u on v.x = u.x where v.id = 12 and u.id = 3": ({1}, {0}),
    "select k from (select id as k, x from v) where k = 12": ({1}, NONE),
    "with c as (select * from v) select id from c where id = 12": ({1}, NONE),
    "with v as (select id from {b}) select id from v where id = 12": (NONE, {1}),
    "with v as (select * from v where x = 0) select id from v where id = 12": ({1}, NONE),
    "select id from v where exists (select 1 from w where w.id = v.id and w.id = 12)": (ALL, {1}),
    "select id from v where id = 12 union all select id from v where id = 13": ({1}, NONE),
    "(select id from v where id = 12)": ({1}, NONE),
    "select id from v": (ALL, NONE),
    "select id from v limit 40": (ALL, NONE),
    "table v": (ALL, NONE),
    "select id from v tablesample (100 percent) where id = 12": (ALL, NONE),
    "select u.k from v as u(k, x, id, s, st, n) where id = 120": (ALL, NONE),
    "select v.id from w left join v on v.id = w.id where v.id = 12 or v.id is null": (ALL, ALL),
}


@in_one_test("text", TEXTS)
def test_a_query_of_a_view_reads_the_files_that_its_conditions_leave(spark, tables, views, text):
    a, b = tables
    text, (of_a, of_b) = text.format(b=f"delta.`{b.path}`"), TEXTS[text]
    frame = spark.sql(text)
    assert (a.read_by(frame), b.read_by(frame)) == (of_a, of_b)
    expected = rows(frame)
    with a.only(of_a), b.only(of_b):
        assert rows(spark.sql(text)) == expected


FRAMES = {
    "a filter": (lambda v, _: v.where("id = 12"), {1}, NONE),
    "the name": (lambda v, _: v.where("v.id = 12"), {1}, NONE),
    "a column": (lambda v, _: v.where(v.id == 12).select(v.x), {1}, NONE),
    "an alias": (lambda v, _: v.alias("t").where("t.id = 12"), {1}, NONE),
    "a join": (lambda v, w: v.join(w, v.x == w.x).where((v.id == 12) & (w.y < 50)), {1}, {0}),
    "a join by names": (lambda v, w: v.join(w, F.expr("v.x = w.x")).where("v.id = 12 and w.y < 50"), {1}, {0}),
    "no filter": (lambda v, _: v.select("id"), ALL, NONE),
    "a limit": (lambda v, _: v.limit(40).where("id = 12"), ALL, NONE),
}


@in_one_test("name", FRAMES)
def test_a_frame_of_a_view_reads_the_files_that_its_conditions_leave(spark, tables, views, name):
    a, b = tables
    make, of_a, of_b = FRAMES[name]
    frame = make(spark.table("v"), spark.table("w"))
    assert a.read_by(frame) == of_a
    expected = rows(frame)
    with a.only(of_a), b.only(of_b or ALL):
        assert rows(frame) == expected


def test_views_of_queries_and_of_views(spark, tables, views):
    a = tables[0]
    texts = (
        "create or replace temporary view of_sql as select id, x as k from delta.`{a}` where y > 0",
        "create or replace temporary view of_sql as with c as (select * from delta.`{a}`) select id, x as k from c",
        "create or replace temporary view of_sql using delta options (path '{a}')",
    )
    for text in texts:
        spark.sql(text.format(a=a.path))
        for frame in (spark.sql("select id from of_sql where id = 12"), spark.table("of_sql").where("id = 12").select("id")):
            assert a.read_by(frame) == {1}
            assert rows(frame) == ["Row(id=12)"]
    spark.table("v").where("y > 0").selectExpr("id as k").createOrReplaceTempView("outer_view")
    frame = spark.sql("select k from outer_view where k = 12")
    assert a.read_by(frame) == {1}
    assert rows(frame) == ["Row(k=12)"]
    frame = spark.sql("select * from v").where("id = 12").select("id")
    assert a.read_by(frame) == {1}
    assert rows(frame) == ["Row(id=12)"]


def test_a_view_that_is_replaced_or_dropped_has_its_new_meaning(spark, tables, views):
    text = "select count(*) as n from v where id = 12"
    for change, found in (
        ("create or replace temporary view v as select 12 as id from range(7)", 7),
        ("create or replace temporary view v as select * from w where id > 12", 0),
    ):
        assert spark.sql(text).collect() == [(1,)]
        frame = spark.sql(text)
        spark.sql(change)
        assert frame.collect() == spark.sql(text).collect() == [(found,)]
        spark.read.format("delta").load(tables[0].path).createOrReplaceTempView("v")
    spark.catalog.dropTempView("v")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(text).collect()


def test_a_view_follows_its_table_where_files_are_left_out(spark, table_path):
    path = table_path
    for start in (0, 10):
        bayou.write(spark.range(start, start + 10, 1, 1), path, mode="append")
    spark.read.format("delta").load(path).createOrReplaceTempView("v")
    try:
        frame = spark.sql("select id from v where id > 12")
        assert frame.count() == 7
        bayou.write(spark.range(20, 30, 1, 1), path, mode="append")
        assert (frame.count(), spark.table("v").where("id > 12").count()) == (17, 17)
    finally:
        spark.catalog.dropTempView("v")


def test_a_view_that_is_cached_is_read_from_the_cache(spark, tables, views):
    def is_cached(frame):
        return "InMemoryRelation" in frame._explain_string()

    for cache, uncache in (
        (lambda: spark.catalog.cacheTable("v"), lambda: spark.catalog.uncacheTable("v")),
        (lambda: spark.sql("cache table v"), lambda: spark.sql("uncache table v")),
    ):
        cache()
        for frame in (spark.sql("select id from v where id = 12"), spark.table("v").where("id = 12")):
            assert is_cached(frame)
            assert frame.count() == 1
        uncache()
        assert tables[0].read_by(spark.table("v").where("id = 12")) == {1}
    spark.table("v").cache()
    assert is_cached(spark.table("v").where("id = 12"))


def test_a_cached_frame_of_a_view_is_read_from_the_cache(spark, tables, views):
    for frame in (spark.sql("select id from v"), spark.table("v").select("id"), spark.table("v").where("id > 5").select("id")):
        frame.cache()
        assert "InMemoryRelation" in frame.where("id = 12")._explain_string()
        assert frame.where("id = 12").count() == 1
        frame.unpersist()
        assert not frame.storageLevel.useMemory
        assert tables[0].read_by(frame.where("id = 12")) == {1}


def test_a_view_keeps_the_settings_that_it_was_analysed_with(spark, tables, views):
    a = tables[0]
    ansi = spark.conf.get("spark.sql.ansi.enabled")
    try:
        spark.conf.set("spark.sql.ansi.enabled", "false")
        spark.sql(f"select id, int(s) as z from delta.`{a.path}`").createOrReplaceTempView("of_sql")
        assert spark.sql("select z from of_sql where id = 12").collect() == [(None,)]
        spark.conf.set("spark.sql.ansi.enabled", "true")
        assert spark.sql("select z from of_sql where id = 12").collect() == [(None,)]
    finally:
        spark.conf.set("spark.sql.ansi.enabled", ansi)


def test_views_whose_names_differ_in_case_are_different_where_case_matters(spark, tables, views):
    a, b = tables
    try:
        spark.conf.set("spark.sql.caseSensitive", "true")
        spark.read.format("delta").load(a.path).where("id < 20").createOrReplaceTempView("mixed")
        spark.read.format("delta").load(b.path).where("id >= 20").createOrReplaceTempView("Mixed")
        counts = [spark.sql(f"select * from {name} where id >= 10").count() for name in ("mixed", "Mixed")]
        assert counts == [10, 20]
        spark.catalog.dropTempView("mixed")
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_other_views_are_the_servers(spark, tables, views):
    a = tables[0]
    frame = spark.read.format("delta").load(a.path)
    frame.createOrReplaceGlobalTempView("g")
    assert spark.sql("select global_temp.g.id from global_temp.g where id = 12").collect() == [(12,)]
    assert a.read_by(spark.table("global_temp.g").where("id = 12")) == ALL
    frame.selectExpr("id", "rand() as r").createOrReplaceTempView("of_sql")
    one, other = spark.sql("select t.r, u.r from of_sql t join of_sql u on t.id = u.id where t.id = 12").first()
    assert one == other


def test_columns_of_the_frame_below_a_view(spark, tables, views):
    frame = spark.read.format("delta").load(tables[0].path)
    frame.createOrReplaceTempView("v")
    joined = frame.join(spark.table("v").where("id = 12").select(F.col("id").alias("k")), F.col("k") == frame.id)
    assert joined.select(frame.id).collect() == [(12,)]


def test_statements_read_few_files_of_a_view(spark, tables, views, table_path):
    a = tables[0]
    with a.only({1}):
        spark.sql(f"create table delta.`{table_path}` using delta as select id from v where id = 12")
        spark.sql(f"insert into delta.`{table_path}` select id from v where id = 13")
        spark.table("v").where("id = 14").select("id").write.format("delta").mode("append").save(table_path)
    assert rows(spark.read.format("delta").load(table_path)) == ["Row(id=12)", "Row(id=13)", "Row(id=14)"]
    spark.sql("create or replace temporary view of_sql as select id from v where id = 12")
    assert spark.table("of_sql").count() == 1
    assert [row.col_name for row in spark.sql("show columns from v").collect()][:1] == ["id"]
    assert spark.sql("explain select id from v where id = 12").count() == 1
