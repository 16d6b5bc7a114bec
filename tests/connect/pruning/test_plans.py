# SPDX-License-Identifier: Apache-2.0
"""Filters of the DataFrame API leave out files wherever they are certain to apply to all rows of a table, and nowhere else."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.window import Window
from tests.connect.pruning.conftest import rows
from tests.support.cases import in_one_test

ALL = {0, 1, 2, 3}

SKIPPING = {
    "a filter": (lambda a, _: a.where("id = 12"), {1}, set()),
    "a column of the DataFrame": (lambda a, _: a.where(a.id == 12), {1}, set()),
    "another spelling": (lambda a, _: a.where("ID = 12"), {1}, set()),
    "a field": (lambda a, _: a.where("st.f = 12"), {1}, set()),
    "two filters": (lambda a, _: a.where("id > 12").where(F.col("s") < "k30"), {1, 2}, set()),
    "an alias": (lambda a, _: a.alias("t").where("t.id = 12 and t.st.f > 0"), {1}, set()),
    "a selection": (lambda a, _: a.select("s", "id").where("id = 12"), {1}, set()),
    "a selection of all": (lambda a, _: a.select("*", F.lit(1).alias("one")).where("id = 12"), {1}, set()),
    "a selection in SQL": (lambda a, _: a.selectExpr("id as key", "upper(s)").where("key = 12"), {1}, set()),
    "a renamed column": (lambda a, _: a.select(F.col("id").alias("key")).where("key = 12"), {1}, set()),
    "names that change places": (lambda a, _: a.selectExpr("id as y", "y as id").where("y = 12"), {1}, set()),
    "another column": (lambda a, _: a.withColumn("z", F.col("y") + 1).where("id = 12"), {1}, set()),
    "another column of the name": (lambda a, _: a.select(F.col("y").alias("id")).where("id = 120"), {1}, set()),
    "a new name": (lambda a, _: a.withColumnRenamed("id", "key").where("key = 12"), {1}, set()),
    "a column that is gone": (lambda a, _: a.drop("y").where("id = 12"), {1}, set()),
    "an order": (lambda a, _: a.orderBy("s").where("id = 12"), {1}, set()),
    "partitions": (lambda a, _: a.repartition(3, "x").where("id = 12"), {1}, set()),
    "a hint": (lambda a, _: a.hint("rebalance").where("id = 12"), {1}, set()),
    "a filter below a limit": (lambda a, _: a.where("id >= 30").orderBy("id").limit(3), {3}, set()),
    "a filter below an aggregate": (lambda a, _: a.where("id >= 30").groupBy("x").count(), {3}, set()),
    "a filter below distinct rows": (lambda a, _: a.where("id >= 30").select("x").distinct(), {3}, set()),
    "rows without NULLs": (lambda a, _: a.na.drop(subset=["n"]).where("id = 12"), {1}, set()),
    "both sides of a join": (lambda a, b: a.join(b, a.id == b.id).where((a.id == 12) & (b.y < 50)), {1}, {0}),
    "a side by its alias": (lambda a, b: a.alias("l").join(b.alias("r"), F.expr("l.x = r.x")).where("l.id = 12"), {1}, ALL),
    "a side before the join": (lambda a, b: a.where("id = 12").join(b.where("id > 35"), "x"), {1}, {3}),
    "the condition of a join": (lambda a, b: a.join(b, (a.x == b.x) & (a.id == 12) & (b.y < 50)), {1}, {0}),
    "USING": (lambda a, b: a.join(b, "x").where(a.id == 12), {1}, ALL),
    "the key of USING": (lambda a, b: a.join(b.select("id"), "id").where("id = 12"), {1}, ALL),
    "a left join": (lambda a, b: a.join(b, a.id == b.id, "left").where(a.id == 12), {1}, ALL),
    "the condition of a left join": (lambda a, b: a.join(b, (a.id == b.id) & (a.id == 12) & (b.id == 12), "left"), ALL, {1}),
    "a right join": (lambda a, b: a.join(b, a.id == b.id, "right").where(b.id == 12), ALL, {1}),
    "the condition of a right join": (lambda a, b: a.join(b, (a.id == b.id) & (a.id == 12) & (b.id == 12), "right"), {1}, ALL),
    "a semi join": (lambda a, b: a.join(b, (a.id == b.id) & (b.y < 50) & (a.y < 250), "semi").where("id > 12"), {1, 2}, {0}),
    "an anti join": (lambda a, b: a.join(b, (a.id == b.id) & (b.y < 50) & (a.y < 250), "anti").where("id > 22"), {2, 3}, {0}),
    "a cross join": (lambda a, b: a.crossJoin(b.select("id")).where(a.id == 12), {1}, ALL),
    "what stands in front of a random condition": (lambda a, _: a.where((F.col("id") == 12) & (F.rand() < 2)), {1}, set()),
    "several joins": (lambda a, b: a.join(b, a.id == b.id).join(a.alias("c"), b.x == F.col("c.x")).where(b.id == 12), ALL, {1}),
}


@pytest.fixture
def frames(spark, tables):
    return [spark.read.format("delta").load(each.path) for each in tables]


@in_one_test("name", SKIPPING)
def test_files_without_a_row_are_left_out(frames, tables, name):
    make, *kept = SKIPPING[name]
    frame = make(*frames)
    (a, of_a), (b, of_b) = zip(tables, kept, strict=True)
    expected = rows(frame)
    with a.only(of_a), b.only(of_b):
        assert rows(frame) == expected
    assert a.read_by(frame) == of_a


KEEPING = {
    "a limit": lambda a, _: a.orderBy("id").limit(15).where("id >= 12"),
    "an offset": lambda a, _: a.orderBy("id").offset(5).where("id >= 12"),
    "an aggregate": lambda a, _: a.groupBy("x").agg(F.max("id").alias("id")).where("id = 12"),
    "an aggregate without groups": lambda a, _: a.select(F.max("id").alias("id")).where("id = 12"),
    "distinct rows": lambda a, _: a.dropDuplicates(["x"]).where("id = 12"),
    "a window": lambda a, _: a.select("id", F.count("*").over(Window.partitionBy("x"))).where("id = 12"),
    "a window in SQL": lambda a, _: a.selectExpr("id", "count(*) over (partition by x) as c").where("id = 12"),
    "a window that is added": lambda a, _: a.withColumn("c", F.count("*").over(Window.partitionBy("x"))).where("id = 12"),
    "numbers of rows": lambda a, _: a.withColumn("r", F.monotonically_increasing_id()).where("id = 12"),
    "a sample": lambda a, _: a.sample(0.99, seed=1).where("id = 12"),
    "a replaced column": lambda a, _: a.withColumn("id", F.lit(12)).where("id = 12"),
    "a replaced column of the DataFrame": lambda a, _: a.withColumn("y", F.lit(12)).where("y = 12"),
    "a cast of the name": lambda a, _: a.select(F.col("id").cast("string")).where("id = '12'"),
    "a name that is gone": lambda a, _: a.withColumnRenamed("id", "y2").withColumnRenamed("y", "id").where("id + 0 = 120"),
    "values for NULL": lambda a, _: a.na.fill(12).where("n = 12"),
    "random rows above": lambda a, _: a.where(F.rand(1) < 2).where("id = 12"),
    "another DataFrame": lambda a, b: a.join(b, a.id == b.id).where(b.id == 12).select(a.s),
    "the other side of a left join": lambda a, b: b.join(a, a.id == b.id, "left").where(a.id.isNull() | (a.id == 12)),
    "the kept side's condition": lambda a, b: a.join(b, (a.id == b.id) & (a.id == 12), "left"),
    "a full join": lambda a, b: a.join(b, a.id == b.id, "full").where(a.id == 12),
    "the key of USING on the other side": lambda a, b: b.join(a.select("id"), "id").where("id = 12"),
    "a union": lambda a, b: a.select("id").union(b.select("y")).where("id = 12"),
    "a star of another": lambda a, b: a.join(b, a.id == b.id).select(b["*"]).where("id = 12"),
    "a star without some": lambda a, _: a.selectExpr("* except (id)", "y as id").where("id = 120"),
    "the same DataFrame twice": lambda a, _: a.alias("l").join(a.alias("r"), F.expr("l.x = r.x")).where("r.id = 12 or l.id = 2"),
    "a function of Python": lambda a, _: a.where(F.col("id") + F.lit(0) == 12),
    "metrics": lambda a, _: a.where("id = 12 or id > 0 or id <= 0"),
}


@in_one_test("name", KEEPING)
def test_files_are_kept_if_the_query_might_need_them(frames, tables, name):
    assert tables[0].read_by(KEEPING[name](*frames)) == ALL


def test_observed_rows_are_all_rows(frames, tables):
    from pyspark.sql import Observation

    observation = Observation()
    frame = frames[0].observe(observation, F.count(F.lit(1)).alias("rows")).where("id = 12")
    assert frame.count() == 1
    assert observation.get == {"rows": 40}
    assert tables[0].read_by(frame) == ALL


def test_a_setting_decides_what_a_string_means(spark, tables):
    frame = spark.read.format("delta").load(tables[0].path)
    assert frame.where('s = "k12"').count() == 1
    try:
        spark.conf.set("spark.sql.ansi.doubleQuotedIdentifiers", "true")
        assert frame.where("\"s\" = 'k12'").count() == 1
        assert frame.where('s = "s"').count() == 40
    finally:
        spark.conf.unset("spark.sql.ansi.doubleQuotedIdentifiers")
