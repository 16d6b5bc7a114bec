# SPDX-License-Identifier: Apache-2.0
"""Column mapping is dropped: files are written again under the table's own column names."""

from __future__ import annotations

import json

import pytest
from tests.spark.alter.rewritten_tables import data_files, footers, history, ids_of, made, rows
from tests.support.tables.altered import state

from bayou import DeltaTable
from bayou.errors import ConcurrentModificationError, DeltaError, InvalidSchemaError
from bayou.spark.maintenance import rewrite


@pytest.mark.smoke
@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping_is_dropped_with_the_files_under_the_tables_names(spark, table_path, mode):
    structs = "named_struct('x', id, 'y', cast(id as string)) s, array(named_struct('z', id)) a"
    query = f"select id, {structs}, concat('p', id % 2) p from range(6)"
    columns = ("id bigint", "s struct<x: bigint, y: string>", "a array<struct<z: bigint>>", "p string")
    table = made(spark, table_path, *columns, query=query, partition_by=("p",), columnMapping_mode=mode)
    table.renameColumn("s.x", "first")
    table.renameColumn("p", "part")
    before = rows(table)
    table.dropFeatureSupport("columnMapping")
    found = state(table)
    assert rows(table) == before
    assert found.protocol.min_reader_version == 1
    assert not {key for key in found.properties if key.startswith("delta.columnMapping")}
    assert all("col-" not in str(schema) for schema in footers(table))
    assert {name for schema in footers(table) for name in schema.names} == {"id", "s", "a"}
    assert {"first", "y"} == {field.name for schema in footers(table) for field in schema.field("s").type}
    assert [dict(pairs) for pairs in found.files(["partition_values"])["partition_values"].to_pylist()].count({"part": "p0"}) == 1
    row = next(row for row in table.history().collect() if row.operation == "REMOVE COLUMN MAPPING")
    assert int(row.operationMetrics["numRewrittenFiles"]) == 2
    assert int(row.operationMetrics["numCopiedRows"]) == 6
    minimum = min(json.loads(text)["minValues"]["s"]["first"] for text in found.files(["stats"])["stats"].to_pylist())
    assert minimum == 0
    assert table.toDF().where("part = 'p1' and s.first > 3").count() == 1


def test_a_mapped_table_without_files_loses_it_too(spark, table_path):
    table = (
        DeltaTable.create(spark).location(table_path).property("delta.columnMapping.mode", "name").addColumn("a", "int").execute()
    )
    table.unsetProperties("delta.columnMapping.mode")
    assert state(table).schema.field("a").metadata == {}
    spark.sql("select 1 a").write.format("delta").mode("append").save(table_path)
    assert [schema.names for schema in footers(table)] == [["a"]]


def test_dropped_columns_are_not_seen_again_after_column_mapping(spark, table_path):
    table = made(spark, table_path, "a int", "b int", query="select 1 a, 2 b")
    table.setProperties({"delta.columnMapping.mode": "name"})
    table.dropColumns("b")
    table.setProperties({"delta.columnMapping.mode": "none"})
    assert history(table, 1) == ["REMOVE COLUMN MAPPING"]
    table.addColumns("b int")
    assert rows(table) == [(1, None)]
    assert [schema.names for schema in footers(table)] == [["a"]]


def test_clustering_columns_are_noted_by_the_tables_names_after_column_mapping(spark, table_path):
    builder = DeltaTable.create(spark).location(table_path).property("delta.columnMapping.mode", "name").clusterBy("v")
    table = builder.addColumn("id", "bigint").addColumn("v", "int").execute()
    spark.sql("select 1L id, 2 v").write.format("delta").mode("append").save(table_path)
    table.dropFeatureSupport("columnMapping")
    assert table.detail().first().clusteringColumns == ["v"]
    assert json.loads(state(table).domain_metadata["delta.clustering"].configuration)["clusteringColumns"] == [["v"]]


def test_column_mapping_deletion_vectors_and_row_ids_together(spark, table_path):
    options = {"enableDeletionVectors": "true", "enableRowTracking": "true", "columnMapping_mode": "name"}
    table = made(spark, table_path, "id bigint", "n string", query="select id, 'x' n from range(8)", **options)
    before = ids_of(spark, table)
    table.delete("id > 5")
    table.dropFeatureSupport("columnMapping")
    assert ids_of(spark, table) == {key: value for key, value in before.items() if key <= 5}
    assert rows(table) == [(i, "x") for i in range(6)]
    assert state(table).files(["deletion_vector"])["deletion_vector"].null_count == state(table).num_files


def test_column_mapping_goes_beside_other_properties(spark, table_path):
    table = made(spark, table_path, "a int", "b int", query="select 1 a, 2 b", columnMapping_mode="name")
    table.setProperties({"delta.columnMapping.mode": "none", "mine": "1"})
    assert history(table, 2) == ["SET TBLPROPERTIES", "REMOVE COLUMN MAPPING"]
    assert state(table).properties == {"delta.columnMapping.mode": "none", "mine": "1"}
    table.setProperties({"delta.columnMapping.mode": "name"})
    table.unsetProperties("mine", "delta.columnMapping.mode")
    assert state(table).properties == {}
    assert rows(table) == [(1, 2)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"logRetentionDuration": "interval 30 days", "deletedFileRetentionDuration": "interval 60 days"},
        {"dataSkippingStatsColumns": "nosuch"},
        {"nobody": "1"},
    ],
)
def test_column_mapping_stays_where_the_other_properties_are_wrong(spark, table_path, wrong):
    table = made(spark, table_path, "a int", query="select 1 a", columnMapping_mode="name")
    table.setProperties(
        {"delta.logRetentionDuration": "interval 90 days", "delta.deletedFileRetentionDuration": "interval 60 days"}
    )
    before = state(table)
    with pytest.raises(DeltaError):
        table.setProperties({"delta.columnMapping.mode": "none", **{f"delta.{key}": value for key, value in wrong.items()}})
    with pytest.raises(DeltaError):
        table.unsetProperties("delta.columnMapping.mode", "delta.logRetentionDuration")
    assert state(table).version == before.version
    table.setProperties({"delta.columnMapping.mode": "none", "delta.deletedFileRetentionDuration": "interval 80 days"})
    assert state(table).properties["delta.deletedFileRetentionDuration"] == "interval 80 days"


def test_appends_exclude_the_removal_of_column_mapping(spark, table_path, monkeypatch):
    table = made(spark, table_path, "id bigint", query="select id from range(3)", columnMapping_mode="name")
    write = rewrite.write_new_files

    def late(*arguments, **more):
        spark.sql("select 9L id").write.format("delta").mode("append").save(table_path)
        return write(*arguments, **more)

    monkeypatch.setattr(rewrite, "write_new_files", late)
    with pytest.raises(ConcurrentModificationError):
        table.setProperties({"delta.columnMapping.mode": "none"})
    assert rows(table) == [(0,), (1,), (2,), (9,)]
    assert state(table).properties["delta.columnMapping.mode"] == "name"


def test_names_that_need_column_mapping_keep_it(spark, table_path):
    table = made(spark, table_path, "id bigint", query="select id from range(3)", columnMapping_mode="name")
    table.renameColumn("id", "the id")
    before = data_files(table)
    with pytest.raises(InvalidSchemaError):
        table.dropFeatureSupport("columnMapping")
    assert data_files(table) == before
