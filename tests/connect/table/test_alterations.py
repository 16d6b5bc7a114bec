# SPDX-License-Identifier: Apache-2.0
"""Changes of a table's definition on a Connect session, by path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

import bayou
from bayou import DeltaTable
from bayou.errors import ConstraintViolationError, InvalidOptionError, InvalidSchemaError, UnsupportedFeatureError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def table(spark: SparkSession, table_path: str) -> DeltaTable:
    rows = spark.sql("SELECT id, cast(id as int) AS n, concat('s', id) AS t FROM range(4)")
    bayou.write(rows, table_path)
    return DeltaTable.forPath(spark, table_path)


def schema(path: str) -> dict[str, str]:
    return {field.name: str(field.type) for field in bayou.open(path).snapshot().schema.fields}


def test_a_constraint_is_checked_against_all_rows_and_kept(spark: SparkSession, table: DeltaTable, table_path: str) -> None:
    table.addConstraint("few", "id < 10 AND t IS NOT NULL")
    assert bayou.open(table_path).snapshot().properties["delta.constraints.few"] == "id < 10 AND t IS NOT NULL"
    with pytest.raises(ConstraintViolationError) as raised:
        table.addConstraint("fewer", "id < 2")
    assert raised.value.num_violations == 2
    with pytest.raises(InvalidSchemaError):
        table.addConstraint("number", "id + 1")
    with pytest.raises(InvalidSchemaError):
        table.addConstraint("broken", "id <")
    with pytest.raises(InvalidSchemaError):
        table.addConstraint("query", "id IN (SELECT 1)")
    with pytest.raises(ConstraintViolationError):
        bayou.write(spark.sql("SELECT 11L AS id, 1 AS n, 'x' AS t"), table_path, mode="append")
    table.dropConstraint("few")
    table.dropConstraint("few", ifExists=True)
    bayou.write(spark.sql("SELECT 11L AS id, 1 AS n, 'x' AS t"), table_path, mode="append")


def test_properties_and_comment(table: DeltaTable, table_path: str) -> None:
    table.setProperties({"delta.appendOnly": "true", "mine": 1})
    table.setComment("orders")
    assert bayou.open(table_path).snapshot().properties["mine"] == "1"
    assert table.detail().collect()[0].description == "orders"
    table.unsetProperties("mine")
    with pytest.raises(InvalidOptionError):
        table.unsetProperties("mine")


def test_columns_are_added_by_every_kind_of_argument(table: DeltaTable, table_path: str) -> None:
    table.addColumns("a INT COMMENT 'x', b STRUCT<c: VARCHAR(3)>", after="id")
    table.addColumns(StructType([StructField("d", IntegerType())]), first=True)
    assert list(schema(table_path)) == ["d", "id", "a", "b", "n", "t"]
    with pytest.raises(InvalidSchemaError):
        table.addColumns("a b c d")
    with pytest.raises(InvalidSchemaError):
        table.addColumns("int")


def test_columns_are_renamed_and_dropped_with_column_mapping(table: DeltaTable, table_path: str) -> None:
    with pytest.raises(UnsupportedFeatureError):
        table.renameColumn("t", "text")
    table.setProperties({"delta.columnMapping.mode": "name", "delta.minReaderVersion": 2, "delta.minWriterVersion": 5})
    table.renameColumn("t", "text")
    table.dropColumns("n")
    assert list(schema(table_path)) == ["id", "text"]
    with pytest.raises(InvalidSchemaError):
        table.dropColumns("nothing")


def test_a_column_gets_another_type_comment_and_place(table: DeltaTable, table_path: str) -> None:
    table.setProperties({"delta.enableTypeWidening": "true"})
    table.changeColumn("n", dataType="BIGINT", comment="count", first=True)
    assert schema(table_path) == {"n": "long", "id": "long", "t": "string"}
    with pytest.raises(InvalidSchemaError):
        table.changeColumn("n", dataType="IN T")


def test_not_null_is_checked(spark: SparkSession, table: DeltaTable, table_path: str) -> None:
    with pytest.raises(InvalidSchemaError):
        table.changeColumn("n", nullable=False)
    table.replaceColumns("id BIGINT, n INT, t STRING COMMENT 'text'")
    assert bayou.open(table_path).snapshot().schema.fields[2].metadata["comment"] == "text"


def test_defaults(spark: SparkSession, table: DeltaTable, table_path: str) -> None:
    table.addFeatureSupport("allowColumnDefaults")
    table.setDefault("n", "40 + 2")
    bayou.write(spark.sql("SELECT 9L AS id, 'x' AS t"), table_path, mode="append")
    table.setDefault("n", None)
    with pytest.raises(InvalidSchemaError):
        table.setDefault("n", "'no number'")


def test_clustering_columns(spark: SparkSession, table_path: str) -> None:
    clustered = DeltaTable.create(spark).location(table_path).addColumn("id", "INT").addColumn("t", "STRING").clusterBy("t")
    table = clustered.execute()
    assert table.detail().collect()[0].clusteringColumns == ["t"]
    table.clusterBy("id", "t")
    assert table.detail().collect()[0].clusteringColumns == ["id", "t"]


def test_protocol_and_features(table: DeltaTable) -> None:
    table.upgradeTableProtocol(3, 7)
    table.addFeatureSupport("deletionVectors")
    assert "deletionVectors" in table.detail().collect()[0].tableFeatures
    table.dropFeatureSupport("deletionVectors")
    assert "deletionVectors" not in table.detail().collect()[0].tableFeatures
    with pytest.raises(UnsupportedFeatureError):
        table.addFeatureSupport("noSuchFeature")
