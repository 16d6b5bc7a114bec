# SPDX-License-Identifier: Apache-2.0
"""Tables that a Connect session creates, clones and converts, by path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import StringType, StructField, StructType
from tests.support.tables.built import numbers_table

import bayou
from bayou import DeltaTable, IdentityGenerator
from bayou.errors import InvalidSchemaError, TableExistsError, TableNotFoundError, UnsupportedFeatureError
from bayou.protocol.types.char_varchar import type_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def builder(spark: SparkSession, path: str, mode: str = "create") -> Any:
    return (
        getattr(DeltaTable, mode)(spark)
        .location(path)
        .addColumn("id", "BIGINT", nullable=False, comment="who")
        .addColumn("at", "TIMESTAMP")
        .addColumn("day", "DATE", generatedAlwaysAs="CAST(at AS DATE)")
        .addColumn("k", "BIGINT", generatedByDefaultAs=IdentityGenerator(start=5, step=2))
        .addColumn("code", "VARCHAR(3)")
        .addColumns(StructType([StructField("s", StringType())]))
        .partitionedBy("day")
        .property("delta.enableChangeDataFeed", "true")
    )


def test_a_table_at_a_path_has_what_its_builder_was_told(spark: SparkSession, table_path: str) -> None:
    table = builder(spark, table_path).execute()
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.schema.names == ("id", "at", "day", "k", "code", "s")
    assert list(snapshot.partition_columns) == ["day"]
    assert table.history().collect()[0].operation == "CREATE TABLE"
    bayou.write(
        spark.sql("SELECT 1L AS id, TIMESTAMP'2026-01-02 03:04:05' AS at, 'abc' AS code, 's' AS s"), table_path, mode="append"
    )
    assert bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist()[0].startswith(("day=2026-01-02", "b-"))


def test_the_modes_of_builders(spark: SparkSession, table_path: str) -> None:
    with pytest.raises(TableNotFoundError):
        builder(spark, table_path, "replace").execute()
    builder(spark, table_path, "createIfNotExists").execute()
    builder(spark, table_path, "createIfNotExists").execute()
    with pytest.raises(TableExistsError):
        builder(spark, table_path).execute()
    builder(spark, table_path, "createOrReplace").execute()
    assert DeltaTable.forPath(spark, table_path).history().count() == 2


def test_a_wrong_generation_expression_is_refused(spark: SparkSession, table_path: str) -> None:
    for expression in ("nothing + 1", "CAST(id AS STRING)", "(SELECT 1)", "id +", "rand()"):
        wrong = DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT")
        with pytest.raises(InvalidSchemaError):
            wrong.addColumn("g", "INT", generatedAlwaysAs=expression).execute()


def test_a_name_is_refused_before_anything_is_written(spark: SparkSession, table_path: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFeatureError, match="has no data source delta"):
        DeltaTable.create(spark).tableName("named").addColumn("id", "INT").location(table_path).execute()
    assert not list(tmp_path.iterdir())
    table = DeltaTable.create(spark).tableName(f"delta.`{table_path}`").addColumn("id", "INT").execute()
    assert table.detail().count() == 1


@pytest.mark.parametrize("kind", ["shallow", "deep"])
def test_a_clone_at_a_path(spark: SparkSession, table_path: str, tmp_path: Path, kind: str) -> None:
    shallow = kind == "shallow"
    numbers_table(table_path, [1, 2], [3])
    source, target = DeltaTable.forPath(spark, table_path), str(tmp_path / "clone")
    clone = source.clone(target, isShallow=shallow, properties={"mine": "x"})
    assert clone.detail().collect()[0].numFiles == 2
    with pytest.raises(TableExistsError):
        source.clone(target, isShallow=shallow)
    other = str(tmp_path / "other") if shallow else target
    assert source.cloneAtVersion(0, other, isShallow=shallow, replace=True).detail().collect()[0].numFiles == 0
    with pytest.raises(UnsupportedFeatureError):
        source.clone("a_name", isShallow=shallow)


def test_a_folder_of_parquet_files_becomes_a_table(spark: SparkSession, table_path: str) -> None:
    spark.sql("SELECT id, id % 2 AS p FROM range(10)").write.partitionBy("p").parquet(table_path)
    table = DeltaTable.convertToDelta(spark, f"parquet.`{table_path}`", "p BIGINT")
    assert table.history().collect()[0].operation == "CONVERT"
    snapshot = bayou.open(table_path).snapshot()
    assert snapshot.schema.names == ("id", "p")
    assert sum(snapshot.statistics({}).num_records.to_pylist()) == 10
    assert DeltaTable.convertToDelta(spark, f"parquet.`{table_path}`").history().count() == 1
    with pytest.raises(TableNotFoundError):
        DeltaTable.convertToDelta(spark, "no_table_of_parquet")


def test_files_of_other_writers_are_converted_by_sparks_view_of_their_types(spark: SparkSession, table_path: str) -> None:
    Path(table_path).mkdir()
    columns = {"i": pa.array([1, 2], pa.uint16()), "t": pa.array(["a", None]), "l": pa.array([[1], []], pa.list_(pa.int8()))}
    pq.write_table(pa.table(columns), f"{table_path}/a [1] {{b}}.parquet")
    DeltaTable.convertToDelta(spark, f"parquet.`{table_path}`")
    fields = {field.name: type_text(field.type) for field in bayou.open(table_path).snapshot().schema.fields}
    assert fields == {"i": "int", "t": "string", "l": "array<tinyint>"}


def test_a_table_of_the_catalog_cannot_be_converted_and_stays_as_it_was(spark: SparkSession, table_path: str) -> None:
    spark.range(3).write.parquet(table_path)
    spark.sql(f"CREATE TABLE plain_of_creation USING parquet LOCATION '{table_path}'")
    try:
        with pytest.raises(UnsupportedFeatureError):
            DeltaTable.convertToDelta(spark, "plain_of_creation")
        assert not DeltaTable.isDeltaTable(spark, table_path)
        assert spark.table("plain_of_creation").count() == 3
    finally:
        spark.sql("DROP TABLE plain_of_creation")
