# SPDX-License-Identifier: Apache-2.0
"""Columns of a table's own DataFrames, in conditions and values."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou import DeltaTable
from bayou.errors import SchemaMismatchError


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
def test_a_table_is_merged_with_rows_of_its_own_dataframe(spark, table):
    some = table.toDF().where("key < 2")
    changed = some.withColumn("value", some.value + 1)
    table.alias("t").merge(changed.alias("s"), "t.key = s.key").whenMatchedUpdate(set={"value": "s.value"}).execute()
    assert rows(table) == {0: 1, 1: 11, 2: 20, 3: 30, 4: 40, 5: 50}
    with pytest.raises(SchemaMismatchError, match="the table's and the source's") as caught:
        table.merge(some, table.toDF().key == some.key).whenMatchedDelete().execute()
    assert caught.value.getErrorClass() == "AMBIGUOUS_REFERENCE"
    other = spark.read.format("delta").load(table.detail().first().location).where("key = 1")
    table.merge(other, table.toDF().key == other.key).whenMatchedDelete().execute()
    assert sorted(rows(table)) == [0, 2, 3, 4, 5]


def test_a_column_of_another_dataframe_is_refused(spark, table, table_path):
    other = spark.read.format("delta").load(table_path)
    assert table.toDF().count() == 6
    with pytest.raises(AnalysisException, match="key"):
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
