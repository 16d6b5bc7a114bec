# SPDX-License-Identifier: Apache-2.0
"""UPDATE: which rows change, by which statement, what it takes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812
from tests.support.observing import files, jobs, last, without_statistics
from tests.support.operations.statements import settings
from tests.support.tables.built import numbers_table
from tests.support.tables.queried import FILES, TEN, VECTORS, make_table, rows

import bayou
from bayou.errors import StorageError
from bayou.log.rows.vector_writer import VectorFiles
from bayou.spark.errors.error_classes import error_class_of
from bayou.spark.jvm.core.callbacks import FAILED_CALL

# Both ways to change rows define what these tests check.
pytestmark = pytest.mark.every_way

UNUSUAL = {
    "an aggregate": ({"v": "max(v)"}, None, "UNSUPPORTED_EXPR_FOR_OPERATOR"),
    "a window function": ({"v": "row_number() over (order by id)"}, None, "UNSUPPORTED_EXPR_FOR_OPERATOR"),
    "a generator": ({"v": "explode(array(id))"}, None, "UNSUPPORTED_GENERATOR"),
    "a condition by an aggregate": ({"v": "1"}, "max(v) > id", "UNSUPPORTED_EXPR_FOR_OPERATOR"),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_what_spark_says_of_a_refused_update_is_about_an_update(spark, table_path, case):
    table = make_table(spark, table_path, TEN)
    values, condition, name = UNUSUAL[case]
    sets = ", ".join(f"{column} = {value}" for column, value in values.items())
    where = "" if condition is None else f" where {condition}"
    for change in (lambda: table.update(condition, values), lambda: spark.sql(f"update delta.`{table_path}` set {sets}{where}")):
        with pytest.raises(AnalysisException, match="UpdateTable") as caught:
            change()
        assert error_class_of(caught.value).startswith(name)
        assert "DeleteFromTable" not in str(caught.value)


@pytest.mark.smoke
def test_rows_for_which_the_condition_is_true_get_the_values(spark, table_path, way):
    table = make_table(spark, table_path, TEN, **way)
    result = table.update("v > 5", {"v": "v * 10 + id", "p": "7"})
    expected = [(i, 7 if i in (6, 7, 8, 9) else i % 2, None if i % 5 == 0 else i * 11 if i > 5 else i) for i in range(10)]
    assert rows(table, "id", "p", "v") == sorted(expected, key=repr)
    assert (result.num_affected_rows, result.num_updated_rows, result.num_deleted_rows) == (4, 4, 0)
    metrics = last(table_path).operation_metrics
    assert metrics["numUpdatedRows"] == "4"
    assert metrics["numCopiedRows"] == ("0" if way is VECTORS else "6")
    assert last(table_path).operation == "UPDATE"


def test_conditions_and_values_may_be_columns_and_use_an_alias(spark, table_path, way):
    table = make_table(spark, table_path, TEN, **way)
    table.alias("t").update("t.id = 1", {"t.v": "t.id + 100"})
    table.update(F.col("id") == 2, {"v": F.lit(5) + F.col("id")})
    table.update(condition="id = 3", set={"V": "-1"})
    assert [row[1] for row in rows(table, "id", "v") if row[0] in (1, 2, 3)] == [101, 7, -1]


def test_without_a_condition_every_row_changes_in_one_job(spark, table_path, way):
    table = make_table(spark, table_path, TEN, **way)
    with jobs(spark) as started:
        result = table.update(set={"v": "0"})
    assert started.value == 1
    assert {row[0] for row in rows(table, "v")} == {0}
    assert (result.num_affected_rows, result.num_copied_rows, result.metrics["numRemovedFiles"]) == (10, 0, 1)
    assert last(table_path).operation_parameters["predicate"] == "[]"


def test_a_condition_on_partitions_needs_no_search_and_partition_columns_may_be_set(spark, table_path, way):
    table = make_table(spark, table_path, TEN, partition_by=["p"], **way)
    with jobs(spark) as started:
        result = table.update("p = 1", {"p": "p + 5", "v": "null"})
    assert started.value == 1
    assert result.metrics["numDeletionVectorsAdded"] == 0
    assert rows(table, "id", "p")[:3] == [(0, 0), (1, 6), (2, 0)]
    table.update("id = 2", {"p": "9"})
    assert (2, 9) in rows(table, "id", "p")
    assert bayou.open(table_path).snapshot().files(where=[("p", "==", 9)]).num_rows == 1


def test_values_see_the_row_as_it_was(spark, table_path, way):
    table = make_table(spark, table_path, "select 1 a, 2 b", **way)
    table.update("a = 1", {"a": "b", "b": "a"})
    assert rows(table, "a", "b") == [(2, 1)]


def test_no_match_is_no_commit(spark, table_path, way):
    table = make_table(spark, table_path, TEN, partition_by=["p"], **way)
    for condition in ("id = 1000", "v = 0", "p = 5", "false", "null"):
        result = table.update(condition, {"v": "1"})
        assert (result.committed, result.num_affected_rows) == (False, 0)
    assert bayou.open(table_path).version() == 0


def test_arguments_are_checked_as_delta_spark_checks_them(spark, table_path):
    table = make_table(spark, table_path, TEN, **FILES)
    with pytest.raises(ValueError, match="'set' cannot be None"):
        table.update("id = 1")
    with pytest.raises(TypeError, match="'set' must be a dict"):
        table.update("id = 1", [("v", "1")])
    with pytest.raises(TypeError, match="Keys of dict in 'set' must contain only strings"):
        table.update("id = 1", {1: "1"})
    with pytest.raises(TypeError, match="Values of dict in 'set' must contain only Spark SQL Columns or strings"):
        table.update("id = 1", {"v": 1})
    with pytest.raises(TypeError, match="'condition' must be a Spark SQL Column or a string"):
        table.update(1, {"v": "1"})


def test_the_session_can_ask_for_files_where_the_table_has_vectors(spark, table_path):
    table = make_table(spark, table_path, TEN, **VECTORS)
    with settings(spark, {"spark.databricks.delta.update.deletionVectors.persistent": "false"}):
        found = table.update("id = 3", {"v": "-3"}).metrics
    assert (found["numDeletionVectorsAdded"], found["numCopiedRows"] > 0) == (0, True)
    assert files(table_path, "*.bin") == set()
    assert table.update("id = 4", {"v": "-4"}).metrics["numDeletionVectorsAdded"] == 1
    assert {row[0] for row in rows(table, "v")} >= {-3, -4}


def test_rows_of_files_without_statistics_are_updated_by_vectors(spark, table_path):
    properties = VECTORS | {"delta.dataSkippingNumIndexedCols": "0"}
    table = make_table(spark, table_path, TEN, **properties)
    without_statistics(table_path)
    result = table.update("id >= 3 and id < 5", {"v": "-1"})
    assert (result.num_updated_rows, result.metrics["numDeletionVectorsAdded"] > 0) == (2, True)
    assert [row[0] for row in rows(table, "id")] == list(range(10))
    assert [row for row in rows(table, "id", "v") if row[1] == -1] == [(3, -1), (4, -1)]


def test_the_plan_says_how_rows_will_change_and_what_is_read(spark, table_path):
    table = make_table(spark, table_path, TEN, partition_by=["p"], **FILES)
    found = table.plan_update("p = 1 and id < 100", {"v": "1"}).plan
    assert (found.operation, found.pruned_by_partition.files, found.to_read.files, found.may_rewrite.files) == ("UPDATE", 1, 1, 1)
    assert found.wholly_matched.files == 0
    table.setProperties({"delta.enableDeletionVectors": "true"})
    assert table.plan_update("id = 1", {"v": "1"}).plan.way.value == "by deletion vectors"
    assert table.plan_update("p = 1", {"v": "1"}).plan.way.value == "by rewriting files"
    assert bayou.open(table_path).version() == 1


def test_an_update_whose_vectors_cannot_be_written_leaves_no_file(spark, table_path, monkeypatch):
    table = make_table(spark, table_path, TEN, **VECTORS)
    before = files(table_path)

    def failing(self, vectors):
        assert files(table_path) > before
        raise StorageError("the disk is full")

    monkeypatch.setattr(VectorFiles, "write", failing)
    with pytest.raises(StorageError):
        table.update("id = 1", {"v": "7"})
    assert files(table_path) == before


def test_updating_rows_of_files_with_vectors(spark, table_path):
    table = make_table(spark, table_path, "select id, 0 v from range(0, 1000, 1, 1)", **VECTORS)
    table.delete("id % 10 = 0")
    table.update("id % 10 = 1", {"v": "1"})
    table.update("v = 1 and id > 500", {"v": "2"})
    table.update("id >= 0", {"v": "v + 10"})
    found = dict(rows(table, "id", "v"))
    assert found == {i: 10 + (0 if i % 10 > 1 else 2 if i > 500 else 1) for i in range(1000) if i % 10}


def test_cached_dataframes_see_the_update(spark, table_path, way):
    table = make_table(spark, table_path, TEN, **way)
    cached = table.toDF().cache()
    try:
        assert cached.where("v = 77").count() == 0
        table.update("id < 3", {"v": "77"})
        assert cached.where("v = 77").count() == 3
    finally:
        cached.unpersist()


@pytest.mark.parametrize("mode", ["name", "id"])
def test_tables_with_mapped_columns(spark, table_path, way, mode):
    properties = {"delta.columnMapping.mode": mode, **way}
    table = make_table(
        spark, table_path, "select id, id % 2 `the p`, named_struct('x y', id) s from range(6)", ["the p"], **properties
    )
    table.renameColumn("id", "the id")
    table.update(
        "`the id` > 2", {"s.`x y`": "`the id` * 10", "the p": "5"} if False else {"s.`x y`": "`the id` * 10", "`the p`": "5"}
    )
    found = sorted(tuple(row) for row in table.toDF().selectExpr("`the id`", "`the p`", "s.`x y`").collect())
    assert found == [(i, 5 if i > 2 else i % 2, i * 10 if i > 2 else i) for i in range(6)]


@pytest.mark.smoke
def test_sql_updates_by_name_and_by_path(spark, tmp_path, way):
    path = str(tmp_path / "t")
    table = make_table(spark, path, TEN, **way)
    spark.sql(f"create table rows_to_update using delta location '{path}'")
    try:
        assert spark.sql("update rows_to_update as t set t.v = t.id * 2, p = 9 where t.id > 7").collect() == [(2,)]
        spark.sql(f"update delta.`{path}` set v = 0 where v is null")
        assert dict(rows(table, "id", "v")) == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 0, 6: 6, 7: 7, 8: 16, 9: 18}
        shown = spark.sql("explain update rows_to_update set v = 1 where id = 5").collect()[0][0]
        assert "RowChange" in shown
        spark.sql("update rows_to_update set v = 1")
        assert {row[0] for row in rows(table, "v")} == {1}
        assert bayou.open(path).version() == 3
    finally:
        spark.sql("drop table rows_to_update")


@pytest.mark.parametrize("setting", ["spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles"])
def test_a_file_that_cannot_be_read_stops_an_update_whatever_the_session_says(spark, table_path, setting):
    numbers_table(table_path, [1, 2], [1, 3])
    broken = Path(table_path, "1.parquet")
    if setting.endswith("CorruptFiles"):
        broken.write_bytes(b"no Parquet" * (broken.stat().st_size // 10))
    else:
        broken.unlink()
    spark.conf.set(setting, "true")
    try:
        with pytest.raises(FAILED_CALL, match=r"1\.parquet"):
            bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"id": "5L"})
    finally:
        spark.conf.unset(setting)
    assert bayou.open(table_path).version() == 1
