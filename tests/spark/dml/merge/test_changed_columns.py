# SPDX-License-Identifier: Apache-2.0
"""Columns in what a MERGE tells its change data feed: mapped, partitioned, new, generated, identity, and those of deleted rows."""

from __future__ import annotations

import pytest
from tests.spark.dml.merge.merge_changes import BOTH, NEW
from tests.spark.dml.merge.merges import TEN, make, source
from tests.support.observing import actions, feed, tracked
from tests.support.tables.feeds import FEED

import bayou


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
