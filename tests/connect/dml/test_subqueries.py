# SPDX-License-Identifier: Apache-2.0
"""Conditions and values with subqueries in row changes on a Connect session."""

from __future__ import annotations

import pytest
from tests.connect.dml.conftest import FEED, VECTORS, WAYS, all_rows

import bayou
from bayou.errors import ConcurrentModificationError, SchemaMismatchError


@pytest.fixture
def keys(spark):
    """A temporary view of the keys 1, 7, 12 and 99, and of a NULL."""
    spark.createDataFrame([(1,), (7,), (12,), (99,), (None,)], "k bigint").createOrReplaceTempView("keys")
    yield "keys"
    spark.catalog.dropTempView("keys")


@WAYS
@pytest.mark.parametrize(
    "condition",
    [
        "id in (select k from keys)",
        "exists (select * from keys where k = t.id)",
        "id <= (select max(k) from keys where k < 20) and id in (1, 7, 12, 13)",
        "id in (select k from keys) or id in (select k + 0 from keys where k = 7)",
    ],
)
def test_subqueries_select_rows(make, rows, ways, keys, condition):
    assert make(ways).alias("t").delete(condition).num_deleted_rows == 3
    assert rows() == all_rows(1, 7, 12)


def test_a_view_of_a_table_is_as_new_as_the_table(make, rows, spark, tmp_path):
    keys = str(tmp_path / "keys")
    bayou.write(spark.range(1, 2), keys)
    spark.read.format("delta").load(keys).createOrReplaceTempView("table_of_keys")
    bayou.write(spark.range(7, 8), keys, mode="append")
    make(VECTORS).delete("id in (select id from table_of_keys)")
    spark.catalog.dropTempView("table_of_keys")
    assert rows() == all_rows(1, 7)


def test_a_subquery_names_a_path(make, rows, spark, tmp_path):
    bayou.write(spark.range(2, 4), str(tmp_path / "keys"))
    make(VECTORS).delete(f"id in (select id from delta.`{tmp_path / 'keys'}`)")
    assert rows() == all_rows(2, 3)


def test_not_in_keeps_rows_if_there_is_a_null(make, rows, keys):
    assert not make(VECTORS).delete("id not in (select k from keys)").committed
    assert rows() == all_rows()


def test_the_other_parts_prune_files(make, rows, keys):
    result = make(VECTORS).delete("part = 'b' and id < 14 and id in (select k from keys)")
    assert (result.num_deleted_rows, result.num_scanned_files, result.num_pruned_files) == (1, 1, 3)
    assert rows() == all_rows(12)


@WAYS
def test_the_feed_has_the_selected_rows(make, rows, changes, ways, keys):
    version = make(ways | FEED).delete("id in (select k from keys where rand() >= 0) and id < 10").version
    assert rows() == all_rows(1, 7)
    assert changes(version) == [(1, "v1", "delete"), (7, "v7", "delete")]


@WAYS
def test_rows_that_a_subquery_selects_are_updated(make, rows, changes, ways, keys):
    version = make(ways | FEED).update("id in (select k from keys)", {"v": "(select concat('max', max(k)) from keys)"}).version
    assert rows() == [(each, part, "max99" if each in (1, 7, 12) else v) for each, part, v in all_rows()]
    assert len(changes(version)) == 6


def test_a_subquery_may_have_read_what_another_commit_changes(make, spark, table_path, keys):
    plan = make(VECTORS).plan_delete("id in (select k from keys)")
    bayou.DeltaTable.forPath(spark, table_path).update("id = 19", {"v": "'x'"})
    with pytest.raises(ConcurrentModificationError):
        plan.execute()


def test_a_condition_must_be_a_boolean(make, keys):
    with pytest.raises(SchemaMismatchError, match="boolean"):
        make().delete("(select max(k) from keys)")


def test_a_with_clause_before_a_statement(spark, make, rows, table_path):
    make()
    name = f"delta.`{table_path}`"
    assert spark.sql(f"with few as (select 3L id) delete from {name} where id in (select id from few)").first()[0] == 1
    spark.sql(f"with few as (select 'x' v) update {name} set v = (select v from few) where id = 4")
    spark.sql(
        f"with few as (select 5L id, 'y' v) merge into {name} t using few s on t.id = s.id "
        "when matched and t.id = (select max(id) from few) then update set v = s.v"
    )
    assert rows("id, v")[:5] == [(0, "v0"), (1, "v1"), (2, "v2"), (4, "x"), (5, "y")]
    own = "with less as (select id from few) select * from less"
    assert spark.sql(f"with few as (select 4L id) delete from {name} where id in ({own})").first()[0] == 1
    spark.sql(f"with few as (select 5L id) merge into {name} t using ({own}) s on t.id = s.id when matched then update set v = 'z'")
    assert rows("id, v")[:4] == [(0, "v0"), (1, "v1"), (2, "v2"), (5, "z")]


@pytest.mark.parametrize("statement", ["delete from {t} where {c}", "update {t} set id = -1 where {c}"])
def test_frames_of_the_program_are_read_in_subqueries(make, spark, table_path, statement):
    make()
    given = spark.range(1, 3)
    text = statement.replace("{t}", f"delta.`{table_path}`").replace("{c}", "id in (select id from {chosen})")
    changed = spark.sql(text, chosen=given).collect()[0][0]
    assert changed == 2
    # `listTables` of Spark 4.0 fails if a temporary view was created while names were case-sensitive.
    assert not [each for each in spark.sql("show views").collect() if each.viewName.startswith("_pyspark")]
