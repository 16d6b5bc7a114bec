# SPDX-License-Identifier: Apache-2.0
"""Clustered tables: made, written to, replaced and altered; rows are clustered by OPTIMIZE alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrameWriter

import bayou
from bayou import DeltaTable
from bayou.errors import DeltaError, InvalidSchemaError, SchemaMismatchError
from bayou.log.snapshot.clustering import clustering_columns, logical_clustering

ROWS = "select 1L as id, 'a' as k, named_struct('x', 2.5D, 'y', 'b') as s"


def columns_of(path):
    return clustering_columns(bayou.open(path).snapshot())


def last(path):
    """The last commit's operation and its parameter `clusterBy`, which is a JSON array where it is there."""
    entry = bayou.open(path).history(limit=1)[0]
    text = entry.operation_parameters.get("clusterBy")
    return entry.operation, None if text is None else json.loads(text)


def clustered(spark, path, columns=("id", "s.x"), **options):
    bayou.write(spark.sql(ROWS), path, clusterBy=list(columns), **options)


def builder(spark, path, verb="create"):
    made = getattr(DeltaTable, verb)(spark).location(path)
    return made.addColumn("id", "BIGINT").addColumn("k", "STRING").addColumn("s", "STRUCT<x: DOUBLE, y: STRING>")


def refused(call, error_class, error=InvalidSchemaError):
    with pytest.raises(error) as caught:
        call()
    assert caught.value.getErrorClass() == error_class


@pytest.mark.smoke
def test_a_builder_makes_a_clustered_table_that_takes_rows(spark, table_path):
    table = builder(spark, table_path).clusterBy("S.x", "id").execute()
    assert columns_of(table_path) == ["s.x", "id"]
    assert last(table_path) == ("CREATE TABLE", ["s.x", "id"])
    assert table.detail().first().clusteringColumns == ["s.x", "id"]
    assert {"clustering", "domainMetadata"} <= set(table.detail().first().tableFeatures)
    spark.sql(ROWS).write.format("delta").mode("append").save(table_path)
    assert (table.toDF().count(), columns_of(table_path)) == (1, ["s.x", "id"])
    domain = bayou.open(table_path).snapshot().domain_metadata["delta.clustering"]
    assert domain.configuration == '{"clusteringColumns":[["s","x"],["id"]],"domainName":"delta.clustering"}'


def test_a_builder_can_leave_the_columns_open(spark, table_path):
    builder(spark, table_path).clusterBy().execute()
    assert logical_clustering(bayou.open(table_path).snapshot()) == ()


def test_a_builder_without_clustering_makes_a_table_without_it(spark, table_path):
    builder(spark, table_path).execute()
    assert logical_clustering(bayou.open(table_path).snapshot()) is None
    assert last(table_path) == ("CREATE TABLE", [])


@pytest.mark.parametrize(
    ("change", "error_class"),
    [
        (lambda b: b.clusterBy("nope"), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        (lambda b: b.clusterBy("s"), "DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED"),
        (lambda b: b.clusterBy("id").partitionedBy("k"), "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY"),
        (lambda b: b.clusterBy("id").partitionedBy("id", "k", "s"), "DELTA_CLUSTER_BY_WITH_PARTITIONED_BY"),
        (lambda b: b.clusterBy("id").property("delta.dataSkippingStatsColumns", "k"), "DELTA_CLUSTERING_COLUMN_MISSING_STATS"),
    ],
)
def test_a_table_that_cannot_be_clustered_so_is_not_made(spark, table_path, change, error_class):
    refused(change(builder(spark, table_path)).execute, error_class)
    assert not Path(table_path, "_delta_log").exists()


def test_the_session_limits_how_many_columns_there_are(spark, table_path):
    spark.conf.set("spark.databricks.delta.clusteredTable.numClusteringColumnsLimit", "1")
    try:
        refused(builder(spark, table_path).clusterBy("id", "k").execute, "DELTA_CLUSTER_BY_INVALID_NUM_COLUMNS")
    finally:
        spark.conf.unset("spark.databricks.delta.clusteredTable.numClusteringColumnsLimit")


@pytest.mark.parametrize("option", [["id", "s.x"], "id, s.x"])
def test_a_write_makes_a_clustered_table(spark, table_path, option):
    bayou.write(spark.sql(ROWS), table_path, clusterBy=option)
    assert columns_of(table_path) == ["id", "s.x"]
    assert last(table_path) == ("WRITE", ["id", "s.x"])
    assert bayou.read(spark, table_path).count() == 1


@pytest.mark.skipif(not hasattr(DataFrameWriter, "clusterBy"), reason="this Spark has no DataFrameWriter.clusterBy")
def test_sparks_own_cluster_by_makes_a_clustered_table(spark, table_path):
    rows = spark.sql(ROWS)
    rows.write.format("delta").clusterBy("id", "s.x").save(table_path)
    assert columns_of(table_path) == ["id", "s.x"]
    rows.write.format("delta").clusterBy("id", "s.x").mode("append").save(table_path)
    append = rows.write.format("delta").clusterBy("k").mode("append")
    refused(lambda: append.save(table_path), "DELTA_CLUSTERING_COLUMNS_MISMATCH", SchemaMismatchError)
    assert bayou.open(table_path).version() == 1


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_other_clustering_columns_than_the_tables_are_refused_before_a_file_is_written(spark, table_path, mode):
    clustered(spark, table_path)
    before = sorted(Path(table_path).glob("*.parquet"))
    for columns in (["s.x", "id"], ["id"], []):
        refused(
            lambda columns=columns: clustered(spark, table_path, columns, mode=mode),
            "DELTA_CLUSTERING_COLUMNS_MISMATCH",
            SchemaMismatchError,
        )
    assert sorted(Path(table_path).glob("*.parquet")) == before
    clustered(spark, table_path, ["ID", "S.X"], mode=mode)
    bayou.write(spark.sql(ROWS), table_path, mode=mode)
    assert (bayou.open(table_path).version(), columns_of(table_path)) == (2, ["id", "s.x"])


def test_a_table_that_is_not_clustered_is_not_clustered_by_an_append(spark, table_path):
    bayou.write(spark.sql(ROWS), table_path)
    refused(lambda: clustered(spark, table_path, mode="append"), "DELTA_CLUSTERING_COLUMNS_MISMATCH", SchemaMismatchError)


def test_an_overwrite_of_the_schema_sets_the_columns_anew(spark, table_path):
    bayou.write(spark.sql(ROWS), table_path)
    clustered(spark, table_path, mode="overwrite", overwriteSchema=True)
    assert columns_of(table_path) == ["id", "s.x"]
    clustered(spark, table_path, ["k"], mode="overwrite", overwriteSchema=True)
    assert columns_of(table_path) == ["k"]
    bayou.write(spark.range(3), table_path, mode="overwrite", overwriteSchema=True)
    assert logical_clustering(bayou.open(table_path).snapshot()) == ()
    assert bayou.read(spark, table_path).count() == 3


def test_an_overwrite_of_the_schema_does_not_partition_a_clustered_table(spark, table_path):
    clustered(spark, table_path)
    refused(
        lambda: bayou.write(spark.sql(ROWS), table_path, mode="overwrite", overwriteSchema=True, partition_by=["k"]),
        "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE",
    )
    assert bayou.open(table_path).version() == 0


def test_a_replaced_table_gets_the_new_columns_or_none(spark, table_path):
    clustered(spark, table_path)
    builder(spark, table_path, "replace").clusterBy("k").execute()
    assert columns_of(table_path) == ["k"]
    assert last(table_path) == ("REPLACE TABLE", ["k"])
    refused(
        builder(spark, table_path, "createOrReplace").partitionedBy("k").execute,
        "DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE",
    )
    builder(spark, table_path, "createOrReplace").execute()
    assert logical_clustering(bayou.open(table_path).snapshot()) == ()


def test_a_partitioned_table_can_be_replaced_by_a_clustered_one(spark, table_path):
    bayou.write(spark.sql(ROWS), table_path, partition_by=["k"])
    builder(spark, table_path, "replace").clusterBy("k").execute()
    assert (columns_of(table_path), bayou.open(table_path).snapshot().partition_columns) == (["k"], ())


def test_a_name_goes_to_a_table_with_the_columns_that_are_described(spark, table_path, name):
    clustered(spark, table_path)
    described = DeltaTable.createIfNotExists(spark).tableName(name).location(table_path)
    refused(described.clusterBy("k").execute, "DELTA_CREATE_TABLE_WITH_DIFFERENT_CLUSTERING", SchemaMismatchError)
    described.clusterBy("id", "s.x").execute()
    assert spark.table(name).count() == 1


def test_cluster_by_alters_a_table_and_makes_it_a_clustered_one(spark, table_path):
    bayou.write(spark.sql(ROWS), table_path)
    table = DeltaTable.forPath(spark, table_path)
    table.clusterBy()
    assert bayou.open(table_path).version() == 0
    table.clusterBy("id", ["s", "x"])
    assert columns_of(table_path) == ["id", "s.x"]
    entry = bayou.open(table_path).history(limit=1)[0]
    assert entry.operation == "CLUSTER BY"
    assert dict(entry.operation_parameters) == {"oldClusteringColumns": "", "newClusteringColumns": "id,s.x"}
    table.clusterBy("ID", "s.X")
    assert bayou.open(table_path).version() == 1
    table.clusterBy()
    assert logical_clustering(bayou.open(table_path).snapshot()) == ()
    assert bayou.open(table_path).history(limit=1)[0].operation_parameters["oldClusteringColumns"] == "id,s.x"


def test_cluster_by_is_refused_for_a_partitioned_table(spark, table_path):
    bayou.write(spark.sql(ROWS), table_path, partition_by=["k"])
    table = DeltaTable.forPath(spark, table_path)
    refused(lambda: table.clusterBy("id"), "DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED")
    assert bayou.open(table_path).version() == 0


def test_a_clustering_column_can_be_renamed_and_not_dropped(spark, table_path):
    clustered(spark, table_path, **{"delta.columnMapping.mode": "name"})
    domain = bayou.open(table_path).snapshot().domain_metadata
    table = DeltaTable.forPath(spark, table_path)
    table.renameColumn("s.x", "z")
    table.renameColumn("id", "a b")
    assert bayou.open(table_path).snapshot().domain_metadata == domain
    assert table.detail().first().clusteringColumns == ["`a b`", "s.z"]
    for column in ("s.z", "s"):
        refused(lambda column=column: table.dropColumns(column), "DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN")
    table.dropColumns("s.y", "k")
    assert bayou.read(spark, table_path).columns == ["a b", "s"]


def test_statistics_of_clustering_columns_cannot_be_turned_off(spark, table_path):
    clustered(spark, table_path)
    table = DeltaTable.forPath(spark, table_path)
    for properties in ({"delta.dataSkippingStatsColumns": "id,k"}, {"delta.dataSkippingNumIndexedCols": "1"}):
        refused(lambda given=properties: table.setProperties(given), "DELTA_CLUSTERING_COLUMN_MISSING_STATS")
    table.setProperties({"delta.dataSkippingStatsColumns": "s.x,id"})
    with pytest.raises(DeltaError):
        table.setProperties({"delta.dataSkippingStatsColumns": "s.x"})
    assert bayou.open(table_path).version() == 1
