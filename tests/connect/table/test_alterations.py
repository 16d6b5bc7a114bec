# SPDX-License-Identifier: Apache-2.0
"""Changes of a table's definition on a Connect session, by path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

import bayou
from bayou import DeltaTable, IdentityGenerator
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


def test_dropping_column_mapping_rewrites_the_files(spark: SparkSession, table: DeltaTable, table_path: str) -> None:
    table.setProperties({"delta.columnMapping.mode": "name", "delta.minReaderVersion": 2, "delta.minWriterVersion": 5})
    table.renameColumn("t", "text")
    table.setProperties({"delta.columnMapping.mode": "none"})
    assert bayou.open(table_path).snapshot().properties["delta.columnMapping.mode"] == "none"
    for path in bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist():
        assert pq.read_schema(f"{table_path}/{path}").names == ["id", "n", "text"]
    assert [row.text for row in table.toDF().orderBy("id").collect()] == ["s0", "s1", "s2", "s3"]


def test_a_wide_type_is_dropped_by_writing_files_again(spark: SparkSession, table: DeltaTable, table_path: str) -> None:
    table.setProperties({"delta.enableTypeWidening": "true"})
    table.changeColumn("n", dataType="BIGINT")
    table.dropFeatureSupport("typeWidening")
    assert "typeWidening" not in table.detail().collect()[0].tableFeatures
    assert sum(row.n for row in table.toDF().collect()) == 6


def test_an_identity_column_is_synchronised(spark: SparkSession, table_path: str) -> None:
    column = IdentityGenerator(start=1, step=1)
    table = DeltaTable.create().location(table_path).addColumn("k", "BIGINT", generatedByDefaultAs=column).addColumn("id", "BIGINT")
    done = table.execute()
    bayou.write(spark.sql("SELECT 40L AS k, id FROM range(1)"), table_path, mode="append")
    done.syncIdentity("k")
    bayou.write(spark.range(1), table_path, mode="append")
    first, second = sorted(row.k for row in done.toDF().collect())
    assert first == 40 < second
