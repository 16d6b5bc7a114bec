# SPDX-License-Identifier: Apache-2.0
"""MERGE on a Connect session: several matches, the source and the feed."""

from __future__ import annotations

import pytest
from pyspark.errors import NumberFormatException
from tests.connect.dml.conftest import FEED, VECTORS, WAYS, all_rows
from tests.connect.dml.merge.sources import merged, new, source_of

from bayou.errors import DeltaError, MultipleMatchesError


@WAYS
def test_the_feed(spark, make, rows, changes, ways):
    merge = (
        merged(make(ways | FEED), source_of(spark, *new(3, 4, 30)))
        .whenMatchedDelete("s.id = 4")
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
    )
    version = merge.execute().version
    assert rows() == sorted([*all_rows(3, 4), *new(3, 30)])
    assert changes(version) == [
        (3, "new", "update_postimage"),
        (3, "v3", "update_preimage"),
        (4, "v4", "delete"),
        (30, "new", "insert"),
    ]


@WAYS
def test_several_matches_for_a_row_are_an_error(spark, make, rows, ways):
    with pytest.raises(MultipleMatchesError, match=r'\{"id":3\}'):
        merged(make(ways), source_of(spark, *new(3, 3))).whenMatchedUpdateAll().execute()
    assert rows() == all_rows()


@pytest.mark.parametrize("ways", [{}, VECTORS, FEED, VECTORS | FEED])
def test_several_matches_may_delete_a_row(spark, make, rows, ways):
    result = merged(make(ways), source_of(spark, *new(3, 3, 4, 30, 30))).whenMatchedDelete().whenNotMatchedInsertAll().execute()
    assert (result.num_deleted_rows, result.num_inserted_rows) == (2, 2)
    assert rows() == sorted([*all_rows(3, 4), *new(30, 30)])


@WAYS
def test_one_of_several_matches_may_change_a_row(spark, make, rows, ways):
    source = source_of(spark, (3, "a", "x"), (3, "a", "y"), (3, "a", "z"))
    merged(make(ways), source).whenMatchedUpdate("s.v = 'y'", {"v": "s.v"}).execute()
    assert rows() == sorted([*all_rows(3), (3, "a", "y")])


@WAYS
def test_the_source_may_be_the_table(make, rows, ways):
    table = make(ways)
    merged(table, table.toDF().where("id < 2"), "t.id = s.id + 1").whenMatchedUpdate(set={"v": "s.v"}).execute()
    assert rows() == sorted([*all_rows(1, 2), (1, "a", "v0"), (2, "a", "v1")])


@WAYS
def test_a_source_with_random_values_is_evaluated_once(spark, make, rows, ways):
    source = spark.range(0, 200, 1, 4).selectExpr("cast(id % 40 as long) as id", "'b' as part", "uuid() as v", "rand() as r")
    source = source.orderBy("r").dropDuplicates(["id"]).select("id", "part", "v")
    merged(make(ways), source).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert [row[0] for row in rows()] == list(range(40))


@WAYS
def test_values_are_cast_to_the_types_of_their_columns(spark, make, rows, ways):
    source = spark.sql("select 3 as id, 5 as n").alias("s")
    table = make(ways)
    merged(table, source).whenMatchedUpdate(set={"v": "s.n"}).execute()
    assert rows() == sorted([*all_rows(3), (3, "a", "5")])
    with pytest.raises(DeltaError, match="DELTA_CAST_OVERFLOW_IN_TABLE_WRITE"):
        merged(table, source).whenMatchedUpdate(set={"id": "1e30D"}).execute()
    with pytest.raises(NumberFormatException, match="CAST_INVALID_INPUT"):
        merged(table, source).whenMatchedUpdate(set={"id": "'x'"}).execute()


@WAYS
def test_schema_evolution_adds_columns(spark, make, rows, ways):
    source = spark.createDataFrame([(3, "a", "new", 1), (30, "b", "new", 2)], "id long, part string, v string, extra int")
    merge = merged(make(ways), source).withSchemaEvolution().whenMatchedUpdateAll().whenNotMatchedInsertAll()
    merge.execute()
    assert dict(rows("id, extra")) == {**dict.fromkeys(each[0] for each in all_rows()), 3: 1, 30: 2}
