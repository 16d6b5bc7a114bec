# SPDX-License-Identifier: Apache-2.0
"""DELETE: which rows go, what is read for it, and what is left of the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.counting import jobs, physical_plans
from tests.spark.session_settings import settings
from tests.spark.ways import FILES, VECTORS

import bayou
from bayou.errors import (
    AppendOnlyError,
    ConcurrentAppendException,
    ConcurrentModificationError,
    DeltaError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from bayou.log.row_rebase import live_files


def make(spark, path, query, partition_by=(), **properties):
    frame = spark.sql(query)
    bayou.write(frame, path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def ids(spark, path):
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())


def last(path):
    return next(iter(bayou.open(path).history()))


def data_files(path):
    return {str(file) for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts}


HUNDRED = "select id, id div 25 p, if(id % 10 = 0, null, id) v from range(0, 100, 1, 4)"


@pytest.mark.smoke
def test_rows_for_which_the_condition_is_true_go_and_others_stay(spark, table_path, way):
    table = make(spark, table_path, HUNDRED, **way)
    result = table.delete("v >= 50")
    assert ids(spark, table_path) == sorted({*range(50), 50, 60, 70, 80, 90})
    assert (result.num_affected_rows, result.num_deleted_rows, result.num_updated_rows, result.committed) == (45, 45, 0, True)
    assert (result.version, last(table_path).version) == (1, 1)
    assert last(table_path).operation_metrics["numDeletedRows"] == "45"


def test_a_condition_may_be_a_column_and_call_the_table_by_an_alias(spark, table_path, way):
    table = make(spark, table_path, HUNDRED, **way)
    table.alias("t").delete("t.id = 1 or id = 2")
    table.delete((F.col("id") == 3) | F.col("id").isin(4, 5))
    assert ids(spark, table_path) == [0, *range(6, 100)]


def test_no_match_is_no_commit(spark, table_path, way):
    table = make(spark, table_path, HUNDRED, **way)
    for condition in ("id = 1000", "p = 7", "v = 0", "false", "null", "p = 1 and id = 80"):
        result = table.delete(condition)
        assert (result.committed, result.reason, result.num_affected_rows, result.version) == (False, "empty", 0, 0)
    assert bayou.open(table_path).version() == 0


@pytest.mark.smoke
def test_whole_tables_and_partitions_go_without_a_job(spark, table_path, way):
    table = make(spark, table_path, HUNDRED, partition_by=["p"], **way)
    with jobs(spark) as started:
        by_partition = table.delete("p = 1 or cast(p as string) like '%3'")
        everything = table.delete()
        nothing = table.delete()
    assert started.value == 0
    assert (by_partition.num_affected_rows, everything.num_affected_rows, nothing.committed) == (50, 50, False)
    assert ids(spark, table_path) == []


@pytest.mark.smoke
def test_whole_files_that_the_log_proves_to_match_are_not_read(spark, table_path, way):
    table = make(spark, table_path, HUNDRED, partition_by=["p"], **way)
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
    table = make(spark, table_path, f"select id, id v from range(0, 100, 1, {num_files})", **VECTORS)
    with physical_plans(spark) as plans, jobs(spark) as started:
        assert table.delete("v % 10 = 3").num_affected_rows == 10
    [search] = [plan for plan in plans if "bitmap_construct_agg" in plan]
    assert ("Exchange" in search) == (num_files == 12)
    assert started.value == (2 if num_files == 12 else 1)
    assert ids(spark, table_path) == [each for each in range(100) if each % 10 != 3]


def test_a_file_with_nulls_is_not_taken_for_one_that_matches(spark, table_path, way):
    table = make(spark, table_path, HUNDRED, partition_by=["p"], **way)
    assert table.plan_delete("v >= 0").plan.wholly_matched.files == 0
    assert table.delete("v >= 0").num_affected_rows == 90
    assert ids(spark, table_path) == list(range(0, 100, 10))


def test_planning_changes_nothing_and_names_what_it_will_read(spark, table_path):
    table = make(spark, table_path, HUNDRED, partition_by=["p"], **FILES)
    planned = table.plan_delete("p > 0 and id < 30")
    found = planned.plan
    assert (found.total.files, found.pruned_by_partition.files, found.pruned_by_statistics.files) == (4, 1, 2)
    assert found.to_read == found.may_rewrite
    assert found.to_read.size_bytes > 0
    assert bayou.open(table_path).version() == 0
    assert planned.execute().num_affected_rows == 5


def test_a_plan_runs_on_its_version_and_a_commit_since_then_may_exclude_it(spark, table_path):
    table = make(spark, table_path, HUNDRED, **FILES)
    planned = table.plan_delete("id < 10")
    before = data_files(table_path)
    bayou.write(spark.range(5, 6).selectExpr("id", "0L p", "id v"), table_path, mode="append")
    appended = data_files(table_path)
    with pytest.raises(ConcurrentAppendException):
        planned.execute()
    assert len(appended) == len(before) + 1
    assert data_files(table_path) == appended  # the files that were written for it are deleted again


def test_with_vectors_two_deletes_of_other_rows_of_one_file_both_succeed(spark, table_path):
    table = make(spark, table_path, "select id from range(0, 100, 1, 1)", **VECTORS)
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
    table = make(spark, table_path, "select id, id v from range(0, 10, 1, 1)", **VECTORS)
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
    table = make(spark, table_path, "select id, id v from range(0, 10, 1, 1)", **VECTORS)
    table.delete("id < 3")
    beside, among = (statement(table, kind, each) for each in ("id >= 7", "id % 2 = 0"))
    brings_back(table_path, 0)
    with pytest.raises(ConcurrentAppendException):
        among.execute()
    assert beside.execute().num_affected_rows == 3
    assert {0, 1, 2} <= set(ids(spark, table_path))


def test_with_vectors_an_append_of_other_rows_is_no_conflict(spark, table_path):
    table = make(spark, table_path, "select id, id % 7 v from range(0, 100, 1, 1)", **VECTORS)
    first, second = (table.plan_delete("v = 3") for _ in range(2))
    bayou.write(spark.sql("select 1000 + id id, id * 2 v from range(0, 3, 1, 1)"), table_path, mode="append")
    first.execute()
    bayou.write(spark.sql("select 2000 + id id, id * 3 v from range(0, 3, 1, 1)"), table_path, mode="append")
    with pytest.raises(ConcurrentModificationError):
        second.execute()
    assert ids(spark, table_path)[-4:] == [1002, 2000, 2001, 2002]


def test_rows_stay_as_they_are_in_a_file_that_is_written_again(spark, table_path, way):
    query = (
        "select id, named_struct('a', id, 'b', array(map('k', cast(id as string)))) s, cast(id as decimal(20, 3)) d, "
        "timestamp_ntz'2024-01-02 03:04:05' n, date_add(date'1500-01-01', cast(id as int)) t, cast(null as binary) b "
        "from range(20)"
    )
    table = make(spark, table_path, query, **way)
    before = {row.id: row for row in table.toDF().collect()}
    table.delete("s.a % 3 = 0")
    after = {row.id: row for row in table.toDF().collect()}
    assert after == {key: row for key, row in before.items() if key % 3}


def test_deleting_again_adds_to_the_vectors_that_are_there(spark, table_path):
    table = make(spark, table_path, "select id from range(0, 100000, 1, 1)", **VECTORS)
    for condition in ("id % 7 = 0", "id % 7 = 1", "id between 40000 and 70000"):
        table.delete(condition)
    left = [each for each in range(100000) if each % 7 > 1 and not 40000 <= each <= 70000]
    assert ids(spark, table_path) == left
    assert last(table_path).operation_metrics["numDeletionVectorsUpdated"] == "1"
    assert len(data_files(table_path)) == 1
    table.delete("true")
    assert ids(spark, table_path) == []


def test_a_file_of_which_the_last_rows_go_is_removed(spark, table_path):
    table = make(spark, table_path, "select id from range(0, 10, 1, 1)", **VECTORS)
    table.delete("id % 2 = 0")
    table.delete("id % 2 = 1")
    metrics = last(table_path).operation_metrics
    assert (metrics["numRemovedFiles"], metrics["numDeletionVectorsAdded"]) == ("1", "0")
    assert bayou.open(table_path).snapshot().num_files == 0


def test_the_session_can_ask_for_files_where_the_table_has_vectors(spark, table_path):
    table = make(spark, table_path, "select id from range(0, 10, 1, 1)", **VECTORS)
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
    table = make(spark, table_path, query, partition_by=["the p"], **properties)
    table.renameColumn("id", "the id")
    table.delete("s.`x y` < 4")
    table.delete("`the p` = 1")
    rows = sorted(tuple(row) for row in table.toDF().select("the id", "the p", "s.x y").collect())
    assert rows == [(each, 0, each) for each in range(4, 20, 2)]


def test_a_replay_is_no_second_delete(spark, table_path):
    table = make(spark, table_path, HUNDRED, **FILES)
    first = table.delete("id < 10", txn=("nightly", 7))
    bayou.write(spark.range(5).selectExpr("id", "0L p", "id v"), table_path, mode="append")
    second = table.delete("id < 10", txn=("nightly", 7))
    assert (first.committed, second.committed, second.reason) == (True, False, "replayed")
    assert ids(spark, table_path)[:5] == [0, 1, 2, 3, 4]


def test_rows_that_others_add_and_a_condition_fails_on_are_a_conflict_that_says_so(spark, table_path):
    make(spark, table_path, "select id, cast(id as string) s from range(0, 10, 1, 1)", **VECTORS)
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
    table = make(spark, table_path, HUNDRED, **way)
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
    table = make(spark, table_path, HUNDRED, **way)
    conditions = ("id = 1000", "id = 80 and v = 81", "false")
    plans = [table.plan_delete(condition, txn=(f"nightly {condition}", 1)) for condition in conditions]
    bayou.write(spark.sql("select 2000L id, 0L p, 0L v"), table_path, mode="append")
    table.delete("id = 7 or id = 80")
    assert [plan.execute().version for plan in plans] == [3, 4, 5]
    assert len(ids(spark, table_path)) == 99


def test_the_sessions_batch_is_spent_by_a_delete_without_a_match(spark, table_path, way):
    table = make(spark, table_path, HUNDRED, **way)
    name = "spark.databricks.delta.write.txn"
    with settings(spark, {f"{name}AppId": "nightly", f"{name}Version": "1", f"{name}Version.autoReset.enabled": "true"}):
        assert table.delete("id = 1000").committed
        assert spark.conf.get(f"{name}Version", None) is None
    assert bayou.open(table_path).snapshot().transactions["nightly"].version == 1


def test_cached_dataframes_see_the_delete(spark, table_path, way):
    table = make(spark, table_path, HUNDRED, **way)
    cached = table.toDF().cache()
    try:
        assert cached.count() == 100
        table.delete("id < 10")
        assert cached.count() == 90
    finally:
        cached.unpersist()


def test_cached_dataframes_of_another_session_and_joins_see_the_delete(spark, table_path, tmp_path, way):
    make(spark, table_path, HUNDRED, **way)
    bayou.write(spark.range(50), str(tmp_path / "others"))
    other = bayou.enable(spark.newSession())
    plain = other.read.format("delta").load(table_path).cache()
    joined = other.read.format("delta").load(str(tmp_path / "others")).join(plain.select("id", "v"), "id").cache()
    try:
        assert (plain.count(), joined.count()) == (100, 50)
        bayou.DeltaTable.forPath(spark, table_path).delete("id < 10")
        assert (plain.count(), joined.count()) == (90, 40)
        assert min(row.id for row in joined.collect()) == 10
    finally:
        joined.unpersist()
        plain.unpersist()


def test_a_result_prints_as_a_table_and_converts_to_one_row(spark, table_path):
    table = make(spark, table_path, HUNDRED, **FILES)
    result = table.delete("id = 1")
    assert "affected rows" in str(result)
    frame = result.toDF()
    assert frame.schema.simpleString() == "struct<num_affected_rows:bigint>"
    assert [row.num_affected_rows for row in frame.collect()] == [1]


def test_a_result_can_be_used_like_the_dataframe_that_delta_spark_gives(spark, table_path):
    result = make(spark, table_path, HUNDRED, **FILES).delete("id < 3")
    assert (result.count(), result.columns, result.first()["num_affected_rows"]) == (1, ["num_affected_rows"], 3)
    assert result.select(result["num_affected_rows"]).collect() == [(3,)]
    assert spark.range(3, 4).subtract(result).count() == 0
    with pytest.raises(AttributeError, match="nothing"):
        _ = result.nothing


def test_rows_that_nobody_counted_are_minus_one(spark, table_path):
    table = make(spark, table_path, HUNDRED, partition_by=["p"], **FILES)
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


@pytest.mark.parametrize(
    ("condition", "error_class"),
    [
        ("id in (select 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
        ("exists (select 1)", "DELTA_UNSUPPORTED_SUBQUERY"),
        ("id = (select max(id) from range(3))", "DELTA_UNSUPPORTED_SUBQUERY"),
    ],
)
def test_subqueries_are_refused(spark, table_path, condition, error_class):
    table = make(spark, table_path, HUNDRED, **FILES)
    with pytest.raises(UnsupportedFeatureError) as caught:
        table.delete(condition)
    assert caught.value.getErrorClass() == error_class
    with pytest.raises(UnsupportedFeatureError):
        spark.sql(f"delete from delta.`{table_path}` where {condition}")


@pytest.mark.parametrize(
    "condition", ["rand() > 0.5", "sum(id) > 3", "row_number() over (order by id) = 1", "nope = 1", "t.id = 1"]
)
def test_what_is_no_condition_on_one_row_is_refused_as_spark_refuses_it(spark, table_path, condition):
    table = make(spark, table_path, HUNDRED, **FILES)
    with pytest.raises(AnalysisException):
        table.delete(condition)
    assert bayou.open(table_path).version() == 0


def test_a_condition_of_another_type_is_refused(spark, table_path):
    table = make(spark, table_path, HUNDRED, **FILES)
    with pytest.raises(SchemaMismatchError, match="not a boolean"):
        table.delete("'text'")
    with pytest.raises(TypeError, match="'condition' must be a Spark SQL Column or a string"):
        table.delete(5)


def test_a_table_that_only_takes_appends_is_refused(spark, table_path):
    table = make(spark, table_path, HUNDRED, **{"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError):
        table.delete("id = 1")


def test_a_table_with_change_data_feed_takes_deletes_that_need_no_change_files(spark, table_path):
    table = make(spark, table_path, HUNDRED, partition_by=["p"], **{"delta.enableChangeDataFeed": "true"})
    table.delete("p = 0")
    table.delete("id >= 50 and id <= 74")
    assert not Path(table_path, "_change_data").exists()
    table.setProperties({"delta.enableDeletionVectors": "true"})
    assert table.delete("id = 30").num_affected_rows == 1
    assert not Path(table_path, "_change_data").exists()
    assert ids(spark, table_path) == [*range(25, 30), *range(31, 50), *range(75, 100)]


# SQL


@pytest.fixture
def named(spark, tmp_path, way):
    """The name of a table in the catalog, and its path."""
    path = str(tmp_path / "named")
    make(spark, path, HUNDRED, **way)
    spark.sql(f"create table rows_to_change using delta location '{path}'")
    yield "rows_to_change", path
    spark.sql("drop table rows_to_change")


@pytest.mark.smoke
def test_sql_deletes_by_name_and_by_path(spark, named):
    name, path = named
    assert spark.sql(f"delete from {name} as t where t.v < 50 and t.v is not null").collect() == [(45,)]
    spark.sql(f"delete from delta.`{path}` where id = 99")
    assert ids(spark, path) == sorted({0, 10, 20, 30, 40, *range(50, 99)})
    assert last(path).operation == "DELETE"


def test_sql_on_a_view_that_is_the_whole_table(spark, named):
    name, path = named
    spark.sql(f"create or replace temp view whole as select * from {name}")
    spark.sql(f"create or replace temp view part as select * from {name} where id < 50")
    spark.sql(f"create or replace temp view renamed as select id as v, v as id from {name}")
    spark.sql("delete from whole where id = 1")
    for view in ("part", "renamed"):
        with pytest.raises(DeltaError):
            spark.sql(f"delete from {view} where id = 2")
    assert ids(spark, path) == [0, *range(2, 100)]


def test_explain_runs_nothing(spark, named):
    name, path = named
    with jobs(spark) as started:
        shown = spark.sql(f"explain delete from {name} where id = 1").collect()[0][0]
    assert "RowChange" in shown
    assert "id = 1" in shown
    assert started.value == 0
    assert bayou.open(path).version() == 0


def test_sql_deletes_where_the_table_is_cached(spark, named):
    name, path = named
    spark.sql(f"cache table {name}")
    try:
        assert spark.table(name).count() == 100
        spark.sql(f"delete from {name} where id < 10")
        assert spark.table(name).count() == 90
        spark.sql(f"delete from delta.`{path}` where id < 20")
        assert spark.table(name).count() == 80
    finally:
        spark.sql(f"uncache table {name}")


def test_sql_changes_a_table_whose_rows_are_cached_as_a_view(spark, named):
    """Views cast each column to its own type."""
    name, path = named
    spark.sql(f"create or replace temp view seen as select * from {name}")
    for number, target in enumerate([name, f"delta.`{path}`", "seen"]):
        spark.sql("cache table seen")
        try:
            assert spark.table("seen").count() == 100 - 10 * number
            spark.sql(f"delete from {target} where id < {10 * number + 10}")
            spark.sql(f"update {target} set id = id + 1000 where id = 99 + {1000 * number}")
            assert spark.table("seen").count() == spark.table(name).count() == 90 - 10 * number
        finally:
            spark.sql("uncache table seen")
    spark.catalog.dropTempView("seen")
    assert spark.table(name).where("id = 3099").count() == 1


def test_now_is_one_moment_for_the_whole_statement(spark, table_path, way):
    table = make(
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
