# SPDX-License-Identifier: Apache-2.0
"""DELETE, and other changes of rows, beside other writers: which go on top of which, and that a batch is done once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.observing import data_files, last
from tests.support.operations.statements import settings
from tests.support.tables.queried import FILES, HUNDRED, VECTORS, ids, make_table

import bayou
from bayou.errors import ConcurrentAppendException, ConcurrentModificationError
from bayou.log.conflict.row_rebase import live_files


def test_a_plan_runs_on_its_version_and_a_commit_since_then_may_exclude_it(spark, table_path):
    table = make_table(spark, table_path, HUNDRED, **FILES)
    planned = table.plan_delete("id < 10")
    before = data_files(table_path)
    bayou.write(spark.range(5, 6).selectExpr("id", "0L p", "id v"), table_path, mode="append")
    appended = data_files(table_path)
    with pytest.raises(ConcurrentAppendException):
        planned.execute()
    assert len(appended) == len(before) + 1
    assert data_files(table_path) == appended  # the files that were written for it are deleted again


def test_with_vectors_two_deletes_of_other_rows_of_one_file_both_succeed(spark, table_path):
    table = make_table(spark, table_path, "select id from range(0, 100, 1, 1)", **VECTORS)
    first, second, third = (table.plan_delete(each) for each in ("id < 10", "id >= 90", "id < 20 and id > 5"))
    first.execute()
    assert second.execute().num_affected_rows == 10
    assert ids(spark, table_path) == list(range(10, 90))
    with pytest.raises(ConcurrentModificationError):
        third.execute()
    assert ids(spark, table_path) == list(range(10, 90))


def statement(table, kind, condition):
    if kind == "DELETE":
        return table.plan_delete(condition)
    if kind == "UPDATE":
        return table.plan_update(condition, {"v": "0"})
    source = table.toDF().sparkSession.range(10)
    return table.alias("t").merge(source.alias("s"), f"t.id = s.id and t.{condition}").whenMatchedDelete().plan()


@pytest.mark.parametrize("kind", ["DELETE", "UPDATE", "MERGE"])
def test_the_metrics_of_a_change_on_top_of_another_are_those_of_the_history(spark, table_path, kind):
    table = make_table(spark, table_path, "select id, id v from range(0, 10, 1, 1)", **VECTORS)
    first, second = (statement(table, kind, each) for each in ("id < 5", "id >= 5"))
    first.execute()
    result = second.execute()
    assert result.metrics["numTargetFilesRemoved" if kind == "MERGE" else "numRemovedFiles"] == 1
    assert {name: str(value) for name, value in result.metrics.items()} == last(table_path).operation_metrics
    assert result.num_affected_rows == 5


def brings_back(path, version):
    """The files of a version take the place of those that are there."""
    log = bayou.open(path)
    files = live_files(log.snapshot(version).files())
    with log.transaction("RESTORE") as restore:
        restore.remove_files(restore.files())
        restore.commit(files)


@pytest.mark.parametrize("kind", ["DELETE", "UPDATE", "MERGE"])
def test_with_vectors_rows_that_others_brought_back_exclude_a_change_of_these_alone(spark, table_path, kind):
    table = make_table(spark, table_path, "select id, id v from range(0, 10, 1, 1)", **VECTORS)
    table.delete("id < 3")
    beside, among = (statement(table, kind, each) for each in ("id >= 7", "id % 2 = 0"))
    brings_back(table_path, 0)
    with pytest.raises(ConcurrentAppendException):
        among.execute()
    assert beside.execute().num_affected_rows == 3
    assert {0, 1, 2} <= set(ids(spark, table_path))


def test_with_vectors_an_append_of_other_rows_is_no_conflict(spark, table_path):
    table = make_table(spark, table_path, "select id, id % 7 v from range(0, 100, 1, 1)", **VECTORS)
    first, second = (table.plan_delete("v = 3") for _ in range(2))
    bayou.write(spark.sql("select 1000 + id id, id * 2 v from range(0, 3, 1, 1)"), table_path, mode="append")
    first.execute()
    bayou.write(spark.sql("select 2000 + id id, id * 3 v from range(0, 3, 1, 1)"), table_path, mode="append")
    with pytest.raises(ConcurrentModificationError):
        second.execute()
    assert ids(spark, table_path)[-4:] == [1002, 2000, 2001, 2002]


def test_a_replay_is_no_second_delete(spark, table_path):
    table = make_table(spark, table_path, HUNDRED, **FILES)
    first = table.delete("id < 10", txn=("nightly", 7))
    bayou.write(spark.range(5).selectExpr("id", "0L p", "id v"), table_path, mode="append")
    second = table.delete("id < 10", txn=("nightly", 7))
    assert (first.committed, second.committed, second.reason) == (True, False, "replayed")
    assert ids(spark, table_path)[:5] == [0, 1, 2, 3, 4]


def test_rows_that_others_add_and_a_condition_fails_on_are_a_conflict_that_says_so(spark, table_path):
    make_table(spark, table_path, "select id, cast(id as string) s from range(0, 10, 1, 1)", **VECTORS)
    table = bayou.DeltaTable.forPath(spark, table_path)
    new = spark.sql("select 3 n").alias("n")
    with settings(spark, {"spark.sql.ansi.enabled": "true"}):
        plans = [
            table.plan_delete("cast(s as int) = 3"),
            table.plan_update("cast(s as int) = 3", {"id": "0"}),
            table.alias("t").merge(new, "cast(t.s as int) = n.n").whenMatchedDelete().plan(),
        ]
        bayou.write(spark.sql("select 3L id, 'x' s"), table_path, mode="append")
        for plan in plans:
            with pytest.raises(ConcurrentAppendException, match="CAST_INVALID_INPUT") as caught:
                plan.execute()
            assert caught.value.conflicting_version == 1
    live = bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist()
    assert data_files(table_path) == {str(Path(table_path, each)) for each in live}
    assert bayou.open(table_path).version() == 1


def test_a_batch_without_a_match_is_noted_and_not_done_later(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, **way)
    first = table.delete("id = 1000", txn=("nightly", 1))
    table.delete("v = 0", txn=("nightly", 2))
    assert (first.committed, first.num_affected_rows, first.version) == (True, 0, 1)
    assert last(table_path).operation_metrics["numDeletedRows"] == "0"
    bayou.write(spark.sql("select 1000L id, 0L p, 0L v"), table_path, mode="append")
    replays = [table.delete("id = 1000", txn=("nightly", 1)), table.delete("v = 0", txn=("nightly", 2))]
    assert [(each.committed, each.reason) for each in replays] == [(False, "replayed")] * 2
    assert ids(spark, table_path) == [*range(100), 1000]
    assert bayou.open(table_path).snapshot().transactions["nightly"].version == 2


def test_a_batch_without_a_match_goes_on_top_of_other_changes(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, **way)
    conditions = ("id = 1000", "id = 80 and v = 81", "false")
    plans = [table.plan_delete(condition, txn=(f"nightly {condition}", 1)) for condition in conditions]
    bayou.write(spark.sql("select 2000L id, 0L p, 0L v"), table_path, mode="append")
    table.delete("id = 7 or id = 80")
    assert [plan.execute().version for plan in plans] == [3, 4, 5]
    assert len(ids(spark, table_path)) == 99


def test_the_sessions_batch_is_spent_by_a_delete_without_a_match(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, **way)
    name = "spark.databricks.delta.write.txn"
    with settings(spark, {f"{name}AppId": "nightly", f"{name}Version": "1", f"{name}Version.autoReset.enabled": "true"}):
        assert table.delete("id = 1000").committed
        assert spark.conf.get(f"{name}Version", None) is None
    assert bayou.open(table_path).snapshot().transactions["nightly"].version == 1
