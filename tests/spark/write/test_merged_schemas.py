# SPDX-License-Identifier: Apache-2.0
"""Writes of rows with another schema: the table's grows or is replaced where that is asked for, as far as its rules allow."""

from __future__ import annotations

import pytest
from pyspark.sql import Row
from tests.support.operations.streams import read
from tests.support.tables.ruled import append, create, refused

import bayou
from bayou.errors import InvalidSchemaError, SchemaMismatchError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType


@pytest.mark.smoke
def test_a_schema_grows_by_merging(spark, table_path):
    spark.range(2).write.format("delta").save(table_path)
    refused(spark, table_path, spark.sql("select 7L id, 'x' b"), SchemaMismatchError)
    append(spark.sql("select 7L id, 'x' b, struct(1 as u) s"), table_path, mergeSchema="true")
    append(spark.sql("select struct(2 as U, 3 as v) S, 8L id"), table_path, mergeSchema="true")
    found = read(spark, table_path).orderBy("id").collect()
    assert [tuple(row) for row in found] == [
        (0, None, None),
        (1, None, None),
        (7, "x", Row(u=1, v=None)),
        (8, None, Row(u=2, v=3)),
    ]
    assert bayou.open(table_path).snapshot().schema.names == ("id", "b", "s")


def test_the_sessions_setting_merges_too_and_the_option_beats_it(spark, table_path):
    spark.range(2).write.format("delta").save(table_path)
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        append(spark.sql("select 1L id, 1 a"), table_path)
        refused(spark, table_path, spark.sql("select 1L id, 1 b"), SchemaMismatchError, mergeSchema="false")
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert read(spark, table_path).columns == ["id", "a"]


def test_types_are_widened_where_the_table_allows_it(spark, table_path):
    spark.sql("select 1 a, cast(1 as float) f").write.format("delta").option("delta.enableTypeWidening", "true").save(table_path)
    append(spark.sql("select 5000000000L a, 2.5D f"), table_path, mergeSchema="true")
    assert sorted(tuple(row) for row in read(spark, table_path).collect()) == [(1, 1.0), (5000000000, 2.5)]
    assert bayou.open(table_path).snapshot().schema.field("a").metadata["delta.typeChanges"] == [
        {"fromType": "integer", "toType": "long"}
    ]


def test_an_overwrite_replaces_the_schema_and_the_partitions_where_it_is_told_to(spark, table_path):
    spark.range(3).write.format("delta").option("delta.appendOnly", "false").save(table_path)
    rows = spark.sql("select 'x' b, 1 p")
    with pytest.raises(SchemaMismatchError, match="overwriteSchema"):
        rows.write.format("delta").mode("overwrite").save(table_path)
    before = bayou.open(table_path).snapshot()
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").partitionBy("p").save(table_path)
    after = bayou.open(table_path).snapshot()
    assert after.schema.names == ("b", "p")
    assert after.partition_columns == ("p",)
    assert after.metadata.id == before.metadata.id
    assert after.properties == before.properties
    assert [tuple(row) for row in read(spark, table_path).collect()] == [("x", 1)]


def test_a_small_integer_goes_into_a_wider_column_and_others_do_not(spark, table_path):
    spark.sql("select 1 i, 1L l").write.format("delta").save(table_path)
    append(spark.sql("select 1Y i, 1L l"), table_path)
    refused(spark, table_path, spark.sql("select 1L i, 1L l"), SchemaMismatchError)
    refused(spark, table_path, spark.sql("select 1 i, 1 l"), SchemaMismatchError)
    assert read(spark, table_path).schema.simpleString() == "struct<i:int,l:bigint>"


def test_merging_brings_the_partition_columns_too(spark, table_path):
    spark.sql("select 1 a, 2 p").write.format("delta").partitionBy("p").save(table_path)
    refused(spark, table_path, spark.sql("select 1 a, 3 b"), SchemaMismatchError, mergeSchema="true")


def test_a_column_under_a_rule_is_not_widened_by_merging(spark, table_path):
    create(
        table_path,
        StructField("a", "integer"),
        protocol=Protocol(3, 7, ("typeWidening",), ("typeWidening", "checkConstraints", "invariants", "appendOnly")),
        delta__enableTypeWidening="true",
        delta__constraints__c="a > 0",
    )
    error = refused(spark, table_path, spark.sql("select 5000000000L a"), SchemaMismatchError, mergeSchema="true")
    assert error.getErrorClass() == "DELTA_CONSTRAINT_DATA_TYPE_MISMATCH"


def test_a_generated_column_keeps_the_type_of_its_expression(spark, table_path):
    create(
        table_path,
        StructField("a", "integer"),
        StructField("g", "integer", True, {"delta.generationExpression": "a + 1"}),
        protocol=Protocol(3, 7, ("typeWidening",), ("typeWidening", "generatedColumns", "invariants", "appendOnly")),
        delta__enableTypeWidening="true",
    )
    wider = spark.sql("select 1 a, 2L g")
    error = refused(spark, table_path, wider, InvalidSchemaError, mergeSchema="true")
    assert error.getErrorClass() == "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"
    merge = bayou.DeltaTable.forPath(spark, table_path).merge(wider, "false").withSchemaEvolution().whenNotMatchedInsertAll()
    with pytest.raises(InvalidSchemaError, match="generated column g is integer, but the column type is long"):
        merge.execute()
    spark.sql("select 1 a").write.format("delta").mode("append").save(table_path)
    assert [tuple(row) for row in read(spark, table_path).collect()] == [(1, 2)]


def test_a_column_beside_rules_is_widened(spark, table_path):
    create(
        table_path,
        StructField("a", "integer"),
        StructField("b", "integer", nullable=False),
        StructField("s", StructType((StructField("x", "short"),))),
        protocol=Protocol(3, 7, ("typeWidening",), ("typeWidening", "checkConstraints", "invariants", "appendOnly")),
        delta__enableTypeWidening="true",
        delta__constraints__c="a > 0",
    )
    rows = "select 1 a, 5000000000L b, struct(70000 as x, 'new' as y) s"
    append(spark.sql(rows), table_path, mergeSchema="true")
    assert [f.simpleString() for f in read(spark, table_path).schema] == ["a:int", "b:bigint", "s:struct<x:int,y:string>"]
    source = spark.sql("select 5000000000L a, 1 b").alias("s")
    merge = bayou.DeltaTable.forPath(spark, table_path).alias("t").merge(source, "t.b = s.b").withSchemaEvolution()
    with pytest.raises(SchemaMismatchError, match="altered to another data type"):
        merge.whenNotMatchedInsertAll().execute()
