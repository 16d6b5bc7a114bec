# SPDX-License-Identifier: Apache-2.0
"""Row changes that were planned before an OPTIMIZE and are committed after it: vectors follow their rows, others run again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.observing import jobs, parquet_files, tracked

import bayou
from bayou import DeltaTable
from bayou.errors import ConcurrentModificationError
from bayou.log.rows.deleted_rows import live_files
from bayou.spark.dml.core import commit as module
from bayou.spark.maintenance.written_bins import WrittenBins
from bayou.spark.write import writer

VECTORS = {"delta.enableDeletionVectors": "true"}
KINDS = {
    "vectors": VECTORS,
    "row ids": {**VECTORS, "delta.enableRowTracking": "true"},
    "feed": {**VECTORS, "delta.enableChangeDataFeed": "true"},
    "rewriting": {"delta.enableDeletionVectors": "false"},
}


@pytest.fixture(params=KINDS)
def table(request, spark, table_path):
    """Four files of ten rows, of which some are deleted already."""
    for number in range(4):
        writer = spark.range(10 * number, 10 * number + 10, 1, 1).selectExpr("id", "id % 2 as p").write.format("delta")
        writer.mode("append").options(**KINDS[request.param]).save(table_path)
    made = DeltaTable.forPath(spark, table_path)
    made.delete("id in (0, 12, 13, 39)")
    return made


LEFT = {number: number % 2 for number in range(40) if number not in {0, 12, 13, 39}}


def deleted(table, spark):
    rows = {key: value for key, value in LEFT.items() if key not in {1, 14, 15, 38}}
    return table.plan_delete("id in (1, 14, 15, 38)"), rows


def updated(table, spark):
    rows = {key: 7 if key in {5, 11, 20} else value for key, value in LEFT.items()}
    return table.plan_update("id in (5, 11, 20)", {"p": "7"}), rows


def merged(table, spark):
    source = spark.createDataFrame([(3, 8), (14, 8), (25, -1), (100, 8)], "id long, p long")
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedDelete("s.p < 0")
    rows = {key: 8 if key in {3, 14} else value for key, value in LEFT.items() if key != 25}
    return merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().plan(), {**rows, 100: 8}


def inserted(table, spark):
    source = spark.createDataFrame([(3, 8), (0, 8), (100, 8)], "id long, p long")
    return table.alias("t").merge(source.alias("s"), "t.id = s.id").whenNotMatchedInsertAll().plan(), {**LEFT, 0: 8, 100: 8}


def rows(spark, path):
    found = [(row.id, row.p) for row in spark.read.format("delta").load(path).collect()]
    assert len(dict(found)) == len(found)
    return dict(found)


@pytest.fixture
def is_rewriting(table):
    return bayou.open(table._path).snapshot().properties["delta.enableDeletionVectors"] == "false"


@pytest.mark.parametrize("change", [deleted, updated, merged, inserted])
def test_a_row_change_follows_its_rows_or_runs_again(spark, table_path, table, change, is_rewriting):
    ids = tracked(table_path) if "delta.enableRowTracking" in bayou.open(table_path).snapshot().properties else None
    planned, wanted = change(table, spark)
    optimised = table.optimize().executeCompaction().select("metrics.numFilesRemoved").first()[0]
    assert optimised >= 2
    result = planned.execute()
    assert result.num_retries == (1 if is_rewriting and change is not inserted else 0)
    assert rows(spark, table_path) == wanted
    if ids is not None:
        now = {key: found[0] for key, found in tracked(table_path).items()}
        assert {key: now[key] for key in ids.keys() & wanted} == {key: ids[key][0] for key in ids.keys() & wanted}
    snapshot = bayou.open(table_path).snapshot()
    named = {*snapshot.files(["path"])["path"].to_pylist(), *snapshot.tombstones()["path"].to_pylist()}
    assert {each for each in parquet_files(table_path) if not each.startswith("_")} <= named


@pytest.mark.parametrize("table", ["vectors", "feed"], indirect=True)
@pytest.mark.parametrize("change", [deleted, updated, merged])
def test_after_a_compaction_that_says_nothing_a_row_change_runs_again(spark, table_path, table, change, monkeypatch):
    monkeypatch.setattr(WrittenBins, "old_with_moves", lambda bins: bins.old)
    planned, wanted = change(table, spark)
    table.optimize().executeCompaction()
    assert planned.execute().num_retries == 1
    assert rows(spark, table_path) == wanted


@pytest.mark.parametrize("table", ["vectors"], indirect=True)
def test_a_feed_tells_each_change_once(spark, table_path, table):
    bayou_table = DeltaTable.forPath(spark, table_path)
    bayou_table.setProperties({"delta.enableChangeDataFeed": "true"})
    first = bayou.open(table_path).version() + 1
    planned, _ = merged(bayou_table, spark)
    bayou_table.optimize().executeCompaction()
    planned.execute()
    found = sorted((row["_change_type"], row["id"]) for row in bayou_table.changes(first).select("_change_type", "id").collect())
    assert found == [
        ("delete", 25),
        ("insert", 100),
        ("update_postimage", 3),
        ("update_postimage", 14),
        ("update_preimage", 3),
        ("update_preimage", 14),
    ]


@pytest.mark.parametrize("table", ["vectors"], indirect=True)
def test_to_follow_rows_runs_no_job(spark, table_path, table):
    planned = table.plan_delete("id in (1, 14)")
    table.optimize().executeCompaction()
    with jobs(spark) as followed:
        planned.execute()
    with jobs(spark) as plain:
        table.delete("id in (2, 16)")
    assert followed.value == plain.value


@pytest.mark.parametrize("table", ["rewriting"], indirect=True)
def test_after_three_reruns_the_conflict_is_raised(spark, table_path, table, monkeypatch):
    commit, tries = module._commit, []

    def after_others(*given):
        tries.append(1)
        log = bayou.open(table_path)
        with log.transaction("MOVE") as transaction:
            files = transaction.files()
            transaction.remove_files(files, data_change=False)
            moved = [replace(each, path=f"{len(tries)}-{each.path}", data_change=False) for each in live_files(files)]
            for old, new in zip(files["path"].to_pylist(), moved, strict=True):
                shutil.copyfile(Path(table_path, old), Path(table_path, new.path))
            transaction.commit(moved)
        return commit(*given)

    monkeypatch.setattr(module, "_commit", after_others)
    with pytest.raises(ConcurrentModificationError):
        table.delete("id in (1, 14)")
    assert len(tries) == 4
    assert rows(spark, table_path) == LEFT


@pytest.mark.parametrize("table", ["vectors"], indirect=True)
def test_a_commit_that_changed_the_same_rows_is_a_conflict_also_behind_an_optimize(spark, table_path, table):
    planned = table.plan_delete("id in (1, 14)")
    table.optimize().executeCompaction()
    table.delete("id = 14")
    with pytest.raises(ConcurrentModificationError) as caught:
        planned.execute()
    assert caught.value.conflicting_operation == "DELETE"


@pytest.mark.parametrize("table", ["vectors", "rewriting"], indirect=True)
def test_an_append_of_rows_that_were_read_goes_on_top_of_a_compaction(spark, table_path, table, monkeypatch):
    compactions = _compacted_before_commit(table, monkeypatch)
    read = spark.read.format("delta").load(table_path).where("id < 5").selectExpr("id + 1000 as id", "p")
    result = bayou.write(read, table_path, mode="append")
    assert (result.num_retries, compactions) == (0, [])
    assert rows(spark, table_path) == {**LEFT, **{key + 1000: value for key, value in LEFT.items() if key < 5}}


def _compacted_before_commit(table, monkeypatch):
    """The table's compactions to come, of which a write runs all before its next commit."""
    commit, compactions = writer._commit, [table.optimize()]

    def after_compaction(*given):
        while compactions:
            compactions.pop().executeCompaction()
        return commit(*given)

    monkeypatch.setattr(writer, "_commit", after_compaction)
    return compactions


@pytest.mark.parametrize("table", ["vectors", "rewriting"], indirect=True)
@pytest.mark.parametrize("options", [{}, {"replaceWhere": "id < 25"}], ids=["all", "replaceWhere"])
def test_an_overwrite_of_moved_rows_runs_again(spark, table_path, table, options, monkeypatch, is_rewriting):
    _compacted_before_commit(table, monkeypatch)
    new = spark.createDataFrame([(1, 9), (2, 9)], "id long, p long")
    result = bayou.write(new, table_path, mode="overwrite", **options)
    assert result.num_retries == (1 if is_rewriting or not options else 0)  # vectors of `replaceWhere` follow the rows
    kept = {key: value for key, value in LEFT.items() if options and key >= 25}
    assert rows(spark, table_path) == {**kept, 1: 9, 2: 9}
