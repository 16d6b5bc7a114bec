# SPDX-License-Identifier: Apache-2.0
"""Overwrites of a part of a table with a change data feed and row tracking: what they tell of, and the ids of rows that stay."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.observing import actions, feed, jobs, metrics, parquet_files, tracked

import bayou
from bayou.errors import ConcurrentModificationError, ConstraintViolationError
from bayou.log.commit.transaction import Transaction

BOTH = {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}
TEN = "select id, id % 2 p, id v from range(0, 10, 1, 2)"
WAYS = {
    "replaceWhere": {"replaceWhere": "id >= 3 and id <= 6"},
    "replaceOn": {"replaceOn": "t.id >= s.id and t.id < s.id + 2 and t.id < 7", "targetAlias": "t"},
    "replaceUsing": {"replaceUsing": "id"},
}
GONE = {"replaceWhere": (3, 4, 5, 6), "replaceOn": (3, 4, 5, 6), "replaceUsing": (3, 5)}
NEW = "select id, 8L p, -id v from values (3L), (5L) as x(id)"


@pytest.fixture(params=WAYS)
def way(request):
    """The option that says which rows are replaced."""
    return request.param


def make(spark, path, query=TEN, partition_by=(), properties=BOTH):
    bayou.write(spark.sql(query), path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path)


def overwrite(spark, path, query, **options):
    spark.sql(query).alias("s").write.format("delta").mode("overwrite").options(**options).save(path)


def expected(gone, table=lambda key: (key, key % 2, key)):
    return sorted([*((*table(key), "delete") for key in gone), (3, 8, -3, "insert"), (5, 8, -5, "insert")], key=repr)


@pytest.mark.smoke
@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_rows_that_go_and_new_rows_are_told_of_and_copies_keep_their_ids(spark, table_path, way, partition_by):
    make(spark, table_path, TEN, partition_by)
    before = tracked(table_path)
    overwrite(spark, table_path, NEW, **WAYS[way])
    assert feed(spark, table_path, "id", "p", "v") == expected(GONE[way])
    after = tracked(table_path)
    stay = {key: value for key, value in before.items() if key not in GONE[way]}
    assert {key: value for key, value in after.items() if key not in (3, 5)} == stay
    assert {after[key][1] for key in (3, 5)} == {1}
    assert not {after[key][0] for key in (3, 5)} & {row_id for row_id, _ in before.values()}
    found = actions(table_path, "cdc")
    assert {each["path"].partition("/")[0] for each in found} == {"_change_data"}
    assert metrics(table_path)["numAddedChangeFiles"] == str(len(found))
    assert {each.name for each in Path(table_path).iterdir() if "rows-" in each.name} == set()


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_may_be_mapped(spark, table_path, way, mode):
    query = "select id, id % 2 p, named_struct('b c', id) s from range(0, 10, 1, 2)"
    make(spark, table_path, query, ("p",), {**BOTH, "delta.columnMapping.mode": mode})
    before = tracked(table_path)
    overwrite(spark, table_path, "select id, 8L p, named_struct('b c', -id) s from values (3L), (5L) as x(id)", **WAYS[way])
    assert feed(spark, table_path, "id", "p", "s.`b c`") == expected(GONE[way])
    assert {key: value for key, value in tracked(table_path).items() if key < 3} == {key: before[key] for key in range(3)}


def test_the_feed_alone_and_the_ids_alone(spark, tmp_path, way):
    for name in BOTH:
        path = str(tmp_path / name)
        make(spark, path, properties={name: "true"})
        if name == "delta.enableRowTracking":
            before = tracked(path)
            overwrite(spark, path, NEW, **WAYS[way])
            assert actions(path, "cdc") == []
            assert {key: value for key, value in tracked(path).items() if key > 6} == {key: before[key] for key in (7, 8, 9)}
        else:
            overwrite(spark, path, NEW, **WAYS[way])
            assert feed(spark, path, "id", "p", "v") == expected(GONE[way])
        assert len(bayou.read(spark, path).collect()) == 12 - len(GONE[way])


def test_rows_for_which_the_condition_is_null_stay_and_are_not_told_of(spark, table_path):
    make(spark, table_path, "select id, if(id = 1, null, id) v from range(0, 4, 1, 1)")
    before = tracked(table_path)
    overwrite(spark, table_path, "select 9L id, 9L v", replaceWhere="v > 2 -- a comment")
    assert feed(spark, table_path) == [(3, 3, "delete"), (9, 9, "insert")]
    assert {key: value for key, value in tracked(table_path).items() if key < 3} == {key: before[key] for key in range(3)}


@pytest.mark.parametrize("options", [{"replaceWhere": "p = 1"}, {"partitionOverwriteMode": "dynamic"}, {}])
def test_whole_files_that_go_say_it_all(spark, table_path, options):
    make(spark, table_path, TEN, ("p",))
    overwrite(spark, table_path, "select 100L id, 1L p, 0L v", **options)
    assert actions(table_path, "cdc") == []
    gone = range(10) if not options else (1, 3, 5, 7, 9)
    assert feed(spark, table_path, "id") == sorted([*((key, "delete") for key in gone), (100, "insert")], key=repr)


@pytest.mark.parametrize("option", ["replaceWhere", "replaceUsing"])
def test_nothing_that_goes_needs_no_change_files(spark, table_path, option):
    make(spark, table_path)
    overwrite(spark, table_path, "select 100L id, 1L p, 0L v", **{option: "id >= 100" if option == "replaceWhere" else "id"})
    assert actions(table_path, "cdc") == []
    assert feed(spark, table_path) == [(100, 0, "insert")]


def test_no_new_row_and_every_row_of_a_file(spark, table_path):
    make(spark, table_path, "select id, id v from range(0, 4, 1, 1)")
    overwrite(spark, table_path, "select id, id v from range(0)", replaceWhere="v < 3")
    assert feed(spark, table_path) == [(0, 0, "delete"), (1, 1, "delete"), (2, 2, "delete")]
    overwrite(spark, table_path, "select id, id v from range(0)", replaceWhere="v >= 0 and v + 1 > 0")
    assert feed(spark, table_path, start=2) == [(3, 3, "delete")]
    assert bayou.read(spark, table_path).count() == 0


def test_old_vectors_are_heeded(spark, table_path, way):
    make(spark, table_path, properties={**BOTH, "delta.enableDeletionVectors": "true"}).delete("id in (4, 8)")
    before = tracked(table_path)
    overwrite(spark, table_path, NEW, **WAYS[way])
    assert feed(spark, table_path, "id", "p", "v", start=2) == expected([key for key in GONE[way] if key != 4])
    after = tracked(table_path)
    assert sorted(after) == sorted({*before} - {*GONE[way]} | {3, 5})
    assert after[9] == before[9]


def test_numbers_of_identity_columns_and_values_drawn_are_the_same_in_the_table_and_in_the_feed(spark, table_path):
    builder = bayou.DeltaTable.create(spark).location(table_path)
    builder = builder.addColumn("k", "bigint", generatedAlwaysAs=bayou.IdentityGenerator()).addColumn("id", "bigint")
    builder = builder.addColumn("v", "double").addColumn("twice", "bigint", generatedAlwaysAs="id * 2")
    for name, value in BOTH.items():
        builder = builder.property(name, value)
    builder.execute()
    bayou.write(spark.sql("select id, 0D v from range(0, 4, 1, 1)"), table_path, mode="append")
    overwrite(spark, table_path, "select id, rand() v from range(2, 6, 1, 1)", replaceWhere="id >= 2")
    found = [tuple(row) for row in bayou.read(spark, table_path).where("id >= 2").select("k", "id", "v", "twice").collect()]
    inserted = [row[:-1] for row in feed(spark, table_path, "k", "id", "v", "twice", start=2) if row[-1] == "insert"]
    assert inserted == sorted(found, key=repr)
    assert len({row[0] for row in found}) == 4
    deleted = [row[:-1] for row in feed(spark, table_path, "k", "id", "twice", start=2) if row[-1] == "delete"]
    assert deleted == [(3, 2, 4), (4, 3, 6)]


def test_new_columns_and_fields_are_null_in_rows_that_stay_and_rows_that_go(spark, table_path):
    make(spark, table_path, "select id, named_struct('a', id) s from range(0, 4, 1, 1)")
    query = "select 9L id, named_struct('b', 1, 'a', 9L) s, 'x' w"
    overwrite(spark, table_path, query, replaceWhere="id > 2", mergeSchema="true")
    assert feed(spark, table_path, "id", "s.a", "s.b", "w") == [(3, 3, None, None, "delete"), (9, 9, 1, "x", "insert")]
    assert bayou.read(spark, table_path).where("w is null and s.b is null and s.a = id").count() == 3


def test_rows_that_break_a_rule_leave_no_file(spark, table_path):
    make(spark, table_path)
    before = parquet_files(table_path)
    with pytest.raises(ConstraintViolationError) as caught:
        overwrite(spark, table_path, NEW, replaceWhere="id = 3")
    assert caught.value.num_violations == 1
    assert parquet_files(table_path) == before
    assert {each.name for each in Path(table_path).iterdir() if each.is_dir()} == {"_delta_log"}


def test_a_lost_commit_leaves_no_change_files(spark, table_path, monkeypatch):
    make(spark, table_path)
    original = Transaction.try_commit

    def race(self, *arguments, **keywords):
        monkeypatch.setattr(Transaction, "try_commit", original)
        bayou.DeltaTable.forPath(spark, table_path).delete("id = 4")
        left.update(parquet_files(table_path))
        return original(self, *arguments, **keywords)

    left: set[str] = set()
    monkeypatch.setattr(Transaction, "try_commit", race)
    with pytest.raises(ConcurrentModificationError):
        overwrite(spark, table_path, NEW, **WAYS["replaceWhere"])
    assert any(each.startswith("_change_data") for each in left)
    assert len(feed(spark, table_path, start=1)) == 1
    changes = {each["path"] for each in actions(table_path, "cdc", 1)}
    assert {each for each in parquet_files(table_path) if each.startswith("_change_data")} == changes


def test_the_feed_and_the_ids_take_no_further_job_for_a_condition(spark, tmp_path):
    counts = []
    for number, properties in enumerate(({}, BOTH)):
        path = str(tmp_path / str(number))
        make(spark, path, properties=properties)
        with jobs(spark) as started:
            overwrite(spark, path, NEW, **WAYS["replaceWhere"])
        counts.append(started.value)
    assert counts == [2, 2]  # one finds the rows, one writes
