# SPDX-License-Identifier: Apache-2.0
"""Columns of a table's own DataFrames, in conditions and values."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou import DeltaTable
from bayou.errors import SchemaChangedError, SchemaMismatchError


@pytest.fixture
def table(spark, table_path):
    rows = spark.range(6).selectExpr("id key", "id * 10 value", "named_struct('x', id) s")
    rows.coalesce(1).write.format("delta").save(table_path)
    return DeltaTable.forPath(spark, table_path)


def rows(table):
    return {row.key: row.value for row in table.toDF().collect()}


@pytest.mark.smoke
def test_a_column_of_the_tables_dataframe_is_the_tables_column(spark, table):
    frame = table.toDF()
    table.delete(frame.key == 5)
    table.delete(table.toDF()["s.x"] == 4)
    table.update(frame.key == 3, {"value": frame.value + table.toDF().s.x})
    assert rows(table) == {0: 0, 1: 10, 2: 20, 3: 33}
    source = spark.range(2, 8).selectExpr("id key", "-id value")
    table.merge(source, frame.key == source.key).whenMatchedUpdate(frame.key == 2, {"value": frame.value + source.value}).execute()
    assert rows(table) == {0: 0, 1: 10, 2: 18, 3: 33}
    named = table.alias("t")
    named.merge(source.alias("s"), named.toDF()["t.key"] == source.key).whenMatchedUpdate(
        table.toDF().key == F.col("s.key"), {"value": F.lit(7)}
    ).whenNotMatchedBySourceDelete(frame.key == 1).execute()
    assert rows(table) == {0: 0, 2: 7, 3: 7}


@pytest.mark.smoke
def test_a_table_is_merged_with_rows_of_its_own_dataframe(spark, table, table_path):
    some = table.toDF().where("key < 2")
    changed = some.withColumn("value", some.value + 1)
    table.alias("t").merge(changed.alias("s"), "t.key = s.key").whenMatchedUpdate(set={"value": "s.value"}).execute()
    assert rows(table) == {0: 1, 1: 11, 2: 20, 3: 30, 4: 40, 5: 50}
    table.alias("t").merge(some.alias("s"), "t.key = s.key").whenMatchedUpdate(set={"value": some.value + 1}).execute()
    table.merge(some, table.toDF().key == some.key).whenMatchedUpdate(set={"value": some.value + 1}).execute()
    table.merge(some, table.toDF().key == some.key + 9).whenNotMatchedInsert(values={"key": some.key + 9}).execute()
    assert rows(table) == {0: 3, 1: 13, 2: 20, 3: 30, 4: 40, 5: 50, 9: None, 10: None}
    frame = table.toDF()
    part = frame.where("key = 1")
    with pytest.raises(SchemaMismatchError, match="may be the table's or the source's") as caught:
        table.merge(part, frame.key == part.key).whenMatchedDelete().execute()
    assert caught.value.getErrorClass() == "AMBIGUOUS_REFERENCE"
    other = spark.read.format("delta").load(table_path).where("key = 1")
    table.merge(other, table.toDF().key == other.key).whenMatchedDelete().execute()
    assert sorted(rows(table)) == [0, 2, 3, 4, 5, 9, 10]


def test_a_column_of_another_dataframe_is_refused(spark, table, table_path):
    other = spark.read.format("delta").load(table_path)
    assert table.toDF().count() == 6
    with pytest.raises(AnalysisException, match="MISSING_ATTRIBUTES"):
        table.delete(other.key == 1)
    assert len(rows(table)) == 6


def test_dataframes_of_a_table_are_new_ones_and_read_what_is_there(spark, table):
    first = table.toDF()
    assert len(first.collect()) == 6
    table.delete("key = 0")
    assert len(table.toDF().collect()) == 5
    assert first.count() == 5
    assert table.toDF().alias("a").join(table.toDF().alias("b"), F.expr("a.key = b.key + 1")).count() == 4
    assert table.toDF().exceptAll(first).count() == 0


def test_the_columns_stay_known_when_the_table_gets_more(spark, table):
    older = table.toDF()
    table.addColumns("extra int")
    table.delete(older.key == 0)
    table.update(table.toDF().key == 1, {"extra": table.toDF().key + 1})
    assert {row.key: row.extra for row in table.toDF().collect()} == {1: 2, 2: None, 3: None, 4: None, 5: None}
    source = spark.sql("select 2L key, 5 fresh")
    table.merge(source, table.toDF().key == source.key).withSchemaEvolution().whenMatchedUpdateAll(table.toDF().key == 2).execute()
    assert [row.fresh for row in table.toDF().where("key = 2").collect()] == [5]


@pytest.mark.smoke
def test_dataframes_of_a_table_are_joined_by_their_columns(spark, table):
    first, second = table.toDF(), table.toDF().where("key = 1")
    joined = first.join(second, first.key == second.key, "left").drop(second.key).drop(second.value)
    assert sorted(row.key for row in joined.select("key").collect()) == [0, 1, 2, 3, 4, 5]
    assert first.join(second, first.value == second.key * 20).select(first.key).collect() == [(2,)]


def test_a_column_is_not_another_one_of_its_name_or_its_place(spark, table_path):
    spark.sql(
        f"create table delta.`{table_path}` (a int, b int, s struct<x: int, y: int>) using delta"
        " tblproperties ('delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"insert into delta.`{table_path}` values (1, 10, struct(1, 2)), (2, 20, struct(2, 1))")
    table = DeltaTable.forPath(spark, table_path)
    frame = table.toDF()
    inner = frame["s.x"]
    table.renameColumn("a", "z")
    table.renameColumn("b", "a")
    spark.sql(f"alter table delta.`{table_path}` alter column s.y first")
    source = spark.range(1)
    for column, name in ((frame.a, "a"), (inner, "s")):
        for change in (
            lambda column=column: table.delete(column == 1),
            lambda column=column: table.update(column == 1, {"z": "5"}),
            lambda column=column: table.update(set={"z": column}),
            lambda column=column: table.merge(source, column == 1).whenMatchedDelete().execute(),
        ):
            with pytest.raises(SchemaChangedError, match=f"names {name} of a DataFrame") as caught:
                change()
            assert isinstance(caught.value, AnalysisException)
            assert "DeleteFromTable" not in str(caught.value)
    assert table.toDF().count() == 2
    table.delete(table.toDF()["s.x"] == 1)
    assert [row.z for row in table.toDF().collect()] == [2]


def test_a_dataframe_is_known_whichever_thread_asked_for_it(spark, table):
    with ThreadPoolExecutor(4) as pool:
        frames = list(pool.map(lambda _: table.toDF(), range(12)))
    for number, frame in enumerate(frames[:6]):
        table.delete(frame.key == number)
    assert rows(table) == {}


@pytest.mark.smoke
def test_values_of_a_char_partition_are_compared_as_a_query_compares_them(spark, table_path):
    spark.sql(f"create table delta.`{table_path}` (id int, c char(5), p int) using delta partitioned by (c, p)")
    spark.sql(f"insert into delta.`{table_path}` values (1, 'ab', 1), (2, 'cd', 1), (3, 'ef', 2), (4, 'gh', 2)")
    table = DeltaTable.forPath(spark, table_path)
    first, second = table.toDF(), table.toDF()
    table.delete("c = 'ab'")
    spark.sql(f"delete from delta.`{table_path}` where c = 'cd   ' and id > 0")
    spark.sql(f"update delta.`{table_path}` set id = 30 where c = 'ef'")
    spark.sql(
        f"merge into delta.`{table_path}` t using (select 1 k) s on t.c = 'gh' and p = 2 when matched then update set id = 40"
    )
    table.update(first.id == 40, {"id": second.id + 1})
    assert sorted(row.id for row in table.toDF().collect()) == [30, 41]
