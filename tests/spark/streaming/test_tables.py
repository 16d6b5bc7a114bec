# SPDX-License-Identifier: Apache-2.0
"""What a table asks of a stream that writes into it: its layout, its rules, its numbers, and the commits of others."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from tests.support.operations.streams import error_class, rows, run
from tests.support.tables.built import ids, numbers_table

from bayou import DeltaTable, IdentityGenerator
from bayou.log.commit.transaction import Transaction
from bayou.log.delta_log import open_log


def test_files_of_a_batch_are_gathered_where_that_is_asked_for(spark, arrivals, checkpoint, table_path):
    arrived = arrivals.stream().repartition(4)
    run(arrived.withColumn("p", F.col("id") * 0), checkpoint, table_path, partition_by=["p"], optimizeWrite="true")
    assert open_log(table_path).snapshot().files(["path"]).num_rows == 1
    run(arrivals.stream().repartition(4).withColumn("p", F.col("id") * 0), checkpoint + "2", table_path + "2", partition_by=["p"])
    assert open_log(table_path + "2").snapshot().files(["path"]).num_rows == 2


def test_a_stream_writes_files_in_place_with_statistics(arrivals, checkpoint, table_path):
    run(arrivals.stream(), checkpoint, table_path)
    files = open_log(table_path).snapshot().files(["path", "stats"])
    assert '"maxValues":{"id":2,"v":20}' in "".join(files["stats"].to_pylist()).replace(" ", "")


def test_numbers_of_an_identity_column_go_on_over_the_batches_of_a_stream(spark, arrivals, checkpoint, table_path):
    table = DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT").addColumn("v", "INT")
    table.addColumn("n", "BIGINT", generatedAlwaysAs=IdentityGenerator(start=100, step=10)).execute()
    arrivals.bring([(3, 30)])
    run(arrivals.stream(), checkpoint, table_path)
    numbers = [row[2] for row in rows(spark, table_path)]
    assert len(set(numbers)) == 3
    assert all(number >= 100 and number % 10 == 0 for number in numbers)
    assert numbers[2] > max(numbers[:2])
    with pytest.raises(PySparkException) as caught:
        run(arrivals.stream().withColumn("n", F.col("id")), checkpoint + "2", table_path)
    assert error_class(caught.value) == "DELTA_IDENTITY_COLUMNS_EXPLICIT_INSERT_NOT_SUPPORTED"


def test_another_layout_than_the_tables_is_refused(spark, arrivals, checkpoint, table_path):
    spark.createDataFrame([], "id long, v int").write.format("delta").partitionBy("v").save(table_path)
    with pytest.raises(PySparkException) as caught:
        run(arrivals.stream(), checkpoint, table_path, partition_by=["id"])
    assert error_class(caught.value) == "DELTA_METADATA_MISMATCH"
    assert open_log(table_path).version() == 0


def test_another_clustering_than_the_tables_is_refused(spark, arrivals, checkpoint, table_path):
    DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT").addColumn("v", "INT").clusterBy("v").execute()
    with pytest.raises(PySparkException) as caught:
        run(arrivals.stream(), checkpoint, table_path, clusterBy="id")
    assert error_class(caught.value) == "DELTA_CLUSTERING_COLUMNS_MISMATCH"
    assert open_log(table_path).version() == 0


def test_values_that_do_not_fit_become_null_under_the_legacy_policy(spark, arrivals, checkpoint, table_path):
    spark.createDataFrame([], "id tinyint, v int").write.format("delta").save(table_path)
    arrivals.bring([(1000, 1)])
    spark.conf.set("spark.sql.storeAssignmentPolicy", "LEGACY")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        run(arrivals.stream(), checkpoint, table_path)
    finally:
        spark.conf.unset("spark.sql.storeAssignmentPolicy")
        spark.conf.unset("spark.sql.ansi.enabled")
    assert len(rows(spark, table_path)) == 3


def test_a_stream_into_its_own_source_stops_at_a_commit_between_and_loses_nothing(spark, table_path, checkpoint, monkeypatch):
    numbers_table(table_path, [1, 2])

    def copied():
        own = spark.readStream.format("delta").option("ignoreChanges", "true").load(table_path)
        run(own.where("id < 100").select((F.col("id") + 100).alias("id")), checkpoint, table_path)

    original = Transaction.try_commit

    def race(self, *arguments, **keywords):
        monkeypatch.setattr(Transaction, "try_commit", original)
        DeltaTable.forPath(spark, table_path).delete("id = 2")
        return original(self, *arguments, **keywords)

    monkeypatch.setattr(Transaction, "try_commit", race)
    with pytest.raises(PySparkException, match=r"(?i)concurrent"):
        copied()
    assert ids(spark.read.format("delta").load(table_path)) == [1]
    copied()
    assert {1, 101} <= set(ids(spark.read.format("delta").load(table_path)))
