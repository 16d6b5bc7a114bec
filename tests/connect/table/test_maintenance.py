# SPDX-License-Identifier: Apache-2.0
"""VACUUM, RESTORE, statistics and checkpoints on a Connect session, by path."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.support.observing import parquet_files
from tests.support.tables.built import numbers as file_of_numbers
from tests.support.tables.built import numbers_table, without_rows

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidOptionError, VersionNotFoundError
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder, remove

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture
def table(spark: SparkSession, table_path: str) -> DeltaTable:
    """A table with a second version that removed the first file."""
    numbers_table(table_path, [1, 2], [3, 4, 5]).commit(remove("0.parquet"))
    return DeltaTable.forPath(spark, table_path)


@pytest.fixture
def unchecked(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(CHECK, "false")
    yield
    spark.conf.unset(CHECK)


def test_vacuum_deletes_files_and_a_dry_run_names_them(table: DeltaTable, table_path: str, unchecked: None) -> None:
    then = time.time() - 30 * 86_400
    for file in parquet_files(table_path):
        os.utime(Path(table_path, file), (then, then))
    with pytest.raises(InvalidOptionError):
        table.vacuum(-1)
    assert [row.path for row in table.vacuum(0, dry_run=True).collect()] == [f"file:{table_path}/0.parquet"]
    assert len(parquet_files(table_path)) == 2
    assert [row.path for row in table.vacuum(0).collect()] == [f"file:{table_path}"]
    assert len(parquet_files(table_path)) == 1


def test_vacuum_takes_an_inventory(spark: SparkSession, table: DeltaTable, table_path: str, unchecked: None) -> None:
    inventory = spark.createDataFrame(
        [(f"{table_path}/0.parquet", 10, False, 0)], "path string, length long, isDir boolean, modificationTime long"
    )
    table.vacuum(0, inventory=inventory)
    assert len(parquet_files(table_path)) == 1


def test_restore(table: DeltaTable) -> None:
    (row,) = table.restoreToVersion(1).collect()
    assert (row.num_restored_files, row.num_of_files_after_restore) == (1, 2)
    assert table.history(1).collect()[0].operation == "RESTORE"
    with pytest.raises(VersionNotFoundError):
        table.restoreToVersion(77)
    time.sleep(0.01)
    moment = table.history().where("version = 2").collect()[0].timestamp
    table.restoreToTimestamp(str(moment))
    assert table.detail().collect()[0].numFiles == 1


def test_manifests_checkpoints_and_compacted_logs(table: DeltaTable, table_path: str) -> None:
    table.generate("symlink_format_manifest")
    assert Path(table_path, "_symlink_format_manifest/manifest").read_text().strip().endswith("1.parquet")
    table.checkpoint()
    assert list(Path(table_path, "_delta_log").glob("*2.checkpoint*.parquet"))
    assert table.compactLog(0, 1).endswith(".compacted.json")


def test_statistics_are_read_from_footers(spark: SparkSession, table_path: str) -> None:
    bayou.write(spark.range(5), table_path)
    table = DeltaTable.forPath(spark, table_path)
    (row,) = table.computeStatistics().collect()
    assert row.asDict() != {}


def test_statistics_of_files_with_deleted_rows_are_read_from_rows(spark: SparkSession, table_path: str) -> None:
    vectors = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))
    TableBuilder(table_path).create(configuration={"delta.enableDeletionVectors": "true"}, protocol=vectors).commit(
        file_of_numbers(table_path, "a.parquet", [1, 2, 3, 9], **without_rows([3]))
    )
    DeltaTable.forPath(spark, table_path).computeStatistics()
    statistics = bayou.open(table_path).snapshot().files(["stats"])["stats"].to_pylist()
    assert '"maxValues":{"id":3}' in str(statistics[0]).replace(" ", "")
