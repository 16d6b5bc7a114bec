# SPDX-License-Identifier: Apache-2.0
"""OPTIMIZE, REORG, Z-order and clustering on a Connect session, by path: one file for each bin, and no row changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from tests.support.tables.built import numbers, numbers_table, without_rows

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidOptionError, SchemaMismatchError, UnsupportedFeatureError
from bayou.protocol.actions.actions import Protocol
from bayou.spark.portable.scan.rows import scan_frame
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_SIZE = "spark.databricks.delta.optimize.maxFileSize"


def rows(spark: SparkSession, path: str) -> DataFrame:
    return scan_frame(spark, bayou.open(path).snapshot())


def paths(path: str) -> list[str]:
    found: list[str] = bayou.open(path).snapshot().files(["path"])["path"].to_pylist()
    return found


def stored(path: str) -> list[list[Any]]:
    """The first column of each file."""
    return [pq.read_table(f"{path}/{each}", partitioning=None).column(0).to_pylist() for each in paths(path)]


@pytest.fixture
def partitioned(spark: SparkSession, table_path: str) -> DeltaTable:
    """Three partitions with two files each."""
    for start in (0, 100):
        frame = spark.sql(f"SELECT id, CAST(id % 3 AS INT) AS part FROM range({start}, {start + 9})")
        bayou.write(frame, table_path, mode="append", partition_by=["part"])
    return DeltaTable.forPath(spark, table_path)


def test_each_bin_becomes_one_file_with_its_rows_in_their_order(spark: SparkSession, table_path: str) -> None:
    numbers_table(table_path, [5, 1], [9, 7], [3])
    result = DeltaTable.forPath(spark, table_path).optimize().executeCompaction()
    (row,) = result.collect()
    assert (row.metrics.numFilesAdded, row.metrics.numFilesRemoved, row.path) == (1, 3, f"file:{table_path}")
    assert stored(table_path) == [[5, 1, 9, 7, 3]]
    assert DeltaTable.forPath(spark, table_path).history(1).collect()[0].operation == "OPTIMIZE"
    assert DeltaTable.forPath(spark, table_path).optimize().executeCompaction().collect()[0].metrics.numFilesAdded == 0


def test_all_bins_are_one_job_and_follow_their_rows(spark: SparkSession, partitioned: DeltaTable, table_path: str) -> None:
    before = sorted(map(tuple, rows(spark, table_path).collect()))
    partitioned.optimize().executeCompaction()
    assert len(paths(table_path)) == 3
    assert sorted(map(tuple, rows(spark, table_path).collect())) == before
    log = bayou.open(table_path)
    removed = [action["remove"] for action in log_actions(table_path, log.version()) if "remove" in action]
    assert all("BAYOU_MOVED_TO" in (each.get("tags") or {}) for each in removed)
    assert all("dataChange" in each and not each["dataChange"] for each in removed)


def log_actions(path: str, version: int) -> list[dict[str, Any]]:
    import json
    from pathlib import Path

    return [json.loads(line) for line in Path(path, f"_delta_log/{version:020}.json").read_text().splitlines()]


def test_conditions_choose_partitions_and_files(spark: SparkSession, partitioned: DeltaTable, table_path: str) -> None:
    with pytest.raises(InvalidOptionError):
        partitioned.optimize().where("id = 3").executeCompaction()
    with pytest.raises(SchemaMismatchError):
        partitioned.optimize().where("part").executeCompaction()
    with pytest.raises(AnalysisException):
        partitioned.optimize().where("nothing = 1").executeCompaction()
    with pytest.raises(UnsupportedFeatureError):
        partitioned.optimize().where("part IN (SELECT 1)").executeCompaction()
    assert partitioned.optimize().where("part = 1 OR part > 7").executeCompaction().collect()[0].metrics.numFilesAdded == 1
    assert partitioned.optimize().where("1 = 2").executeCompaction().collect()[0].metrics.numFilesAdded == 0
    assert partitioned.optimize().whereFiles("id < 50").plan().num_bins == 2
    plan = partitioned.optimize().whereFiles("id > 1000").plan()
    assert plan.num_bins == 0
    assert partitioned.optimize().whereFiles("id >= 0").executeCompaction().collect()[0].metrics.numFilesAdded == 2


def test_row_ids_stay(spark: SparkSession, table_path: str) -> None:
    DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT").property("delta.enableRowTracking", "true").execute()
    for start in (0, 10):
        bayou.write(spark.range(start, start + 4, 1, 1), table_path, mode="append")
    DeltaTable.forPath(spark, table_path).optimize().executeCompaction()
    (name,) = paths(table_path)
    table = pq.read_table(f"{table_path}/{name}")
    ids = next(each for each in table.column_names if "row-id" in each)
    versions = next(each for each in table.column_names if "row-commit-version" in each)
    assert table[ids].to_pylist() == list(range(8))
    assert table[versions].to_pylist() == [1] * 4 + [2] * 4


def with_vectors(path: str) -> None:
    vectors = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    TableBuilder(path).create(configuration={"delta.enableDeletionVectors": "true"}, protocol=vectors).commit(
        numbers(path, "a.parquet", [1, 2, 3, 9], **without_rows([1, 3])), numbers(path, "b.parquet", [4, 5])
    )


def test_reorg_drops_deleted_rows(spark: SparkSession, table_path: str) -> None:
    with_vectors(table_path)
    (row,) = DeltaTable.forPath(spark, table_path).reorg().collect()
    assert row.metrics.numFilesRemoved == 1
    assert sorted(stored(table_path)) == [[1, 3], [4, 5]]


def test_dropping_deletion_vectors_rewrites_files(spark: SparkSession, table_path: str) -> None:
    with_vectors(table_path)
    table = DeltaTable.forPath(spark, table_path)
    table.dropFeatureSupport("deletionVectors")
    assert sorted(stored(table_path)) == [[1, 3], [4, 5]]
    assert "deletionVectors" not in table.detail().collect()[0].tableFeatures


COLUMNS = {
    "n": "CAST((id * 37) % 400 AS INT)",
    "t": "concat('k', lpad(cast((id * 17) % 400 AS STRING), 4, '0'))",
    "at": "timestamp_micros((id * 91) % 400 * 1000000)",
    "d": "CAST(nullif((id * 53) % 400, 7) AS DECIMAL(9, 2))",
}


@pytest.mark.parametrize("names", [("n", "t"), ("at",), ("d", "n")])
def test_z_order_gives_files_with_narrow_ranges(spark: SparkSession, table_path: str, names: tuple[str, ...]) -> None:
    columns = ", ".join(f"{text} AS {name}" for name, text in COLUMNS.items())
    bayou.write(spark.sql(f"SELECT id, {columns} FROM range(0, 400, 1, 2)"), table_path)
    before = sorted(map(str, rows(spark, table_path).collect()))
    spark.conf.set(MAX_SIZE, "4000")
    try:
        result = DeltaTable.forPath(spark, table_path).optimize().executeZOrderBy(*names).collect()[0]
    finally:
        spark.conf.unset(MAX_SIZE)
    assert result.metrics.numFilesAdded > 2
    assert sorted(map(str, rows(spark, table_path).collect())) == before
    for name in names:
        widths = []
        for path in paths(table_path):
            values = pq.read_table(f"{table_path}/{path}").column(name)
            rank = spark_rank(values, name)
            widths.append(max(rank) - min(rank))
        assert sum(widths) / len(widths) < 350, name


def spark_rank(values: Any, name: str) -> list[int]:
    if name == "t":
        return [int(text[1:]) for text in values.to_pylist()]
    if name == "at":
        return [int(value) // 1_000_000 for value in pc.cast(values, "int64").to_pylist()]
    return [int(value) for value in values.to_pylist() if value is not None]


def test_a_clustered_table_is_clustered(spark: SparkSession, table_path: str) -> None:
    DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT").addColumn("t", "STRING").clusterBy("id").execute()
    for start in (0, 50):
        bayou.write(spark.sql(f"SELECT id, 't' AS t FROM range({start}, {start + 50})"), table_path, mode="append")
    table = DeltaTable.forPath(spark, table_path)
    assert table.optimize().executeFull().collect()[0].metrics.numFilesAdded >= 1
    assert sorted(row.id for row in rows(spark, table_path).collect()) == list(range(100))


def test_auto_compaction_follows_a_write(spark: SparkSession, table_path: str) -> None:
    numbers_table(table_path, *([number] for number in range(60)))
    spark.conf.set("spark.databricks.delta.autoCompact.enabled", "true")
    try:
        bayou.write(spark.range(100, 101), table_path, mode="append")
    finally:
        spark.conf.unset("spark.databricks.delta.autoCompact.enabled")
    assert DeltaTable.forPath(spark, table_path).history(1).collect()[0].operation == "OPTIMIZE"
