# SPDX-License-Identifier: Apache-2.0
"""DELETE: which rows go, what is read for it, and what is left of the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import functions as F  # noqa: N812
from tests.support.observing import data_files, jobs, last, physical_plans
from tests.support.tables.queried import FILES, HUNDRED, VECTORS, ids, make_table

import bayou

# Both ways to change rows define what these tests check.
pytestmark = pytest.mark.every_way


@pytest.mark.smoke
def test_rows_for_which_the_condition_is_true_go_and_others_stay(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, **way)
    result = table.delete("v >= 50")
    assert ids(spark, table_path) == sorted({*range(50), 50, 60, 70, 80, 90})
    assert (result.num_affected_rows, result.num_deleted_rows, result.num_updated_rows, result.committed) == (45, 45, 0, True)
    assert (result.version, last(table_path).version) == (1, 1)
    assert last(table_path).operation_metrics["numDeletedRows"] == "45"


def test_a_condition_may_be_a_column_and_call_the_table_by_an_alias(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, **way)
    table.alias("t").delete("t.id = 1 or id = 2")
    table.delete((F.col("id") == 3) | F.col("id").isin(4, 5))
    assert ids(spark, table_path) == [0, *range(6, 100)]


def test_no_match_is_no_commit(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, **way)
    for condition in ("id = 1000", "p = 7", "v = 0", "false", "null", "p = 1 and id = 80"):
        result = table.delete(condition)
        assert (result.committed, result.reason, result.num_affected_rows, result.version) == (False, "empty", 0, 0)
    assert bayou.open(table_path).version() == 0


@pytest.mark.smoke
def test_whole_tables_and_partitions_go_without_a_job(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, partition_by=["p"], **way)
    with jobs(spark) as started:
        by_partition = table.delete("p = 1 or cast(p as string) like '%3'")
        everything = table.delete()
        nothing = table.delete()
    assert started.value == 0
    assert (by_partition.num_affected_rows, everything.num_affected_rows, nothing.committed) == (50, 50, False)
    assert ids(spark, table_path) == []


@pytest.mark.smoke
def test_whole_files_that_the_log_proves_to_match_are_not_read(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, partition_by=["p"], **way)
    planned = table.plan_delete("id >= 30")
    found = planned.plan
    assert (found.pruned_by_statistics.files, found.wholly_matched.files, found.to_read.files) == (1, 2, 1)
    assert "deleted unread" in str(planned)
    with jobs(spark) as started:
        result = table.delete("id >= 25 and id is not null")
    assert started.value == 0
    assert result.num_affected_rows == 75
    assert ids(spark, table_path) == list(range(25))


@pytest.mark.parametrize("num_files", [4, 12])
def test_rows_of_few_small_files_are_looked_for_in_one_job_without_a_shuffle(spark, table_path, num_files):
    table = make_table(spark, table_path, f"select id, id v from range(0, 100, 1, {num_files})", **VECTORS)
    with physical_plans(spark) as plans, jobs(spark) as started:
        assert table.delete("v % 10 = 3").num_affected_rows == 10
    [search] = [plan for plan in plans if "bitmap_construct_agg" in plan]
    assert ("Exchange" in search) == (num_files == 12)
    assert started.value == (2 if num_files == 12 else 1)
    assert ids(spark, table_path) == [each for each in range(100) if each % 10 != 3]


def test_a_file_with_nulls_is_not_taken_for_one_that_matches(spark, table_path, way):
    table = make_table(spark, table_path, HUNDRED, partition_by=["p"], **way)
    assert table.plan_delete("v >= 0").plan.wholly_matched.files == 0
    assert table.delete("v >= 0").num_affected_rows == 90
    assert ids(spark, table_path) == list(range(0, 100, 10))


def test_planning_changes_nothing_and_names_what_it_will_read(spark, table_path):
    table = make_table(spark, table_path, HUNDRED, partition_by=["p"], **FILES)
    planned = table.plan_delete("p > 0 and id < 30")
    found = planned.plan
    assert (found.total.files, found.pruned_by_partition.files, found.pruned_by_statistics.files) == (4, 1, 2)
    assert found.to_read == found.may_rewrite
    assert found.to_read.size_bytes > 0
    assert bayou.open(table_path).version() == 0
    assert planned.execute().num_affected_rows == 5


def test_rows_stay_as_they_are_in_a_file_that_is_written_again(spark, table_path, way):
    query = (
        "select id, named_struct('a', id, 'b', array(map('k', cast(id as string)))) s, cast(id as decimal(20, 3)) d, "
        "timestamp_ntz'2024-01-02 03:04:05' n, date_add(date'1500-01-01', cast(id as int)) t, cast(null as binary) b "
        "from range(20)"
    )
    table = make_table(spark, table_path, query, **way)
    before = {row.id: row for row in table.toDF().collect()}
    table.delete("s.a % 3 = 0")
    after = {row.id: row for row in table.toDF().collect()}
    assert after == {key: row for key, row in before.items() if key % 3}


def test_deleting_again_adds_to_the_vectors_that_are_there(spark, table_path):
    table = make_table(spark, table_path, "select id from range(0, 100000, 1, 1)", **VECTORS)
    for condition in ("id % 7 = 0", "id % 7 = 1", "id between 40000 and 70000"):
        table.delete(condition)
    left = [each for each in range(100000) if each % 7 > 1 and not 40000 <= each <= 70000]
    assert ids(spark, table_path) == left
    assert last(table_path).operation_metrics["numDeletionVectorsUpdated"] == "1"
    assert len(data_files(table_path)) == 1
    table.delete("true")
    assert ids(spark, table_path) == []


def test_a_file_of_which_the_last_rows_go_is_removed(spark, table_path):
    table = make_table(spark, table_path, "select id from range(0, 10, 1, 1)", **VECTORS)
    table.delete("id % 2 = 0")
    table.delete("id % 2 = 1")
    metrics = last(table_path).operation_metrics
    assert (metrics["numRemovedFiles"], metrics["numDeletionVectorsAdded"]) == ("1", "0")
    assert bayou.open(table_path).snapshot().num_files == 0


def test_the_session_can_ask_for_files_where_the_table_has_vectors(spark, table_path):
    table = make_table(spark, table_path, "select id from range(0, 10, 1, 1)", **VECTORS)
    spark.conf.set("spark.databricks.delta.delete.deletionVectors.persistent", "false")
    try:
        result = table.delete("id = 3")
    finally:
        spark.conf.unset("spark.databricks.delta.delete.deletionVectors.persistent")
    assert (result.metrics["numDeletionVectorsAdded"], result.metrics["numCopiedRows"]) == (0, 9)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_tables_with_mapped_columns(spark, table_path, way, mode):
    properties = {"delta.columnMapping.mode": mode, **way}
    query = "select id, id % 2 `the p`, named_struct('x y', id) s from range(0, 20, 1, 2)"
    table = make_table(spark, table_path, query, partition_by=["the p"], **properties)
    table.renameColumn("id", "the id")
    table.delete("s.`x y` < 4")
    table.delete("`the p` = 1")
    rows = sorted(tuple(row) for row in table.toDF().select("the id", "the p", "s.x y").collect())
    assert rows == [(each, 0, each) for each in range(4, 20, 2)]


def test_rows_that_nobody_counted_are_minus_one(spark, table_path):
    table = make_table(spark, table_path, HUNDRED, partition_by=["p"], **FILES)
    log = Path(table_path, "_delta_log", f"{0:020}.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    log.write_text("\n".join(json.dumps(line) for line in lines) + "\n")
    for each in Path(table_path, "_delta_log").glob(".*.crc"):
        each.unlink()
    Path(table_path, "_delta_log", f"{0:020}.crc").unlink(missing_ok=True)
    table = bayou.DeltaTable.forPath(spark, table_path)
    result = table.delete("p = 1")
    assert result.num_affected_rows == -1
    assert "numDeletedRows" not in last(table_path).operation_metrics
    assert ids(spark, table_path) == [each for each in range(100) if each // 25 != 1]


def test_a_table_with_change_data_feed_takes_deletes_that_need_no_change_files(spark, table_path):
    table = make_table(spark, table_path, HUNDRED, partition_by=["p"], **{"delta.enableChangeDataFeed": "true"})
    table.delete("p = 0")
    table.delete("id >= 50 and id <= 74")
    assert not Path(table_path, "_change_data").exists()
    table.setProperties({"delta.enableDeletionVectors": "true"})
    assert table.delete("id = 30").num_affected_rows == 1
    assert not Path(table_path, "_change_data").exists()
    assert ids(spark, table_path) == [*range(25, 30), *range(31, 50), *range(75, 100)]


def test_now_is_one_moment_for_the_whole_statement(spark, table_path, way):
    table = make_table(
        spark, table_path, "select id, current_timestamp() + make_interval(0, 0, 0, 0, 0, 0, id - 5) t from range(10)", **way
    )
    before = {row.id for row in table.toDF().collect()}
    table.delete("t < current_timestamp() - interval 1 day")
    assert {row.id for row in table.toDF().collect()} == before
    table.delete("t < current_timestamp() + interval 1 day")
    assert ids(spark, table_path) == []


NO_UTF8 = {
    "s < cast(X'80' as string)": ["é"],
    "s > cast(X'FF41' as string)": ["z", "é"],
    "startswith(s, cast(X'80' as string))": ["z", "é"],
}


@pytest.mark.parametrize("condition", NO_UTF8)
def test_texts_that_are_no_utf8_are_compared_as_bytes(spark, table_path, condition):
    """Catalyst's JSON has another character in their place, which sorts elsewhere: whole files would go, or stay."""
    for text in ("é", "z"):
        bayou.write(spark.sql(f"select '{text}' s"), table_path, mode="append")
    bayou.DeltaTable.forPath(spark, table_path).delete(condition)
    assert sorted(row.s for row in bayou.read(spark, table_path).collect()) == NO_UTF8[condition]
