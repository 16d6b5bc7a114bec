# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidSchemaError, UnsupportedFeatureError


@pytest.fixture(params=["false", "true"], ids=["rewriting", "vectors"])
def table(spark, table_path, request):
    rows = spark.range(6, numPartitions=2).withColumn("v", F.lit(0))
    options = {"delta.enableRowTracking": "true", "delta.enableDeletionVectors": request.param}
    rows.write.format("delta").options(**options).save(table_path)
    return DeltaTable.forPath(spark, table_path)


def append(spark, path, *ids):
    spark.createDataFrame([(i, 0) for i in ids], "id long, v int").write.format("delta").mode("append").save(path)


def changes(frame):
    """Rows that were inserted or updated, each with the version that changed it; and rows that are gone."""
    rows = frame.collect()
    kept = [(row.id, row.v, row["_change_type"], row["_commit_version"]) for row in rows if row["_change_type"] != "delete"]
    return sorted(kept), sorted((row.id, row.v) for row in rows if row["_change_type"] == "delete")


@pytest.mark.in_turn(2)
def test_each_row_has_one_change_whatever_happened_to_it_on_the_way(spark, table, table_path):
    table.update("id = 1", {"v": "1"})  # version 1
    table.update("id = 1", {"v": "2"})
    table.delete("id = 2")  # version 3
    append(spark, table_path, 8, 9)
    table.update("id = 8", {"v": "5"})  # version 5
    table.delete("id = 9")
    table.update("id = 3", {"v": "1"})
    table.delete("id = 3")
    kept, gone = changes(bayou.read(spark, table_path, changes=(1, None), net=True))
    assert kept == [(1, 0, "update_preimage", 2), (1, 2, "update_postimage", 2), (8, 5, "insert", 5)]
    assert gone == [(2, 0), (3, 0)]
    kept, gone = changes(table.changes(startingVersion=5, endingVersion=6, net=True))
    assert kept == [(8, 0, "update_preimage", 5), (8, 5, "update_postimage", 5)]
    assert gone == [(9, 0)]


def test_from_the_first_version_on_every_row_is_new(spark, table, table_path):
    table.delete("id > 1")
    kept, gone = changes(bayou.read(spark, table_path, changes=(0, None), net=True))
    assert (kept, gone) == ([(0, 0, "insert", 0), (1, 0, "insert", 0)], [])


def test_rows_that_are_only_copied_have_not_changed(spark, table, table_path):
    table.update("id = 0", {"v": "v"})
    kept, gone = changes(bayou.read(spark, table_path, changes=(1, 1), net=True))
    assert {row[0] for row in kept} == {0}
    assert gone == []


def test_columns_that_came_within_the_range_are_null_before(spark, table, table_path):
    table.addColumns("w INT")
    table.update("id = 4", {"w": "7"})
    rows = bayou.read(spark, table_path, changes=(1, None), net=True).where("id = 4").orderBy("_change_type").collect()
    assert [(row["_change_type"], row.w) for row in rows] == [("update_postimage", 7), ("update_preimage", None)]


def test_rows_without_stable_ids_are_refused(spark, table_path):
    spark.range(2).write.format("delta").save(table_path)
    with pytest.raises(UnsupportedFeatureError, match="stable ids") as caught:
        bayou.read(spark, table_path, changes=(0, None), net=True)
    assert list(caught.value.features) == ["net changes"]


def test_a_range_in_which_ids_were_not_kept_is_refused(spark, table, table_path):
    table.setProperties({"delta.enableRowTracking": "false"})
    table.update("id = 1", {"v": "1"})
    table.setProperties({"delta.enableRowTracking": "true"})
    with pytest.raises(UnsupportedFeatureError, match="version 1 does not keep"):
        bayou.read(spark, table_path, changes=(1, None), net=True)


def test_rows_that_a_write_moves_have_other_ids_and_the_range_is_refused(spark, table, table_path):
    moved = bayou.read(spark, table_path).repartition(1)
    moved.write.format("delta").mode("overwrite").option("dataChange", "false").save(table_path)
    version = bayou.open(table_path).version()
    with pytest.raises(UnsupportedFeatureError, match=f"version {version} does not keep"):
        bayou.read(spark, table_path, changes=(1, None), net=True)
    table.update("id = 1", {"v": "7"})
    kept, gone = changes(bayou.read(spark, table_path, changes=(version + 1, None), net=True))
    assert (kept, gone) == ([(1, 0, "update_preimage", version + 1), (1, 7, "update_postimage", version + 1)], [])


def test_files_that_have_other_names_for_the_columns_are_refused(spark, table_path):
    options = {"delta.enableRowTracking": "true", "delta.columnMapping.mode": "name"}
    spark.range(3).write.format("delta").options(**options).save(table_path)
    table = DeltaTable.forPath(spark, table_path)
    table.delete("id = 2")
    table.setProperties({"delta.columnMapping.mode": "none"})
    with pytest.raises(UnsupportedFeatureError, match="another name"):
        bayou.read(spark, table_path, changes=(1, None), net=True).collect()


def test_a_table_with_columns_that_are_called_like_those_of_changes_is_refused(spark, table_path):
    spark.range(2).selectExpr("id", "'x' _change_type").write.format("delta").option("delta.enableRowTracking", "true").save(
        table_path
    )
    with pytest.raises(InvalidSchemaError) as caught:
        bayou.read(spark, table_path, changes=(0, None), net=True)
    assert caught.value.error_class == "DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS"
