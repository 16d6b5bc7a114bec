# SPDX-License-Identifier: Apache-2.0
"""Tables with names are made, adopted and replaced, in SQL and by writers, and what cannot be made leaves nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.tables.built import ids
from tests.support.tables.queried import log_of, people

import bayou
from bayou.errors import (
    ConstraintViolationError,
    DeltaError,
    InvalidOptionError,
    InvalidSchemaError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)


@pytest.mark.smoke
def test_sql_makes_tables_with_everything_that_a_column_can_have(spark, name):
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT NOT NULL COMMENT 'who', code VARCHAR(3), at TIMESTAMP, "
        "day DATE GENERATED ALWAYS AS (CAST(at AS DATE)), n INT DEFAULT 7) USING delta PARTITIONED BY (day) "
        "COMMENT 'orders' TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', 'mine' = 'x')"
    )
    snapshot = log_of(spark, name).snapshot()
    assert snapshot.metadata.description == "orders"
    assert snapshot.properties == {"mine": "x"}
    assert snapshot.partition_columns == ("day",)
    assert not snapshot.schema.field("id").nullable
    assert snapshot.schema.field("id").metadata == {"comment": "who"}
    assert {"generatedColumns", "allowColumnDefaults", "invariants"} <= set(snapshot.protocol.writer_features)
    spark.sql(f"INSERT INTO {name} (id, at, code) VALUES (1, TIMESTAMP '2024-05-06 07:08:09', 'abc')")
    row = spark.table(name).selectExpr("id", "code", "cast(day as string) day", "n").first()
    assert tuple(row) == (1, "abc", "2024-05-06", 7)
    with pytest.raises(ConstraintViolationError, match="VARCHAR"):
        spark.sql(f"INSERT INTO {name} (id, code) VALUES (2, 'abcd')")
    with pytest.raises(ConstraintViolationError):
        spark.sql(f"INSERT INTO {name} (id, code) VALUES (NULL, 'abc')")
    assert spark.table(name).count() == 1


def test_sql_makes_replaces_and_adopts_tables(spark, name, table_path):
    people(spark, (1, "a")).write.format("delta").save(table_path)
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{table_path}'")
    assert ids(spark.table(name)) == [1]
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} (x INT) USING delta")
    with pytest.raises(AnalysisException):
        spark.sql(f"CREATE TABLE {name} (x INT) USING delta")
    spark.sql(f"CREATE OR REPLACE TABLE {name} (x INT) USING delta")
    assert spark.table(name).columns == ["x"]
    spark.sql(f"REPLACE TABLE {name} USING delta AS SELECT 5 AS y")
    assert [tuple(row) for row in bayou.read(spark, table_path).collect()] == [(5,)]
    spark.sql(f"DROP TABLE {name}")
    assert bayou.read(spark, table_path).count() == 1
    with pytest.raises(DeltaError):
        spark.sql(f"CREATE TABLE {name} (z STRING) USING delta LOCATION '{table_path}'")


def test_the_files_of_a_managed_table_go_with_it(spark, name):
    spark.sql(f"CREATE TABLE {name} USING delta AS SELECT 1 AS a")
    folder = Path(log_of(spark, name).table_uri.removeprefix("file://"))
    assert folder.is_dir()
    spark.sql(f"DROP TABLE {name}")
    assert not folder.exists()


def test_a_statement_that_fails_leaves_no_table_and_no_entry(spark, name):
    with pytest.raises(Exception, match="boom"):
        spark.sql(f"CREATE TABLE {name} USING delta AS SELECT cast(raise_error('boom') as int) AS a")
    assert not spark.catalog.tableExists(name)
    with pytest.raises(UnsupportedFeatureError, match="expressions"):
        spark.sql(f"CREATE TABLE {name} (at TIMESTAMP) USING delta PARTITIONED BY (days(at))")
    with pytest.raises(UnsupportedFeatureError, match=r"DELTA_OPERATION_NOT_ALLOWED_DETAIL.*Bucketing"):
        spark.range(1).write.format("delta").bucketBy(2, "id").saveAsTable(name)
    assert not spark.catalog.tableExists(name)


@pytest.mark.parametrize("way", ["sql", "frame"])
def test_a_table_that_is_replaced_loses_all_rows_whatever_the_session_says_of_partitions(spark, name, way):
    people(spark, (1, "a"), (2, "b")).write.format("delta").partitionBy("name").saveAsTable(name)
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        if way == "sql":
            spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta PARTITIONED BY (name) AS SELECT 3L AS id, 'a' AS name")
        else:
            people(spark, (3, "a")).writeTo(name).using("delta").partitionedBy(F.col("name")).createOrReplace()
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert ids(spark.table(name)) == [3]


@pytest.mark.parametrize(
    ("option", "value", "error_class"),
    [
        ("replaceUsing", "name", "DELTA_DFV2_CREATE_REPLACE_INCOMPATIBLE_REPLACE_ON_OR_USING"),
        ("replaceWhere", "name = 'a'", "DELTA_ILLEGAL_USAGE"),
        ("partitionOverwriteMode", "dynamic", "DELTA_ILLEGAL_USAGE"),
        ("overwriteSchema", "false", "DELTA_ILLEGAL_USAGE"),
    ],
)
def test_a_table_is_replaced_as_a_whole_or_not_at_all(spark, name, option, value, error_class):
    people(spark, (1, "a")).write.format("delta").partitionBy("name").saveAsTable(name)
    writer = people(spark, (3, "a")).writeTo(name).using("delta").partitionedBy(F.col("name"))
    with pytest.raises(DeltaError) as caught:
        writer.option(option, value).createOrReplace()
    assert caught.value.error_class == error_class
    assert ids(spark.table(name)) == [1]


@pytest.mark.parametrize("way", ["builder", "query"])
def test_mapped_columns_of_a_replaced_table_keep_their_ids_where_they_fit(spark, name, way):
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, v INT, gone INT) USING delta {mapped}")
    before = log_of(spark, name).snapshot()
    if way == "builder":
        builder = bayou.DeltaTable.replace(spark).tableName(name).addColumn("id", "BIGINT").addColumn("v", "STRING")
        builder.addColumn("new", "INT").property("delta.columnMapping.mode", "name").execute()
    else:
        spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta {mapped} AS SELECT 1L AS id, 'a' AS v, 5 AS new")
    after = log_of(spark, name).snapshot()
    kept = [(after.schema.field(each).field_id, after.schema.field(each).physical_name) for each in ("id", "v", "new")]
    assert kept[0] == (before.schema.field("id").field_id, before.schema.field("id").physical_name)
    assert [number for number, _ in kept] == [1, 4, 5]
    assert after.properties["delta.columnMapping.maxColumnId"] == "5"
    assert spark.table(name).count() == (0 if way == "builder" else 1)


def test_a_folder_is_to_hold_the_table_whose_columns_nobody_says(spark, name, table_path):
    spark.range(2).write.parquet(table_path)
    with pytest.raises(TableNotFoundError) as caught:
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{table_path}'")
    assert caught.value.error_class == "DELTA_CREATE_EXTERNAL_TABLE_WITHOUT_TXN_LOG"
    with pytest.raises(TableExistsError) as caught:
        spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta LOCATION '{table_path}'")
    assert caught.value.error_class == "DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION"
    assert not spark.catalog.tableExists(name)


def test_a_name_is_not_replaced_by_a_table_in_another_folder(spark, table_path, name):
    spark.sql(f"CREATE TABLE {name} (a INT) USING delta LOCATION '{table_path}'")
    other = f"{table_path}_other"
    for replacing in (
        lambda: spark.sql(f"CREATE OR REPLACE TABLE {name} (b INT) USING delta LOCATION '{other}'"),
        lambda: spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta LOCATION '{other}' AS SELECT 1 b"),
        lambda: spark.range(1).write.format("delta").mode("overwrite").option("path", other).saveAsTable(name),
    ):
        with pytest.raises(InvalidOptionError) as caught:
            replacing()
        assert caught.value.error_class == "DELTA_TABLE_LOCATION_MISMATCH"
    spark.sql(f"CREATE OR REPLACE TABLE {name} (b INT) USING delta LOCATION '{table_path}'")
    assert spark.table(name).columns == ["b"]


@pytest.mark.parametrize("column", ["a INT NOT NULL", "a INT COMMENT 'x'", "a BIGINT"])
def test_a_name_for_a_table_that_is_there_describes_it_as_it_is(spark, table_path, name, column):
    bayou.enable(spark)
    spark.sql("SELECT 1 AS a, 2 AS p").write.format("delta").partitionBy("p").save(table_path)
    for columns in (f"{column}, p INT) USING delta PARTITIONED BY (p", "a INT, p INT) USING delta OPTIONS (x 'y'"):
        with pytest.raises(InvalidSchemaError):
            spark.sql(f"CREATE TABLE {name} ({columns}) LOCATION '{table_path}'")
    spark.sql(f"CREATE TABLE {name} (a INT, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    assert spark.table(name).count() == 1
