# SPDX-License-Identifier: Apache-2.0
"""MERGE where several rows of the source match one of the table: an error that names the keys, unless no harm is done."""

from __future__ import annotations

import pytest
from pyspark.errors import UnsupportedOperationException
from pyspark.sql import functions as F  # noqa: N812
from tests.spark.dml.merge.merges import TEN, counts, make, source
from tests.support.observing import data_files, physical_plans
from tests.support.tables.queried import FILES, rows

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidOptionError, MultipleMatchesError


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
