# SPDX-License-Identifier: Apache-2.0
"""What a write adds by itself: generated values, defaults, numbers of identity columns, row ids, properties of the session."""

from __future__ import annotations

import datetime as dt

import pytest
from tests.support.observing import data_files as files
from tests.support.operations.streams import read
from tests.support.tables.ruled import append, create, refused

import bayou
from bayou.errors import SchemaMismatchError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField

IDENTITY = {"delta.identity.start": 10, "delta.identity.step": 5, "delta.identity.allowExplicitInsert": False}


@pytest.mark.smoke
def test_generated_columns_and_defaults_are_filled_and_checked(spark, table_path):
    create(
        table_path,
        StructField("at", "timestamp"),
        StructField("day", "date", True, {"delta.generationExpression": "CAST(at AS DATE)"}),
        StructField("n", "integer", True, {"CURRENT_DEFAULT": "3 + 4"}),
        protocol=Protocol(1, 7, None, ("generatedColumns", "allowColumnDefaults")),
    )
    append(spark.sql("select timestamp'2024-01-02 03:04:05' at"), table_path)
    append(spark.sql("select date'2024-01-02' DAY, timestamp'2024-01-02 03:04:05' AT, 1 N"), table_path)
    wrong = spark.sql("select timestamp'2024-01-02 03:04:05' at, date'2024-01-03' day, 1 n")
    error = refused(spark, table_path, wrong)
    assert "Generated Column" in str(error)
    found = {(row.day, row.n) for row in read(spark, table_path).collect()}
    assert found == {(dt.date(2024, 1, 2), 7), (dt.date(2024, 1, 2), 1)}


def test_the_expressions_are_ignored_where_the_protocol_has_no_generated_columns(spark, table_path):
    create(table_path, StructField("a", "long"), StructField("b", "long", True, {"delta.generationExpression": "a + 1"}))
    append(spark.sql("select 1L a, 7L b"), table_path)
    append(spark.sql("select 1L a"), table_path)
    assert sorted(map(str, read(spark, table_path).collect())) == ["Row(a=1, b=7)", "Row(a=1, b=None)"]
    bayou.DeltaTable.forPath(spark, table_path).update("b = 7", {"a": "5"})
    assert sorted(map(str, read(spark, table_path).collect())) == ["Row(a=1, b=None)", "Row(a=5, b=7)"]


@pytest.mark.smoke
def test_identity_columns_count_on_over_writes_and_partitions(spark, table_path):
    create(table_path, StructField("k", "long", True, IDENTITY), StructField("v", "long"), protocol=Protocol(1, 6))
    for _ in range(3):
        append(spark.range(10).selectExpr("id as v").repartition(3), table_path)
    keys = [row.k for row in read(spark, table_path).collect()]
    assert len(set(keys)) == len(keys) == 30
    assert all(key >= 10 and key % 5 == 0 for key in keys)
    mark = bayou.open(table_path).snapshot().schema.field("k").metadata["delta.identity.highWaterMark"]
    assert mark == max(keys)
    error = refused(spark, table_path, spark.sql("select 1000L k, 1L v"), SchemaMismatchError)
    assert "k" in str(error)


def test_an_identity_column_that_falls(spark, table_path):
    falling = {**IDENTITY, "delta.identity.step": -1, "delta.identity.allowExplicitInsert": True}
    create(table_path, StructField("k", "long", True, falling), StructField("v", "long"), protocol=Protocol(1, 6))
    append(spark.range(4, numPartitions=2).selectExpr("id as v"), table_path)
    append(spark.sql("select 77L k, 1L v"), table_path)
    append(spark.range(1).selectExpr("id as v"), table_path)
    keys = sorted(row.k for row in read(spark, table_path).collect())
    assert keys[-1] == 77
    assert len(set(keys)) == 6
    assert max(keys[:-1]) == 10


def test_rows_get_ids_and_versions_where_the_table_tracks_them(spark, table_path):
    spark.range(10).coalesce(1).write.format("delta").option("delta.enableRowTracking", "true").save(table_path)
    append(spark.range(6).coalesce(1), table_path)
    found = bayou.open(table_path).snapshot().files(["base_row_id", "default_row_commit_version"]).to_pylist()
    assert {(each["base_row_id"], each["default_row_commit_version"]) for each in found} == {(0, 0), (10, 1)}


def test_properties_of_the_session_are_defaults_of_new_tables(spark, table_path):
    spark.conf.set("spark.databricks.delta.properties.defaults.enableChangeDataFeed", "true")
    try:
        spark.range(1).write.format("delta").save(table_path)
    finally:
        spark.conf.unset("spark.databricks.delta.properties.defaults.enableChangeDataFeed")
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.properties == {"delta.enableChangeDataFeed": "true"}
    assert snapshot.protocol == Protocol(1, 7, None, ("appendOnly", "invariants", "changeDataFeed"))
    append(spark.range(2), table_path)
    assert read(spark, table_path).count() == 3


def test_two_writers_of_an_identity_column_never_give_a_number_twice(spark, table_path, monkeypatch):
    from bayou.errors import MetadataChangedException
    from bayou.log.commit.transaction import Transaction

    create(table_path, StructField("k", "long", True, IDENTITY), StructField("v", "long"), protocol=Protocol(1, 6))
    original = Transaction.try_commit
    raced = []

    def race(self, *arguments, **options):
        if not raced:
            raced.append(True)
            append(spark.range(5).selectExpr("id as v"), table_path)
        return original(self, *arguments, **options)

    monkeypatch.setattr(Transaction, "try_commit", race)
    with pytest.raises(MetadataChangedException):
        append(spark.range(5).selectExpr("id as v"), table_path)
    keys = [row.k for row in read(spark, table_path).collect()]
    assert len(keys) == len(set(keys)) == 5
    assert len(files(table_path)) == bayou.open(table_path).snapshot().num_files
