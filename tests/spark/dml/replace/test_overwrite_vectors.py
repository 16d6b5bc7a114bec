# SPDX-License-Identifier: Apache-2.0
"""Overwrites of a part of a table: rows that go are marked in deletion vectors, and files that keep all their rows stay."""

from __future__ import annotations

import pytest
from tests.support.observing import actions, feed, files, jobs, metrics, parquet_files, without_statistics

import bayou
from bayou.errors import ConcurrentModificationError, ConstraintViolationError
from bayou.log.commit.transaction import Transaction
from bayou.spark.dml.replace import replace_on

# Both ways to change rows define what these tests check.
pytestmark = pytest.mark.every_way

VECTORS = {"delta.enableDeletionVectors": "true"}
# In two files: 0 to 9, and 100 to 109.
TWENTY = "select if(id < 10, id, id + 90) id, 0 v from range(0, 20, 1, 2)"
WAYS = {
    "replaceWhere": {"replaceWhere": "id % 100 in (3, 4) and id < 100"},
    "replaceOn": {"replaceOn": "t.id >= s.id and t.id <= s.id + 1", "targetAlias": "t"},
    "replaceUsing": {"replaceUsing": "id"},
}
GONE = {"replaceWhere": {3, 4}, "replaceOn": {3, 4}, "replaceUsing": {3}}


@pytest.fixture(params=WAYS)
def way(request):
    """The option that says which rows are replaced."""
    return request.param


@pytest.fixture
def table(spark, table_path):
    bayou.write(spark.sql(TWENTY), table_path, **VECTORS)
    return table_path


def overwrite(spark, path, query="select 3L id, 1 v", **options):
    spark.sql(query).alias("s").write.format("delta").mode("overwrite").options(**options).save(path)


def ids(spark, path):
    return sorted(row.id for row in bayou.read(spark, path).collect())


def every_id():
    return {*range(10), *range(100, 110)}


def vector_files(path):
    return files(path, "deletion_vector_*.bin")


@pytest.mark.smoke
def test_rows_that_go_are_marked_and_no_row_is_written_again(spark, table, way):
    before = parquet_files(table)
    overwrite(spark, table, **WAYS[way])
    assert ids(spark, table) == sorted([*(every_id() - GONE[way]), 3])
    assert len(parquet_files(table) - before) == 1
    (marked,) = (each for each in actions(table, "add") if "deletionVector" in each)
    assert marked["deletionVector"]["cardinality"] == len(GONE[way])
    assert len(actions(table, "remove")) == 1


def test_the_history_counts_a_marked_file_as_written_and_its_rows_as_copied(spark, table, way):
    # As delta-spark does it.
    overwrite(spark, table, **WAYS[way])
    gone, found = len(GONE[way]), metrics(table)
    names = ("numFiles", "numOutputRows", "numCopiedRows", "numDeletedRows", "numRemovedFiles", "numAddedChangeFiles")
    assert [int(found[name]) for name in names] == [2, 11 - gone, 10 - gone, gone, 0, 0]


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_files_without_such_a_row_stay_though_statistics_do_not_tell(spark, table_path, vectors):
    bayou.write(spark.sql(TWENTY), table_path, **{"delta.enableDeletionVectors": vectors})
    overwrite(spark, table_path, "select 50L id, 1 v", replaceWhere="id % 50 = 0 and id + 1 > 50")
    assert len(actions(table_path, "remove")) == 1
    assert ids(spark, table_path) == sorted([*(every_id() - {100}), 50])


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_files_that_go_as_a_whole_are_not_read(spark, table_path, vectors):
    bayou.write(spark.sql(TWENTY), table_path, **{"delta.enableDeletionVectors": vectors})
    with jobs(spark) as started:
        overwrite(spark, table_path, "select 100L id, 1 v", replaceWhere="id >= 100")
    assert started.value == 1
    assert ids(spark, table_path) == sorted([*range(10), 100])
    assert int(metrics(table_path)["numDeletedRows"]) == 10


def test_a_file_of_which_no_row_is_left_is_removed(spark, table, way):
    query = {"replaceWhere": "id + 0 < 10", "replaceOn": "t.id < 10 and s.id < 10", "replaceUsing": "id"}[way]
    rows = "select id, 1 v from range(10)" if way == "replaceUsing" else "select 3L id, 1 v"
    overwrite(spark, table, rows, **{**WAYS[way], way: query})
    assert not any("deletionVector" in each for each in actions(table, "add"))
    assert int(metrics(table)["numRemovedFiles"]) == 1
    assert int(metrics(table)["numDeletedRows"]) == 10
    assert vector_files(table) == set()


def test_a_change_data_feed_needs_no_change_files(spark, table_path, way):
    bayou.write(spark.sql(TWENTY), table_path, **VECTORS, **{"delta.enableChangeDataFeed": "true"})
    overwrite(spark, table_path, **WAYS[way])
    assert actions(table_path, "cdc") == []
    assert feed(spark, table_path, "id", "v") == sorted([*((key, 0, "delete") for key in GONE[way]), (3, 1, "insert")], key=repr)


def test_rows_that_break_a_rule_leave_no_vector(spark, table):
    with pytest.raises(ConstraintViolationError):
        overwrite(spark, table, "select 5L id, 1 v", replaceWhere="id = 3")
    assert vector_files(table) == set()
    assert ids(spark, table) == sorted(every_id())


def lost_race(monkeypatch, other):
    """The next commit is tried after another one."""
    original = Transaction.try_commit

    def race(self, *arguments, **keywords):
        monkeypatch.setattr(Transaction, "try_commit", original)
        other()
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(Transaction, "try_commit", race)


@pytest.mark.smoke
def test_another_writer_may_change_other_rows_of_the_same_file(spark, table, way, monkeypatch):
    lost_race(monkeypatch, lambda: bayou.DeltaTable.forPath(spark, table).delete("id = 7"))
    overwrite(spark, table, **WAYS[way])
    assert ids(spark, table) == sorted([*(every_id() - GONE[way] - {7}), 3])
    assert bayou.open(table).version() == 2


def test_a_file_whose_other_rows_another_writer_took_counts_as_removed(spark, table, monkeypatch):
    lost_race(monkeypatch, lambda: bayou.DeltaTable.forPath(spark, table).delete("id < 100 and id not in (3, 4)"))
    result = bayou.write(spark.sql("select 3L id, 1 v"), table, mode="overwrite", replaceWhere="id in (3, 4)")
    assert ids(spark, table) == [3, *range(100, 110)]
    assert result.num_removed_files == int(metrics(table)["numRemovedFiles"]) == 1


def test_another_writer_may_add_rows_that_stay(spark, table, way, monkeypatch):
    lost_race(monkeypatch, lambda: bayou.write(spark.sql("select 55L id, 9 v"), table, mode="append"))
    overwrite(spark, table, **WAYS[way])
    assert ids(spark, table) == sorted([*(every_id() - GONE[way]), 3, 55])


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("other", ["the same row", "a new row that would go"])
def test_another_writer_of_rows_that_go_excludes_this_one(spark, table, way, other, monkeypatch):
    def change():
        if other == "the same row":
            bayou.DeltaTable.forPath(spark, table).delete("id = 3")
        else:
            bayou.write(spark.sql("select 3L id, 9 v"), table, mode="append")
        before.update(files(table))

    before: set[str] = set()
    lost_race(monkeypatch, change)
    with pytest.raises(ConcurrentModificationError):
        overwrite(spark, table, **WAYS[way])
    assert len(before - files(table)) == 2  # the data and the vectors of the lost commit
    assert bayou.open(table).version() == 1


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_no_new_rows_that_only_the_shuffle_shows_to_be_none(spark, table_path, vectors):
    bayou.write(spark.sql(TWENTY), table_path, **{"delta.enableDeletionVectors": vectors})
    none = "select id, count(1) v from range(10) where id + rand() < -1 group by id"
    overwrite(spark, table_path, none.replace("count(1)", "cast(count(1) as int)"), replaceWhere="id = 3")
    assert ids(spark, table_path) == sorted(every_id() - {3})


def test_a_session_may_say_that_no_vectors_are_written(spark, table, way):
    spark.conf.set("spark.databricks.delta.delete.deletionVectors.persistent", "false")
    try:
        overwrite(spark, table, **WAYS[way])
    finally:
        spark.conf.unset("spark.databricks.delta.delete.deletionVectors.persistent")
    assert vector_files(table) == set()
    assert ids(spark, table) == sorted([*(every_id() - GONE[way]), 3])


def test_a_file_whose_statistics_do_not_count_its_rows(spark, table_path, way):
    bayou.write(spark.sql(TWENTY), table_path, **{"delta.enableDeletionVectors": "false"})
    without_statistics(table_path)
    overwrite(spark, table_path, **WAYS[way])
    assert ids(spark, table_path) == sorted([*(every_id() - GONE[way]), 3])


def test_counts_are_those_of_the_commit_that_came_second(spark, table, way, monkeypatch):
    lost_race(monkeypatch, lambda: bayou.DeltaTable.forPath(spark, table).delete("id = 7"))
    overwrite(spark, table, **WAYS[way])
    gone, found = len(GONE[way]), metrics(table)
    names = ("numFiles", "numOutputRows", "numCopiedRows", "numDeletedRows", "numRemovedFiles")
    assert [int(found[name]) for name in names] == [2, 10 - gone, 9 - gone, gone, 0]


def test_counts_of_a_file_that_lost_its_last_rows_to_both(spark, table, way, monkeypatch):
    stays = ", ".join(map(str, GONE[way]))
    lost_race(monkeypatch, lambda: bayou.DeltaTable.forPath(spark, table).delete(f"id < 10 and id not in ({stays})"))
    overwrite(spark, table, **WAYS[way])
    found = metrics(table)
    assert [int(found[name]) for name in ("numFiles", "numOutputRows", "numCopiedRows", "numRemovedFiles")] == [1, 1, 0, 1]


@pytest.mark.parametrize("option", ["replaceOn", "replaceUsing"])
def test_two_writers_of_other_rows_into_an_empty_table(spark, table_path, option, monkeypatch):
    bayou.write(spark.sql(f"{TWENTY} limit 0"), table_path, **VECTORS)
    options = {"replaceUsing": "id"} if option == "replaceUsing" else {"replaceOn": "t.id = s.id", "targetAlias": "t"}
    lost_race(monkeypatch, lambda: overwrite(spark, table_path, "select 5L id, 1 v", **options))
    overwrite(spark, table_path, "select 6L id, 1 v", **options)
    assert ids(spark, table_path) == [5, 6]


def test_new_files_are_deleted_where_the_winner_cannot_be_looked_at(spark, table, way, monkeypatch):
    def fails(*_):
        raise RuntimeError("the cluster is gone")

    def other():
        bayou.write(spark.sql("select id, 9 v from range(55, 60, 1, 1)"), table, mode="append")
        monkeypatch.setattr("bayou.spark.dml.core.vectors.has_new", fails)
        before.update(files(table))

    before: set[str] = set()
    lost_race(monkeypatch, other)
    condition = {"replaceWhere": "id % 100 in (3, 4) and id + 1 < 99"} if way == "replaceWhere" else WAYS[way]
    with pytest.raises(RuntimeError, match="the cluster is gone"):
        overwrite(spark, table, **condition)
    assert len(before - files(table)) == 2  # the data and the vectors
    assert bayou.open(table).version() == 1


def test_a_column_with_the_name_of_sparks_facts_about_files(spark, table_path):
    bayou.write(spark.sql("select id, 'x' _metadata from range(0, 10, 1, 1)"), table_path, **VECTORS)
    overwrite(spark, table_path, "select 3L id, 'y' _metadata", replaceWhere="id % 10 = 3")
    bayou.DeltaTable.forPath(spark, table_path).delete("id % 10 = 4")
    bayou.DeltaTable.forPath(spark, table_path).update("id % 10 = 5", {"_metadata": "'z'"})
    found = sorted(tuple(row) for row in bayou.read(spark, table_path).where("_metadata <> 'x'").collect())
    assert found == [(3, "y"), (5, "z")]
    assert ids(spark, table_path) == [0, 1, 2, 3, 5, 6, 7, 8, 9]
    assert vector_files(table_path) == set()  # delta-spark would not read them


def test_a_writer_may_have_an_id_of_its_own_where_the_session_has_half_of_one(spark, table, way):
    spark.conf.set("spark.databricks.delta.write.txnAppId", "session")
    try:
        for _ in range(2):
            overwrite(spark, table, **WAYS[way], txnAppId="writer", txnVersion="1")
    finally:
        spark.conf.unset("spark.databricks.delta.write.txnAppId")
    assert bayou.open(table).version() == 1


def test_texts_that_are_compared_with_chars_are_padded(spark, table_path):
    spark.sql(f"create table delta.`{table_path}` (c char(5), v int) using delta")
    spark.sql(f"insert into delta.`{table_path}` values ('ab', 1), ('cd', 2)")
    overwrite(spark, table_path, "select 'ef' c, 3 v", replaceOn="t.c = 'ab' and s.v > 0", targetAlias="t")
    assert sorted(row.v for row in bayou.read(spark, table_path).collect()) == [2, 3]


def test_rows_that_depend_on_a_table_by_a_subquery_are_evaluated_once(spark, table_path, tmp_path, monkeypatch):
    source = str(tmp_path / "source")
    bayou.write(spark.sql("select 3L id"), source)
    bayou.write(spark.sql(TWENTY), table_path)
    original = replace_on.rows_replaced_on

    def meanwhile(*arguments):
        found = original(*arguments)
        bayou.write(spark.sql("select 5L id"), source, mode="append")
        return found

    monkeypatch.setattr("bayou.spark.write.writer.rows_replaced_on", meanwhile)
    overwrite(spark, table_path, f"select (select max(id) from delta.`{source}`) id, 1 v", replaceUsing="id")
    assert ids(spark, table_path) == sorted(every_id())
