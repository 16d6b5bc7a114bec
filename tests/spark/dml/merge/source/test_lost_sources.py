# SPDX-License-Identifier: Apache-2.0
"""MERGE of a source whose rows are others the next time, or are lost: what is evaluated again, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.dml.merge.merges import TEN, counts, make, source
from tests.support.observing import actions, data_files
from tests.support.tables.queried import rows

import bayou
from bayou.errors import ConcurrentModificationError, InvalidCommitError, MultipleMatchesError
from bayou.spark.jvm.core.callbacks import FAILED_CALL
from bayou.spark.native.merge import first_pass, second_pass


def test_rows_that_are_not_found_again_are_told_to_be_none(spark, table_path, way, other_rows, monkeypatch):
    table, error_of = make(spark, table_path, TEN, **way), first_pass._error
    monkeypatch.setattr(first_pass, "_error", lambda merge: (other_rows.shrink(), error_of(merge))[1])
    new = source(spark, f"select id % 3 id from range(6) where id < {other_rows.limit}")
    with pytest.raises(MultipleMatchesError) as error:
        table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "0"}).execute()
    assert (error.value.num_rows, error.value.num_keys, error.value.keys) == (0, 0, ())
    assert "could not be found again" in str(error.value)
    assert "0 rows" not in str(error.value)


def test_a_source_that_is_not_deterministic_is_evaluated_once(spark, table_path, way):
    table = make(spark, table_path, "select id, cast('' as string) v from range(0, 100, 1, 2)", **way)
    new = source(spark, "select id, cast(rand() as string) v from range(0, 200) where rand() < 0.5")
    result = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert result.num_updated_rows + result.num_inserted_rows == result.metrics["numSourceRows"]
    assert table.toDF().where("v <> ''").count() == result.metrics["numSourceRows"]


class FewerRows:
    """How many rows a source has, and fewer of them from one moment on; Spark takes the text for a constant."""

    limit = "cast(reflect('java.lang.System', 'getProperty', 'bayou.rows') as int)"

    def __init__(self, spark):
        self._system = spark._jvm.java.lang.System
        self._system.setProperty("bayou.rows", "5")

    def shrink(self):
        self._system.setProperty("bayou.rows", "3")

    def close(self):
        self._system.clearProperty("bayou.rows")


@pytest.fixture
def other_rows(spark):
    """Rows that are others from one moment on, in a session that keeps none."""
    rows = FewerRows(spark)
    spark.conf.set("spark.databricks.delta.merge.materializeSource", "none")
    yield rows
    spark.conf.unset("spark.databricks.delta.merge.materializeSource")
    rows.close()


def test_a_source_that_is_another_one_for_the_second_pass_is_told_and_leaves_no_file(spark, table_path, other_rows, monkeypatch):
    table = make(spark, table_path, TEN)
    before, write = data_files(table_path), second_pass.Writer.write
    monkeypatch.setattr(second_pass.Writer, "write", lambda writer: (other_rows.shrink(), write(writer))[1])
    new = source(spark, f"select id from range(10) where id < {other_rows.limit}")
    with pytest.raises(InvalidCommitError) as caught:
        table.merge(new, "t.id = s.id").whenMatchedDelete().execute()
    assert caught.value.getErrorClass() == "DELTA_NUM_RECORDS_MISMATCH"
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0


def test_an_insert_of_rows_that_are_other_ones_each_time_looks_for_those_that_it_inserts(spark, table_path):
    table = make(spark, table_path, "select id, 0L v from range(0, 100, 1, 4)")
    new = source(spark, "select cast(rand() * 100 as bigint) id, 1L v from range(0, 20)").distinct().alias("s")
    table.merge(new, "t.id = s.id").whenNotMatchedInsertAll().execute()
    assert len(rows(table, "id")) == len(set(rows(table, "id")))


def test_a_source_that_lost_its_rows_is_evaluated_again_with_the_whole_merge(spark, table_path):
    table = make(spark, table_path, TEN)
    plan = upsert_of_a_kept_source(spark, table).plan()
    lost_source(spark)
    assert counts(plan.execute()) == (2, 0, 2)
    assert (11, 7, 1100) in rows(table)


def test_a_plan_whose_source_lost_its_rows_conflicts_with_what_was_committed_since_then(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select id from range(8, 12) where id + rand() >= 0")
    plan = table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "t.v + 100"}).plan()
    table.update("id = 9", {"v": "-1"})
    for blocks in spark.sparkContext._jsc.getPersistentRDDs().values():
        blocks.unpersist(True)
    with pytest.raises(ConcurrentModificationError):
        plan.execute()
    assert rows(table, "id", "v")[-2:] == [(8, 8), (9, -1)]


def lost_source(spark):
    """Lets the rows that are kept go, as an executor does that is lost with them."""
    kept = list(spark.sparkContext._jsc.getPersistentRDDs().values())
    assert kept
    for blocks in kept:
        blocks.unpersist(True)


def upsert_of_a_kept_source(spark, table):
    # Spark knows that `rand() >= 0` is always true, and would not have to keep the rows then.
    new = source(spark, "select id, 7L p, id * 100 v from range(8, 12) where id + rand() >= 0")
    return table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()


def test_a_source_that_lost_its_rows_between_its_passes_leaves_nothing_twice(spark, table_path, way, monkeypatch):
    table = make(spark, table_path, TEN, **way)
    write, tried = second_pass.Writer.write, []

    def once_without_a_source(writer):
        tried.append(writer)
        if len(tried) == 1:
            lost_source(spark)
        return write(writer)

    monkeypatch.setattr(second_pass.Writer, "write", once_without_a_source)
    result = upsert_of_a_kept_source(spark, table).execute()
    assert (len(tried), counts(result), result.version) == (2, (2, 0, 2), 1)
    assert sorted(row for row in rows(table, "id", "v") if row[0] > 7) == [(each, each * 100) for each in range(8, 12)]
    assert len(rows(table)) == 12
    added = {each["path"] for version in (0, 1) for each in actions(table_path, "add", version)}
    assert {str(Path(each).relative_to(table_path)) for each in data_files(table_path)} == added


def test_a_source_that_loses_its_rows_each_time_is_an_error_in_the_end(spark, table_path, way, monkeypatch):
    table = make(spark, table_path, TEN, **way)
    write, tried, before = second_pass.Writer.write, [], data_files(table_path)

    def without_a_source(writer):
        tried.append(writer)
        lost_source(spark)
        return write(writer)

    monkeypatch.setattr(second_pass.Writer, "write", without_a_source)
    with pytest.raises(FAILED_CALL, match=r"(?i)checkpoint"):
        upsert_of_a_kept_source(spark, table).execute()
    assert len(tried) == 4
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0
