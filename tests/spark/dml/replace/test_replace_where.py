# SPDX-License-Identifier: Apache-2.0
"""Overwrites of a part of a table: the rows of a condition, or the partitions that new rows are in."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.observing import jobs
from tests.support.tables.built import numbers

import bayou
from bayou.errors import (
    ConcurrentAppendException,
    ConstraintViolationError,
    InvalidOptionError,
    InvalidSchemaError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from bayou.log.commit.transaction import Transaction
from bayou.spark.errors.error_classes import error_class_of
from bayou.testing.table_builder import TableBuilder


def overwrite(frame, path, **options):
    frame.write.format("delta").mode("overwrite").options(**options).save(path)


def counts(spark, path):
    return {row.p: row["count"] for row in spark.read.format("delta").load(path).groupBy("p").count().collect()}


def files(path):
    return {str(file) for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts}


@pytest.fixture
def parts(spark, table_path):
    """A hundred rows in four partitions."""
    spark.range(100).selectExpr("id", "id % 4 p").write.format("delta").partitionBy("p").save(table_path)
    return table_path


@pytest.mark.smoke
def test_a_condition_on_partitions_reads_no_data(spark, parts):
    with jobs(spark) as started:
        overwrite(spark.range(1000, 1004).selectExpr("id", "2L p"), parts, replaceWhere="p = 2")
    assert started.value == 1
    assert counts(spark, parts) == {0: 25, 1: 25, 2: 4, 3: 25}
    entry = next(iter(bayou.open(parts).history()))
    assert entry.operation_parameters["predicate"] == "p = 2"


def test_a_condition_on_partitions_is_what_spark_takes_it_for(spark, parts):
    overwrite(spark.range(0).selectExpr("id", "id p"), parts, replaceWhere="cast(p as string) like '%3' or p + 1 = 1")
    assert counts(spark, parts) == {1: 25, 2: 25}


@pytest.mark.smoke
def test_a_condition_on_other_columns_keeps_the_rest_of_the_files(spark, parts):
    overwrite(spark.range(90, 95).selectExpr("id", "id % 4 p"), parts, replaceWhere="id >= 90")
    found = sorted(row.id for row in spark.read.format("delta").load(parts).collect())
    assert found == list(range(95))


def test_rows_of_which_the_condition_is_null_are_kept(spark, table_path):
    spark.sql("select 1 a, 'x' b union all select null, 'y'").coalesce(1).write.format("delta").save(table_path)
    overwrite(spark.sql("select 5 a, 'z' b"), table_path, replaceWhere="a > 0")
    found = {tuple(row) for row in spark.read.format("delta").load(table_path).collect()}
    assert found == {(None, "y"), (5, "z")}


def test_new_rows_must_be_rows_of_the_condition(spark, parts):
    before = files(parts)
    with pytest.raises(ConstraintViolationError) as caught:
        overwrite(spark.range(5).selectExpr("id", "id % 4 p"), parts, replaceWhere="p = 2")
    assert caught.value.getErrorClass() == "DELTA_REPLACE_WHERE_MISMATCH"
    assert caught.value.num_violations == 4
    assert files(parts) == before
    assert counts(spark, parts) == {0: 25, 1: 25, 2: 25, 3: 25}


@pytest.mark.parametrize(
    ("condition", "error", "error_class"),
    [
        ("p >", InvalidOptionError, "DELTA_FAILED_RECOGNIZE_PREDICATE"),
        (" ", InvalidOptionError, "DELTA_FAILED_RECOGNIZE_PREDICATE"),
        ("p in (select 1)", UnsupportedFeatureError, "DELTA_UNSUPPORTED_SUBQUERY"),
        ("id = (select 1)", UnsupportedFeatureError, "DELTA_UNSUPPORTED_SUBQUERY"),
        ("p", SchemaMismatchError, "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        ("nothing = 1", AnalysisException, "UNRESOLVED_COLUMN"),
        ("rand() > 0.5", AnalysisException, "INVALID_NON_DETERMINISTIC_EXPRESSIONS"),
        ("sum(p) > 1", AnalysisException, "UNSUPPORTED_EXPR_FOR_OPERATOR"),
        ("explode(array(1)) = 1", AnalysisException, "UNSUPPORTED_GENERATOR"),
    ],
)
def test_what_is_no_condition_on_a_row_is_refused(spark, parts, condition, error, error_class):
    before = files(parts)
    with pytest.raises(error) as caught:
        overwrite(spark.range(5).selectExpr("id", "id % 4 p"), parts, replaceWhere=condition)
    found = error_class_of(caught.value) if isinstance(caught.value, AnalysisException) else caught.value.error_class
    assert found.startswith(error_class)
    assert files(parts) == before


def test_an_append_ignores_the_condition(spark, parts):
    rows = spark.range(5).selectExpr("id", "id % 4 p")
    rows.write.format("delta").mode("append").option("replaceWhere", "p = 2").save(parts)
    assert sum(counts(spark, parts).values()) == 105


@pytest.mark.smoke
def test_the_partitions_of_the_new_rows_are_replaced(spark, table_path):
    rows = spark.range(100).selectExpr("id", "if(id % 4 = 0, null, cast(id % 4 as string)) p", "id % 2 q")
    rows.write.format("delta").partitionBy("p", "q").save(table_path)
    new = spark.sql("select 1000L id, '2' p, 0L q union all select 1001L, null, 0L union all select 1, '9', 1L")
    overwrite(new, table_path, partitionOverwriteMode="dynamic")
    assert counts(spark, table_path) == {None: 1, "1": 25, "2": 1, "3": 25, "9": 1}


SAME_VALUE = {
    "timestamp of older writers": ("timestamp", "2024-01-01 00:00:00", "timestamp'2024-01-01 00:00:00'"),
    "timestamp with Z": ("timestamp", "2024-01-01T00:00:00Z", "timestamp'2024-01-01 00:00:00Z'"),
    "decimal": ("decimal(10,2)", "1.5", "cast('1.50' as decimal(10,2))"),
    "zero in front": ("integer", "07", "7"),
    "boolean": ("boolean", "TRUE", "true"),
    "double": ("double", "1", "1.0D"),
    "zeros": ("double", "-0.0", "0.0D"),
    "NaN": ("double", "NaN", "double('NaN')"),
    "date": ("date", "2024-1-1", "date'2024-01-01'"),
    "string": ("string", "a b", "'a b'"),
}


@pytest.mark.parametrize("kind", SAME_VALUE)
def test_a_partition_is_replaced_whatever_text_the_log_has_for_its_value(spark, table_path, kind):
    column, text, value = SAME_VALUE[kind]
    old = {"a.parquet": text, "b.parquet": None}
    builder = TableBuilder(table_path).create({"id": "long", "p": column}, partition_by=["p"])
    builder.commit(*(numbers(table_path, name, [1 + n], partitionValues={"p": each}) for n, (name, each) in enumerate(old.items())))
    overwrite(spark.sql(f"select 5L id, {value} p"), table_path, partitionOverwriteMode="dynamic")
    assert sorted(row.id for row in spark.read.format("delta").load(table_path).collect()) == [2, 5]


def test_a_partition_of_a_column_that_was_widened_is_replaced(spark, table_path):
    rows = spark.sql("select 1L id, 7 p union all select 2L, 8")
    bayou.write(rows, table_path, partition_by=["p"], **{"delta.enableTypeWidening": "true"})
    spark.sql(f"alter table delta.`{table_path}` alter column p type decimal(12,1)")
    overwrite(spark.sql("select 5L id, cast(7 as decimal(12,1)) p"), table_path, partitionOverwriteMode="dynamic")
    assert sorted(row.id for row in spark.read.format("delta").load(table_path).collect()) == [2, 5]


def test_partitions_of_null_are_added_to_where_that_is_asked_for(spark, table_path):
    rows = spark.range(100).selectExpr("id", "if(id % 4 = 0, null, cast(id % 4 as string)) p", "id % 2 q")
    rows.write.format("delta").partitionBy("p", "q").save(table_path)
    new = spark.sql("select 1000L id, '2' p, 0L q union all select 1001L, null, 0L")
    overwrite(new, table_path, partitionOverwriteMode="dynamic", useNullIntolerantEqualityWithDPO="true")
    assert counts(spark, table_path) == {None: 26, "1": 25, "2": 1, "3": 25}
    with pytest.raises(InvalidOptionError) as caught:
        overwrite(new, table_path, useNullIntolerantEqualityWithDPO="true")
    assert caught.value.error_class == "DELTA_ILLEGAL_OPTION"


def test_the_sessions_setting_replaces_partitions_too_and_a_condition_beats_it(spark, parts):
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        overwrite(spark.sql("select 1L id, 2L p"), parts)
        assert counts(spark, parts) == {0: 25, 1: 25, 2: 1, 3: 25}
        overwrite(spark.sql("select 1L id, 2L p"), parts, replaceWhere="p >= 2")
        assert counts(spark, parts) == {0: 25, 1: 25, 2: 1}
        overwrite(spark.sql("select 1L id, 2L p"), parts, partitionOverwriteMode="static")
        assert counts(spark, parts) == {2: 1}
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")


def test_a_part_is_replaced_under_the_tables_schema_whatever_overwrite_schema_says(spark, parts):
    both = {"replaceWhere": "p = 1", "overwriteSchema": "true"}
    before = spark.read.format("delta").load(parts)
    kept = before.where("p <> 1").count()
    overwrite(spark.sql("select 1L p, 1L id"), parts, **both)
    after = spark.read.format("delta").load(parts)
    assert (after.schema, after.count()) == (before.schema, kept + 1)
    assert bayou.open(parts).update().partition_columns == ("p",)
    with pytest.raises(SchemaMismatchError):
        overwrite(spark.sql("select 1L p, 1L id, 2 w"), parts, **both)
    overwrite(spark.sql("select 1L p, 1L id, 2 w"), parts, mergeSchema="true", **both)
    assert spark.read.format("delta").load(parts).where("w = 2").count() == 1


@pytest.mark.parametrize(
    ("options", "error_class"),
    [
        ({"replaceWhere": "p = 1", "partitionOverwriteMode": "dynamic"}, "DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE"),
        (
            {"overwriteSchema": "true", "partitionOverwriteMode": "dynamic"},
            "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE",
        ),
        ({"mergeSchema": "yes"}, "DELTA_ILLEGAL_OPTION"),
        ({"partitionOverwriteMode": "sometimes"}, "DELTA_ILLEGAL_OPTION"),
        ({"replaceWhere": "id = 1", "dataChange": "false"}, "DELTA_REPLACE_WHERE_WITH_FILTER_DATA_CHANGE_UNSET"),
    ],
)
def test_options_that_exclude_each_other_are_refused(spark, parts, options, error_class):
    before = files(parts)
    with pytest.raises(InvalidOptionError) as caught:
        overwrite(spark.sql("select 1L id, 1L p"), parts, **options)
    assert caught.value.getErrorClass() == error_class
    assert files(parts) == before


def test_rows_that_only_move_are_no_change_of_data(spark, parts):
    overwrite(spark.read.format("delta").load(parts).coalesce(1), parts, dataChange="false")
    commit = bayou.open(parts).changes(1)
    kinds = [
        (kind, value["dataChange"])
        for each in commit
        for action in each.actions
        for kind, value in action.items()
        if kind in ("add", "remove")
    ]
    assert {changed for _, changed in kinds} == {False}
    with pytest.raises(InvalidOptionError) as caught:
        overwrite(spark.sql("select 1L id, 1L p, 1 x"), parts, dataChange="false", overwriteSchema="true")
    assert caught.value.getErrorClass() == "DELTA_DATA_CHANGE_FALSE"


def test_rows_are_gathered_into_fewer_files_where_that_is_asked_for(spark, table_path):
    rows = spark.range(0, 100, 1, 20).selectExpr("id", "id % 2 p")
    rows.write.format("delta").option("optimizeWrite", "true").partitionBy("p").save(table_path)
    assert bayou.open(table_path).snapshot().num_files == 2


@pytest.mark.parametrize(
    ("options", "new", "conflicts"),
    [
        ({"replaceWhere": "p = 2"}, "select 1L id, 2L p", False),
        ({"replaceWhere": "p = 1"}, "select 1L id, 1L p", True),
        ({"partitionOverwriteMode": "dynamic"}, "select 1L id, 2L p", False),
        ({"partitionOverwriteMode": "dynamic"}, "select 1L id, 1L p", True),
        ({}, "select 1L id, 1L p", True),
    ],
)
def test_only_an_append_to_what_is_replaced_conflicts(spark, parts, monkeypatch, options, new, conflicts):
    original = Transaction.try_commit

    def race(self, *arguments, **keywords):
        monkeypatch.setattr(Transaction, "try_commit", original)
        spark.sql("select 500L id, 1L p").write.format("delta").mode("append").save(parts)
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(Transaction, "try_commit", race)
    if conflicts:
        with pytest.raises(ConcurrentAppendException):
            overwrite(spark.sql(new), parts, **options)
    else:
        overwrite(spark.sql(new), parts, **options)
        assert counts(spark, parts)[1] == 26


def test_partition_columns_that_the_new_schema_lacks_are_refused(spark, parts):
    with pytest.raises(InvalidSchemaError, match="nope"):
        spark.range(3).write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy("nope").save(parts)
    assert bayou.open(parts).version() == 0


def test_the_sessions_dynamic_partitions_and_another_schema_exclude_each_other(spark, parts):
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        with pytest.raises(InvalidOptionError) as caught:
            overwrite(spark.sql("select 1L id, 2L p, 3 x"), parts, overwriteSchema="true")
        assert caught.value.getErrorClass() == "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE"
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert bayou.open(parts).version() == 0
