# SPDX-License-Identifier: Apache-2.0
"""MERGE on tables with a change data feed and row tracking: which changes it tells of, and which ids rows have afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.dml.merge.merge_changes import BOTH, NEW
from tests.spark.dml.merge.merges import INSERTED, MATCHED, ORPHANED, SHAPES, TEN, make, source
from tests.support.observing import actions, feed, files, folders, jobs, metrics, parquet_files, tracked
from tests.support.tables.feeds import FEED
from tests.support.tables.queried import FILES, VECTORS, rows

from bayou.errors import ConcurrentModificationError, ConstraintViolationError


def model(table, given, *, matched=(), inserted=(), orphaned=()):
    """What becomes of rows, in Python: the rows of the feed, and the keys that are updated, deleted and inserted."""
    by_id = {row[0]: row for row in given}
    told, keys = [], {"updated": set(), "deleted": set(), "inserted": set()}
    for row in table:
        other = by_id.get(row[0])
        change = next((change for condition, change in (matched if other else orphaned) if condition(row, other)), None)
        if change is None:
            continue
        made = change(row, other)
        keys["deleted" if made is None else "updated"].add(row[0])
        told += [(*row, "delete")] if made is None else [(*row, "update_preimage"), (*made, "update_postimage")]
    known = {row[0] for row in table}
    for row in given:
        made = next((change(row) for condition, change in inserted if row[0] not in known and condition(row)), None)
        if made is not None:
            keys["inserted"].add(made[0])
            told.append((*made, "insert"))
    return sorted(told, key=repr), keys


# `make soak` runs them all; without a feed and ids, all of them are in test_merge.py.
SOME_SHAPES = [
    pytest.param(number, id=" | ".join(shape), marks=[] if number % 3 == 0 else pytest.mark.soak)
    for number, shape in enumerate(SHAPES)
]


@pytest.mark.in_turn(5)
@pytest.mark.parametrize("number", SOME_SHAPES)
def test_the_feed_and_the_ids_say_what_every_combination_of_clauses_does(spark, table_path, number):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB" if number % 2 else "-1")
    try:
        check_shape(spark, table_path, SHAPES[number], FILES if number // 2 % 2 else VECTORS)
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def check_shape(spark, table_path, shape, way):
    table = make(spark, table_path, TEN, **way, **BOTH)
    before, ids = rows(table), tracked(table_path)
    matched, inserted, orphaned = (kinds[name] for kinds, name in zip((MATCHED, INSERTED, ORPHANED), shape, strict=True))
    given = [(i, 7, i * 100) for i in range(4, 13)]
    told, keys = model(before, given, matched=matched[0], inserted=inserted[0], orphaned=orphaned[0])
    builder = table.merge(source(spark, NEW), "t.id = s.id")
    for _, add in (matched, inserted, orphaned):
        builder = add(builder)
    result = builder.execute()
    assert feed(spark, table_path, "id", "p", "v") == told
    assert (result.num_updated_rows, result.num_deleted_rows, result.num_inserted_rows) == tuple(map(len, keys.values()))
    after = tracked(table_path)
    fresh = {key: after.pop(key) for key in keys["inserted"]}
    assert after == {
        key: (row_id, 1 if key in keys["updated"] else version)
        for key, (row_id, version) in ids.items()
        if key not in keys["deleted"]
    }
    assert {version for _, version in fresh.values()} <= {1}
    assert len({row_id for row_id, _ in [*ids.values(), *fresh.values()]}) == len(ids) + len(fresh)
    change_files = actions(table_path, "cdc")
    assert metrics(table_path)["numTargetChangeFilesAdded"] == str(len(change_files))
    whole = way is VECTORS or not result.num_copied_rows
    assert bool(change_files) == bool(keys["updated"] or (keys["deleted"] and not whole))


@pytest.mark.smoke
def test_an_upsert_tells_of_old_and_new_values_and_of_nothing_that_was_copied(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way, **FEED)
    new = source(spark, "select id, 7L p, id * 100 v from range(8, 12)")
    table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert feed(spark, table_path) == [
        (10, 1000, "insert"),
        (11, 1100, "insert"),
        (8, 8, "update_preimage"),
        (8, 800, "update_postimage"),
        (9, 9, "update_preimage"),
        (9, 900, "update_postimage"),
    ]
    assert {each["path"].split("/")[0] for each in actions(table_path, "cdc")} == {"_change_data"}
    assert len(rows(table)) == 12


def test_an_insert_says_it_all_without_change_files(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way, **BOTH)
    begun = table.merge(source(spark, NEW), "t.id = s.id")
    begun.whenNotMatchedInsertAll().execute()
    begun.whenMatchedDelete("s.id < 0").whenNotMatchedBySourceDelete("t.id < 0").whenNotMatchedInsert(
        "s.id > 100", {"id": "s.id"}
    ).execute()
    assert actions(table_path, "cdc") == []
    assert feed(spark, table_path) == [(10, 1000, "insert"), (11, 1100, "insert"), (12, 1200, "insert")]
    assert not Path(table_path, "_change_data").exists()


def test_a_row_that_several_rows_of_the_source_delete_is_told_of_once(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way, **BOTH)
    twice = source(spark, "select id % 3 + 8 id, id n from range(12)")
    begun = table.merge(twice, "t.id = s.id").whenMatchedDelete().whenNotMatchedInsert("s.n = 2", {"id": "s.id", "v": "s.n"})
    result = begun.whenNotMatchedBySourceUpdate("t.id = 1", {"v": "-1"}).execute()
    assert (result.num_updated_rows, result.num_deleted_rows, result.num_inserted_rows) == (1, 2, 1)
    assert feed(spark, table_path) == [
        (1, -1, "update_postimage"),
        (1, 1, "update_preimage"),
        (10, 2, "insert"),
        (8, 8, "delete"),
        (9, 9, "delete"),
    ]


def test_a_row_that_one_of_its_matches_changes_is_told_of_once(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way, **BOTH)
    before = tracked(table_path)
    new = source(spark, "select id, n from range(0, 3) lateral view explode(array(1, 2, 3)) e as n union all select 20, 1")
    builder = table.merge(new, "t.id = s.id").whenMatchedUpdate("s.n = 2 and s.id < 2", {"v": "100 + s.n"})
    builder.whenMatchedDelete("s.n = 3 and s.id = 2").whenNotMatchedInsert(values={"id": "s.id", "v": "s.n"}).execute()
    assert feed(spark, table_path) == sorted(
        [
            (0, None, "update_preimage"),
            (0, 102, "update_postimage"),
            (1, 1, "update_preimage"),
            (1, 102, "update_postimage"),
            (2, 2, "delete"),
            (20, 1, "insert"),
        ],
        key=repr,
    )
    after = tracked(table_path)
    assert {key: after[key][0] for key in before if key != 2} == {key: value[0] for key, value in before.items() if key != 2}


def test_a_broken_rule_counts_each_row_once_and_leaves_no_file(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way, **BOTH)
    table.addConstraint("small", "v is null or v < 500")
    before, begun_with = parquet_files(table_path), folders(table_path)
    begun = table.merge(source(spark, NEW), "t.id = s.id").whenMatchedDelete("s.id = 6")
    with pytest.raises(ConstraintViolationError) as caught:
        begun.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert caught.value.num_violations == 7
    assert parquet_files(table_path) == before
    assert folders(table_path) == begun_with


def test_a_lost_commit_leaves_no_change_files(spark, table_path):
    table = make(spark, table_path, TEN, **FILES, **BOTH)
    planned = table.merge(source(spark, NEW), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().plan()
    table.delete("v > 7")
    before = parquet_files(table_path)
    with pytest.raises(ConcurrentModificationError):
        planned.execute()
    assert parquet_files(table_path) == before


def test_a_merge_whose_batch_was_committed_meanwhile_leaves_no_file(spark, table_path, way):
    table = make(spark, table_path, TEN, **way, **BOTH)
    begun = (table.merge(source(spark, NEW), "t.id = s.id", txn=("load", 1)) for _ in range(2))
    first, second = (each.whenMatchedUpdateAll().whenNotMatchedInsertAll().plan() for each in begun)
    first.execute()
    before = files(table_path)
    assert any(path.endswith(".bin") for path in before) == (way is VECTORS)
    result = second.execute()
    assert (result.committed, result.reason, result.version) == (False, "replayed", 1)
    assert files(table_path) == before


def test_upserts_of_other_keys_go_on_top_of_each_other_and_tell_of_their_own_rows(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS, **BOTH)
    first, second = (
        table.merge(source(spark, f"select {key}L id, 1L p, 0L v"), "t.id = s.id").whenMatchedUpdateAll().plan() for key in (8, 9)
    )
    first.execute()
    second.execute()
    assert feed(spark, table_path, start=2) == [(9, 0, "update_postimage"), (9, 9, "update_preimage")]


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("partition_by", [(), ("p",)])
def test_ids_last_over_many_merges(spark, table_path, way, partition_by):
    table = make(spark, table_path, TEN, partition_by, **way, **BOTH)
    ids = {key: row_id for key, (row_id, _) in tracked(table_path).items()}
    for number in range(3):
        new = source(spark, f"select id, {number}L p, -{number}L v from range({number * 2}, {number * 2 + 4})")
        table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "s.v", "p": "s.p"}).execute()
    table.merge(source(spark, "select 3L id"), "t.id = s.id").whenMatchedDelete().execute()
    assert {key: row_id for key, (row_id, _) in tracked(table_path).items()} == {k: v for k, v in ids.items() if k != 3}


def test_the_feed_and_the_ids_take_no_further_job(spark, table_path, tmp_path, way):
    counts = []
    for number, properties in enumerate(({}, BOTH)):
        table = make(spark, str(tmp_path / str(number)), TEN, **way, **properties)
        # An update of all columns by the source's would not read the old rows of the table that has neither.
        begun = table.merge(source(spark, NEW), "t.id = s.id").whenMatchedDelete("s.id = 5")
        begun = begun.whenMatchedUpdate(set={"p": "s.p", "v": "s.v"})
        with jobs(spark) as started:
            begun.whenNotMatchedInsertAll().execute()
        counts.append(started.value)
    assert counts[0] == counts[1]


def test_a_merge_that_only_deletes_by_vectors_writes_no_file(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS, **BOTH)
    before = parquet_files(table_path)
    table.merge(source(spark, NEW), "t.id = s.id").whenMatchedDelete("s.id < 7").execute()
    assert parquet_files(table_path) == before
    assert feed(spark, table_path, "id") == [(4, "delete"), (5, "delete"), (6, "delete")]
