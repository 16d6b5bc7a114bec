# SPDX-License-Identifier: Apache-2.0
"""Conditions whose text does not say what Spark evaluates: variables, typed arguments, names that several things have."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

import bayou
from bayou.errors import UnsupportedFeatureError

PRICE = Decimal("1234567890123456.78")


@pytest.fixture
def regions(spark, table_path):
    """A table with the regions a and b in a file each. A setting of the session is a."""
    for region in ("a", "b"):
        bayou.write(spark.sql(f"select '{region}' region, cast({PRICE} as decimal(18, 2)) price"), table_path, mode="append")
    spark.conf.set("spark.app.region", "a")
    yield table_path
    spark.conf.unset("spark.app.region")


def read(frame):
    return sorted(row.region for row in frame.collect())


@pytest.mark.parametrize("condition", ["region = '${spark.app.region}'", "region LIKE '${spark.app.region}%'"])
def test_a_variable_in_a_string_is_the_value_of_a_setting(spark, regions, condition):
    assert read(spark.sql(f"SELECT * FROM delta.`{regions}` WHERE {condition}")) == ["a"]
    assert read(spark.read.format("delta").load(regions).where(condition)) == ["a"]


def test_rows_are_deleted_by_the_value_of_a_variable(spark, regions):
    bayou.DeltaTable.forPath(spark, regions).delete("region <> '${spark.app.region}'")
    assert read(bayou.read(spark, regions)) == ["a"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("DELETE FROM {t} WHERE region <> '${spark.app.region}'", ["a"]),
        ("UPDATE {t} SET region = 'c' WHERE region = '${spark.app.region}'", ["b", "c"]),
        (
            "INSERT INTO {t} REPLACE WHERE region = '${spark.app.region}' VALUES ('${spark.app.region}', 1), ('a', 2)",
            ["a", "a", "b"],
        ),
        (
            "MERGE INTO {t} t USING {t} s ON t.region = s.region AND t.region = '${spark.app.region}' WHEN MATCHED THEN DELETE",
            ["b"],
        ),
        ("ALTER TABLE {t} ADD CONSTRAINT c CHECK (region <> '${spark.app.other}')", ["a", "b"]),
    ],
    ids=["delete", "update", "insert", "merge", "alter"],
)
def test_variables_of_statements_are_the_values_of_settings(spark, regions, text, left):
    spark.sql(text.replace("{t}", f"delta.`{regions}`"))
    assert read(bayou.read(spark, regions)) == left


def test_a_variable_may_be_a_table_or_a_part_of_its_path(spark, regions):
    spark.conf.set("the.table", f"delta.`{regions}`")
    spark.conf.set("the.folder", "${spark.app.folder}")
    spark.conf.set("spark.app.folder", regions.rpartition("/")[0])
    try:
        assert read(spark.sql("SELECT * FROM ${the.table} WHERE region = '${spark:spark.app.region}'")) == ["a"]
        assert spark.sql("DESCRIBE HISTORY ${hiveconf:the.table} LIMIT 1").count() == 1
        rest = regions.rpartition("/")[2]
        assert read(spark.sql(f"SELECT * FROM delta.`${{the.folder}}/{rest}`")) == ["a", "b"]
    finally:
        for name in ("the.table", "the.folder", "spark.app.folder"):
            spark.conf.unset(name)


def test_variables_of_the_server_and_in_arguments_are_refused_in_statements(spark, regions):
    version = bayou.open(regions).version()
    with pytest.raises(UnsupportedFeatureError, match="variable"):
        spark.sql(f"DELETE FROM delta.`{regions}` WHERE region <> '${{env:HOME}}'")
    with pytest.raises(UnsupportedFeatureError, match="variable"):
        spark.sql(f"DELETE FROM delta.`{regions}` WHERE region <> :x", args={"x": "${spark.app.region}"})
    assert bayou.open(regions).version() == version
    spark.conf.set("spark.sql.variable.substitute", "false")
    try:
        spark.sql(f"DELETE FROM delta.`{regions}` WHERE region <> '${{spark.app.region}}'")
    finally:
        spark.conf.unset("spark.sql.variable.substitute")
    assert read(bayou.read(spark, regions)) == []


@pytest.mark.parametrize("operator", ["=", "<=", ">=", "IN"])
def test_an_argument_that_is_a_double_is_compared_as_one(spark, regions, operator):
    condition = "price IN (:x)" if operator == "IN" else f"price {operator} :x"
    found = spark.sql(f"SELECT * FROM delta.`{regions}` WHERE {condition}", args={"x": float(PRICE)})
    assert read(found) == ["a", "b"]


def test_an_alias_goes_before_a_struct_of_that_name(spark, table_path):
    one, other = f"{table_path}/one", f"{table_path}/other"
    bayou.write(spark.sql("select 1 k, named_struct('y', 2) b"), one)
    bayou.write(spark.sql("select 1 k, 1 y"), other)
    a, b = (spark.read.format("delta").load(path) for path in (one, other))
    joined = a.alias("a").join(b.alias("b"), "k").select("a.b", "b.y").filter("b.y = 1")
    assert joined.count() == 1


def test_a_name_of_another_case_is_not_renamed_where_case_matters(spark, table_path):
    bayou.write(spark.sql("select 5 k, 1 x"), table_path)
    frame = spark.read.format("delta").load(table_path)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        again = spark.read.format("delta").load(table_path)
        assert again.withColumnRenamed("K", "x").filter(F.col("x") == 1).count() == 1
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    assert frame.count() == 1
