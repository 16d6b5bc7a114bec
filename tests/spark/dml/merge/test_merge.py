# SPDX-License-Identifier: Apache-2.0
"""MERGE: which rows change, by which clause, and what the result says of them."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, Row
from tests.spark.dml.merge.merges import INSERTED, MATCHED, ORPHANED, SHAPES, TEN, counts, make, model, source
from tests.support.observing import last
from tests.support.tables.queried import FILES, VECTORS, rows

import bayou
from bayou.errors import AppendOnlyError
from bayou.spark.dml.core.result import RowChangeResult

# Both ways to change rows define what these tests check.
pytestmark = pytest.mark.every_way


@pytest.mark.smoke
def test_rows_that_match_are_updated_and_others_inserted(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select id, 7L p, id * 100 v from range(8, 12)")
    result = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    old = [(i, i % 2, None if i % 5 == 0 else i) for i in range(8)]
    assert rows(table) == sorted([*old, *((i, 7, i * 100) for i in range(8, 12))], key=repr)
    assert counts(result) == (2, 0, 2)
    assert (result.num_affected_rows, result.version, result.committed) == (4, 1, True)
    assert [tuple(row) for row in result.toDF().collect()] == [(4, 2, 0, 2)]
    assert result.toDF().columns == ["num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"]
    entry = last(table_path)
    assert entry.operation == "MERGE"
    assert entry.operation_metrics["numSourceRows"] == "4"
    assert entry.operation_metrics["numTargetRowsCopied"] == ("0" if way is VECTORS else "3")
    assert entry.operation_parameters["matchedPredicates"] == '[{"actionType":"update"}]'


@pytest.mark.smoke
def test_a_result_passes_for_the_data_frame_that_delta_spark_gives(spark, table_path):
    table = make(spark, table_path, TEN)
    result = table.merge(source(spark, "select 1L id"), "t.id = s.id").whenMatchedDelete().execute()
    assert isinstance(result, DataFrame)
    assert isinstance(result, RowChangeResult)
    names = ["num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"]
    assert [(f.name, f.dataType.typeName(), f.nullable) for f in result.schema] == [(name, "long", True) for name in names]
    assert result.collect() == [Row(**dict(zip(names, (1, 0, 1, 0), strict=True)))]
    assert result.union(spark.range(1).selectExpr("id", "id", "id", "id")).count() == 2
    assert repr(result).startswith("RowChangeResult(operation='MERGE', version=1, committed=True, ")
    assert {result: 1}[result] == 1
    assert result != spark.range(1)


@pytest.mark.in_turn(8)
@pytest.mark.parametrize("number", range(len(SHAPES)), ids=lambda number: " | ".join(SHAPES[number]))
def test_every_combination_of_clauses_does_what_its_definition_says(spark, table_path, number):
    shape = SHAPES[number]
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10MB" if number % 2 else "-1")
    try:
        check_shape(spark, table_path, shape, FILES if number // 2 % 2 else VECTORS)
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


def check_shape(spark, table_path, shape, way):
    table = make(spark, table_path, TEN, **way)
    before = rows(table)
    given = [(i, 7, i * 100) for i in range(4, 13)]
    new = source(spark, "select id, 7L p, id * 100 v from range(4, 13)")
    matched, inserted, orphaned = (kinds[name] for kinds, name in zip((MATCHED, INSERTED, ORPHANED), shape, strict=True))
    expected, numbers = model(before, given, matched=matched[0], inserted=inserted[0], orphaned=orphaned[0])
    builder = table.merge(new, "t.id = s.id")
    for _, add in (matched, inserted, orphaned):
        builder = add(builder)
    result = builder.execute()
    assert rows(table) == expected
    assert counts(result) == numbers
    metrics = result.metrics
    assert metrics["numOutputRows"] == numbers[0] + numbers[2] + metrics["numTargetRowsCopied"]


def test_the_first_clause_whose_condition_is_true_takes_the_row(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select id from range(0, 4)")
    builder = table.merge(new, "t.id = s.id").whenMatchedUpdate("t.id < 2", {"v": "-1"}).whenMatchedUpdate("t.id < 3", {"v": "-2"})
    builder.whenMatchedDelete().execute()
    assert rows(table, "id", "v")[:3] == [(0, -1), (1, -1), (2, -2)]
    assert 3 not in {row[0] for row in rows(table, "id")}


def test_a_condition_is_not_asked_of_rows_that_its_clause_is_not_about_or_an_earlier_one_takes(spark, table_path, way):
    table = make(spark, table_path, "select id, if(id = 2, array(id), array()) l from range(1, 4, 1, 1)", **way)
    merge = table.merge(spark.range(1, 3).alias("s"), "t.id = s.id").whenMatchedDelete("size(t.l) = 0")
    merge = merge.whenMatchedUpdate("t.l[0] = 2", {"l": "array(t.l[0] + 1)"})
    merge.whenNotMatchedBySourceUpdate("t.id = 7", {"l": "null"}).execute()
    assert rows(table) == [(2, [3]), (3, [])]


@pytest.mark.in_turn(3)
def test_null_keys_match_nothing_unless_the_condition_says_so(spark, table_path, way, joins):
    query = "select cast(id as bigint) id, v from values (null, 1), (1, 2) as x(id, v)"
    table = make(spark, table_path, query, **way)
    new = source(spark, "select cast(id as bigint) id, v from values (null, 10), (2, 20) as x(id, v)")
    table.merge(new, "t.id <=> s.id").whenMatchedUpdateAll().execute()
    assert rows(table) == [(1, 2), (None, 10)]
    table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table) == sorted([(1, 2), (2, 20), (None, 10), (None, 10)], key=repr)


def test_floats_with_nan_and_zero_of_both_signs_are_found(spark, table_path, way):
    query = "select cast(x as double) k, 1 v from values ('NaN'), ('0.0'), ('5.0'), (null) as x(x)"
    table = make(spark, table_path, query, **way)
    new = source(spark, "select cast(x as double) k, 2 v from values ('NaN'), ('-0.0') as x(x)")
    assert counts(table.merge(new, "t.k = s.k").whenMatchedUpdate(set={"v": "s.v"}).execute()) == (2, 0, 0)
    assert sorted(row[0] for row in table.toDF().select("v").collect()) == [1, 1, 2, 2]


def test_nothing_is_committed_where_nothing_changes(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    far = source(spark, "select id, id p, id v from range(100, 103)")
    for builder in (
        table.merge(far, "t.id = s.id").whenMatchedUpdateAll(),
        table.merge(far, "t.id = s.id").whenMatchedDelete(),
        table.merge(far, "t.id = s.id").whenNotMatchedInsertAll("s.id < 0"),
        table.merge(far, "t.id = s.id").whenNotMatchedBySourceDelete("t.id < 0"),
        table.merge(far.where("id < 0"), "t.id = s.id").whenMatchedDelete().whenNotMatchedInsertAll(),
    ):
        result = builder.execute()
        assert (result.committed, result.reason, result.version, counts(result)) == (False, "empty", 0, (0, 0, 0))
    assert bayou.open(table_path).version() == 0


def test_partition_columns_may_be_set_and_old_vectors_are_heeded(spark, table_path, way):
    table = make(spark, table_path, "select id, id % 3 p from range(0, 12, 1, 1)", partition_by=["p"], **way)
    table.delete("t.id = 5")
    new = source(spark, "select id, 7L p from range(4, 7)")
    result = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert counts(result) == (2, 0, 1)
    expected = [(i, 7 if 4 <= i <= 6 else i % 3) for i in range(12)]
    assert rows(table) == sorted(expected, key=repr)


def test_column_mapping_and_odd_names(spark, table_path, way):
    query = "select id, id `a b`, named_struct('x.y', id) s from range(4)"
    table = make(spark, table_path, query, **way, **{"delta.columnMapping.mode": "name"})
    table.renameColumn("id", "the id")
    new = spark.sql("select id `the id`, -1L `a b`, named_struct('x.y', -2L) s from range(3, 5)").alias("n")
    table.merge(new, "t.`the id` = n.`the id`").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table, "`the id`", "`a b`", "s.`x.y`")[-2:] == [(3, -1, -2), (4, -1, -2)]


def test_the_table_itself_may_be_the_source(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    new = table.toDF().where("id > 5").selectExpr("id", "p", "v + 1 as v").alias("s")
    assert counts(table.merge(new, "t.id = s.id").whenMatchedUpdateAll().execute()) == (4, 0, 0)
    assert (9, 10) in rows(table, "id", "v")


def test_a_table_that_only_takes_appends_takes_inserts_and_nothing_else(spark, table_path):
    table = make(spark, table_path, TEN, **{"delta.appendOnly": "true"})
    new = source(spark, "select 50L id, 1L p, 1L v")
    begun = table.merge(new, "t.id = s.id")
    with pytest.raises(AppendOnlyError):
        table.merge(source(spark, "select 5L id, 1L p, 1L v"), "t.id = s.id").whenMatchedDelete().execute()
    assert counts(begun.whenNotMatchedInsertAll().execute()) == (0, 0, 1)


def test_a_cached_table_shows_the_new_rows(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    cached = table.toDF().cache()
    try:
        assert cached.count() == 10
        table.merge(source(spark, "select 50L id, 1L p, 1L v"), "t.id = s.id").whenNotMatchedInsertAll().execute()
        assert cached.count() == 11
    finally:
        cached.unpersist()


def test_a_key_that_is_nothing_but_null_finds_its_rows(spark, table_path, way):
    table = make(spark, table_path, "select * from values (1, 10), (cast(null as int), 1) t(k, v)", **way)
    given = source(spark, "select * from values (null, 7) s(k, v)")
    merge = (
        table.merge(given, "s.k <=> t.k").whenMatchedUpdate(set={"v": "s.v"}).whenNotMatchedInsert(values={"k": "s.k", "v": "s.v"})
    )
    assert counts(merge.execute()) == (1, 0, 0)
    assert rows(table) == [(1, 10), (None, 7)]


def test_a_merge_that_only_inserts_in_the_end_is_an_append(spark, table_path):
    table = make(spark, table_path, "select 1L k, 1L v", **{"delta.appendOnly": "true"})

    def upsert(key):
        merge = table.merge(source(spark, f"select {key}L k, 5L v"), "s.k = t.k")
        return merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    assert counts(upsert(2)) == (0, 0, 1)
    with pytest.raises(AppendOnlyError):
        upsert(2)
    assert rows(table) == [(1, 1), (2, 5)]
