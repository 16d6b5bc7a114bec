# SPDX-License-Identifier: Apache-2.0
"""DELETE on a Connect session, read back by delta-rs."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.connect.dml.conftest import FEED, VECTORS, WAYS, all_rows

import bayou
from bayou.errors import ConcurrentModificationError, SchemaMismatchError, UnsupportedFeatureError


@WAYS
@pytest.mark.parametrize("condition", ["id in (1, 7, 12)", "ID = 1 or `id` = 7 or id % 20 = 12 -- why"])
def test_rows_that_match_are_deleted(make, rows, ways, condition):
    result = make(ways).delete(condition)
    assert (result.num_deleted_rows, result.committed) == (3, True)
    assert rows() == all_rows(1, 7, 12)


@WAYS
def test_a_column_is_a_condition(make, rows, ways):
    assert make(ways).delete((F.col("id") > 3) & (F.col("part") == "a")).num_deleted_rows == 6
    assert rows() == all_rows(4, 5, 6, 7, 8, 9)


def test_files_are_pruned_by_columns(make):
    table = make(VECTORS)
    assert table.delete((F.col("id") == 12) & ~F.isnull("v")).num_pruned_files == 3
    plan = table.plan_delete(F.col("part").isin("b", "c")).plan
    assert (plan.to_read.files, plan.num_pruned_files) == (0, 2)


@WAYS
def test_the_alias_of_the_table_may_be_used(make, rows, ways):
    assert make(ways).alias("t").delete("t.id = 3 and t.part = 'a'").num_deleted_rows == 1
    assert rows() == all_rows(3)


def test_conditions_on_partitions_remove_files_unread(make, rows):
    plan = make(VECTORS).plan_delete("part = 'a' and length(part) = 1")
    assert plan.plan.to_read.files == 0
    result = plan.execute()
    assert (result.num_deleted_rows, result.num_pruned_files) == (10, 2)
    assert rows() == all_rows(*range(10))


def test_files_are_pruned_by_statistics(make, rows):
    result = make(VECTORS).delete("id = 12")
    assert (result.num_scanned_files, result.num_pruned_files) == (1, 3)
    assert rows() == all_rows(12)


def test_all_rows_are_deleted_without_a_job(make, rows):
    assert make().delete().num_deleted_rows == 20
    assert not rows()


@pytest.mark.parametrize("condition", ["1 = 1", "true"])
def test_a_condition_without_columns_is_evaluated_once(make, rows, condition):
    assert make().delete(condition).num_deleted_rows == 20
    assert not rows()


@pytest.mark.parametrize("condition", ["1 = 2", "cast(null as boolean)", "id = 99", "id is null"])
def test_no_row_no_commit(make, rows, condition):
    assert not make(VECTORS).delete(condition).committed
    assert rows() == all_rows()


@WAYS
def test_deleting_twice_keeps_what_was_deleted_before(make, rows, ways):
    table = make(ways)
    table.delete("id = 1")
    table.delete("id in (1, 2)")
    table.delete("id = 0")
    assert rows() == all_rows(0, 1, 2)


@WAYS
def test_the_feed_has_the_deleted_rows(make, rows, changes, ways):
    table = make(ways | FEED)
    version = table.delete("id in (1, 12) and v like 'v%'").version
    assert rows() == all_rows(1, 12)
    assert changes(version) == [(1, "v1", "delete"), (12, "v12", "delete")]


def test_the_feed_of_a_function_that_bayou_does_not_know_is_written_with_the_rows(make, rows, changes, table_path):
    table = make(FEED)
    version = table.delete("collate(v, 'UTF8_LCASE') = 'V3'").version
    assert rows() == all_rows(3)
    assert changes(version) == [(3, "v3", "delete")]
    assert {each.name for each in Path(table_path).iterdir() if each.is_dir()} == {"_change_data", "_delta_log", "part=a", "part=b"}


@WAYS
def test_the_time_is_that_of_the_statement(make, rows, ways):
    plan = make(ways).plan_delete("id < 2 and current_timestamp > timestamp'2020-01-01' and now() = current_timestamp()")
    assert "timestamp_ltz'" in str(plan)
    assert plan.execute().num_deleted_rows == 2
    assert rows() == all_rows(0, 1)


def test_columns_of_files_are_refused(make):
    with pytest.raises(UnsupportedFeatureError, match="_metadata"):
        make().delete("_metadata.file_name = 'x'")


def test_a_txn_is_committed_once(make, rows):
    table = make()
    assert table.delete("id = 1", txn=("app", 1)).committed
    assert table.delete("id = 2", txn=("app", 1)).reason == "replayed"
    assert rows() == all_rows(1)


@WAYS
def test_a_concurrent_delete_of_other_rows_does_not_conflict(make, rows, spark, table_path, ways):
    plan = make(ways).plan_delete("id = 1")
    bayou.DeltaTable.forPath(spark, table_path).delete("id = 13")
    assert plan.execute().num_deleted_rows == 1
    assert rows() == all_rows(1, 13)


def test_a_concurrent_delete_of_the_same_row_conflicts(make, rows, spark, table_path):
    plan = make(VECTORS).plan_delete("id = 1 or v = 'v2'")
    bayou.DeltaTable.forPath(spark, table_path).delete("id = 1")
    with pytest.raises(ConcurrentModificationError):
        plan.execute()
    assert rows() == all_rows(1)


def test_rows_that_another_engine_moved_are_found_again(make, rows, table_path):
    plan = make().plan_delete("id = 1")
    deltalake.DeltaTable(table_path).optimize.compact()
    result = plan.execute()
    assert (result.num_deleted_rows, result.num_retries) == (1, 1)
    assert rows() == all_rows(1)


def test_the_result_is_a_row(make, spark):
    result = make().delete("id < 2")
    assert [tuple(row) for row in result.collect()] == [(2,)]
    assert spark.range(1).union(result).count() == result.union(spark.range(1)).count() == 2


def test_an_unknown_column_is_named(make):
    with pytest.raises(SchemaMismatchError, match="nothing"):
        make().delete("nothing = 1")


@pytest.mark.parametrize("condition", ["id + 1", "v"])
def test_a_condition_must_be_a_boolean(make, condition):
    with pytest.raises(SchemaMismatchError, match="boolean"):
        make().delete(condition)
