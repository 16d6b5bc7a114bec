# SPDX-License-Identifier: Apache-2.0
"""OPTIMIZE beside other commits: appends do not disturb it, deleted rows stay deleted, and what it cannot move it leaves alone."""

from __future__ import annotations

import random
import threading

import pytest
from tests.support.observing import last, parquet_files, tracked

import bayou
from bayou import DeltaTable
from bayou.spark.maintenance import optimize as module

VECTORS = {"delta.enableDeletionVectors": "true"}


@pytest.fixture
def table(spark, table_path):
    def make(*, files=4, partition_by=(), **properties):
        for number in range(files):
            writer = spark.range(10 * number, 10 * number + 10, 1, 1).selectExpr("id", "id % 2 as p").write.format("delta")
            writer.mode("append").partitionBy(*partition_by).options(**properties).save(table_path)
        return DeltaTable.forPath(spark, table_path)

    return make


@pytest.fixture
def meanwhile(monkeypatch):
    """Does something after OPTIMIZE wrote its files and before it commits them."""

    def install(*acts):
        waiting = list(acts)
        commit = module._commit

        def with_others(*arguments):
            if waiting:
                waiting.pop(0)()
            return commit(*arguments)

        monkeypatch.setattr(module, "_commit", with_others)

    return install


def ids(spark, path):
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())


def outcome(table):
    (row,) = table.optimize().executeCompaction().collect()
    return row.metrics


def unreferenced(path):
    snapshot = bayou.open(path).snapshot()
    named = {*snapshot.files(["path"])["path"].to_pylist(), *snapshot.tombstones()["path"].to_pylist()}
    return parquet_files(path) - named


def append(spark, path):
    spark.range(100, 105).selectExpr("id", "id % 2 as p").write.format("delta").mode("append").save(path)


OTHERS = {
    "append": append,
    "property": lambda spark, path: DeltaTable.forPath(spark, path).setProperties({"delta.checkpointInterval": "7"}),
    "column": lambda spark, path: spark.sql(f"alter table delta.`{path}` add column n int"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_commits_that_leave_its_files_alone_do_not_disturb_it(spark, table_path, table, meanwhile, other):
    made = table()
    meanwhile(lambda: OTHERS[other](spark, table_path))
    found = outcome(made)
    assert (found.numFilesAdded, found.numFilesRemoved) == (1, 4)
    assert ids(spark, table_path) == [*range(40), *([100, 101, 102, 103, 104] if other == "append" else [])]


DELETIONS = [
    (before, later, tracks)
    for before in ("id < 0", "id in (1, 2, 12, 25, 26)", "id % 3 = 0")
    for later in ("id = 11", "id in (0, 3, 9, 10, 38, 39)", "id % 2 = 0", "id < 10", "id >= 0")
    for tracks in (False, True)
]


@pytest.mark.parametrize("deletions", DELETIONS, ids=str)
@pytest.mark.in_turn(3)
def test_rows_that_are_deleted_meanwhile_stay_deleted(spark, table_path, table, meanwhile, deletions):
    before, later, tracks = deletions
    made = table(**VECTORS, **({"delta.enableRowTracking": "true"} if tracks else {}))
    made.delete(before)
    after = []

    def delete():
        made.delete(later)
        after.append((ids(spark, table_path), tracked(table_path) if tracks else None))

    meanwhile(delete)
    outcome(made)
    ((expected, row_ids),) = after
    assert ids(spark, table_path) == expected
    if tracks:
        assert tracked(table_path) == row_ids
    if later not in {"id < 10", "id >= 0"}:  # these remove whole files: the bin is given up
        assert last(table_path).operation == "OPTIMIZE"
        assert bayou.open(table_path).snapshot().num_files == 1
    assert not unreferenced(table_path)


def test_several_commits_meanwhile_are_all_kept(spark, table_path, table, meanwhile):
    made = table(**VECTORS)
    commit = DeltaTable.delete

    def delete_twice():
        commit(made, "id = 11")
        commit(made, "id = 12")
        append(spark, table_path)

    meanwhile(delete_twice)
    outcome(made)
    assert ids(spark, table_path) == [*(set(range(40)) - {11, 12}), 100, 101, 102, 103, 104]
    assert last(table_path).operation == "OPTIMIZE"


def test_rows_that_came_back_meanwhile_are_kept(spark, table_path, table, meanwhile):
    made = table(**VECTORS)
    made.delete("id = 11")
    version = last(table_path).version
    meanwhile(lambda: made.restoreToVersion(version - 1))
    outcome(made)
    assert ids(spark, table_path) == list(range(40))
    assert not unreferenced(table_path)


@pytest.mark.parametrize("properties", [{}, VECTORS], ids=["rewriting", "vectors"])
def test_a_bin_whose_file_is_gone_is_left_out_and_the_others_are_committed(spark, table_path, table, meanwhile, properties):
    made = table(partition_by=("p",), **properties)
    meanwhile(lambda: made.delete("p = 1"))
    found = outcome(made)
    assert (found.numFilesAdded, found.numFilesRemoved) == (1, 4)
    assert ids(spark, table_path) == list(range(0, 40, 2))
    assert not unreferenced(table_path)


def test_where_nothing_is_left_nothing_is_committed(spark, table_path, table, meanwhile):
    made = table()
    meanwhile(lambda: spark.range(3).selectExpr("id", "id as p").write.format("delta").mode("overwrite").save(table_path))
    found = outcome(made)
    assert (found.numFilesAdded, found.numFilesRemoved) == (0, 0)
    assert ids(spark, table_path) == [0, 1, 2]
    assert last(table_path).operation == "WRITE"
    assert not unreferenced(table_path)


def test_two_of_them_compact_each_file_once(spark, table_path, table, meanwhile):
    made = table(**VECTORS)
    meanwhile(lambda: outcome(made))
    found = outcome(made)
    assert (found.numFilesAdded, found.numFilesRemoved) == (0, 0)
    assert ids(spark, table_path) == list(range(40))


@pytest.mark.parametrize("properties", [{}, VECTORS], ids=["rewriting", "vectors"])
def test_no_writer_beside_a_loop_of_it_fails_or_loses_a_row(spark, table_path, table, properties):
    made = table(**properties)
    failures, stop = [], threading.Event()

    def keep_optimizing():
        try:
            while not stop.is_set():
                outcome(DeltaTable.forPath(spark, table_path))
        except Exception as error:  # noqa: BLE001  (reported)
            failures.append(error)

    thread = threading.Thread(target=keep_optimizing)
    thread.start()
    kept = set(range(40))
    drawn = random.Random(7)
    for number in range(8):
        first = 100 + 10 * number
        spark.range(first, first + 10, 1, 1).selectExpr("id", "id % 2 as p").write.format("delta").mode("append").save(table_path)
        kept |= set(range(first, first + 10))
        if properties:
            gone = set(drawn.sample(sorted(kept), 4))
            made.delete(f"id in ({', '.join(map(str, gone))})")
            kept -= gone
    stop.set()
    thread.join(60)
    assert not failures
    assert ids(spark, table_path) == sorted(kept)
