# SPDX-License-Identifier: Apache-2.0
"""MERGE beside other writers: what it goes on top of, and what it conflicts with; and plans that are executed again."""

from __future__ import annotations

import pytest
from tests.spark.dml.merge.merges import TEN, counts, make, source
from tests.support.tables.queried import VECTORS, rows

import bayou
from bayou.errors import ConcurrentModificationError, TransactionStateError
from bayou.spark.native.merge import second_pass


@pytest.mark.parametrize("query", ["range(8, 12)", "(select id from range(8, 12) distribute by id)"], ids=["read again", "kept"])
@pytest.mark.parametrize("condition", ["t.id = s.id", "false"])
def test_a_plan_that_was_committed_is_not_executed_again(spark, table_path, way, query, condition):
    table = make(spark, table_path, TEN, **way)
    merge = table.merge(source(spark, f"select id, 7L p from {query}"), condition).whenMatchedUpdate(set={"v": "t.v + 100"})
    plan = merge.whenNotMatchedInsert(values={"id": "s.id", "v": "0"}).plan()
    assert plan.execute().version == 1
    once = rows(table)
    for _ in range(2):
        with pytest.raises(TransactionStateError, match="executed before, as version 1"):
            plan.execute()
    assert (rows(table), bayou.open(table_path).version()) == (once, 1)
    replayed = table.merge(source(spark, f"select id from {query}"), condition, txn=("load", 1))
    plan = replayed.whenNotMatchedInsert(values={"id": "s.id"}).plan()
    assert [plan.execute().committed for _ in range(2)] == [True, False]


@pytest.mark.parametrize("query", ["range(8, 12)", "(select id from range(8, 12) distribute by id)"], ids=["read again", "kept"])
def test_a_plan_that_failed_may_be_executed_again(spark, table_path, way, query, monkeypatch):
    table = make(spark, table_path, TEN, **way)
    plan = table.merge(source(spark, f"select id from {query}"), "t.id = s.id").whenMatchedUpdate(set={"v": "t.v + 100"}).plan()
    write, fails = second_pass.Writer.write, [RuntimeError("no disk")]

    def failing(writer):
        if fails:
            raise fails.pop()
        return write(writer)

    monkeypatch.setattr(second_pass.Writer, "write", failing)
    with pytest.raises(RuntimeError, match="no disk"):
        plan.execute()
    assert counts(plan.execute()) == (2, 0, 0)
    assert rows(table, "id", "v")[-2:] == [(8, 108), (9, 109)]


def test_a_merge_that_was_planned_conflicts_with_rows_that_others_add_and_it_would_match(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select 50L id, 1L p, 1L v")
    first = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().plan()
    second = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().plan()
    third = table.merge(source(spark, "select 60L id, 1L p, 1L v"), "t.id = s.id").whenNotMatchedInsertAll().plan()
    first.execute()
    with pytest.raises(ConcurrentModificationError):
        second.execute()
    assert third.execute().version == 2


def test_upserts_of_other_keys_go_on_top_of_each_other_by_vectors(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)
    first, second = (
        table.merge(source(spark, query), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().plan()
        for query in (
            "select 8L id, 1L p, 80L v union all select 52L, 1L, 1L",
            "select 9L id, 1L p, 90L v union all select 51L, 1L, 1L",
        )
    )
    assert first.execute().version == 1
    assert second.execute().version == 2
    assert {(8, 80), (9, 90), (51, 1), (52, 1)} <= set(rows(table, "id", "v"))
    assert len(rows(table)) == 12


def test_inserts_of_other_keys_go_on_top_of_each_other_but_not_of_the_deletion_of_what_they_matched(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select 9L id, 1L p, 1L v union all select 51L, 1L, 1L")
    plans = [table.merge(new, "t.id = s.id").whenNotMatchedInsertAll().plan() for _ in range(2)]
    bayou.write(spark.sql("select id, 1L p, 1L v from values (50L), (52L) as x(id)"), table_path, mode="append")
    assert plans[0].execute().version == 2
    with pytest.raises(ConcurrentModificationError):
        plans[1].execute()
    plan = table.merge(source(spark, "select 9L id, 1L p, 1L v union all select 61L, 1L, 1L"), "t.id = s.id")
    plan = plan.whenNotMatchedInsertAll().plan()
    table.delete("id = 9")
    with pytest.raises(ConcurrentModificationError):
        plan.execute()


def test_inserts_go_on_top_of_changes_of_other_rows_in_the_files_that_they_looked_through(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)

    def planned(*keys):
        new = source(spark, " union all ".join(f"select {key}L id, 1L p, 1L v" for key in keys))
        return table.merge(new, "t.id = s.id").whenNotMatchedInsertAll().plan()

    plans = [planned(9, 51), planned(8, 9, 52), planned(7, 53), planned(0, 54)]
    table.delete("id = 8")
    table.update("id = 6", {"v": "-1"})
    table.update("id = 5", {"id": "55"})
    assert counts(plans[0].execute()) == (0, 0, 1)
    with pytest.raises(ConcurrentModificationError) as error:
        plans[1].execute()
    assert "(row 3 of the first file, counted from 0)" in str(error.value)
    table.delete("id in (5, 6, 9)")
    table.delete("id < 5")  # all that is left of a file
    assert counts(plans[2].execute()) == (0, 0, 1)
    with pytest.raises(ConcurrentModificationError):
        plans[3].execute()
    assert {row[0] for row in rows(table)} == {7, 51, 53, 55}
