# SPDX-License-Identifier: Apache-2.0
"""`df.write` and `df.writeTo` on Spark Connect, with tables by path."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

import bayou
from bayou.errors import TableExistsError
from bayou.spark.write import writer


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "table")


def ids(spark, path):
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())


def test_save_in_each_mode(spark, path):
    rows = spark.range(3)
    rows.write.format("delta").save(path)
    with pytest.raises(TableExistsError):
        rows.write.format("delta").save(path)
    rows.write.format("delta").mode("ignore").save(path)
    rows.write.format("delta").mode("append").option("userMetadata", "second").save(path)
    assert ids(spark, path) == [0, 0, 1, 1, 2, 2]
    rows.where("id = 1").write.format("delta").mode("overwrite").save(path)
    assert ids(spark, path) == [1]
    assert bayou.open(path).update().version == 2


def test_partitions_dynamic_overwrite_and_replace_where(spark, path):
    rows = spark.range(10).selectExpr("id", "id % 2 as p")
    rows.write.format("delta").partitionBy("p").save(path)
    new = spark.range(100, 101).selectExpr("id", "0L as p")
    new.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(path)
    assert ids(spark, path) == [1, 3, 5, 7, 9, 100]


def test_writes_to_the_name_of_a_path(spark, path):
    name = f"delta.`{path}`"
    spark.range(2).writeTo(name).using("delta").create()
    spark.range(2, 4).writeTo(name).append()
    spark.range(4, 5).write.insertInto(name)
    spark.range(5, 6).write.format("delta").mode("append").saveAsTable(name)
    assert ids(spark, path) == list(range(6))
    spark.range(1).selectExpr("id", "'x' as s").writeTo(name).using("delta").createOrReplace()
    assert spark.read.table(name).columns == ["id", "s"]


def test_rows_of_a_table_are_written_to_itself(spark, path):
    spark.range(3).write.format("delta").save(path)
    spark.read.format("delta").load(path).write.format("delta").mode("append").save(path)
    assert ids(spark, path) == [0, 0, 1, 1, 2, 2]


def test_other_formats_are_the_servers(spark, tmp_path):
    spark.range(3).write.parquet(str(tmp_path / "plain"))
    assert spark.read.parquet(str(tmp_path / "plain")).count() == 3


@pytest.mark.parametrize("way", ["save", "writeTo"])
def test_rows_of_the_written_table_are_those_that_the_transaction_reads(spark, path, monkeypatch, way):
    spark.range(2).write.format("delta").save(path)
    begin = writer._written

    def written_after_an_update(*arguments):
        monkeypatch.setattr(writer, "_written", begin)
        bayou.DeltaTable.forPath(spark, path).update(set={"id": "id + 10"})
        return begin(*arguments)

    monkeypatch.setattr(writer, "_written", written_after_an_update)
    rows = spark.read.format("delta").load(path).selectExpr("id * 2 AS id")
    if way == "save":
        rows.write.format("delta").mode("overwrite").save(path)
    else:
        rows.writeTo(f"delta.`{path}`").overwrite(F.lit(True))
    assert ids(spark, path) == [20, 22]
