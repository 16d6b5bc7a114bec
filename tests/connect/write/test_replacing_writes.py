# SPDX-License-Identifier: Apache-2.0
"""Overwrites on Connect that replace a part of a table: by matches, by values and by a condition."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812

import bayou
from bayou.errors import ConstraintViolationError, InvalidOptionError, UnsupportedFeatureError


@pytest.fixture
def path(spark, tmp_path):
    """A table of `k` and `v`: 1 a, 5 b, 8 c."""
    found = str(tmp_path / "table")
    bayou.write(frame(spark, (1, "a"), (5, "b"), (8, "c")).coalesce(1), found)
    return found


def frame(spark, *values):
    return spark.createDataFrame(list(values), "k long, v string")


def rows(spark, path):
    return sorted(map(tuple, bayou.read(spark, path).collect()), key=str)


def test_the_options_of_a_writer_replace_matches(spark, path):
    new = frame(spark, (5, "new"), (9, "more")).alias("s")
    new.write.format("delta").mode("overwrite").option("replaceUsing", "k").save(path)
    assert rows(spark, path) == [(1, "a"), (5, "new"), (8, "c"), (9, "more")]
    options = {"replaceOn": "t.k > s.k and t.k < s.k + 2", "targetAlias": "t"}
    frame(spark, (7, "x")).alias("s").write.format("delta").mode("overwrite").options(**options).save(path)
    assert rows(spark, path) == [(1, "a"), (5, "new"), (7, "x"), (9, "more")]


def test_rows_that_are_others_each_time_are_evaluated_once(spark, path):
    drawn = spark.range(20).selectExpr("cast(rand() * 50 as long) k", "'new' v").distinct()
    bayou.write(spark.range(50).selectExpr("id k", "'old' v"), path, mode="overwrite")
    drawn.write.format("delta").mode("overwrite").option("replaceUsing", "k").save(path)
    assert [key for key, _ in sorted(rows(spark, path))] == list(range(50))


def test_conditions_that_mean_no_column_or_two_are_refused(spark, path):
    for condition, error_class in (
        ("k = k", "DELTA_INSERT_REPLACE_ON_AMBIGUOUS_COLUMNS_IN_CONDITION"),
        ("t.k = s.nothing", "DELTA_INSERT_REPLACE_ON_UNRESOLVED_COLUMNS_IN_CONDITION"),
    ):
        writer = frame(spark, (1, "x")).alias("s").write.format("delta").mode("overwrite")
        with pytest.raises(InvalidOptionError) as caught:
            writer.option("replaceOn", condition).option("targetAlias", "t").save(path)
        assert caught.value.error_class == error_class
    assert len(rows(spark, path)) == 3


def test_statements_replace_matches(spark, path):
    spark.sql(f"insert into delta.`{path}` replace using (k) select 5L, 'new'")
    assert rows(spark, path) == [(1, "a"), (5, "new"), (8, "c")]
    spark.sql(f"insert into delta.`{path}` as t replace on t.k = s.k + 1 (select 7L k, 'on' v) as s")
    assert rows(spark, path) == [(1, "a"), (5, "new"), (7, "on")]
    with pytest.raises(UnsupportedFeatureError, match="ubquer"):
        spark.sql(f"insert into delta.`{path}` as t replace on t.k in (select 1) (select 7L k, 'on' v) as s")


def test_an_insert_evolves_the_schema(spark, path):
    spark.sql(f"insert with schema evolution into delta.`{path}` by name select 9L k, 3 n")
    assert bayou.read(spark, path).columns == ["k", "v", "n"]


def test_a_condition_says_which_rows_are_overwritten(spark, path):
    name = f"delta.`{path}`"
    frame(spark, (6, "b")).writeTo(name).overwrite((F.col("k") > 4) & F.col("v").isin("b", "c") | F.col("v").isNull())
    assert rows(spark, path) == [(1, "a"), (6, "b")]
    with pytest.raises(ConstraintViolationError):
        frame(spark, (1, "x")).writeTo(name).overwrite(F.col("k") > 2)
    with pytest.raises(UnsupportedFeatureError, match="overwrite"):
        frame(spark, (1, "x")).writeTo(name).overwrite(F.exists(F.array("k"), lambda each: each > 2))
    assert rows(spark, path) == [(1, "a"), (6, "b")]
    frame(spark, (7, "b")).writeTo(name).overwrite(F.expr("DATE'1970-01-01' + int(k) > TIMESTAMP'1970-01-06 12:00:00' -- text"))
    assert rows(spark, path) == [(1, "a"), (7, "b")]


def test_rows_of_the_table_itself_are_no_blind_append(spark, path):
    bayou.read(spark, path).where("k = 1").write.format("delta").mode("append").save(path)
    spark.sql(f"insert into delta.`{path}` select * from delta.`{path}` where k = 5")
    bayou.write(bayou.read(spark, path).where("k = 8"), path, mode="append")
    frame(spark, (6, "x")).write.format("delta").mode("append").save(path)
    assert [each.is_blind_append for each in bayou.open(path).history(4)] == [True, False, False, False]
