# SPDX-License-Identifier: Apache-2.0
"""Which files a MERGE reads: those that may hold a match that a clause changes, or a row that one changes without a match."""

from __future__ import annotations

import pytest
from tests.spark.dml.merge.merges import counts, make, model, source
from tests.support.observing import jobs
from tests.support.tables.queried import VECTORS, rows

import bayou
from bayou.errors import ConcurrentModificationError

FOUR_FILES = "select id, id v from range(0, 100, 1, 4)"


def files_read(builder):
    return builder.plan().plan.to_read.files


def test_a_clause_about_rows_without_a_match_reads_the_files_that_may_hold_one_it_changes(spark, table_path, way):
    table = make(spark, table_path, FOUR_FILES, **way)
    new = source(spark, "select id, 7L v from range(30, 32) union all select 200L, 7L")
    builder = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    builder = builder.whenNotMatchedBySourceDelete("t.id >= 95").whenNotMatchedBySourceUpdate("t.v = 80", {"v": "-1"})
    plan = builder.plan()
    assert plan.plan.to_read.files == 2
    expected, found = model(
        [(i, i) for i in range(100)],
        [(30, 7), (31, 7), (200, 7)],
        matched=[(lambda *_: True, lambda _, new: new)],
        inserted=[(lambda _: True, lambda new: new)],
        orphaned=[(lambda row, _: row[0] >= 95, lambda *_: None), (lambda row, _: row[1] == 80, lambda row, _: (row[0], -1))],
    )
    assert counts(plan.execute()) == found == (3, 5, 1)
    assert rows(table) == expected


def test_each_clause_about_rows_without_a_match_counts_and_one_without_a_condition_reads_all(spark, table_path):
    table = make(spark, table_path, FOUR_FILES)
    new = source(spark, "select id, 7L v from range(30, 32)")

    def begun():
        return table.merge(new, "t.id = s.id")

    assert files_read(begun().whenNotMatchedBySourceDelete("t.id < 0")) == 0
    assert files_read(begun().whenNotMatchedBySourceDelete("t.id < 3")) == 1
    assert files_read(begun().whenMatchedDelete("t.v = 0").whenNotMatchedBySourceDelete("t.id < 0")) == 0
    assert files_read(begun().whenMatchedDelete("t.v = 30").whenNotMatchedBySourceDelete("t.id < 0")) == 1
    assert files_read(begun().whenNotMatchedInsertAll().whenNotMatchedBySourceDelete("t.id < 0")) == 1
    assert files_read(begun().whenNotMatchedBySourceDelete("t.id < 3").whenNotMatchedBySourceDelete()) == 4
    assert files_read(begun().whenNotMatchedBySourceDelete("t.id < 3 or rtrim(cast(t.v as string)) = '9'")) == 4
    none = table.merge(new.where("id < 0").alias("s"), "t.id = s.id")
    assert files_read(none.whenMatchedDelete().whenNotMatchedBySourceDelete("t.id < 3")) == 1


def test_partitions_that_a_clause_is_about_are_read_and_no_others(spark, table_path, way):
    table = make(spark, table_path, "select id, id % 5 p from range(0, 50, 1, 1)", partition_by=["p"], **way)
    new = source(spark, "select 4L id, 4L p union all select 104L, 4L")
    builder = table.merge(new, "t.id = s.id and t.p = s.p").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    plan = builder.whenNotMatchedBySourceDelete("t.p = 3").plan()
    assert (plan.plan.pruned_by_partition.files, plan.plan.to_read.files) == (3, 2)
    assert counts(plan.execute()) == (1, 10, 1)
    assert sorted(rows(table)) == sorted([*((i, i % 5) for i in range(50) if i % 5 != 3), (104, 4)])


@pytest.mark.parametrize("condition", ["false", "1 = 2", "null", "t.id = s.id and 1 > 2"])
def test_a_condition_that_is_never_true_reads_no_file_for_matches(spark, table_path, condition):
    table = make(spark, table_path, FOUR_FILES)
    new = source(spark, "select id, 7L v from range(30, 32)")
    builder = table.merge(new, condition).whenMatchedDelete().whenNotMatchedInsertAll()
    assert files_read(builder) == 0
    builder = builder.whenNotMatchedBySourceDelete("t.id < 3")
    assert files_read(builder) == 1
    assert counts(builder.execute()) == (0, 3, 2)
    assert sorted(rows(table)) == sorted([*((i, i) for i in range(3, 100)), (30, 7), (31, 7)])


def test_a_condition_that_is_always_true_prunes_nothing(spark, table_path):
    table = make(spark, table_path, FOUR_FILES)
    one = source(spark, "select 1L id, 7L v")
    builder = table.merge(one, "true").whenMatchedUpdate("t.id = 3", {"v": "s.v"})
    assert files_read(builder) == 1
    assert counts(builder.execute()) == (1, 0, 0)
    assert files_read(table.merge(one, "true").whenMatchedDelete()) == 4


def test_a_list_of_one_value_is_an_equality(spark, table_path):
    table = make(spark, table_path, FOUR_FILES)
    new = source(spark, "select id, 7L v from range(30, 32)")
    assert files_read(table.merge(new, "t.id in (s.id)").whenMatchedDelete()) == 1
    assert files_read(table.merge(new, "t.id in (s.id, s.v)").whenMatchedDelete()) == 4
    assert counts(table.merge(new, "t.id in (s.id)").whenMatchedDelete().execute()) == (0, 2, 0)


def test_values_of_a_partition_column_are_collected_only_where_there_are_few(spark, table_path):
    table = make(spark, table_path, "select id, id % 5 p from range(0, 50, 1, 1)", partition_by=["p"])
    few = source(spark, "select id, if(id % 2 = 0, 0L, 4L) p from range(0, 3000)")
    with jobs(spark) as started:
        assert files_read(table.merge(few, "t.p = s.p and t.id = s.id").whenMatchedDelete()) == 2
    both = started.value
    many = source(spark, "select id, id p from range(3, 3000)")
    with jobs(spark) as started:
        assert files_read(table.merge(many, "t.p = s.p and t.id = s.id").whenMatchedDelete()) == 2
    assert both == 2 * started.value


def test_rows_that_others_add_are_looked_at_for_what_a_clause_without_a_match_changes(spark, table_path):
    table = make(spark, table_path, FOUR_FILES, **VECTORS)
    new = source(spark, "select 30L id, 7L v union all select 200L, 7L")

    def planned(condition):
        builder = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedBySourceDelete(condition)
        return builder.plan()

    others, same = planned("t.id % 100 = 96"), planned("t.id % 100 in (97, 51)")
    table.merge(source(spark, "select 149L id, 1L v union all select 151L, 1L"), "false").whenNotMatchedInsertAll().execute()
    assert counts(others.execute()) == (1, 1, 0)
    with pytest.raises(ConcurrentModificationError):
        same.execute()
    assert {row[0] for row in rows(table)} == {*range(96), *range(97, 100), 149, 151}


@pytest.fixture
def forty(spark, table_path):
    """Four files of ten rows each; every second one is in the partition 1."""
    for number in range(4):
        frame = spark.range(number * 10, number * 10 + 10).selectExpr("id", "cast(id div 10 % 2 as int) p", "0L v").coalesce(1)
        frame.write.format("delta").mode("append").partitionBy("p").save(table_path)
    return bayou.DeltaTable.forPath(spark, table_path).alias("t")


CLAUSES = {
    "t.id >= 30": 1,
    "t.id >= 30 and s.w > 0": 1,
    "t.p = 1": 2,
    "s.w > 0": 4,
    "t.id >= 30 or s.w > 0": 4,
    "t.id is null": 0,
    None: 4,
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("condition", CLAUSES)
def test_files_whose_rows_no_clause_changes_are_not_looked_at(spark, forty, condition):
    source = spark.range(0, 40, 3).selectExpr("id + 0 id", "1L w").where("id + rand() >= 0").alias("s")
    plan = forty.merge(source, "t.id + 1 = s.id + 1").whenMatchedUpdate(condition, {"v": "s.w"}).plan()
    assert plan.plan.to_read.files == CLAUSES[condition]
    told = "true" if condition is None else condition.replace("t.", "").replace("s.w", "1")
    expected = sorted((n, n // 10 % 2, int(n % 3 == 0 and changed)) for n, changed in _judged(spark, told))
    plan.execute()
    assert sorted(rows(forty)) == expected


def _judged(spark, told):
    judged = spark.range(40).selectExpr("id", "cast(id div 10 % 2 as int) p").selectExpr("id", f"coalesce({told}, false) c")
    return [(row.id, row.c) for row in judged.collect()]


def test_files_that_one_of_several_clauses_changes_are_looked_at(spark, forty):
    source = spark.range(40).alias("s")
    merge = forty.merge(source, "t.id + 1 = s.id + 1").whenMatchedDelete("t.id < 5").whenMatchedUpdate("t.id > 32", {"v": "9"})
    plan = merge.plan()
    assert plan.plan.to_read.files == 2
    result = plan.execute()
    assert (result.num_deleted_rows, result.num_updated_rows) == (5, 7)


def test_a_clause_for_rows_without_a_match_looks_at_every_file_that_may_match(spark, forty):
    source = spark.range(38, 42).selectExpr("id", "0 p", "7L v").alias("s")
    merge = forty.merge(source, "t.id + 1 = s.id + 1").whenMatchedUpdate("t.id > 38", {"v": "s.v"}).whenNotMatchedInsertAll()
    plan = merge.plan()
    assert plan.plan.to_read.files == 4
    result = plan.execute()
    assert (result.num_updated_rows, result.num_inserted_rows) == (1, 2)
