# SPDX-License-Identifier: Apache-2.0
"""Columns of user-defined types, such as the vectors of Spark's machine learning: the table says what they are."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from pyspark.ml.linalg import DenseVector, SparseVector, VectorUDT
from pyspark.sql.types import ArrayType, IntegerType, LongType, StructField, StructType
from tests.spark.ways import FILES, VECTORS

import bayou
from bayou.errors import SchemaMismatchError

SCHEMA = StructType([StructField("id", LongType()), StructField("features", VectorUDT())])
ONE, TWO = DenseVector([1.0, 2.0]), SparseVector(3, {1: 4.0})


def make(spark, path, **properties):
    bayou.write(spark.createDataFrame([(1, ONE), (2, TWO)], SCHEMA), path, **properties)
    return bayou.DeltaTable.forPath(spark, path).alias("t")


def rows(spark, path):
    return sorted((row.id, row.features) for row in bayou.read(spark, path).collect())


def stored_type(path):
    log = sorted(Path(path, "_delta_log").glob("*.json"))
    actions = [json.loads(line) for file in log for line in file.read_text().splitlines()]
    *_, schema = [json.loads(each["metaData"]["schemaString"]) for each in actions if "metaData" in each]
    return next(field["type"] for field in schema["fields"] if field["name"] == "features")


def test_the_log_says_which_type_it_is_and_reads_give_it_back(spark, table_path):
    make(spark, table_path)
    assert stored_type(table_path) == VectorUDT().jsonValue()
    assert bayou.read(spark, table_path).schema["features"].dataType == VectorUDT()
    assert rows(spark, table_path) == [(1, ONE), (2, TWO)]
    with_source = spark.read.format("delta").load(table_path)
    assert with_source.where("id = 2").first().features == TWO


@pytest.mark.parametrize("way", [FILES, VECTORS], ids=["files", "vectors"])
@pytest.mark.parametrize("feeds", ["false", "true"])
def test_rows_change_and_keep_it(spark, table_path, way, feeds):
    table = make(spark, table_path, **way, **{"delta.enableChangeDataFeed": feeds})
    bayou.write(spark.createDataFrame([(3, ONE)], SCHEMA), table_path, mode="append")
    table.update("id = 1", {"id": "10"})
    table.delete("id = 2")
    news = spark.createDataFrame([(3, TWO), (4, ONE)], SCHEMA).alias("s")
    table.merge(news, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(spark, table_path) == [(3, TWO), (4, ONE), (10, ONE)]
    assert bayou.read(spark, table_path).schema["features"].dataType == VectorUDT()
    if feeds == "true":
        changes = bayou.read(spark, table_path, changes=(1, 4)).where("_change_type = 'update_preimage'")
        assert sorted((row.id, row.features) for row in changes.collect()) == [(1, ONE), (3, ONE)]


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_another_schema_says_it_still(spark, table_path, mapping):
    table = make(spark, table_path, **{"delta.columnMapping.mode": mapping})
    described = stored_type(table_path)
    table.addColumns([StructField("more", IntegerType())])
    wider = StructType([*SCHEMA.fields, StructField("more", IntegerType()), StructField("last", IntegerType())])
    bayou.write(spark.createDataFrame([(3, TWO, 1, 1)], wider), table_path, mode="append", mergeSchema=True)
    assert stored_type(table_path) == described == VectorUDT().jsonValue()
    assert rows(spark, table_path) == [(1, ONE), (2, TWO), (3, TWO)]


def test_a_merge_brings_one_along(spark, table_path):
    bayou.write(spark.range(1, 3), table_path)
    news = spark.createDataFrame([(2, TWO), (3, ONE)], SCHEMA).alias("s")
    table = bayou.DeltaTable.forPath(spark, table_path).alias("t")
    table.merge(news, "t.id = s.id").withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(spark, table_path) == [(1, None), (2, TWO), (3, ONE)]
    assert stored_type(table_path) == VectorUDT().jsonValue()


def test_it_may_be_within_others(spark, table_path):
    nested = StructType(
        [StructField("all", ArrayType(VectorUDT())), StructField("one", StructType([StructField("v", VectorUDT())]))]
    )
    bayou.write(spark.createDataFrame([([ONE, TWO], (TWO,))], nested), table_path)
    found = bayou.read(spark, table_path)
    assert found.schema == nested
    assert found.first()["all"] == [ONE, TWO]
    assert found.select("one.v").first().v == TWO


def test_a_value_of_another_type_is_refused(spark, table_path):
    make(spark, table_path)
    with pytest.raises(SchemaMismatchError):
        bayou.write(spark.sql("select 3L id, 'x' features"), table_path, mode="append")
    assert bayou.open(table_path).version() == 0


def test_a_stream_hands_it_on(spark, table_path, tmp_path):
    make(spark, table_path)
    target = str(tmp_path / "target")
    stream = spark.readStream.format("delta").load(table_path).writeStream.format("delta")
    query = stream.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start(target)
    query.awaitTermination()
    assert rows(spark, target) == [(1, ONE), (2, TWO)]
    assert stored_type(target) == VectorUDT().jsonValue()


@pytest.fixture
def name(spark):
    """A name in the catalog that nobody has."""
    found = f"t_{uuid.uuid4().hex[:8]}"
    yield found
    spark.sql(f"DROP TABLE IF EXISTS {found}")


def test_a_table_with_a_name_has_it(spark, name):
    spark.createDataFrame([(1, ONE)], SCHEMA).write.format("delta").saveAsTable(name)
    spark.createDataFrame([(2, TWO)], SCHEMA).write.insertInto(name)
    spark.createDataFrame([(3, TWO)], SCHEMA).write.format("delta").mode("append").saveAsTable(name)
    assert spark.table(name).schema["features"].dataType == VectorUDT()
    assert {row.features for row in spark.table(name).collect()} == {ONE, TWO}
