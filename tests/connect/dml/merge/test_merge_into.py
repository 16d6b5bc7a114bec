# SPDX-License-Identifier: Apache-2.0
"""MERGE on a Connect session in SQL and by `df.mergeInto`, its history and its errors."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.connect.dml.conftest import WAYS, all_rows
from tests.connect.dml.merge.sources import merged, new, source_of

from bayou.errors import DeltaError, SchemaMismatchError, UnsupportedFeatureError


def test_invalid_merges(spark, make, rows):
    table, source = make(), source_of(spark, *new(3))
    with pytest.raises(SchemaMismatchError, match="nothing") as unknown:
        merged(table, source, "t.nothing = s.id").whenMatchedDelete().execute()
    assert "__bayou" not in str(unknown.value)
    with pytest.raises(SchemaMismatchError, match="ambiguous"):
        merged(table, source, "id = s.id").whenMatchedDelete().execute()
    with pytest.raises(UnsupportedFeatureError, match="Non-deterministic"):
        merged(table, source, "t.id = s.id and rand() < 1").whenMatchedDelete().execute()
    with pytest.raises(UnsupportedFeatureError, match="Subqueries"):
        merged(table, source).whenMatchedDelete("s.id in (select 1)").execute()
    with pytest.raises(SchemaMismatchError):
        merged(table, source).whenMatchedUpdate(set={"w": "1"}).execute()
    with pytest.raises(SchemaMismatchError):
        merged(table, source.drop("v")).whenMatchedUpdateAll().execute()
    with pytest.raises(DeltaError):
        merged(table, source).execute()
    with pytest.raises(SchemaMismatchError):
        merged(table, source).whenNotMatchedInsert(values={"id": "t.id"}).execute()
    assert rows() == all_rows()


def test_files_without_a_possible_match_are_not_read(spark, make):
    table, source = make(), source_of(spark, *new(3))
    result = merged(table, source, "t.id != s.id and t.part = 'a'").whenMatchedUpdate("t.id < 5", set={"v": "'x'"}).execute()
    assert (result.num_scanned_files, result.num_pruned_files) == (1, 3)
    result = merged(table, source).whenMatchedDelete().execute()
    assert (result.num_scanned_files, result.num_pruned_files) == (1, 3)
    inserted = merged(table, source_of(spark, *new(30))).whenNotMatchedInsertAll().execute()
    assert (inserted.num_scanned_files, inserted.num_inserted_rows) == (0, 1)


def test_history(spark, make):
    table = make()
    merged(table, source_of(spark, *new(3, 30))).whenMatchedUpdateAll("s.id > 0").whenNotMatchedInsertAll().execute()
    last = table.history(1).collect()[0]
    assert last["operation"] == "MERGE"
    assert last["operationParameters"]["matchedPredicates"] == '[{"predicate":"s.id > 0","actionType":"update"}]'
    metrics = last["operationMetrics"]
    wanted = {"numSourceRows": "2", "numTargetRowsInserted": "1", "numTargetRowsUpdated": "1", "numTargetRowsCopied": "4"}
    assert {name: metrics[name] for name in wanted} == wanted


@WAYS
def test_merge_into(spark, make, rows, table_path, ways):
    make(ways)
    source_of(spark, *new(1, 3, 30, 31)).createOrReplaceTempView("of_merge")
    counts = spark.sql(
        f"""MERGE INTO delta.`{table_path}` AS t USING of_merge s ON t.id = s.id AND s.id < :most
        WHEN MATCHED AND s.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET t.v = concat(s.v, t.v)
        WHEN NOT MATCHED AND id = 30 THEN INSERT (id, part, v) VALUES (s.id, DEFAULT, 'its')
        WHEN NOT MATCHED BY SOURCE AND t.id = 19 THEN DELETE""",
        {"most": 31},
    ).collect()
    assert counts[0].asDict() == {
        "num_affected_rows": 4,
        "num_updated_rows": 1,
        "num_deleted_rows": 2,
        "num_inserted_rows": 1,
    }
    assert rows() == [*all_rows()[:1], (2, "a", "v2"), (3, "a", "newv3"), *all_rows(0, 1, 2, 3, 19), (30, None, "its")]


def test_merge_into_from_queries(spark, make, rows, table_path):
    make()
    merge = f"MERGE INTO delta.`{table_path}` t USING"
    star = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    spark.sql(f"{merge} (SELECT 3L AS id, 'a' AS part, 'x' AS v) ON t.id = 3 {star}").collect()
    spark.sql(f"{merge} (VALUES (4L, 'a', 'y')) AS s (id, part, v) ON t.id = s.id {star}").collect()
    spark.sql(f"WITH q AS (SELECT 30L AS id, 'b' AS part, 'z' AS v) {merge} q ON t.id = q.id {star}").collect()
    positional = f"{merge} delta.`{table_path}` s ON t.id = s.id AND s.id = ? WHEN MATCHED THEN UPDATE SET v = concat(s.v, ?)"
    spark.sql(positional, args=[5, "!"]).collect()
    assert rows() == sorted([*all_rows(3, 4, 5), (3, "a", "x"), (4, "a", "y"), (5, "a", "v5!"), (30, "b", "z")])


def test_merges_of_data_frames(spark, make, rows, table_path):
    make()
    source = source_of(spark, *new(3, 4, 30)).withColumnRenamed("id", "key").alias("s")
    merge = source.mergeInto(f"delta.`{table_path}`", F.col("id") == source.key)
    merge = merge.whenMatched(F.col("key") == 3).update({"v": F.col("s.v")}).whenMatched().delete()
    merge.whenNotMatched().insert({"id": F.col("key"), "part": F.col("part"), "v": F.lit("x")}).merge()
    assert rows() == sorted([*all_rows(3, 4), (3, "a", "new"), (30, "b", "x")])


def test_names_with_the_path_of_the_table(spark, make, rows, table_path):
    make()
    name = f"delta.`{table_path}`"
    source = source_of(spark, *new(1, 2))
    source.alias("s").mergeInto(name, F.expr(f"{name}.id = s.id")).whenMatched(F.col(f"{name}.id") == 1).updateAll().merge()
    source.createOrReplaceTempView("of_path")
    spark.sql(f"merge into {name} using of_path s on {name}.id = s.id when matched and {name}.v = 'v2' then delete")
    spark.sql(f"update {name} set {name}.v = concat({name}.v, '!') where {name}.id = 3")
    spark.sql(f"delete from {name} where {name}.id = 4")
    assert rows("id, v")[:4] == [(0, "v0"), (1, "new"), (3, "v3!"), (5, "v5")]
