# SPDX-License-Identifier: Apache-2.0
"""Columns of a table's own DataFrames, in conditions and values on a Connect session."""

from __future__ import annotations

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812

import bayou
from bayou.errors import SchemaMismatchError


@pytest.fixture
def table(spark, table_path):
    """Six keys with ten times their value."""
    bayou.write(spark.range(6).selectExpr("id key", "id * 10 value", "named_struct('x', id) s").coalesce(1), table_path)
    return bayou.DeltaTable.forPath(spark, table_path)


def rows(table):
    return {row.key: row.value for row in table.toDF().collect()}


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
    merge = named.merge(source.alias("s"), named.toDF()["t.key"] == source.key)
    merge = merge.whenMatchedUpdate(table.toDF().key == F.col("s.key"), {"value": F.lit(7)})
    merge.whenNotMatchedBySourceDelete(frame.key == 1).execute()
    assert rows(table) == {0: 0, 2: 7, 3: 7}


def test_a_column_that_both_sides_have_is_refused(table):
    frame = table.toDF()
    part = frame.where("key = 1")
    with pytest.raises(SchemaMismatchError, match="may be the table's or the source's"):
        table.merge(part, frame.key == part.key).whenMatchedDelete().execute()
    some = table.toDF().where("key < 2")
    table.merge(some, table.toDF().key == some.key).whenMatchedUpdate(set={"value": some.value + 1}).execute()
    assert rows(table) == {0: 1, 1: 11, 2: 20, 3: 30, 4: 40, 5: 50}


def test_a_column_of_another_dataframe_is_refused(spark, table, table_path):
    other = spark.read.format("delta").load(table_path)
    with pytest.raises(AnalysisException, match="CANNOT_RESOLVE_DATAFRAME_COLUMN"):
        table.delete(other.key == 1)
    assert len(rows(table)) == 6
