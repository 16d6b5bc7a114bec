# SPDX-License-Identifier: Apache-2.0
"""MERGE on a Connect session, read back by delta-rs."""

from __future__ import annotations

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.connect.dml.conftest import WAYS, all_rows
from tests.connect.dml.merge.sources import merged, new, source_of

import bayou


@WAYS
def test_matches_are_updated_and_other_rows_inserted(spark, make, rows, ways):
    result = merged(make(ways), source_of(spark, *new(3, 12, 30))).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (result.num_updated_rows, result.num_inserted_rows, result.num_deleted_rows) == (2, 1, 0)
    assert rows() == sorted([*all_rows(3, 12), *new(3, 12, 30)])


@WAYS
def test_clauses_are_tried_in_order(spark, make, rows, ways):
    merge = (
        merged(make(ways), source_of(spark, *new(1, 2, 3, 30, 31)))
        .whenMatchedDelete("s.id = 1")
        .whenMatchedUpdate("s.id = 2", {"v": "concat(t.v, s.v)"})
        .whenNotMatchedInsert("s.id = 30", {"id": "id", "t.part": "'c'"})
    )
    result = merge.execute()
    assert (result.num_updated_rows, result.num_inserted_rows, result.num_deleted_rows) == (1, 1, 1)
    assert rows() == sorted([*all_rows(1, 2), (2, "a", "v2new"), (30, "c", None)])


@WAYS
def test_rows_without_a_match_in_the_source(spark, make, rows, ways):
    merge = (
        merged(make(ways), source_of(spark, *new(1, 2, 19)))
        .whenMatchedUpdate("t.id = 1", {"v": "s.v"})
        .whenNotMatchedBySourceDelete("t.id >= 15")
        .whenNotMatchedBySourceUpdate("id < 4", {"v": "'gone'"})
    )
    result = merge.execute()
    assert (result.num_updated_rows, result.num_deleted_rows) == (3, 4)
    changed = [(0, "a", "gone"), (1, "a", "new"), (3, "a", "gone")]
    assert rows() == sorted([*all_rows(0, 1, 3, 15, 16, 17, 18), *changed])


def test_only_inserts_leave_the_files_of_the_table(spark, make, rows):
    result = merged(make(), source_of(spark, *new(1, 40))).whenNotMatchedInsertAll().execute()
    assert (result.num_inserted_rows, result.metrics["numTargetFilesRemoved"]) == (1, 0)
    assert rows() == [*all_rows(), *new(40)]


def test_nothing_changes_without_matches(spark, make, rows):
    result = merged(make(), source_of(spark, *new(40))).whenMatchedDelete().execute()
    assert result.num_affected_rows == 0
    assert rows() == all_rows()


@WAYS
def test_columns_as_expressions(spark, make, rows, ways):
    source = source_of(spark, *new(3, 30)).alias("s")
    merge = make(ways).alias("t").merge(source, F.col("t.id") == source.id)
    merge.whenMatchedUpdate(set={"v": F.upper(F.col("s.v"))}).whenNotMatchedInsert(
        values={"id": source.id, "part": F.lit("b"), "v": source["v"]}
    ).execute()
    assert rows() == sorted([*all_rows(3), (3, "a", "NEW"), *new(30)])


def test_a_small_merge_writes_one_file(spark, table_path):
    bayou.write(spark.range(20).selectExpr("id", "'old' v").coalesce(1), table_path)
    source = spark.range(10, 30).selectExpr("id", "'new' v").repartition(4)
    result = merged(bayou.DeltaTable.forPath(spark, table_path), source).whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert (result.num_updated_rows, result.num_inserted_rows, result.metrics["numTargetFilesAdded"]) == (10, 10, 1)
