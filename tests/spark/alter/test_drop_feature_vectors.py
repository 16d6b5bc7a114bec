# SPDX-License-Identifier: Apache-2.0
"""Deletion vectors are dropped: files are written again without the rows that they delete."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from tests.spark.alter.rewritten_tables import data_files, folder, history, ids_of, made, rows
from tests.support.tables.altered import state
from tests.support.tables.built import file_of, without_rows

import bayou
from bayou import DeltaTable
from bayou.errors import ConcurrentModificationError
from bayou.protocol.actions import paths
from bayou.protocol.actions.actions import Protocol
from bayou.spark.maintenance import rewrite
from bayou.testing.table_builder import TableBuilder


def commit(table, version):
    """The actions of a version but for its commit info, and that."""
    lines = [json.loads(line) for line in (folder(table) / f"_delta_log/{version:020}.json").read_text().splitlines()]
    info = next(line["commitInfo"] for line in lines if "commitInfo" in line)
    return [line for line in lines if "commitInfo" not in line], info


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
    write = rewrite.write_new_files

    def late(*arguments, **more):
        written = write(*arguments, **more)
        table.delete("id = 2")
        return written

    monkeypatch.setattr(rewrite, "write_new_files", late)
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
    write = rewrite.write_new_files

    def late(*arguments, **more):
        spark.sql("select 9L id").write.format("delta").mode("append").save(table_path)
        return write(*arguments, **more)

    monkeypatch.setattr(rewrite, "write_new_files", late)
    table.dropFeatureSupport("deletionVectors")
    assert rows(table) == [(0,), (2,), (3,), (4,), (9,)]
