# SPDX-License-Identifier: Apache-2.0
"""MERGE: which rows change, by which clause, in which files, and what is refused."""

from __future__ import annotations

import itertools
import re
import time
import uuid
from pathlib import Path

import pyspark
import pytest
from pyspark.errors import AnalysisException, UnsupportedOperationException
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.changes import actions, without_statistics
from tests.spark.counting import jobs, physical_plans, sorted_joins
from tests.spark.session_settings import settings
from tests.spark.ways import FILES, VECTORS

import bayou
from bayou import DeltaTable
from bayou.errors import (
    AppendOnlyError,
    CastOverflowError,
    ConcurrentModificationError,
    ConstraintViolationError,
    InvalidCommitError,
    InvalidOptionError,
    InvalidSchemaError,
    MultipleMatchesError,
    SchemaMismatchError,
    TransactionStateError,
    UnsupportedFeatureError,
)
from bayou.log.transaction import Transaction
from bayou.spark.dml.merge import execute, find
from bayou.spark.dml.merge import source as source_rows
from bayou.spark.dml.result import RowChangeResult
from bayou.spark.jvm.callbacks import FAILED_CALL

TEN = "select id, id % 2 p, if(id % 5 = 0, null, id) v from range(0, 10, 1, 2)"


def make(spark, path, query, partition_by=(), **properties):
    bayou.write(spark.sql(query), path, partition_by=partition_by, **properties)
    return bayou.DeltaTable.forPath(spark, path).alias("t")


def rows(table, *columns):
    return sorted((tuple(row) for row in table.toDF().select(*columns or "*").collect()), key=repr)


def last(path):
    return next(iter(bayou.open(path).history()))


def data_files(path):
    return {str(file) for file in Path(path).rglob("*.parquet") if "_delta_log" not in file.parts}


def live_files(path):
    return set(bayou.open(path).update().files(["path"])["path"].to_pylist())


def source(spark, query):
    return spark.sql(query).alias("s")


def counts(result):
    return result.num_updated_rows, result.num_deleted_rows, result.num_inserted_rows


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


def model(table, given, *, matched=(), inserted=(), orphaned=()):
    """The same MERGE on `id` in Python: clauses are pairs of a condition and what it makes of the row, None for DELETE."""
    by_id = {row[0]: row for row in given}
    found, updated, deleted = [], 0, 0
    for row in table:
        other = by_id.get(row[0])
        for condition, change in matched if other else orphaned:
            if condition(row, other):
                made = change(row, other)
                deleted, updated = deleted + (made is None), updated + (made is not None)
                found += [] if made is None else [made]
                break
        else:
            found.append(row)
    known = {row[0] for row in table}
    new = []
    for row in given:
        if row[0] not in known:
            new += next(([change(row)] for condition, change in inserted if condition(row)), [])
    return sorted(found + new, key=repr), (updated, deleted, len(new))


def always(*_):
    return True


MATCHED = {
    "none": ((), lambda builder: builder),
    "update": (
        ((always, lambda t, s: (t[0], t[1], s[2])),),
        lambda builder: builder.whenMatchedUpdate(set={"v": "s.v"}),
    ),
    "delete some, update others": (
        ((lambda t, _: t[0] % 3 == 0, lambda *_: None), (lambda t, _: t[0] % 3 == 1, lambda t, s: (t[0], s[1], t[2]))),
        lambda builder: builder.whenMatchedDelete("t.id % 3 = 0").whenMatchedUpdate("t.id % 3 = 1", {"p": F.col("s.p")}),
    ),
    "delete": (((always, lambda *_: None),), lambda builder: builder.whenMatchedDelete()),
}
INSERTED = {
    "none": ((), lambda builder: builder),
    "insert": (((always, lambda s: s),), lambda builder: builder.whenNotMatchedInsertAll()),
    "insert some": (
        ((lambda s: s[0] > 11, lambda s: (s[0], 0, None)),),
        lambda builder: builder.whenNotMatchedInsert("s.id > 11", {"id": "s.id", "p": "0"}),
    ),
}
ORPHANED = {
    "none": ((), lambda builder: builder),
    "delete some, update others": (
        ((lambda t, _: t[0] == 0, lambda *_: None), (lambda t, _: t[0] == 1, lambda t, _: (t[0], t[1], -1))),
        lambda builder: builder.whenNotMatchedBySourceDelete("t.id = 0").whenNotMatchedBySourceUpdate("t.id = 1", {"v": "-1"}),
    ),
    "delete": (((always, lambda *_: None),), lambda builder: builder.whenNotMatchedBySourceDelete()),
}
SHAPES = [each for each in itertools.product(MATCHED, INSERTED, ORPHANED) if set(each) != {"none"}]


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


def test_null_keys_match_nothing_unless_the_condition_says_so(spark, table_path, way, joins):
    query = "select cast(id as bigint) id, v from values (null, 1), (1, 2) as x(id, v)"
    table = make(spark, table_path, query, **way)
    new = source(spark, "select cast(id as bigint) id, v from values (null, 10), (2, 20) as x(id, v)")
    table.merge(new, "t.id <=> s.id").whenMatchedUpdateAll().execute()
    assert rows(table) == [(1, 2), (None, 10)]
    table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table) == sorted([(1, 2), (2, 20), (None, 10), (None, 10)], key=repr)


def test_a_row_that_several_rows_of_the_source_would_change_is_an_error_that_names_the_keys(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select id % 7 id, id v from range(0, 14)")
    before = data_files(table_path)
    with pytest.raises(MultipleMatchesError) as error:
        table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "s.v"}).execute()
    assert isinstance(error.value, UnsupportedOperationException)
    assert error.value.getErrorClass() == "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
    assert (error.value.num_rows, error.value.num_keys) == (7, 7)
    assert error.value.keys == tuple(f'{{"id":{i}}}' for i in range(5))
    assert "7 rows of the table are matched several times, with 7 keys: " in str(error.value)
    assert "and 2 more" in str(error.value)
    assert (bayou.open(table_path).version(), data_files(table_path)) == (0, before)


def test_rows_that_several_would_change_are_counted_and_never_gathered_in_one_task(spark, table_path):
    table = make(spark, table_path, "select id, id % 50 k, id v from range(0, 20000, 1, 4)", **FILES)
    new = source(spark, "select id % 20000 id, id v from range(0, 40000, 1, 4)")
    with physical_plans(spark) as plans, pytest.raises(MultipleMatchesError) as error:
        table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "s.v"}).execute()
    assert (error.value.num_rows, error.value.num_keys, len(error.value.keys)) == (20_000, 20_000, 5)
    assert "and 19995 more" in str(error.value)
    assert any("TakeOrderedAndProject" in plan for plan in plans)
    assert not any("collect_set" in plan for plan in plans)
    with pytest.raises(MultipleMatchesError) as error:
        table.merge(new, "t.k = s.id").whenMatchedUpdate(set={"v": "s.v"}).execute()
    assert error.value.keys == tuple(f'{{"k":{number}}}' for number in (0, 10, 11, 12, 13))
    assert (error.value.num_rows, error.value.num_keys) == (20_000, 50)
    assert "20000 rows of the table are matched several times, with 50 keys: " in str(error.value)
    assert "and 45 more" in str(error.value)


def test_keys_that_are_null_are_named_where_several_rows_would_change_theirs(spark, table_path, way):
    table = make(spark, table_path, "select * from values (1, cast(null as int), 1), (null, null, 2) t(a, b, v)", **way)
    new = source(spark, "select * from values (1, cast(null as int)), (1, null), (null, null), (null, null) s(a, b)")
    with pytest.raises(MultipleMatchesError) as error:
        table.merge(new, "t.a <=> s.a and t.b <=> s.b").whenMatchedUpdate(set={"v": "0"}).execute()
    assert error.value.keys == ('{"a":1,"b":null}', '{"a":null,"b":null}')
    with pytest.raises(MultipleMatchesError) as error:
        table.merge(new, "t.a = s.a").whenMatchedUpdate(set={"v": "0"}).execute()
    assert '1 row of the table is matched several times, with 1 key: {"a":1}.' in str(error.value)


def test_rows_that_match_whatever_they_hold_have_no_key(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    with pytest.raises(MultipleMatchesError) as error:
        table.merge(source(spark, "select id from range(3)"), "s.id > 0").whenMatchedUpdate(set={"v": "0"}).execute()
    assert (error.value.num_rows, error.value.num_keys, error.value.keys) == (10, 0, ())
    assert "10 rows of the table are matched several times." in str(error.value)


def test_rows_that_are_not_found_again_are_told_to_be_none(spark, table_path, way, other_rows, monkeypatch):
    table, error_of = make(spark, table_path, TEN, **way), find._error
    monkeypatch.setattr(find, "_error", lambda merge: (other_rows.shrink(), error_of(merge))[1])
    new = source(spark, f"select id % 3 id from range(6) where id < {other_rows.limit}")
    with pytest.raises(MultipleMatchesError) as error:
        table.merge(new, "t.id = s.id").whenMatchedUpdate(set={"v": "0"}).execute()
    assert (error.value.num_rows, error.value.num_keys, error.value.keys) == (0, 0, ())
    assert "could not be found again" in str(error.value)
    assert "0 rows" not in str(error.value)


def test_times_say_how_long_the_source_took_and_the_whole_of_it(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    given = "select id, 7L p, 1L v from range(8, 12)"
    for query, keeps in ((given, False), (f"select id, first(p) p, max(v) v from ({given}) group by id", True)):
        merge = table.merge(source(spark, query), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
        begin = time.monotonic()
        plan = merge.plan()
        paused = time.monotonic()
        time.sleep(0.5)  # what lies between a plan and its execution is no part of either
        resumed = time.monotonic()
        metrics = plan.execute().metrics
        took = (time.monotonic() - resumed + paused - begin) * 1000
        assert (metrics["materializeSourceTimeMs"] > 0) == keeps
        phases = sum(metrics[f"{phase}TimeMs"] for phase in ("materializeSource", "scan", "rewrite"))
        assert 0 < phases <= metrics["executionTimeMs"] <= took


def test_several_matches_are_no_matter_where_all_of_them_delete(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select id % 7 id from range(0, 14)")
    result = table.merge(new, "t.id = s.id").whenMatchedDelete().whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert counts(result) == (0, 7, 0)
    assert rows(table, "id") == [(7,), (8,), (9,)]
    table.merge(source(spark, "select 7L id union all select 7L"), "t.id = s.id").whenMatchedDelete().execute()
    assert rows(table, "id") == [(8,), (9,)]
    with pytest.raises(MultipleMatchesError):
        table.merge(source(spark, "select 8L id union all select 8L"), "t.id = s.id").whenMatchedDelete("s.id > 0").execute()


def test_matches_that_no_clause_takes_do_not_count_as_several(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select id, n from range(0, 3) lateral view explode(array(1, 2, 3)) e as n union all select 20, 1")
    builder = table.merge(new, "t.id = s.id").whenMatchedUpdate("s.n = 2", {"v": "100 + s.n"})
    builder = builder.whenNotMatchedInsert(values={"id": "s.id", "v": "s.n"})
    assert counts(builder.execute()) == (3, 0, 1)
    old = [(i, None if i % 5 == 0 else i) for i in range(3, 10)]
    assert rows(table, "id", "v") == sorted([*((i, 102) for i in range(3)), *old, (20, 1)], key=repr)


def test_a_row_whose_matches_do_nothing_is_none_that_nothing_matches(spark, table_path, way, joins):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select id, n from range(0, 4) lateral view explode(array(1, 2, 3)) e as n")
    builder = table.merge(new, "t.id = s.id").whenMatchedUpdate("s.n = 2 and s.id < 2", {"v": "100"})
    builder = builder.whenNotMatchedBySourceUpdate("t.id < 6", {"v": "-1"}).whenNotMatchedBySourceDelete()
    assert counts(builder.execute()) == (4, 4, 0)
    assert rows(table, "id", "v") == [(0, 100), (1, 100), (2, 2), (3, 3), (4, -1), (5, -1)]


def test_an_insert_does_not_look_for_duplicates_in_the_source(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    new = source(spark, "select 50L id union all select 50L union all select 1L")
    assert counts(table.merge(new, "t.id = s.id").whenNotMatchedInsert(values={"id": "s.id"}).execute()) == (0, 0, 2)
    assert [row[0] for row in rows(table, "id")].count(50) == 2


def test_files_without_a_match_stay_as_they_are(spark, table_path, way):
    query = "select id, id v from range(0, 100, 1, 4)"
    table = make(spark, table_path, query, **way)
    before = live_files(table_path)
    assert len(before) == 4
    new = source(spark, "select id, -1L v from range(30, 32)")
    result = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    after = live_files(table_path)
    assert len(before & after) == (3 if way is FILES else 4)
    assert counts(result) == (2, 0, 0)
    assert result.num_copied_rows == (23 if way is FILES else 0)


def test_the_keys_of_the_source_tell_which_files_are_read(spark, table_path, way):
    table = make(spark, table_path, "select id, id v from range(0, 100, 1, 4)", **way)
    builder = table.merge(source(spark, "select id, 0L v from range(30, 32)"), "t.id = s.id").whenMatchedUpdateAll()
    plan = builder.plan()
    assert (plan.plan.total.files, plan.plan.pruned_by_statistics.files, plan.plan.to_read.files) == (4, 3, 1)
    assert "pruned by statistics 3" in " ".join(str(plan).split())
    assert bayou.open(table_path).version() == 0
    # Few keys are told one by one: the files between the least and the greatest need not be read.
    some = table.merge(source(spark, "select 1L id union all select 99L"), "t.id = s.id").whenMatchedDelete().plan()
    assert some.plan.to_read.files == 2
    assert counts(plan.execute()) == (2, 0, 0)


def test_a_wide_key_a_comparison_and_a_part_about_the_table_alone_prune_too(spark, table_path):
    table = make(spark, table_path, "select cast(id as int) id, id v from range(0, 100, 1, 4)")
    wide = source(spark, "select id from range(30, 32)")
    assert table.merge(wide, "s.id = t.id").whenMatchedDelete().plan().plan.to_read.files == 1
    own = table.merge(wide, "s.id + 60 < t.id + s.id and t.v >= 80 + 5").whenMatchedDelete().plan()
    assert own.plan.to_read.files == 1
    either = table.merge(wide, "s.id = t.id or t.v = 0").whenMatchedDelete().plan()
    assert either.plan.to_read.files == 4


def test_partition_values_of_the_source_prune_partitions(spark, table_path, way):
    table = make(spark, table_path, "select id, id % 5 p from range(0, 50, 1, 1)", partition_by=["p"], **way)
    new = source(spark, "select id, id % 5 p from range(0, 50) where id % 5 in (0, 4) and id < 20")
    plan = table.merge(new, "t.p = s.p and t.id = s.id").whenMatchedDelete().plan()
    assert (plan.plan.pruned_by_partition.files, plan.plan.to_read.files) == (3, 2)
    assert counts(plan.execute()) == (0, 8, 0)


def test_floats_with_nan_and_zero_of_both_signs_are_found(spark, table_path, way):
    query = "select cast(x as double) k, 1 v from values ('NaN'), ('0.0'), ('5.0'), (null) as x(x)"
    table = make(spark, table_path, query, **way)
    new = source(spark, "select cast(x as double) k, 2 v from values ('NaN'), ('-0.0') as x(x)")
    assert counts(table.merge(new, "t.k = s.k").whenMatchedUpdate(set={"v": "s.v"}).execute()) == (2, 0, 0)
    assert sorted(row[0] for row in table.toDF().select("v").collect()) == [1, 1, 2, 2]


def test_insert_only_reads_no_more_than_the_keys_and_rewrites_nothing(spark, table_path, way):
    table = make(spark, table_path, "select id, id v from range(0, 100, 1, 4)", **way)
    before = live_files(table_path)
    new = source(spark, "select id, 0L v from range(98, 103)")
    with physical_plans(spark) as plans:
        result = table.merge(new, "t.id = s.id").whenNotMatchedInsertAll().execute()
    assert {schema for plan in plans for schema in re.findall(r"ReadSchema: (\S+)", plan)} == {"struct<id:bigint>"}
    assert before < live_files(table_path)
    assert counts(result) == (0, 0, 3)
    assert result.metrics["numTargetFilesRemoved"] == 0
    assert rows(table, "id")[-3:] == [(97,), (98,), (99,)]
    assert table.toDF().where("id >= 98 and v = 0").count() == 3


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


def test_an_update_that_sets_nothing_is_left_out(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select 1L id")
    with pytest.raises(InvalidOptionError) as error:
        table.merge(new, "t.id = s.id").whenMatchedUpdate(set={}).execute()
    assert error.value.error_class == "DELTA_MERGE_MISSING_WHEN"


def test_only_the_last_clause_of_a_kind_may_have_no_condition(spark, table_path):
    table = make(spark, table_path, TEN)
    begun = table.merge(source(spark, "select 1L id, 1L p, 1L v"), "t.id = s.id")
    for builder, name in (
        (begun.whenMatchedDelete().whenMatchedUpdateAll("s.id = 1"), "MATCHED"),
        (begun.whenNotMatchedInsertAll().whenNotMatchedInsertAll("s.id = 1"), "NOT_MATCHED"),
        (begun.whenNotMatchedBySourceDelete().whenNotMatchedBySourceDelete("t.id = 1"), "NOT_MATCHED_BY_SOURCE"),
    ):
        with pytest.raises(AnalysisException) as error:
            builder.execute()
        assert error.value.getErrorClass() == f"DELTA_NON_LAST_{name}_CLAUSE_OMIT_CONDITION"


def test_arguments_are_checked_as_delta_spark_checks_them(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select 1L id")
    for call, error, text in (
        (lambda: table.merge(None, "1 = 1"), ValueError, "'source' in merge cannot be None"),
        (lambda: table.merge("s", "1 = 1"), TypeError, "Type of 'source' in merge must be DataFrame."),
        (lambda: table.merge(new, None), ValueError, "'condition' in merge cannot be None"),
        (lambda: table.merge(new, 1), TypeError, "'condition' must be a Spark SQL Column or a string"),
        (lambda: table.merge(new, "1 = 1").whenMatchedUpdate(), ValueError, "'set' in whenMatchedUpdate cannot be None"),
        (lambda: table.merge(new, "1 = 1").whenMatchedUpdate(set=["v"]), TypeError, "'set' in whenMatchedUpdate must be a dict"),
        (lambda: table.merge(new, "1 = 1").whenMatchedUpdate(set={1: "v"}), TypeError, "Keys of dict in 'set'"),
        (lambda: table.merge(new, "1 = 1").whenNotMatchedInsert(values={"v": 1}), TypeError, "Values of dict in 'values'"),
        (lambda: table.merge(new, "1 = 1").whenMatchedDelete(1), TypeError, "'condition' must be a Spark SQL Column"),
    ):
        with pytest.raises(error, match=text):
            call()


def test_names_are_resolved_against_the_side_that_a_clause_is_about(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select id, id w from range(8, 12)")
    begun = table.merge(new, "t.id = s.id")
    for builder in (
        begun.whenMatchedUpdate(set={"v": "nothing"}),
        begun.whenMatchedUpdate(set={"nothing": "1"}),
        begun.whenNotMatchedInsert(values={"id": "t.id"}),
        begun.whenNotMatchedInsert("t.id = 1", {"id": "s.id"}),
        begun.whenNotMatchedBySourceUpdate(set={"v": "s.w"}),
        begun.whenMatchedUpdateAll(),
        begun.whenNotMatchedInsertAll(),
    ):
        with pytest.raises(SchemaMismatchError) as error:
            builder.execute()
        assert isinstance(error.value, AnalysisException)
        assert error.value.error_class == "DELTA_MERGE_UNRESOLVED_EXPRESSION"
    with pytest.raises(AnalysisException, match="AMBIGUOUS"):
        begun.whenMatchedDelete("id = 8").execute()
    # Without ambiguity no name needs a qualifier, and case does not count.
    begun.whenMatchedUpdate("W = 8", {"V": "w + v"}).whenNotMatchedInsert("w = 10", {"Id": "ID"}).execute()
    assert {(8, 16), (9, 9), (10, None)} <= set(rows(table, "id", "v"))


def test_conditions_may_be_columns_of_the_source(spark, table_path):
    table = make(spark, table_path, TEN)
    new = spark.sql("select id k, id * 3 w from range(8, 12)")
    builder = table.merge(new, F.col("t.id") == new.k).whenMatchedUpdate(new.w == 24, {"v": new.w + F.col("t.v")})
    assert counts(builder.execute()) == (1, 0, 0)
    assert (8, 32) in rows(table, "id", "v")


def test_conditions_must_be_deterministic_and_have_no_subquery_or_aggregate(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select 1L id, 1L p, 1L v")
    for builder, name in (
        (table.merge(new, "t.id = s.id and rand() > 0.5").whenMatchedDelete(), "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        (table.merge(new, "t.id = s.id").whenMatchedDelete("rand() > 2"), "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED"),
        (table.merge(new, "t.id = (select 1)").whenMatchedDelete(), "DELTA_UNSUPPORTED_SUBQUERY"),
        (table.merge(new, "t.id = s.id").whenMatchedDelete("exists (select 1)"), "DELTA_UNSUPPORTED_SUBQUERY"),
        (table.merge(new, "max(t.id) = 1").whenMatchedDelete(), "DELTA_AGGREGATION_NOT_SUPPORTED"),
    ):
        with pytest.raises(UnsupportedFeatureError) as error:
            builder.execute()
        assert error.value.error_class == name
    with pytest.raises(SchemaMismatchError, match="not a boolean"):
        table.merge(new, "t.id + s.id").whenMatchedDelete().execute()


def test_columns_are_set_once_and_nested_ones_are_not_inserted(spark, table_path):
    table = make(spark, table_path, "select 1 id, named_struct('a', 1, 'b', 2) s")
    begun = table.merge(spark.sql("select 1 id, 5 x").alias("n"), "t.id = n.id")
    for builder, kind, name in (
        (begun.whenMatchedUpdate(set={"s": "s", "s.a": "1"}), SchemaMismatchError, "DELTA_CONFLICT_SET_COLUMN"),
        (begun.whenNotMatchedInsert(values={"id": "1", "ID": "2"}), InvalidSchemaError, "DELTA_DUPLICATE_COLUMNS_ON_INSERT"),
        (
            begun.whenNotMatchedInsert(values={"s.a": "1"}),
            UnsupportedFeatureError,
            "DELTA_UNSUPPORTED_NESTED_FIELD_IN_OPERATION",
        ),
    ):
        with pytest.raises(kind) as error:
            builder.execute()
        assert error.value.error_class == name
    begun.whenMatchedUpdate(set={"s.b": "n.x"}).execute()
    assert table.toDF().select("s.a", "s.b").collect()[0] == (1, 5)


def test_values_are_cast_to_the_columns_types_and_must_fit(spark, table_path, way):
    table = make(spark, table_path, "select cast(1 as smallint) id, cast('a' as string) v", **way)
    new = source(spark, "select 1L id, 5 v union all select 2L, 6")
    table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert rows(table) == [(1, "5"), (2, "6")]
    with pytest.raises(CastOverflowError, match="DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"):
        table.merge(source(spark, "select 70000 id"), "t.id = s.id").whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert bayou.open(table_path).version() == 1


def test_structs_are_set_by_the_names_of_their_fields(spark, table_path, way):
    table = make(spark, table_path, "select 1 id, named_struct('a', 1, 'b', 'x') s", **way)
    new = spark.sql("select 1 id, named_struct('b', 'y', 'a', 2) s union all select 2, null").alias("n")
    table.merge(new, "t.id = n.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    found = {row.id: row.s for row in table.toDF().collect()}
    assert (found[1].a, found[1].b, found[2]) == (2, "y", None)
    other = spark.sql("select 1 id, named_struct('a', 2, 'c', 3) s").alias("n")
    with pytest.raises(SchemaMismatchError) as error:
        table.merge(other, "t.id = n.id").whenMatchedUpdateAll().execute()
    assert error.value.error_class == "DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION"


def test_a_star_with_schema_evolution_adds_the_sources_columns(spark, table_path, way, joins):
    table = make(spark, table_path, "select id, named_struct('a', id) s from range(3)", **way)
    new = source(spark, "select id, named_struct('b', id * 2) s, id * 10 w from range(2, 4)")
    result = table.merge(new, "t.id = s.id").withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert counts(result) == (1, 0, 1)
    assert rows(table, "id", "s.a", "s.b", "w") == sorted(
        [(0, 0, None, None), (1, 1, None, None), (2, 2, 4, 20), (3, None, 6, 30)], key=repr
    )


def test_assigned_columns_evolve_and_others_do_not(spark, table_path):
    table = make(spark, table_path, "select id, id v from range(3)")
    new = source(spark, "select id, 5 w, 6 x from range(2, 4)")
    begun = table.merge(new, "t.id = s.id")
    with pytest.raises(SchemaMismatchError):
        begun.whenMatchedUpdate(set={"w": "s.w"}).execute()
    begun.withSchemaEvolution().whenMatchedUpdate(set={"w": "s.w"}).whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert table.toDF().columns == ["id", "v", "w"]
    assert rows(table) == sorted([(0, 0, None), (1, 1, None), (2, 2, 5), (3, None, None)], key=repr)


def test_the_session_may_let_schemas_evolve(spark, table_path):
    table = make(spark, table_path, "select id from range(3)")
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        table.merge(source(spark, "select 9L id, 1 w"), "t.id = s.id").whenNotMatchedInsertAll().execute()
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert rows(table)[-1] == (9, 1)


def test_rows_that_break_a_rule_are_refused_and_nothing_is_left(spark, table_path, way):
    table = make(spark, table_path, "select id, id v from range(3)", **way)
    table.addConstraint("small", "v < 100")
    before = data_files(table_path)
    new = source(spark, "select id, 100 + id v from range(2, 5)")
    with pytest.raises(ConstraintViolationError):
        table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll("s.id > 100").execute()
    with pytest.raises(ConstraintViolationError):
        table.merge(new, "t.id = s.id").whenNotMatchedInsertAll().execute()
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 1


def test_generated_columns_are_computed_and_given_ones_compared(spark, table_path, way):
    builder = bayou.DeltaTable.create(spark).location(table_path).addColumn("id", "bigint")
    builder = builder.addColumn("twice", "bigint", generatedAlwaysAs="id * 2").addColumn("v", "bigint")
    for name, value in way.items():
        builder = builder.property(name, value)
    table = builder.execute().alias("t")
    bayou.write(spark.sql("select id, id v from range(3)"), table_path, mode="append")
    new = source(spark, "select id, 100L v from range(2, 4)")
    begun = table.merge(new, "t.id = s.id")
    begun.whenMatchedUpdate(set={"id": "t.id + 10", "v": "s.v"}).whenNotMatchedInsert(values={"id": "s.id"}).execute()
    assert rows(table) == sorted([(0, 0, 0), (1, 2, 1), (12, 24, 100), (3, 6, None)], key=repr)
    with pytest.raises(ConstraintViolationError):
        begun.whenNotMatchedInsert(values={"id": "s.id", "twice": "5"}).execute()


def test_identity_columns_number_what_is_inserted(spark, table_path, way):
    builder = bayou.DeltaTable.create(spark).location(table_path)
    builder = builder.addColumn("k", "bigint", generatedAlwaysAs=bayou.IdentityGenerator()).addColumn("id", "bigint")
    for name, value in way.items():
        builder = builder.property(name, value)
    table = builder.addColumn("v", "bigint").execute().alias("t")
    bayou.write(spark.sql("select id, id v from range(0, 3, 1, 1)"), table_path, mode="append")
    new = source(spark, "select id, 100L v from range(2, 5)")
    begun = table.merge(new, "t.id = s.id")
    result = begun.whenMatchedUpdate(set={"v": "s.v"}).whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"}).execute()
    assert counts(result) == (1, 0, 2)
    found = rows(table, "id", "k", "v")
    assert [row[::2] for row in found] == [(0, 0), (1, 1), (2, 100), (3, 100), (4, 100)]
    keys = [row[1] for row in found]
    assert keys[:3] == [1, 2, 3]
    assert len(set(keys)) == 5
    assert min(keys[3:]) > 3
    with pytest.raises(SchemaMismatchError):
        begun.whenNotMatchedInsert(values={"k": "1"}).execute()
    with pytest.raises(InvalidSchemaError):
        begun.whenMatchedUpdate(set={"k": "1"}).execute()


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
    before, write = data_files(table_path), execute.Writer.write
    monkeypatch.setattr(execute.Writer, "write", lambda writer: (other_rows.shrink(), write(writer))[1])
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
    write, fails = execute.Writer.write, [RuntimeError("no disk")]

    def failing(writer):
        if fails:
            raise fails.pop()
        return write(writer)

    monkeypatch.setattr(execute.Writer, "write", failing)
    with pytest.raises(RuntimeError, match="no disk"):
        plan.execute()
    assert counts(plan.execute()) == (2, 0, 0)
    assert rows(table, "id", "v")[-2:] == [(8, 108), (9, 109)]


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
    write, tried = execute.Writer.write, []

    def once_without_a_source(writer):
        tried.append(writer)
        if len(tried) == 1:
            lost_source(spark)
        return write(writer)

    monkeypatch.setattr(execute.Writer, "write", once_without_a_source)
    result = upsert_of_a_kept_source(spark, table).execute()
    assert (len(tried), counts(result), result.version) == (2, (2, 0, 2), 1)
    assert sorted(row for row in rows(table, "id", "v") if row[0] > 7) == [(each, each * 100) for each in range(8, 12)]
    assert len(rows(table)) == 12
    added = {each["path"] for version in (0, 1) for each in actions(table_path, "add", version)}
    assert {str(Path(each).relative_to(table_path)) for each in data_files(table_path)} == added


def test_a_source_that_loses_its_rows_each_time_is_an_error_in_the_end(spark, table_path, way, monkeypatch):
    table = make(spark, table_path, TEN, **way)
    write, tried, before = execute.Writer.write, [], data_files(table_path)

    def without_a_source(writer):
        tried.append(writer)
        lost_source(spark)
        return write(writer)

    monkeypatch.setattr(execute.Writer, "write", without_a_source)
    with pytest.raises(FAILED_CALL, match=r"(?i)checkpoint"):
        upsert_of_a_kept_source(spark, table).execute()
    assert len(tried) == 4
    assert data_files(table_path) == before
    assert bayou.open(table_path).version() == 0


def test_the_session_can_ask_for_files_where_the_table_has_vectors(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)

    def merged(key):
        new = source(spark, f"select {key}L id, 1L p, -1L v")
        return table.merge(new, "t.id = s.id").whenMatchedUpdateAll().execute().metrics

    with settings(spark, {"spark.databricks.delta.merge.deletionVectors.persistent": "false"}):
        found = merged(3)
    assert (found["numTargetDeletionVectorsAdded"], found["numTargetRowsCopied"] > 0) == (0, True)
    assert list(Path(table_path).glob("*.bin")) == []
    assert merged(4)["numTargetDeletionVectorsAdded"] == 1
    assert [row[0] for row in rows(table, "id", "v") if row[1] == -1] == [3, 4]


def test_rows_of_files_without_statistics_are_merged_by_vectors(spark, table_path):
    table = make(spark, table_path, TEN, **VECTORS)
    without_statistics(table_path)
    new = source(spark, "select id, 7L p, -1L v from range(8, 12)")
    result = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (counts(result), result.metrics["numTargetDeletionVectorsAdded"]) == ((2, 0, 2), 1)
    assert sorted(row[0] for row in rows(table, "id")) == list(range(12))
    assert sorted(row[0] for row in rows(table, "id", "v") if row[1] == -1) == [8, 9, 10, 11]


def test_a_merge_of_many_tasks_leaves_about_one_file_for_each_partition_that_it_touches(spark, table_path, way):
    query = "select id, id % 5 p, id v from range(0, 5000, 1, 1)"
    table = make(spark, table_path, query, partition_by=["p"], **way)
    new = spark.range(0, 6000).where("id % 5 < 3").selectExpr("id", "id % 5 p", "-id v").repartition(16).alias("s")
    wide = {"spark.sql.shuffle.partitions": "16", "spark.sql.adaptive.coalescePartitions.enabled": "false"}
    with settings(spark, wide | {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        result = table.merge(new, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert counts(result) == (3000, 0, 600)
    assert {each["partitionValues"]["p"] for each in actions(table_path, "add")} == {"0", "1", "2"}
    assert result.metrics["numTargetFilesAdded"] <= 2 * 3


def test_a_table_that_only_takes_appends_takes_inserts_and_nothing_else(spark, table_path):
    table = make(spark, table_path, TEN, **{"delta.appendOnly": "true"})
    new = source(spark, "select 50L id, 1L p, 1L v")
    begun = table.merge(new, "t.id = s.id")
    with pytest.raises(AppendOnlyError):
        table.merge(source(spark, "select 5L id, 1L p, 1L v"), "t.id = s.id").whenMatchedDelete().execute()
    assert counts(begun.whenNotMatchedInsertAll().execute()) == (0, 0, 1)


def test_a_replay_is_no_work_at_all(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select 50L id, 1L p, 1L v")
    assert table.merge(new, "false", txn=("load", 3)).whenNotMatchedInsertAll().execute().committed
    with jobs(spark) as started:
        result = table.merge(new, "false", txn=("load", 3)).whenNotMatchedInsertAll().execute()
    assert (started.value, result.committed, result.reason, result.version) == (0, False, "replayed", 1)


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


def test_a_cached_table_shows_the_new_rows(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    cached = table.toDF().cache()
    try:
        assert cached.count() == 10
        table.merge(source(spark, "select 50L id, 1L p, 1L v"), "t.id = s.id").whenNotMatchedInsertAll().execute()
        assert cached.count() == 11
    finally:
        cached.unpersist()


def test_merge_as_sql_by_path_and_by_name(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    spark.sql("select id, 7L p, id * 100 v from range(8, 12)").createOrReplaceTempView("news")
    spark.sql(
        f"merge into delta.`{table_path}` as t using news as s on t.id = s.id when matched and s.id = 8 then delete "
        "when matched then update set v = s.v + 1, p = default when not matched and s.id = 10 then insert * "
        "when not matched by target then insert (id, v) values (s.id, default) when not matched by source and id = 0 then delete"
    )
    old = [(i, i % 2, None if i % 5 == 0 else i) for i in range(1, 8)]
    assert rows(table) == sorted([*old, (9, None, 901), (10, 7, 1000), (11, None, None)], key=repr)
    spark.sql(f"create table merged_by_name using delta location '{table_path}'")
    try:
        spark.sql("merge into merged_by_name using news on merged_by_name.id = news.id when matched then update set *")
        using = "using (select * from w) s on t.id = s.id when matched then delete"
        spark.sql(f"with w as (select 10L id) merge into merged_by_name t {using}")
        spark.sql(
            "merge into merged_by_name t using news s on t.id = s.id and s.id = :id when matched then delete", args={"id": 11}
        )
    finally:
        spark.sql("drop table merged_by_name")
    assert [row for row in rows(table) if row[0] > 7] == [(9, 7, 900)]
    assert last(table_path).operation == "MERGE"


def test_structs_and_evolution_in_sql(spark, table_path):
    table = make(spark, table_path, "select 1L id, named_struct('a', 1, 'b', 2) s")
    spark.sql("select 1L id, named_struct('b', 20, 'a', 10) s, 5 w").createOrReplaceTempView("news")
    spark.sql(f"merge into delta.`{table_path}` t using news n on t.id = n.id when matched then update set *")
    assert table.toDF().select("s.a", "s.b").collect()[0] == (10, 20)
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    try:
        spark.sql(f"merge into delta.`{table_path}` t using news n on t.id = n.id when matched then update set *")
    finally:
        spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    assert table.toDF().select("w").collect()[0] == (5,)


def test_explain_of_a_merge_runs_nothing(spark, table_path):
    make(spark, table_path, TEN)
    spark.sql("select 1L id").createOrReplaceTempView("news")
    text = f"merge into delta.`{table_path}` t using news s on t.id = s.id when matched then delete"
    with jobs(spark) as started:
        shown = spark.sql(f"explain {text}").collect()[0][0]
    assert started.value == 0
    assert "MERGE" in shown
    assert bayou.open(table_path).version() == 0


def test_what_is_no_table_is_refused_in_sql(spark, table_path):
    make(spark, table_path, TEN)
    spark.sql("select 1L id").createOrReplaceTempView("news")
    spark.read.format("delta").load(table_path).where("id > 2").createOrReplaceTempView("some_rows")
    with pytest.raises(UnsupportedFeatureError):
        spark.sql("merge into some_rows t using news s on t.id = s.id when matched then delete")
    assert bayou.open(table_path).version() == 0


@pytest.mark.parametrize("inserts", [False, True], ids=["updates", "an upsert"])
def test_a_small_merge_takes_few_jobs_beside_the_look_at_its_source(spark, table_path, inserts):
    table = make(spark, table_path, "select id, id v from range(0, 100, 1, 4)", **FILES)
    begun = table.merge(source(spark, "select id, 0L v from range(98, 102)"), "t.id = s.id").whenMatchedUpdateAll()
    plan = (begun.whenNotMatchedInsertAll() if inserts else begun).plan()
    with jobs(spark) as started:
        plan.execute()
    # The search, the write, and a broadcast of the source for each; to insert, the pairs are kept and their keys broadcast.
    assert started.value <= (6 if inserts else 4)


@pytest.mark.parametrize("others", [False, True], ids=["matches", "all rows"])
def test_the_keys_of_the_table_are_read_once_and_no_pair_is_kept_after(spark, table_path, way, others):
    table = make(spark, table_path, "select id, id v from range(0, 100, 1, 4)", **way)
    begun = table.merge(source(spark, "select id, -1L v from range(98, 103)"), "t.id = s.id")
    begun = begun.whenMatchedUpdateAll("s.id > 98").whenNotMatchedInsertAll()
    begun = begun.whenNotMatchedBySourceDelete("t.id < 2") if others else begun
    kept = len(spark.sparkContext._jsc.getPersistentRDDs())
    with physical_plans(spark) as plans:
        begun.execute()
    changed = {99: -1, 100: -1, 101: -1, 102: -1}
    assert rows(table) == sorted(((i, changed.get(i, i)) for i in range(2 if others else 0, 103)), key=repr)
    assert len([plan for plan in plans if "InMemoryTableScan" in plan]) == 2  # what looks for rows, and what writes them
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == kept


def test_no_pair_is_kept_after_a_merge_that_fails(spark, table_path, way):
    table = make(spark, table_path, "select id, id v from range(0, 10, 1, 1)", **way)
    kept = len(spark.sparkContext._jsc.getPersistentRDDs())
    twice = source(spark, "select id, -1L v from values (3L), (3L), (11L) as x(id)")
    with pytest.raises(MultipleMatchesError):
        table.merge(twice, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    table.addConstraint("positive", "v >= 0")
    with pytest.raises(ConstraintViolationError):
        table.merge(source(spark, "select 12L id, -1L v"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == kept


@pytest.mark.parametrize(
    ("table_rows", "text", "sorts"), [(30_000, "short", False), (3_000, "short", True), (30_000, "long" * 50, True)]
)
def test_a_table_of_far_more_rows_than_the_source_stays_where_it_is(spark, tmp_path, monkeypatch, table_rows, text, sorts):
    wide = ", ".join(f"'{text}' c{number}" for number in range(10))
    table = make(spark, str(tmp_path / "table"), f"select id, {wide} from range({table_rows})", **FILES)
    bayou.write(spark.sql(f"select id * {table_rows} div 900 id, {wide} from range(1000)"), str(tmp_path / "source"))
    news = bayou.read(spark, str(tmp_path / "source")).alias("s")
    monkeypatch.setattr(source_rows, "_FEW_ROWS", 10)
    monkeypatch.setattr(
        source_rows, "memory_bytes", lambda _: source_rows._OF_MEMORY * 300_000
    )  # there is room for the short texts alone
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "20KB")
    try:
        with sorted_joins(spark) as found:
            table.merge(news, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    assert (found.value > 0) == sorts


def test_the_latest_of_several_source_rows_is_taken_where_that_is_asked_for(spark, table_path):
    spark.createDataFrame([(1, "a"), (2, "b")], "id long, v string").write.format("delta").save(table_path)
    rows = [(1, "old", 1), (1, "new", 2), (3, "first", 5), (3, "last", 6), (None, "x", 1), (None, "y", 2), (2, None, None)]
    source = spark.createDataFrame(rows, "id long, v string, at int")
    table = DeltaTable.forPath(spark, table_path)

    def merge(**options):
        merging = table.alias("t").merge(source.alias("s"), "t.id = s.id", **options).whenMatchedUpdate(set={"v": "s.v"})
        return merging.whenNotMatchedInsert(values={"id": "s.id", "v": "s.v"}).execute()

    with pytest.raises(MultipleMatchesError, match="keep='latest'"):
        merge()
    result = merge(keep="latest", by="at")
    assert (result.num_updated_rows, result.num_inserted_rows) == (2, 3)
    found = sorted(map(tuple, spark.read.format("delta").load(table_path).collect()), key=str)
    assert found == sorted([(1, "new"), (2, None), (3, "last"), (None, "x"), (None, "y")], key=str)


def test_the_latest_row_needs_a_column_and_keys(spark, table_path):
    spark.createDataFrame([(1, 1)], "id long, v int").write.format("delta").save(table_path)
    table = DeltaTable.forPath(spark, table_path).alias("t")
    source = spark.createDataFrame([(1, 1)], "id long, v int").alias("s")
    with pytest.raises(ValueError, match="'by'"):
        table.merge(source, "t.id = s.id", keep="latest")
    with pytest.raises(InvalidOptionError, match="equalities"):
        table.merge(source, "t.id = s.id AND t.v < s.v", keep="latest", by="v").whenMatchedDelete().execute()
    for by in (F.col("v").desc(), F.col("v").asc_nulls_first(), "v desc", F.col("v").alias("w")):
        with pytest.raises(InvalidOptionError, match="a direction or a name"):
            table.merge(source, "t.id = s.id", keep="latest", by=by).whenMatchedDelete().execute()


def test_a_merge_that_is_interrupted_after_its_commit_keeps_its_files(spark, table_path, monkeypatch):
    spark.createDataFrame([(1, 1), (2, 2)], "id long, v int").write.format("delta").save(table_path)
    source = spark.createDataFrame([(1, 10), (3, 30)], "id long, v int").alias("s")
    commit = Transaction.try_commit

    def interrupted(self, *arguments, **options):
        commit(self, *arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Transaction, "try_commit", interrupted)
    merge = DeltaTable.forPath(spark, table_path).alias("t").merge(source, "t.id = s.id")
    with pytest.raises(KeyboardInterrupt):
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert sorted(map(tuple, spark.read.format("delta").load(table_path).collect())) == [(1, 10), (2, 2), (3, 30)]


@pytest.mark.smoke
@pytest.mark.parametrize("in_sql", [False, True], ids=["method", "SQL"])
def test_a_column_that_the_table_gets_is_the_sources_in_conditions_and_values(spark, table_path, in_sql):
    table = make(spark, table_path, "select id, id v from range(3)")
    source(spark, "select * from values (1L, 10L, 'x'), (2L, 20L, 'y'), (7L, 70L, 'z') s(id, v, extra)").createOrReplaceTempView(
        "given"
    )
    if in_sql:
        bayou.enable(spark)
        spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
        try:
            spark.sql(
                f"merge into delta.`{table_path}` t using given s on t.id = s.id and extra is not null "
                "when matched and extra = 'x' then update set extra = upper(extra), v = s.v "
                "when not matched and extra = 'z' then insert (id, extra) values (s.id, concat(extra, extra))"
            )
        finally:
            spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    else:
        merge = table.alias("t").merge(spark.table("given").alias("s"), "t.id = s.id and extra is not null").withSchemaEvolution()
        merge = merge.whenMatchedUpdate("extra = 'x'", {"extra": "upper(extra)", "v": "s.v"})
        merge.whenNotMatchedInsert("extra = 'z'", {"id": "s.id", "extra": "concat(extra, extra)"}).execute()
    assert rows(table, "id", "v", "extra") == [(0, 0, None), (1, 10, "X"), (2, 2, None), (7, None, "zz")]


def test_a_key_that_is_nothing_but_null_finds_its_rows(spark, table_path, way):
    table = make(spark, table_path, "select * from values (1, 10), (cast(null as int), 1) t(k, v)", **way)
    given = source(spark, "select * from values (null, 7) s(k, v)")
    merge = (
        table.merge(given, "s.k <=> t.k").whenMatchedUpdate(set={"v": "s.v"}).whenNotMatchedInsert(values={"k": "s.k", "v": "s.v"})
    )
    assert counts(merge.execute()) == (1, 0, 0)
    assert rows(table) == [(1, 10), (None, 7)]


@pytest.mark.skipif(pyspark.__version__ < "4.0", reason="DataFrame.mergeInto came with Spark 4.0")
def test_merge_into_of_a_data_frame(spark, table_path):
    bayou.enable(spark)
    name = f"t_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE TABLE {name} (k INT, v INT) USING delta LOCATION '{table_path}'")
    try:
        given = spark.sql("select * from values (1, 10), (2, 20) s(k, v)").alias("s")
        same = F.expr(f"s.k = {name}.k")
        given.mergeInto(name, same).whenNotMatched(F.expr("s.k = 1")).insertAll().merge()
        given.mergeInto(name, F.lit(False)).whenNotMatched(F.expr("s.k = 2")).insert({"k": F.lit(9), "v": F.col("s.v")}).merge()
        given.mergeInto(name, same).whenMatched().update({"v": F.col("s.v") + 1}).whenNotMatched().insertAll().merge()
        assert sorted(map(tuple, spark.table(name).collect())) == [(1, 11), (2, 20), (9, 20)]
    finally:
        spark.sql(f"DROP TABLE {name}")


def test_a_merge_that_only_inserts_in_the_end_is_an_append(spark, table_path):
    table = make(spark, table_path, "select 1L k, 1L v", **{"delta.appendOnly": "true"})

    def upsert(key):
        merge = table.merge(source(spark, f"select {key}L k, 5L v"), "s.k = t.k")
        return merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    assert counts(upsert(2)) == (0, 0, 1)
    with pytest.raises(AppendOnlyError):
        upsert(2)
    assert rows(table) == [(1, 1), (2, 5)]


@pytest.mark.parametrize("vectors", [True, False])
def test_a_little_merge_leaves_one_file(spark, table_path, vectors):
    spark.range(100).selectExpr("id", "id v").coalesce(1).write.format("delta").option(
        "delta.enableDeletionVectors", str(vectors).lower()
    ).save(table_path)
    table = bayou.DeltaTable.forPath(spark, table_path)
    source = spark.range(90, 110).selectExpr("id", "-id v").repartition(4)
    merged = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (merged.num_updated_rows, merged.num_inserted_rows, merged.metrics["numTargetFilesAdded"]) == (10, 10, 1)
    new = spark.range(200, 220).selectExpr("id", "id v").repartition(4)
    inserted = table.alias("t").merge(new.alias("s"), "t.id = s.id").whenNotMatchedInsertAll().execute()
    assert (inserted.num_inserted_rows, inserted.metrics["numTargetFilesAdded"]) == (20, 1)
    assert table.toDF().count() == 130
    assert table.toDF().selectExpr("sum(v)").first()[0] == sum(range(90)) - sum(range(90, 110)) + sum(range(200, 220))
