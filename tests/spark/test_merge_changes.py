# SPDX-License-Identifier: Apache-2.0
"""MERGE on tables with a change data feed and row tracking: which changes it tells of, and which ids rows have afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.changed_tables import rows
from tests.spark.changes import actions, feed, files, metrics, parquet_files, tracked
from tests.spark.counting import jobs
from tests.spark.merges import INSERTED, MATCHED, ORPHANED, SHAPES, TEN, make, source
from tests.spark.ways import FILES, VECTORS

import bayou
from bayou.errors import ConcurrentModificationError, ConstraintViolationError

FEED = {"delta.enableChangeDataFeed": "true"}
TRACKED = {"delta.enableRowTracking": "true"}
BOTH = {**FEED, **TRACKED}
NEW = "select id, 7L p, id * 100 v from range(4, 13)"


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


@pytest.mark.parametrize("mode", ["none", "name", "id"])
def test_partitions_and_mapped_columns(spark, table_path, way, mode):
    query = "select id, id % 2 `a p`, named_struct('a', id, 'b c', id) s from range(0, 10, 1, 1)"
    mapping = {} if mode == "none" else {"delta.columnMapping.mode": mode}
    if mode == "none":
        query = query.replace("`a p`", "p").replace("'b c'", "'b'")
    table = make(spark, table_path, query, ["p" if mode == "none" else "a p"], **way, **BOTH, **mapping)
    partition = "p" if mode == "none" else "`a p`"
    before = tracked(table_path)
    new = source(spark, "select id, 5L q from range(7, 11)")
    builder = table.merge(new, "t.id = s.id").whenMatchedDelete("s.id = 7").whenMatchedUpdate(set={"s.a": "-1", partition: "s.q"})
    builder.whenNotMatchedInsert(values={"id": "s.id", partition: "s.q"}).execute()
    assert feed(spark, table_path, "id", partition, "s.a") == sorted(
        [
            (7, 1, 7, "delete"),
            *((i, i % 2, i, "update_preimage") for i in (8, 9)),
            *((i, 5, -1, "update_postimage") for i in (8, 9)),
            (10, 5, None, "insert"),
        ],
        key=repr,
    )
    after = tracked(table_path)
    assert {key: after[key] for key in range(7)} == {key: before[key] for key in range(7)}
    assert {key: after[key] for key in (8, 9)} == {key: (before[key][0], 1) for key in (8, 9)}
    assert after[10][0] not in {row_id for row_id, _ in before.values()}
    folders = {each["path"].rpartition("/")[0].rpartition("=")[2] for each in actions(table_path, "cdc")}
    assert folders == {"0", "1", "5"}


@pytest.mark.parametrize("mode", ["none", "name"])
def test_new_columns_are_null_in_what_the_feed_tells_of_before(spark, table_path, way, joins, mode):
    mapping = {"delta.columnMapping.mode": mode}
    table = make(spark, table_path, "select id, named_struct('a', id) s from range(0, 3, 1, 1)", **way, **BOTH, **mapping)
    before = tracked(table_path)
    new = source(spark, "select id, named_struct('b', id * 2) s, id * 10 w from range(2, 4)")
    begun = table.merge(new, "t.id = s.id").withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll()
    begun.whenNotMatchedBySourceDelete("t.id = 0").execute()
    assert feed(spark, table_path, "id", "s.a", "s.b", "w") == sorted(
        [
            (0, 0, None, None, "delete"),
            (2, 2, None, None, "update_preimage"),
            (2, 2, 4, 20, "update_postimage"),
            (3, None, 6, 30, "insert"),
        ],
        key=repr,
    )
    after = tracked(table_path)
    assert (after[1], after[2]) == (before[1], (before[2][0], 1))


def test_generated_columns_are_told_of_as_they_were_and_as_they_are(spark, table_path, way):
    builder = bayou.DeltaTable.create(spark).location(table_path).addColumn("id", "bigint")
    builder = builder.addColumn("twice", "bigint", generatedAlwaysAs="id * 2").addColumn("v", "bigint")
    for name, value in {**way, **BOTH}.items():
        builder = builder.property(name, value)
    table = builder.execute().alias("t")
    bayou.write(spark.sql("select id, id v from range(0, 4, 1, 1)"), table_path, mode="append")
    begun = table.merge(source(spark, "select id, 100L v from range(1, 5)"), "t.id = s.id").whenMatchedDelete("s.id = 1")
    begun = begun.whenMatchedUpdate("s.id = 2", {"id": "t.id + 10"}).whenMatchedUpdate(set={"v": "s.v"})
    begun.whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert feed(spark, table_path, "id", "twice", "v", start=2) == sorted(
        [
            (1, 2, 1, "delete"),
            (2, 4, 2, "update_preimage"),
            (12, 24, 2, "update_postimage"),
            (3, 6, 3, "update_preimage"),
            (3, 6, 100, "update_postimage"),
            (4, 8, None, "insert"),
        ],
        key=repr,
    )


def test_numbers_of_identity_columns_are_the_same_in_the_table_and_in_the_feed(spark, table_path, way):
    builder = bayou.DeltaTable.create(spark).location(table_path)
    builder = builder.addColumn("k", "bigint", generatedAlwaysAs=bayou.IdentityGenerator()).addColumn("id", "bigint")
    for name, value in {**way, **BOTH}.items():
        builder = builder.property(name, value)
    table = builder.addColumn("v", "bigint").execute().alias("t")
    bayou.write(spark.sql("select id, id v from range(0, 3, 1, 1)"), table_path, mode="append")
    before = tracked(table_path)
    new = source(spark, "select id, 100L v from range(2, 5)")
    begun = table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "s.v"})
    begun.whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"}).whenNotMatchedBySourceDelete("t.id = 0").execute()
    keys = {row.id: row.k for row in table.toDF().collect()}
    assert feed(spark, table_path, "id", "k", start=2) == sorted(
        [
            (0, 1, "delete"),
            (2, keys[2], "update_preimage"),
            (2, keys[2], "update_postimage"),
            *((i, keys[i], "insert") for i in (3, 4)),
        ],
        key=repr,
    )
    after = tracked(table_path)
    assert (after[1], after[2]) == (before[1], (before[2][0], 2))


def test_values_of_deleted_rows_are_not_computed(spark, table_path, way):
    table = make(spark, table_path, TEN, **way, **FEED)
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        begun = table.merge(source(spark, NEW), "t.id = s.id").whenMatchedDelete("t.id = 5")
        begun.whenMatchedUpdate(set={"v": "1 div (t.id - 5)"}).execute()
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")
    assert (5, None, "delete") in feed(spark, table_path)


def test_a_broken_rule_counts_each_row_once_and_leaves_no_file(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way, **BOTH)
    table.addConstraint("small", "v is null or v < 500")
    before = parquet_files(table_path)
    begun = table.merge(source(spark, NEW), "t.id = s.id").whenMatchedDelete("s.id = 6")
    with pytest.raises(ConstraintViolationError) as caught:
        begun.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert caught.value.num_violations == 7
    assert parquet_files(table_path) == before
    assert {each.name for each in Path(table_path).iterdir() if each.is_dir()} == {"_delta_log"}


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
        begun = table.merge(source(spark, NEW), "t.id = s.id").whenMatchedDelete("s.id = 5").whenMatchedUpdateAll()
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
