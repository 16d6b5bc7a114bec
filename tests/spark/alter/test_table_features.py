# SPDX-License-Identifier: Apache-2.0
"""Features of tables that are there: defaults, row tracking, column mapping taken away, and features dropped with their history."""

from __future__ import annotations

import os
import time
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import types as T  # noqa: N812
from tests.support.tables.built import file_of, numbers_table

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidOptionError, InvalidSchemaError, SchemaMismatchError, UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder

DEFAULTS = ("delta.feature.allowColumnDefaults", "supported")


def state(table):
    return bayou.open(table._path).snapshot()


def append(frame, table, **options):
    frame.coalesce(1).write.format("delta").mode("append").options(**options).save(table._path)


def rows(table):
    return sorted(map(tuple, table.toDF().collect()), key=str)


def history(table, limit=None):
    return [row.operation for row in table.history(limit).collect()]


def refused(table, change, error, error_class):
    """A change that is refused, and that leaves no commit."""
    version = state(table).version
    with pytest.raises(error) as caught:
        change()
    assert isinstance(caught.value, PySparkException)
    assert (caught.value.getErrorClass(), state(table).version) == (error_class, version)
    return caught.value


def age(table, hours=25):
    """Makes the whole log older."""
    for number, file in enumerate(sorted(Path(table._path, "_delta_log").iterdir())):
        when = time.time() - hours * 3600 + number
        os.utime(file, (when, when))


@pytest.fixture
def table(spark, table_path):
    """Three rows of an id and a text, in two files."""
    for ids in ("0, 1", "2"):
        frame = spark.sql(f"select id, concat('n', id) name from values {', '.join(f'({i}L)' for i in ids.split(', '))} t(id)")
        frame.coalesce(1).write.format("delta").mode("append").save(table_path)
    return DeltaTable.forPath(spark, table_path)


@pytest.mark.smoke
def test_a_default_fills_later_rows_until_it_is_taken_away(spark, table):
    missing = "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED"
    refused(table, lambda: table.setDefault("name", "'x'"), UnsupportedFeatureError, missing)
    table.addFeatureSupport("allowColumnDefaults")
    table.setDefault("NAME", "concat('a', 'b')")
    assert history(table, 1) == ["CHANGE COLUMN"]
    assert state(table).schema.field("name").metadata == {"CURRENT_DEFAULT": "concat('a', 'b')"}
    append(spark.sql("select 7L id"), table)
    table.setDefault("name", None)
    append(spark.sql("select 8L id"), table)
    assert rows(table)[-2:] == [(7, "ab"), (8, None)]
    version = state(table).version
    table.setDefault("name", None)
    assert state(table).version == version


@pytest.mark.parametrize(
    ("kind", "expression", "error_class"),
    [
        ("tinyint", "300", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
        ("bigint", "'seven'", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
        ("int", "1.5", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
        ("bigint", "id + 1", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
        ("bigint", "(select 1)", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
        ("double", "rand()", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
        ("date", "to_date('a', 'b', 'c', 'd')", "INVALID_DEFAULT_VALUE.UNRESOLVED_EXPRESSION"),
    ],
)
def test_a_default_is_a_constant_of_the_columns_type(spark, table_path, kind, expression, error_class):
    made = DeltaTable.create(spark).location(table_path).property(*DEFAULTS)
    table = made.addColumn("id", "bigint").addColumn("d", kind).execute()
    refused(table, lambda: table.setDefault("d", expression), InvalidSchemaError, error_class)
    field = T.StructField("d", table.toDF().schema["d"].dataType, True, {"CURRENT_DEFAULT": expression})
    other = DeltaTable.create(spark).location(f"{table_path}2").property(*DEFAULTS).addColumn("id", "bigint").addColumns([field])
    with pytest.raises(InvalidSchemaError) as caught:
        other.execute()
    assert caught.value.getErrorClass() == error_class
    assert not Path(f"{table_path}2").exists()


def test_values_that_fit_are_defaults_whatever_their_type(spark, table_path):
    builder = DeltaTable.create(spark).location(table_path).property(*DEFAULTS)
    columns = {"b": "tinyint", "d": "decimal(5,2)", "s": "string", "t": "timestamp", "n": "array<int>", "v": "varchar(3)"}
    for name, kind in columns.items():
        builder.addColumn(name, kind)
    table = builder.addColumn("id", "bigint").execute()
    values = {"b": "3", "d": "1.50", "s": "7", "t": "current_date()", "n": "null", "v": "'abc'"}
    for name, expression in values.items():
        table.setDefault(name, expression)
    append(spark.sql("select 1L id"), table)
    (row,) = table.toDF().drop("t").collect()
    assert row.asDict() == {"b": 3, "d": Decimal("1.50"), "s": "7", "n": None, "v": "abc", "id": 1}


def test_a_new_table_with_defaults_names_the_feature(spark, table_path):
    field = T.StructField("d", T.LongType(), True, {"CURRENT_DEFAULT": "1"})
    with pytest.raises(UnsupportedFeatureError) as caught:
        DeltaTable.create(spark).location(table_path).addColumns([field]).execute()
    assert caught.value.getErrorClass() == "WRONG_COLUMN_DEFAULTS_FOR_DELTA_FEATURE_NOT_ENABLED"


def test_expressions_inside_a_new_type_are_refused_as_those_of_a_new_column(spark, table_path):
    table = DeltaTable.create(spark).location(table_path).addColumn("id", "bigint").addColumn("v", "void").execute()
    inner = T.StructType([T.StructField("x", T.LongType(), True, {"delta.generationExpression": "my_udf(1)"})])
    refused(table, lambda: table.changeColumn("v", dataType=inner), InvalidSchemaError, "DELTA_OPERATION_NOT_ALLOWED")
    added = T.StructField("s", inner)
    refused(table, lambda: table.addColumns([added]), InvalidSchemaError, "DELTA_OPERATION_NOT_ALLOWED")


@pytest.mark.smoke
def test_row_tracking_is_enabled_on_a_table_with_files_and_taken_away_again(spark, table):
    before = rows(table)
    spark.conf.set("spark.databricks.delta.backfill.maxNumFiles", "1")
    try:
        table.setProperties({"delta.enableRowTracking": "true", "mine": "1"})
    finally:
        spark.conf.unset("spark.databricks.delta.backfill.maxNumFiles")
    assert history(table, 4) == ["SET TBLPROPERTIES", "ROW TRACKING BACKFILL", "ROW TRACKING BACKFILL", "UPGRADE PROTOCOL"]
    found = state(table)
    assert sorted(found.files(["base_row_id"])["base_row_id"].to_pylist()) in ([0, 1], [0, 2])
    assert found.properties["delta.rowTracking.materializedRowIdColumnName"].startswith("_row-id-col-")
    append(spark.sql("select 9L id, 'n9' name"), table)
    assert max(state(table).files(["base_row_id"])["base_row_id"].to_pylist()) == 3
    table.dropFeatureSupport("rowTracking")
    found = state(table)
    assert "rowTracking" not in found.protocol.writer_features
    assert found.files(["base_row_id"])["base_row_id"].null_count == 3
    assert found.properties == {"mine": "1"}
    assert "delta.rowTracking" not in found.domain_metadata
    assert history(table, 3) == ["DROP FEATURE", "ROW TRACKING UNBACKFILL", "SET TBLPROPERTIES"]
    assert rows(table) == [*before, (9, "n9")]
    table.setProperties({"delta.enableRowTracking": "true"})
    assert state(table).files(["base_row_id"])["base_row_id"].null_count == 0


def test_nothing_is_committed_where_a_file_cannot_get_row_ids(spark, table_path):
    TableBuilder(table_path).create().commit(file_of(table_path, "a.parquet", {"id": [1]}, stats=None))
    table = DeltaTable.forPath(spark, table_path)
    with pytest.raises(Exception, match=r"a\.parquet"):
        table.setProperties({"delta.enableRowTracking": "true"})
    assert state(table).version == 1


@pytest.mark.smoke
def test_column_mapping_goes_where_files_have_the_names_anyway(spark, table):
    table.setProperties({"delta.columnMapping.mode": "name"})
    append(spark.sql("select 5L id, 'n5' name"), table)
    wrong = {"delta.columnMapping.mode": "none", "delta.nobody": "1"}
    refused(table, lambda: table.setProperties(wrong), InvalidOptionError, "DELTA_UNKNOWN_CONFIGURATION")
    spark.conf.set("spark.databricks.delta.columnMapping.allowRemoval", "false")
    try:
        forbidden = "DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE"
        refused(table, lambda: table.unsetProperties("delta.columnMapping.mode"), InvalidOptionError, forbidden)
    finally:
        spark.conf.unset("spark.databricks.delta.columnMapping.allowRemoval")
    table.setProperties({"delta.columnMapping.mode": "none"})
    assert history(table, 1) == ["REMOVE COLUMN MAPPING"]
    assert state(table).properties == {"delta.columnMapping.mode": "none"}
    assert all(not field.metadata for field in state(table).schema.fields)
    append(spark.sql("select 6L id, 'n6' name"), table)
    assert [row[0] for row in rows(table)] == [0, 1, 2, 5, 6]
    table.dropFeatureSupport("columnMapping")
    assert state(table).protocol.min_reader_version == 1
    table.setProperties({"delta.columnMapping.mode": "name"})
    table.renameColumn("name", "odd name")
    spaces = "DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING"
    refused(table, lambda: table.dropFeatureSupport("columnMapping"), InvalidSchemaError, spaces)


@pytest.mark.smoke
def test_with_truncated_history_a_feature_goes_after_a_day(spark, table):
    table.setProperties({"delta.enableDeletionVectors": "true"})
    with pytest.raises(InvalidOptionError) as caught:
        table.dropFeatureSupport("deletionVectors", truncateHistory=True)
    assert caught.value.getErrorClass() == "DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD"
    assert "delta.enableDeletionVectors" not in state(table).properties
    with pytest.raises(InvalidOptionError) as caught:
        table.dropFeatureSupport("deletionVectors", truncateHistory=True)
    assert caught.value.getErrorClass() == "DELTA_FEATURE_DROP_HISTORICAL_VERSIONS_EXIST"
    age(table)
    table.dropFeatureSupport("deletionVectors", truncateHistory=True)
    found = state(table)
    assert found.protocol == Protocol(1, 2)
    assert "delta.requireCheckpointProtectionBeforeVersion" not in found.properties
    assert table.history(1).collect()[0].operationParameters == {"featureName": "deletionVectors", "truncateHistory": "true"}
    assert len(rows(table)) == 3


def test_checkpoint_protection_goes_with_the_history_that_it_is_about(spark, table):
    table.addFeatureSupport("vacuumProtocolCheck")
    table.dropFeatureSupport("vacuumProtocolCheck")
    only = "DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION"
    refused(table, lambda: table.dropFeatureSupport("checkpointProtection"), InvalidOptionError, only)
    with pytest.raises(InvalidOptionError) as caught:
        table.dropFeatureSupport("checkpointProtection", truncateHistory=True)
    assert caught.value.getErrorClass() == "DELTA_FEATURE_DROP_CHECKPOINT_PROTECTION_WAIT_FOR_RETENTION_PERIOD"
    age(table)
    table.dropFeatureSupport("checkpointProtection", truncateHistory=True)
    assert (state(table).protocol, state(table).properties) == (Protocol(1, 2), {})
    assert len(rows(table)) == 3
    table.addFeatureSupport("vacuumProtocolCheck")
    table.dropFeatureSupport("vacuumProtocolCheck", truncateHistory=True)
    assert state(table).protocol == Protocol(1, 2)


@pytest.mark.smoke
def test_a_table_without_columns_gets_them_later(spark, table_path, tmp_path):
    table = DeltaTable.create(spark).location(table_path).execute()
    assert state(table).schema.names == ()
    frame = spark.read.format("delta").load(table_path)
    assert frame.columns == []
    for read in (frame.count, frame.collect, bayou.read(spark, table_path).show, lambda: frame.where("true").count()):
        refused(table, read, InvalidSchemaError, "DELTA_READ_TABLE_WITHOUT_COLUMNS")
    empty = "DELTA_CANNOT_WRITE_EMPTY_SCHEMA.TABLE_NO_COLUMNS"
    refused(table, lambda: append(spark.range(2), table), SchemaMismatchError, "DELTA_METADATA_MISMATCH")
    refused(table, lambda: bayou.write(spark.range(2).select(), table_path, mode="append"), InvalidSchemaError, empty)
    append(spark.range(2), table, mergeSchema="true")
    assert rows(table) == [(0,), (1,)]
    other = DeltaTable.create(spark).location(str(tmp_path / "other")).execute()
    other.addColumns("id bigint, name string")
    append(spark.sql("select 1L id, 'n' name"), other)
    assert rows(other) == [(1, "n")]
    spark.conf.set("spark.databricks.delta.createEmptySchemaTable.enabled", "false")
    try:
        with pytest.raises(InvalidSchemaError):
            DeltaTable.create(spark).location(str(tmp_path / "none")).execute()
    finally:
        spark.conf.unset("spark.databricks.delta.createEmptySchemaTable.enabled")
    with pytest.raises(InvalidSchemaError):
        DeltaTable.replace(spark).location(table_path).execute()


def test_types_are_read_the_same_way_for_new_tables_and_those_that_are_there(spark, table_path):
    numbers_table(table_path, [1, 2])
    table = DeltaTable.forPath(spark, table_path)
    given = ("struct<a: int, b: array<varchar(3)>>", T.StructType([T.StructField("a", T.IntegerType())]), "decimal(10,2)")
    for number, kind in enumerate(given):
        made = DeltaTable.create(spark).location(f"{table_path}-{number}").addColumn("c", kind).execute()
        table.addColumns(f"c{number} void")
        table.changeColumn(f"c{number}", dataType=kind)
        assert state(table).schema.field(f"c{number}").type == state(made).schema.field("c").type
    with pytest.raises(InvalidSchemaError) as caught:
        DeltaTable.create(spark).location(table_path).addColumn("c", "no type")
    assert caught.value.error_class == "PARSE_SYNTAX_ERROR"
