# SPDX-License-Identifier: Apache-2.0
"""Which files a MERGE reads, which it leaves as they are, and how many it writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.spark.dml.merge.merges import TEN, counts, make, source
from tests.support.observing import actions, physical_plans, without_statistics
from tests.support.operations.statements import settings
from tests.support.tables.queried import FILES, VECTORS, rows

import bayou
from bayou import DeltaTable
from bayou.log.commit.transaction import Transaction


def live_files(path):
    return set(bayou.open(path).update().files(["path"])["path"].to_pylist())


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
