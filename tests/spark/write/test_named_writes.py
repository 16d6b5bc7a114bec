# SPDX-License-Identifier: Apache-2.0
"""Rows are written to tables with names: each verb of Spark's writers, and INSERT, reaches the table's log."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException, NumberFormatException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.tables.built import ids
from tests.support.tables.queried import log_of, operations, people

import bayou
from bayou.errors import ConstraintViolationError, DeltaError, SchemaMismatchError


@pytest.mark.smoke
def test_a_table_is_saved_appended_to_and_overwritten_by_name_and_keeps_its_history(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    table_id = log_of(spark, name).snapshot().metadata.id
    people(spark, (2, "b")).write.format("delta").mode("append").saveAsTable(name)
    people(spark, (3, "c")).write.insertInto(name)
    assert ids(spark.table(name)) == [1, 2, 3]
    people(spark, (4, "d")).write.format("delta").mode("overwrite").saveAsTable(name)
    assert ids(spark.table(name)) == [4]
    assert operations(spark, name) == ["CREATE TABLE AS SELECT", "WRITE", "WRITE", "CREATE OR REPLACE TABLE AS SELECT"]
    assert log_of(spark, name).snapshot().metadata.id == table_id
    parameters = log_of(spark, name).history(1)[0].operation_parameters
    assert (parameters["isV1SaveAsTableOverwrite"], parameters["isManaged"]) == ("true", "true")
    assert ids(bayou.read(spark, log_of(spark, name).table_uri, version=2)) == [1, 2, 3]


def test_saving_over_a_table_obeys_the_options_of_a_write(spark, name):
    people(spark, (1, "a"), (2, "b")).write.format("delta").partitionBy("name").saveAsTable(name)
    people(spark, (9, "b")).write.format("delta").mode("overwrite").option("replaceWhere", "name = 'b'").saveAsTable(name)
    assert ids(spark.table(name)) == [1, 9]
    other = spark.range(1).selectExpr("id", "'a' name", "1 more")
    with pytest.raises(DeltaError):
        other.write.format("delta").mode("overwrite").saveAsTable(name)
    other.write.format("delta").mode("append").option("mergeSchema", "true").saveAsTable(name)
    assert spark.table(name).columns == ["id", "name", "more"]
    other.drop("name").write.format("delta").mode("overwrite").option("overwriteSchema", "true").saveAsTable(name)
    assert spark.table(name).columns == ["id", "more"]


def test_saving_obeys_the_modes_error_and_ignore(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    with pytest.raises(AnalysisException):
        people(spark, (2, "b")).write.format("delta").saveAsTable(name)
    people(spark, (2, "b")).write.format("delta").mode("ignore").saveAsTable(name)
    assert ids(spark.table(name)) == [1]


def test_rows_by_name_come_in_any_order_and_insert_into_goes_by_position(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    turned = spark.sql("select 'b' name, 2L id")
    turned.write.format("delta").mode("append").saveAsTable(name)
    turned.writeTo(name).append()
    spark.sql("select 3L x, 'c' y").write.format("delta").insertInto(name)
    assert sorted(map(tuple, spark.table(name).collect())) == [(1, "a"), (2, "b"), (2, "b"), (3, "c")]


def test_an_append_by_name_without_a_struct_breaks_the_rules_of_its_fields_row_by_row(spark, name):
    spark.sql(f"create table {name} (id long, s struct<a: int not null>) using delta")
    spark.sql("select 1L id where false").writeTo(name).append()
    with pytest.raises(ConstraintViolationError) as caught:
        spark.sql("select 1L id").writeTo(name).append()
    assert caught.value.column == ("s", "a")
    assert spark.table(name).count() == 0


@pytest.mark.smoke
def test_a_table_is_written_to_by_all_verbs_of_the_second_writer(spark, name):
    rows = spark.range(4).withColumn("p", F.col("id") % 2)
    rows.writeTo(name).using("delta").partitionedBy("p").tableProperty("delta.enableChangeDataFeed", "true").create()
    first = log_of(spark, name).snapshot()
    assert first.partition_columns == ("p",)
    assert first.properties["delta.enableChangeDataFeed"] == "true"
    spark.sql("select 10L id, 0L p").writeTo(name).append()
    assert ids(spark.table(name)) == [0, 1, 2, 3, 10]
    spark.sql("select 20L id, 1L p").writeTo(name).overwritePartitions()
    assert ids(spark.table(name)) == [0, 2, 10, 20]
    spark.sql("select 30L id, 0L p").writeTo(name).overwrite(F.col("p") == 0)
    assert ids(spark.table(name)) == [20, 30]
    spark.sql("select 'x' other").writeTo(name).using("delta").createOrReplace()
    after = log_of(spark, name).snapshot()
    assert spark.table(name).columns == ["other"]
    assert after.metadata.id != first.metadata.id
    assert "delta.enableChangeDataFeed" not in after.properties
    spark.sql("select 'y' other").writeTo(name).using("delta").replace()
    assert operations(spark, name) == [
        "CREATE TABLE AS SELECT",
        "WRITE",
        "WRITE",
        "WRITE",
        "CREATE OR REPLACE TABLE AS SELECT",
        "REPLACE TABLE AS SELECT",
    ]


def test_an_overwrite_by_a_condition_refuses_rows_outside_of_it(spark, name):
    spark.range(4).write.format("delta").saveAsTable(name)
    with pytest.raises(ConstraintViolationError):
        spark.range(1).writeTo(name).overwrite(F.col("id") > 2)
    assert ids(spark.table(name)) == [0, 1, 2, 3]


@pytest.mark.smoke
def test_sql_inserts_by_position_by_partition_and_by_condition(spark, name):
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p STRING) USING delta PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql(f"INSERT INTO {name} PARTITION (p = 'd') VALUES (4)")
    spark.sql(f"INSERT OVERWRITE {name} PARTITION (p = 'a') SELECT 10")
    assert sorted(map(tuple, spark.table(name).collect())) == [(2, "b"), (3, "c"), (4, "d"), (10, "a")]
    spark.sql(f"INSERT INTO {name} REPLACE WHERE p = 'b' SELECT 20, 'b'")
    assert ids(spark.table(name)) == [3, 4, 10, 20]
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(f"INSERT OVERWRITE {name} SELECT 30, 'c'")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert ids(spark.table(name)) == [4, 10, 20, 30]
    spark.sql(f"INSERT OVERWRITE {name} SELECT 40, 'c'")
    assert ids(spark.table(name)) == [40]
    with pytest.raises(AnalysisException):
        spark.sql(f"INSERT INTO {name} VALUES (1)")
    assert ids(spark.table(name)) == [40]


def test_a_mismatch_of_columns_by_name_is_shown_and_nothing_is_written(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    with pytest.raises(SchemaMismatchError):
        spark.sql("select 1L id, 'x' nobody").writeTo(name).append()
    assert log_of(spark, name).version() == 0


def test_an_explained_insert_writes_nothing(spark, name):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)
    spark.sql(f"EXPLAIN INSERT INTO {name} VALUES (2, 'b')").collect()
    spark.sql(f"EXPLAIN CREATE OR REPLACE TABLE {name} USING delta AS SELECT 1 AS a").collect()
    assert log_of(spark, name).version() == 0


@pytest.mark.parametrize("verb", ["saveAsTable", "append", "overwritePartitions"])
def test_rows_are_cast_to_the_types_of_a_table_with_a_name(spark, name, verb):
    people(spark, (1, "a")).write.format("delta").saveAsTable(name)

    def write(query):
        rows = spark.sql(query)
        if verb == "saveAsTable":
            rows.write.format("delta").mode("append").saveAsTable(name)
        else:
            getattr(rows.writeTo(name), verb)()

    write("select 'b' as name, 2 as id")
    assert 2 in ids(spark.table(name))
    write("select 5 as name, '7' as id")
    assert 7 in ids(spark.table(name))
    for wrong in ("map(1, 2)", "'seven'"):
        with pytest.raises((AnalysisException, NumberFormatException), match=r"CAST|MISMATCH"):
            write(f"select 'b' as name, {wrong} as id")
