# SPDX-License-Identifier: Apache-2.0
"""Features whose traces are in data files are dropped: the files are written again, with the same rows and the same row ids."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.tables import file_of, without_rows

import bayou
from bayou import DeltaTable
from bayou.errors import ConcurrentModificationError, DeltaError, InvalidSchemaError
from bayou.protocol import paths
from bayou.protocol.actions import Protocol
from bayou.spark import rewritten_files
from bayou.testing.table_builder import TableBuilder


def state(table):
    return bayou.open(table._path).snapshot()


def rows(table):
    return sorted(map(tuple, table.toDF().collect()), key=str)


def history(table, limit=None):
    return [row.operation for row in table.history(limit).collect()]


def folder(table):
    return Path(table._path.removeprefix("file:"))


def footers(table):
    """The columns of the table's files, as they are in the files."""
    return [pq.read_schema(folder(table) / paths.decode(path)) for path in state(table).files(["path"])["path"].to_pylist()]


def data_files(table):
    return {str(file) for file in folder(table).rglob("*.parquet") if "_delta_log" not in file.parts}


def commit(table, version):
    """The actions of a version but for its commit info, and that."""
    lines = [json.loads(line) for line in (folder(table) / f"_delta_log/{version:020}.json").read_text().splitlines()]
    info = next(line["commitInfo"] for line in lines if "commitInfo" in line)
    return [line for line in lines if "commitInfo" not in line], info


def ids_of(spark, table):
    """The row ids of the table's rows by their first column, out of its files."""
    found = state(table)
    name = found.properties["delta.rowTracking.materializedRowIdColumnName"]
    ids = {}
    for add in found.files(["path", "base_row_id"]).to_pylist():
        file = pq.ParquetFile(folder(table) / paths.decode(add["path"])).read()
        key = file.column_names[0]
        kept = file[name].to_pylist() if name in file.column_names else [None] * len(file)
        for place, (value, row_id) in enumerate(zip(file[key].to_pylist(), kept, strict=True)):
            ids[value] = add["base_row_id"] + place if row_id is None else row_id
    return ids


def made(spark, path, *columns, query, partition_by=(), **properties):
    builder = DeltaTable.create(spark).location(path).partitionedBy(*partition_by)
    for column in columns:
        builder.addColumn(*column.split(" ", 1))
    for key, value in properties.items():
        builder.property(f"delta.{key.replace('_', '.')}", value)
    table = builder.execute()
    spark.sql(query).repartition(1).write.format("delta").mode("append").save(path)
    return table


@pytest.mark.smoke
@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_deletion_vectors_are_dropped_with_the_rows_that_they_delete(spark, table_path, partition_by):
    query = "select id, id % 2 p from range(20)"
    table = made(spark, table_path, "id bigint", "p bigint", query=query, partition_by=partition_by, enableDeletionVectors="true")
    spark.sql("select 100L id, 0L p").write.format("delta").mode("append").save(table_path)
    table.delete("id < 4")
    untouched = [
        file["path"] for file in state(table).files(["path", "deletion_vector"]).to_pylist() if not file["deletion_vector"]
    ]
    before = rows(table)
    table.dropFeatureSupport("deletionVectors")
    assert rows(table) == before
    found = state(table)
    assert "deletionVectors" not in found.protocol.writer_features
    assert found.files(["deletion_vector"])["deletion_vector"].null_count == found.num_files
    assert set(untouched) < set(found.files(["path"])["path"].to_pylist())
    assert history(table, 7) == [
        "DROP FEATURE",
        *["Empty Commit"] * 3,
        "Deletion Vector Tombstones",
        "REORG",
        "UNSET TBLPROPERTIES",
    ]
    row = table.history(6).collect()[-1]
    assert row.operationParameters == {"predicate": "[]", "applyPurge": "true"}
    files = len(partition_by) + 1
    assert {
        name: int(row.operationMetrics[name]) for name in ("numAddedFiles", "numRemovedFiles", "numDeletionVectorsRemoved")
    } == {
        "numAddedFiles": files,
        "numRemovedFiles": files,
        "numDeletionVectorsRemoved": files,
    }
    actions, info = commit(table, row.version)
    assert {next(iter(action.values()))["dataChange"] for action in actions} == {False}
    assert info["isBlindAppend"] is False
    assert json.loads(next(a["add"]["stats"] for a in actions if "add" in a))["numRecords"] == 16 // files
    spark.sql("select 101L id, 1L p").write.format("delta").mode("append").save(table_path)
    assert set(rows(table)) == {*before, (101, 1)}


def test_a_file_all_of_whose_rows_are_deleted_goes(spark, table_path):
    vectors = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    stats = {"numRecords": 2, "tightBounds": False}
    gone = file_of(table_path, "a.parquet", {"id": pa.array([1, 2], pa.int64())}, stats=stats, **without_rows([0, 1]))
    part = file_of(table_path, "b.parquet", {"id": pa.array([3, 4], pa.int64())}, stats=stats, **without_rows([0]))
    TableBuilder(table_path).create(protocol=vectors).commit(gone)
    table = DeltaTable.forPath(spark, table_path)
    table.dropFeatureSupport("deletionVectors")
    assert (state(table).num_files, rows(table)) == (0, [])
    other = f"{table_path}2"
    TableBuilder(other).create(protocol=vectors).commit(gone, part)
    for name in ("a.parquet", "b.parquet"):
        Path(other, name).write_bytes(Path(table_path, name).read_bytes())
    table = DeltaTable.forPath(spark, other)
    table.dropFeatureSupport("deletionVectors")
    assert (state(table).num_files, rows(table)) == (1, [(4,)])


def test_purging_keeps_row_ids_and_versions(spark, table_path):
    options = {"enableDeletionVectors": "true", "enableRowTracking": "true"}
    table = made(spark, table_path, "id bigint", query="select id from range(10)", **options)
    before = ids_of(spark, table)
    table.delete("id in (0, 5)")
    table.dropFeatureSupport("deletionVectors")
    assert ids_of(spark, table) == {key: value for key, value in before.items() if key not in (0, 5)}
    assert state(table).files(["default_row_commit_version"])["default_row_commit_version"].null_count == 0
    tags = [entry.raw["tags"] for entry in bayou.open(table_path).history() if entry.operation == "REORG"]
    assert [each["delta.rowTracking.preserved"] for each in tags] == ["true"]


def test_a_change_data_feed_tells_of_no_row_that_is_written_again(spark, table_path):
    options = {"enableDeletionVectors": "true", "enableChangeDataFeed": "true"}
    table = made(spark, table_path, "id bigint", query="select id from range(3)", **options)
    table.delete("id = 1")
    version = state(table).version
    table.dropFeatureSupport("deletionVectors")
    assert bayou.read(spark, table_path, readChangeFeed="true", startingVersion=version + 1).count() == 0


def test_another_writer_wins_over_a_purge_and_nothing_is_left_of_it(spark, table_path, monkeypatch):
    table = made(spark, table_path, "id bigint", query="select id from range(5)", enableDeletionVectors="true")
    table.delete("id = 1")
    write = rewritten_files.write_new_files

    def late(*arguments, **more):
        written = write(*arguments, **more)
        table.delete("id = 2")
        return written

    monkeypatch.setattr(rewritten_files, "write_new_files", late)
    with pytest.raises(ConcurrentModificationError):
        table.dropFeatureSupport("deletionVectors")
    known = {
        str(Path(table_path, paths.decode(path))) for path in bayou.open(table_path).snapshot(1).files(["path"])["path"].to_pylist()
    }
    now = {str(Path(table_path, paths.decode(path))) for path in state(table).files(["path"])["path"].to_pylist()}
    assert data_files(table) == known | now
    assert rows(table) == [(0,), (3,), (4,)]
    monkeypatch.undo()
    table.dropFeatureSupport("deletionVectors")
    assert rows(table) == [(0,), (3,), (4,)]


@pytest.mark.parametrize("broken", ["missing", "corrupt"])
def test_a_file_that_cannot_be_read_stays_whatever_the_session_passes_over(spark, table_path, broken):
    table = made(spark, table_path, "id bigint", query="select id from range(5)", enableDeletionVectors="true")
    table.delete("id = 1")
    (file,) = data_files(table)
    Path(file).write_bytes(b"PAR1") if broken == "corrupt" else Path(file).unlink()
    settings = ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles")
    for setting in settings:
        spark.conf.set(setting, "true")
    try:
        with pytest.raises(Exception, match=r"(?i)parquet"):
            table.dropFeatureSupport("deletionVectors")
    finally:
        for setting in settings:
            spark.conf.unset(setting)
    assert state(table).num_files == 1
    assert "REORG" not in history(table)


def test_rows_that_another_writer_appends_stay_beside_a_purge(spark, table_path, monkeypatch):
    table = made(spark, table_path, "id bigint", query="select id from range(5)", enableDeletionVectors="true")
    table.delete("id = 1")
    write = rewritten_files.write_new_files

    def late(*arguments, **more):
        spark.sql("select 9L id").write.format("delta").mode("append").save(table_path)
        return write(*arguments, **more)

    monkeypatch.setattr(rewritten_files, "write_new_files", late)
    table.dropFeatureSupport("deletionVectors")
    assert rows(table) == [(0,), (2,), (3,), (4,), (9,)]


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
    write = rewritten_files.write_new_files

    def late(*arguments, **more):
        spark.sql("select 9L id").write.format("delta").mode("append").save(table_path)
        return write(*arguments, **more)

    monkeypatch.setattr(rewritten_files, "write_new_files", late)
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


@pytest.mark.smoke
def test_type_widening_is_dropped_with_the_files_of_narrower_types(spark, table_path):
    query = "select cast(id as int) a, named_struct('x', cast(id as short)) s, array(cast(id as float)) f from range(4)"
    columns = ("a int", "s struct<x: smallint>", "f array<float>")
    table = made(spark, table_path, *columns, query=query, enableTypeWidening="true")
    for path, kind in (("a", "bigint"), ("s.x", "int"), ("f.element", "double")):
        table.changeColumn(path, dataType=kind)
    spark.sql("select 5000000000L a, named_struct('x', 100000) s, array(0.5D) f").write.format("delta").mode("append").save(
        table_path
    )
    before, wide = rows(table), set(state(table).files(["path"])["path"].to_pylist())
    table.dropFeatureSupport("typeWidening")
    found = state(table)
    assert rows(table) == before
    assert "typeWidening" not in found.protocol.writer_features
    assert "typeChanges" not in found.metadata.schema_string
    assert len({str(schema.remove_metadata()).replace(" not null", "") for schema in footers(table)}) == 1
    assert len(wide & set(found.files(["path"])["path"].to_pylist())) == 1
    assert history(table, 7) == ["DROP FEATURE", *["Empty Commit"] * 3, "DROP FEATURE", "REORG", "UNSET TBLPROPERTIES"]
    row = table.history(6).collect()[-1]
    assert (row.operationMetrics["numRemovedFiles"], row.operationMetrics["numDeletionVectorsRemoved"]) == ("1", "0")


def test_widened_types_without_narrower_files_need_no_file_written(spark, table_path):
    table = made(spark, table_path, "a int", "p int", query="select 1 a, 1 p", partition_by=("p",), enableTypeWidening="true")
    table.changeColumn("p", dataType="bigint")
    before = data_files(table)
    table.dropFeatureSupport("typeWidening")
    assert data_files(table) == before
    assert "REORG" not in history(table)
    assert rows(table) == [(1, 1)]


def test_decimals_dates_and_mapped_columns_are_written_as_the_table_has_them(spark, table_path):
    columns = ("d decimal(5, 2)", "t date", "i int")
    query = "select cast(1.25 as decimal(5, 2)) d, date'2020-01-02' t, 7 i"
    table = made(
        spark,
        table_path,
        *columns,
        query=query,
        enableTypeWidening="true",
        columnMapping_mode="name",
        feature_timestampNtz="supported",
    )
    for path, kind in (("d", "decimal(10, 3)"), ("t", "timestamp_ntz"), ("i", "decimal(12, 1)")):
        table.changeColumn(path, dataType=kind)
    table.renameColumn("d", "money")
    before = rows(table)
    table.dropFeatureSupport("typeWidening")
    assert rows(table) == before
    (schema,) = footers(table)
    assert sorted(map(str, schema.types)) == ["decimal128(10, 3)", "decimal128(12, 1)", "timestamp[us]"]
