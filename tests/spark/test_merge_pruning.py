# SPDX-License-Identifier: Apache-2.0
"""Which files a MERGE looks at, by what its clauses say of the table's rows."""

from __future__ import annotations

import pytest

import bayou


def rows(table):
    return sorted(tuple(row) for row in table.toDF().collect())


@pytest.fixture
def table(spark, table_path):
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


@pytest.mark.parametrize("condition", CLAUSES)
def test_files_whose_rows_no_clause_changes_are_not_looked_at(spark, table, condition):
    source = spark.range(0, 40, 3).selectExpr("id + 0 id", "1L w").where("rand() >= 0").alias("s")
    plan = table.merge(source, "t.id + 1 = s.id + 1").whenMatchedUpdate(condition, {"v": "s.w"}).plan()
    assert plan.plan.to_read.files == CLAUSES[condition]
    told = "true" if condition is None else condition.replace("t.", "").replace("s.w", "1")
    expected = sorted((n, n // 10 % 2, int(n % 3 == 0 and changed)) for n, changed in _judged(spark, told))
    plan.execute()
    assert rows(table) == expected


def _judged(spark, told):
    judged = spark.range(40).selectExpr("id", "cast(id div 10 % 2 as int) p").selectExpr("id", f"coalesce({told}, false) c")
    return [(row.id, row.c) for row in judged.collect()]


def test_files_that_one_of_several_clauses_changes_are_looked_at(spark, table):
    source = spark.range(40).alias("s")
    merge = table.merge(source, "t.id + 1 = s.id + 1").whenMatchedDelete("t.id < 5").whenMatchedUpdate("t.id > 32", {"v": "9"})
    plan = merge.plan()
    assert plan.plan.to_read.files == 2
    result = plan.execute()
    assert (result.num_deleted_rows, result.num_updated_rows) == (5, 7)


def test_a_clause_for_rows_without_a_match_looks_at_every_file_that_may_match(spark, table):
    source = spark.range(38, 42).selectExpr("id", "0 p", "7L v").alias("s")
    merge = table.merge(source, "t.id + 1 = s.id + 1").whenMatchedUpdate("t.id > 38", {"v": "s.v"}).whenNotMatchedInsertAll()
    plan = merge.plan()
    assert plan.plan.to_read.files == 4
    result = plan.execute()
    assert (result.num_updated_rows, result.num_inserted_rows) == (1, 2)
