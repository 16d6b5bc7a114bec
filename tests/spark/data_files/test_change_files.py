# SPDX-License-Identifier: Apache-2.0
"""The change rows that UPDATE and DELETE write for the change data feed: which, where, and what it costs when a commit fails."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.observing import actions, feed, jobs, metrics, parquet_files, without_statistics

import bayou
from bayou.errors import ConcurrentModificationError, ConstraintViolationError, InvalidCommitError, StorageError
from bayou.spark.data_files import new_files
from bayou.spark.dml.core import rewrite

FEED = {"delta.enableChangeDataFeed": "true"}
FILES = {**FEED, "delta.enableDeletionVectors": "false"}
VECTORS = {**FEED, "delta.enableDeletionVectors": "true"}
TEN = "select id, id % 2 p, if(id % 5 = 0, null, id) v from range(0, 10, 1, 1)"


@pytest.fixture(params=[FILES, VECTORS], ids=["files", "vectors"])
def way(request):
    """The properties of a table: its rows change by rewriting files, or by deletion vectors and new files."""
    return request.param


def make(spark, path, query=TEN, partition_by=(), **properties):
    bayou.write(spark.sql(query), path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def ours(ids, kind, value=lambda each: None if each % 5 == 0 else each):
    return [(each, value(each), kind) for each in ids]


@pytest.mark.smoke
def test_an_update_tells_of_each_row_before_and_after(spark, table_path, way):
    table = make(spark, table_path, **way)
    table.update("v > 6", {"v": "v * 10"})
    expected = ours((7, 8, 9), "update_preimage") + ours((7, 8, 9), "update_postimage", lambda each: each * 10)
    assert feed(spark, table_path) == sorted(expected, key=repr)
    assert metrics(table_path)["numAddedChangeFiles"] == "1"
    assert metrics(table_path)["numUpdatedRows"] == "3"
    assert metrics(table_path)["numCopiedRows"] == ("7" if way is FILES else "0")
    assert sorted(table.toDF().select("v").collect(), key=repr) == sorted(
        [(70,), (80,), (90,), (None,), (None,), (1,), (2,), (3,), (4,), (6,)], key=repr
    )


@pytest.mark.smoke
def test_functions_of_the_session_under_the_names_of_sparks_own_do_not_tell_what_becomes_of_a_row(spark, table_path):
    own = bayou.enable(spark.newSession())
    table = make(own, table_path, **VECTORS)
    for name in ("array", "explode"):
        own.udf.register(name, lambda *_: "x")
    table.update("v > 8", {"v": "v * 10"})
    expected = ours((9,), "update_preimage") + ours((9,), "update_postimage", lambda each: each * 10)
    assert feed(spark, table_path) == sorted(expected, key=repr)


@pytest.mark.parametrize("vectors", ["true", "false"], ids=["vectors", "files"])
def test_the_old_name_of_the_setting_records_changes_as_the_new_one_does(spark, table_path, vectors):
    properties = {"delta.enableChangeDataCapture": "true", "delta.enableDeletionVectors": vectors}
    table = make(spark, table_path, **properties)
    table.update("v > 8", {"v": "v * 10"})
    expected = ours((9,), "update_preimage") + ours((9,), "update_postimage", lambda each: each * 10)
    assert feed(spark, table_path) == sorted(expected, key=repr)
    table.delete("v = 4")
    assert feed(spark, table_path) == sorted(expected + ours((4,), "delete"), key=repr)


def test_a_delete_that_rewrites_tells_of_each_row_that_is_gone(spark, table_path):
    table = make(spark, table_path, **FILES)
    table.delete("v > 6")
    assert feed(spark, table_path) == ours((7, 8, 9), "delete")
    assert (metrics(table_path)["numDeletedRows"], metrics(table_path)["numCopiedRows"]) == ("3", "7")
    assert table.toDF().count() == 7


def test_a_delete_of_whole_files_or_by_vectors_writes_no_change_rows(spark, table_path, way):
    table = make(spark, table_path, partition_by=["p"], **way)
    table.delete("p = 0")
    if way is VECTORS:
        table.delete("id = 9")
    assert not Path(table_path, "_change_data").exists()
    assert [
        action for version in range(1, bayou.open(table_path).version() + 1) for action in actions(table_path, "cdc", version)
    ] == []
    gone = (0, 2, 4, 6, 8) if way is FILES else (0, 2, 4, 6, 8, 9)
    assert feed(spark, table_path) == sorted(ours(gone, "delete"), key=repr)


def test_rows_of_whole_files_are_told_of_where_others_are_rewritten(spark, table_path):
    table = make(spark, table_path, "select id, id % 2 p, id v from range(0, 5, 1, 1)", **FILES)
    bayou.write(spark.sql("select id, id % 2 p, id v from range(5, 10, 1, 1)"), table_path, mode="append")
    table.delete("id >= 4")
    assert len(actions(table_path, "remove", 2)) == 2
    assert feed(spark, table_path, start=2) == ours(range(4, 10), "delete", lambda each: each)


def test_the_actions_name_files_under_change_data_by_partition(spark, table_path, way):
    table = make(spark, table_path, partition_by=["p"], **way)
    before = parquet_files(table_path)
    table.update("id >= 6", {"v": "0"})
    found = actions(table_path, "cdc")
    assert {each["path"].rpartition("/")[0] for each in found} == {"_change_data/p=0", "_change_data/p=1"}
    assert {tuple(each["partitionValues"].items()) for each in found} == {(("p", "0"),), (("p", "1"),)}
    assert all(each["dataChange"] is False for each in found)
    assert all(each["size"] == Path(table_path, each["path"]).stat().st_size for each in found)
    added = {each["path"] for each in actions(table_path, "add") if "deletionVector" not in each}
    assert parquet_files(table_path) == before | added | {each["path"] for each in found}
    assert {each.name for each in Path(table_path).iterdir() if each.is_dir()} == {"_delta_log", "_change_data", "p=0", "p=1"}
    assert feed(spark, table_path, "id", "p", "v") == sorted(
        [(i, i % 2, None if i % 5 == 0 else i, "update_preimage") for i in range(6, 10)]
        + [(i, i % 2, 0, "update_postimage") for i in range(6, 10)],
        key=repr,
    )


def test_a_row_that_moves_to_another_partition_is_told_of_in_both(spark, table_path, way):
    table = make(spark, table_path, partition_by=["p"], **way)
    table.update("id = 3", {"p": "7"})
    assert feed(spark, table_path, "id", "p") == [(3, 1, "update_preimage"), (3, 7, "update_postimage")]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_have_their_physical_names_in_change_files(spark, table_path, way, mode):
    query = "select id, named_struct('a', id, 'b c', id) s, id % 2 `p q` from range(0, 10, 1, 1)"
    table = make(spark, table_path, query, ["p q"], **way, **{"delta.columnMapping.mode": mode})
    table.update("id = 3", {"s.a": "-1"})
    (found, *_) = actions(table_path, "cdc")
    names = set(pq.read_schema(Path(table_path, found["path"])).names)
    fields = {field.physical_name for field in bayou.open(table_path).snapshot().schema.fields}
    assert names == (fields - set(found["partitionValues"])) | {"_change_type"}
    assert feed(spark, table_path, "id", "s.a", "p q") == [(3, -1, 1, "update_postimage"), (3, 3, 1, "update_preimage")]


def test_generated_columns_are_told_of_as_they_were_and_as_they_are(spark, table_path, way):
    (
        bayou.DeltaTable.create(spark)
        .location(table_path)
        .addColumn("id", "BIGINT")
        .addColumn("twice", "BIGINT", generatedAlwaysAs="id * 2")
        .property("delta.enableChangeDataFeed", "true")
        .property("delta.enableDeletionVectors", way["delta.enableDeletionVectors"])
        .execute()
    )
    bayou.write(spark.range(3), table_path, mode="append")
    bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"id": "id + 10"})
    assert feed(spark, table_path, "id", "twice", start=2) == [(1, 2, "update_preimage"), (11, 22, "update_postimage")]


def test_the_time_of_an_update_is_the_same_in_the_table_and_in_the_feed(spark, table_path, way):
    table = make(spark, table_path, "select id, timestamp'2020-01-01' at from range(0, 10, 1, 1)", **way)
    table.update("id < 5", {"at": "current_timestamp()"})
    expected = sorted((row.id, row.at, "update_postimage") for row in table.toDF().where("id < 5").collect())
    assert [each for each in feed(spark, table_path, "id", "at") if each[2] == "update_postimage"] == expected
    assert len({each[1] for each in expected}) == 1


def test_a_broken_rule_counts_each_row_once_and_leaves_no_file(spark, table_path, way):
    table = make(spark, table_path, **way)
    table.addConstraint("small", "v is null or v < 50")
    before = parquet_files(table_path)
    with pytest.raises(ConstraintViolationError) as caught:
        table.update("v > 6", {"v": "v * 10"})
    assert caught.value.num_violations == 3
    assert parquet_files(table_path) == before
    assert {each.name for each in Path(table_path).iterdir() if each.is_dir()} == {"_delta_log"}


def test_a_lost_commit_leaves_no_change_files(spark, table_path):
    table = make(spark, table_path, **FILES)
    planned = table.plan_update("v > 6", {"v": "0"})
    table.delete("v > 7")
    before = parquet_files(table_path)
    with pytest.raises(ConcurrentModificationError):
        planned.execute()
    assert parquet_files(table_path) == before


def test_beside_vectors_the_feed_takes_no_further_job(spark, table_path, tmp_path):
    counts = []
    for number, properties in enumerate((VECTORS, {"delta.enableDeletionVectors": "true"})):
        table = make(spark, str(tmp_path / str(number)), **properties)
        with jobs(spark) as started:
            table.update("v > 6", {"v": "0"})
        counts.append(started.value)
    assert counts[0] == counts[1]


CHANGES = {
    "an update": lambda table: table.update("v > 6", {"v": "0"}),
    "an update of all rows": lambda table: table.update(set={"v": "0"}),
    "a delete": lambda table: table.delete("v > 6"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_beside_files_that_are_written_again_the_feed_takes_one_job_that_moves_no_file(spark, tmp_path, monkeypatch, change):
    monkeypatch.setattr("bayou.spark.data_files.placed_files.SplitFolders.place", None)
    counts = []
    for number, properties in enumerate((FILES, {"delta.enableDeletionVectors": "false"})):
        table = make(spark, str(tmp_path / str(number)), **properties)
        with jobs(spark) as started:
            change(table)
        counts.append(started.value)
    assert counts[0] == counts[1] + 1
    [data] = actions(str(tmp_path / "0"), "add")
    assert pq.read_schema(tmp_path / "0" / data["path"]).names == ["id", "p", "v"]
    [told] = actions(str(tmp_path / "0"), "cdc")
    assert pq.read_schema(tmp_path / "0" / told["path"]).names == ["id", "p", "v", "_change_type"]


MADE_ONCE = {
    "by a function of Python's": "counted(id)",
    "by a subquery": "(select max(counted(id)) from range(5))",
}


@pytest.mark.parametrize("value", MADE_ONCE.values(), ids=MADE_ONCE)
def test_the_feed_tells_of_the_values_that_the_table_has_where_another_look_would_give_others(spark, table_path, way, value):
    spark.udf.register("counted", lambda each: each + time.time_ns() % 1_000_000_007, "bigint")
    table = make(spark, table_path, **way)
    table.update("id < 7", {"v": value})
    expected = sorted((row.id, row.v) for row in table.toDF().where("id < 7").collect())
    assert sorted(each[:2] for each in feed(spark, table_path) if each[2] == "update_postimage") == expected


def test_the_time_by_default_is_the_same_in_the_table_and_in_the_feed(spark, table_path, way):
    properties = {"delta.feature.allowColumnDefaults": "supported", **way}
    told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    columns = "id bigint, at timestamp default current_timestamp()"
    spark.sql(f"create table delta.`{table_path}` ({columns}) using delta tblproperties ({told})")
    bayou.write(spark.sql("select id, timestamp'2020-01-01' at from range(0, 10, 1, 1)"), table_path, mode="append")
    bayou.DeltaTable.forPath(spark, table_path).update("id < 5", {"at": "default"})
    rows = bayou.read(spark, table_path).where("id < 5").collect()
    expected = sorted((row.id, row.at, "update_postimage") for row in rows)
    assert [each for each in feed(spark, table_path, "id", "at", start=2) if each[2] == "update_postimage"] == expected


def test_a_condition_by_a_function_of_pythons_is_not_asked_once_more_for_the_feed(spark, tmp_path):
    spark.udf.register("even", lambda each: each % 2 == 0, "boolean")
    counts = []
    for number, properties in enumerate((FILES, {"delta.enableDeletionVectors": "false"})):
        table = make(spark, str(tmp_path / str(number)), **properties)
        with jobs(spark) as started:
            table.delete("even(id)")
        counts.append(started.value)
    assert counts[0] == counts[1]
    assert feed(spark, str(tmp_path / "0")) == ours((0, 2, 4, 6, 8), "delete")


@pytest.mark.parametrize("change", [CHANGES["an update"], CHANGES["a delete"]], ids=["update", "delete"])
def test_change_rows_that_cannot_be_written_leave_no_file(spark, table_path, monkeypatch, change):
    table = make(spark, table_path, **FILES)
    before, footers_of = parquet_files(table_path), new_files.footers_of

    def failing(*given):
        if len(parquet_files(table_path)) == len(before) + 1:  # the table's own rows
            return footers_of(*given)
        assert len(parquet_files(table_path)) == len(before) + 2
        raise StorageError("no footers", table=table_path)

    monkeypatch.setattr(new_files, "footers_of", failing)
    with pytest.raises(StorageError, match="no footers"):
        change(table)
    assert parquet_files(table_path) == before
    assert bayou.open(table_path).snapshot().version == 0


@pytest.mark.parametrize("change", [CHANGES["an update"], CHANGES["a delete"]], ids=["update", "delete"])
def test_a_feed_of_other_rows_than_those_that_changed_is_not_committed(spark, table_path, monkeypatch, change):
    table = make(spark, table_path, **FILES)
    before = parquet_files(table_path)

    def of_one_row(application, frame, *given):
        return new_files.write_change_files(application, frame.limit(1), *given)

    monkeypatch.setattr(rewrite, "write_change_files", of_one_row)
    with pytest.raises(InvalidCommitError, match="change rows"):
        change(table)
    assert parquet_files(table_path) == before
    assert bayou.open(table_path).snapshot().version == 0


def test_no_file_is_left_for_a_task_that_has_no_change_rows(spark, table_path):
    table = make(spark, table_path, "select id, id % 2 p, id v from range(0, 100, 1, 2)", **FILES)
    table.update("id % 50 = 0 and v >= 0", {"v": "0"})
    table.delete("id > 97")
    paths = {each["path"] for version in (1, 2) for each in actions(table_path, "cdc", version)}
    assert paths == {each for each in parquet_files(table_path) if each.startswith("_change_data/")}
    assert all(pq.read_metadata(Path(table_path, each)).num_rows for each in paths)


@pytest.mark.parametrize(
    ("condition", "gone"), [("p = 1 or v = 4", (1, 3, 4, 5, 7, 9)), ("v = 4 or v = 7", (4, 7))], ids=["whole files", "parts"]
)
def test_a_delete_from_files_that_the_log_does_not_count_tells_of_all_its_rows(spark, table_path, condition, gone):
    make(spark, table_path, partition_by=["p"], **FILES)
    without_statistics(table_path)
    bayou.DeltaTable.forPath(spark, table_path).delete(condition)
    assert feed(spark, table_path) == sorted(ours(gone, "delete"), key=repr)
