# SPDX-License-Identifier: Apache-2.0
"""Overwrites that replace the rows which match one of the new rows: `replaceOn` and `replaceUsing`."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812

import bayou
from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.spark.dml.replace import replace_on


def saved(spark, path, *values, **options):
    rows = spark.createDataFrame(list(values), "k long, v string").coalesce(1)
    rows.write.format("delta").mode("append").options(**options).save(path)


def rows_of(spark, path):
    return sorted(map(tuple, bayou.read(spark, path).collect()), key=str)


def overwriting(spark, *values, **options):
    rows = spark.createDataFrame(list(values), "k long, v string")
    return rows.alias("s").write.format("delta").mode("overwrite").options(**options)


@pytest.mark.smoke
def test_rows_with_the_same_values_are_replaced_and_files_without_one_stay(spark, table_path):
    saved(spark, table_path, (1, "a"), (2, "b"), (2, "c"))
    saved(spark, table_path, (3, "d"))
    before = set(bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist())
    overwriting(spark, (2, "new"), (9, "more"), replaceUsing="k").save(table_path)
    assert rows_of(spark, table_path) == [(1, "a"), (2, "new"), (3, "d"), (9, "more")]
    after = set(bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist())
    assert len(before & after) == 1
    entry = bayou.open(table_path).history(1)[0]
    assert (entry.operation, entry.operation_parameters["replaceUsingCols"]) == ("WRITE", "(k)")
    overwriting(spark, (2, "new"), replaceUsing="k, v").save(table_path)
    assert bayou.open(table_path).history(1)[0].operation_parameters["replaceUsingCols"] == "(k,v)"


@pytest.mark.smoke
def test_a_condition_on_both_sides_says_what_is_replaced(spark, table_path):
    saved(spark, table_path, (1, "a"), (5, "b"), (8, "c"))
    overwriting(spark, (4, "x"), (6, "y"), replaceOn="t.k > s.k and t.k < s.k + 3", targetAlias="t").save(table_path)
    assert rows_of(spark, table_path) == [(1, "a"), (4, "x"), (6, "y")]


def test_columns_that_both_sides_have_need_aliases(spark, table_path):
    saved(spark, table_path, (1, "a"))
    for condition in ("k = k", "t.k = k"):
        with pytest.raises(InvalidOptionError, match="targetAlias") as caught:
            overwriting(spark, (1, "x"), replaceOn=condition, targetAlias="t").save(table_path)
        assert caught.value.error_class == "DELTA_INSERT_REPLACE_ON_AMBIGUOUS_COLUMNS_IN_CONDITION"
    assert rows_of(spark, table_path) == [(1, "a")]


def test_null_matches_nothing_and_no_rows_replace_nothing(spark, table_path):
    saved(spark, table_path, (None, "a"), (2, "b"))
    overwriting(spark, (None, "x"), replaceUsing="k").save(table_path)
    assert rows_of(spark, table_path) == sorted([(None, "a"), (None, "x"), (2, "b")], key=str)
    nothing = spark.createDataFrame([], "k long, v string")
    nothing.write.format("delta").mode("overwrite").option("replaceUsing", "k").save(table_path)
    assert len(rows_of(spark, table_path)) == 3


def test_rows_that_are_others_each_time_are_evaluated_once(spark, table_path):
    saved(spark, table_path, *((number, "old") for number in range(50)))
    drawn = spark.range(20).selectExpr("cast(rand() * 50 as long) k", "'new' v").distinct()
    drawn.write.format("delta").mode("overwrite").option("replaceUsing", "k").save(table_path)
    found = rows_of(spark, table_path)
    assert sorted({key for key, _ in found}) == list(range(50))
    assert len(found) == 50


@pytest.mark.parametrize(
    ("options", "error_class"),
    [
        ({"replaceUsing": "k", "replaceOn": "t.k = s.k"}, "DELTA_INCOMPATIBLE_DATAFRAME_OPTIONS"),
        ({"replaceUsing": "k", "replaceWhere": "k > 0"}, "DELTA_OVERWRITE_BY_FILTER_INCOMPATIBLE_REPLACE_ON_OR_USING"),
        (
            {"replaceUsing": "k", "partitionOverwriteMode": "dynamic"},
            "DELTA_DYNAMIC_PARTITION_OVERWRITE_INCOMPATIBLE_REPLACE_ON_OR_USING",
        ),
        ({"replaceUsing": "k", "overwriteSchema": "true"}, "DELTA_INCOMPATIBLE_DATAFRAME_OPTIONS"),
        ({"replaceUsing": "k", "dataChange": "false"}, "DELTA_INCOMPATIBLE_DATAFRAME_OPTIONS"),
        ({"replaceUsing": "nobody"}, "UNRESOLVED_INSERT_REPLACE_USING_COLUMN"),
    ],
)
def test_options_that_say_something_else_are_refused(spark, table_path, options, error_class):
    saved(spark, table_path, (1, "a"))
    with pytest.raises(InvalidOptionError) as caught:
        overwriting(spark, (1, "b"), **options).save(table_path)
    assert caught.value.getErrorClass() == error_class
    assert rows_of(spark, table_path) == [(1, "a")]


def test_a_source_that_may_be_another_one_in_each_job_is_evaluated_once(spark, table_path, tmp_path, monkeypatch):
    source = str(tmp_path / "source")
    spark.createDataFrame([(1, 10)], "id long, v int").write.format("delta").save(source)
    spark.createDataFrame([(1, 0), (3, 0)], "id long, v int").repartition(2, "id").write.format("delta").save(table_path)
    rows = spark.read.format("delta").load(source)
    original = replace_on.rows_replaced_on

    def meanwhile(*arguments):
        found = original(*arguments)
        spark.createDataFrame([(3, 30)], "id long, v int").write.format("delta").mode("append").save(source)
        return found

    monkeypatch.setattr("bayou.spark.write.writer.rows_replaced_on", meanwhile)
    rows.write.format("delta").mode("overwrite").option("replaceUsing", "id").save(table_path)
    assert sorted(map(tuple, spark.read.format("delta").load(table_path).collect())) == [(1, 10), (3, 0)]


TABLE = [(1, 0, "a"), (2, 0, "b")]


@pytest.fixture
def name(spark, name):
    spark.sql(f"create table {name} (k int, n int, s string) using delta")
    spark.createDataFrame(TABLE, "k int, n int, s string").coalesce(1).write.insertInto(name)
    return name


def rows_for(spark, columns, *values):
    first, second, third = columns
    return spark.createDataFrame(list(values), f"{first} int, {second} int, {third} string")


@pytest.mark.parametrize("mode", ["static", "dynamic"])
@pytest.mark.parametrize("columns", ["kns", "Kxy"])
def test_rows_by_position_replace_those_with_the_same_values(spark, name, columns, mode):
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    try:
        rows = rows_for(spark, columns, (1, 5, "x"), (7, 7, "y"))
        rows.write.format("delta").mode("overwrite").option("replaceUsing", "K").insertInto(name)
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert sorted(map(tuple, spark.table(name).collect())) == [(1, 5, "x"), (2, 0, "b"), (7, 7, "y")]


REFUSED = {
    "another place": (
        lambda rows, name: (
            rows("nks", (5, 1, "x")).write.format("delta").mode("overwrite").option("replaceUsing", "k").insertInto(name)
        ),
        "INSERT_REPLACE_USING_DISALLOW_MISALIGNED_COLUMNS",
    ),
    "another name": (
        lambda rows, name: (
            rows("xns", (1, 5, "x")).write.format("delta").mode("overwrite").option("replaceUsing", "k").insertInto(name)
        ),
        "UNRESOLVED_INSERT_REPLACE_USING_COLUMN",
    ),
    "a condition": (
        lambda rows, name: (
            rows("kns", (1, 5, "x")).write.format("delta").mode("overwrite").option("replaceOn", "true").insertInto(name)
        ),
        "DELTA_OPERATION_NOT_ALLOWED",
    ),
    "by a filter": (
        lambda rows, name: rows("kns", (1, 5, "x")).writeTo(name).option("replaceUsing", "k").overwrite(F.col("k") == 1),
        "DELTA_OVERWRITE_BY_FILTER_INCOMPATIBLE_REPLACE_ON_OR_USING",
    ),
    "by partitions": (
        lambda rows, name: rows("kns", (1, 5, "x")).writeTo(name).option("replaceOn", "true").overwritePartitions(),
        "DELTA_DYNAMIC_PARTITION_OVERWRITE_INCOMPATIBLE_REPLACE_ON_OR_USING",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_replace_other_rows_than_those_is_refused(spark, name, case):
    write, error_class = REFUSED[case]
    with pytest.raises((InvalidOptionError, UnsupportedFeatureError), match=r"(?i)replace") as caught:
        write(lambda *given: rows_for(spark, *given), name)
    assert caught.value.error_class == error_class
    assert sorted(map(tuple, spark.table(name).collect())) == TABLE
