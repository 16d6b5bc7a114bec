# SPDX-License-Identifier: Apache-2.0
"""VACUUM and RESTORE as methods: the session's settings, the columns, and rows that stay as they were."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.support.observing import jobs, parquet_files
from tests.support.tables.built import numbers_table

from bayou import DeltaTable
from bayou.errors import InvalidOptionError, StorageError, VersionNotFoundError
from bayou.storage import Deletions, LocalStore

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture
def table(spark, table_path):
    """Three versions, of which the last one has the rows 3 to 5 only."""
    numbers_table(table_path, [1, 2], [3, 4, 5])
    DeltaTable.forPath(spark, table_path).delete("id < 3")
    return DeltaTable.forPath(spark, table_path)


@pytest.fixture
def unchecked(spark):
    spark.conf.set(CHECK, "false")
    yield
    spark.conf.unset(CHECK)


def age_everything(path, days=30):
    then = time.time() - days * 86_400
    for file in Path(path).rglob("*"):
        if "_delta_log" not in file.parts:
            os.utime(file, (then, then))


def rows(spark, path):
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())


@pytest.mark.smoke
def test_vacuum_deletes_what_no_version_within_the_retention_needs_and_runs_no_job(spark, table, table_path, unchecked):
    before = parquet_files(table_path)
    table.vacuum()
    assert parquet_files(table_path) == before
    with jobs(spark) as ran:
        assert [row.path for row in table.vacuum(0).collect()] == [f"file:{table_path}"]
    assert ran.value == 0
    assert len(parquet_files(table_path)) < len(before)
    assert rows(spark, table_path) == [3, 4, 5]


def test_a_dry_run_names_each_file_and_deletes_none(spark, table, table_path, unchecked):
    before = parquet_files(table_path)
    Path(table_path, "litter").write_bytes(b"x")
    age_everything(table_path)
    found = {row.path for row in table.vacuum(0, dry_run=True).collect()}
    assert f"file:{table_path}/litter" in found
    assert parquet_files(table_path) == before


def test_hours_below_the_property_are_refused_while_the_session_checks_them(table, table_path):
    with pytest.raises(InvalidOptionError, match="DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT"):
        table.vacuum(100)
    with pytest.raises(InvalidOptionError, match="DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE"):
        table.vacuum(-1)


def test_the_session_decides_which_kind_runs_and_whether_it_is_noted(spark, table, table_path, unchecked):
    settings = {"spark.databricks.delta.vacuum.lite.enabled": "true", "spark.databricks.delta.vacuum.logging.enabled": "false"}
    Path(table_path, "litter").write_bytes(b"x")
    age_everything(table_path)
    version = table.history(1).first().version
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        table.vacuum(0)
    finally:
        for name in settings:
            spark.conf.unset(name)
    assert Path(table_path, "litter").exists()
    assert table.history(1).first().version == version
    table.vacuum(0)
    assert not Path(table_path, "litter").exists()


def test_a_file_that_cannot_be_deleted_is_an_error_after_the_others_are_deleted(spark, table, table_path, unchecked, monkeypatch):
    delete = LocalStore.delete_many

    def fails_for_one(store, paths):
        done = delete(store, [path for path in paths if path != "locked"])
        return Deletions(done.deleted, {**done.failed, "locked": StorageError("it is locked", file="locked")})

    for name in ("locked", "litter"):
        Path(table_path, name).write_bytes(b"x")
        os.utime(Path(table_path, name), (0, 0))  # the VACUUM may begin within the same millisecond
    monkeypatch.setattr(LocalStore, "delete_many", fails_for_one)
    with pytest.raises(
        StorageError, match="1 files could not be deleted, for example locked, and the others were deleted: it is locked"
    ) as failed:
        table.vacuum(0)
    assert list(failed.value.failed) == ["locked"]
    assert not Path(table_path, "litter").exists()
    assert table.history(1).first().operationParameters["status"] == "FAILED"


def test_an_inventory_is_a_data_frame(spark, table, table_path, unchecked):
    for name in ("listed", "not-listed"):
        Path(table_path, name).write_bytes(b"x")
    inventory = spark.sql(f"SELECT 0 more, 'file:{table_path}/listed' path, 1L length, false isDir, 0L modificationTime")
    table.vacuum(0, inventory=inventory)
    assert (Path(table_path, "listed").exists(), Path(table_path, "not-listed").exists()) == (False, True)
    with pytest.raises(InvalidOptionError, match="DELTA_INVALID_INVENTORY_SCHEMA"):
        table.vacuum(0, inventory=inventory.drop("isDir"))


@pytest.mark.smoke
def test_restore_brings_rows_and_columns_back_and_runs_no_job(spark, table, table_path):
    kept = spark.read.format("delta").load(table_path).cache()
    assert sorted(row.id for row in kept.collect()) == [3, 4, 5]
    with jobs(spark) as ran:
        (counts,) = table.restoreToVersion(1).collect()
    assert ran.value == 0
    assert (counts.num_restored_files, counts.num_of_files_after_restore) == (1, 2)
    assert rows(spark, table_path) == [1, 2, 3, 4, 5]  # though Spark had the rows before in a cache
    kept.unpersist()
    assert table.restoreToVersion(3).collect() == []


def test_restore_takes_a_time_in_the_zone_of_the_session(spark, table, table_path):
    table.restoreToTimestamp("2999-01-01")
    entry = table.history().filter("version = 1").first()
    assert table.restoreToTimestamp(str(entry.timestamp)).first().num_of_files_after_restore == 2
    assert rows(spark, table_path) == [1, 2, 3, 4, 5]


def test_restore_to_a_version_that_is_not_there_is_refused(table):
    with pytest.raises(VersionNotFoundError, match="DELTA_CANNOT_RESTORE_TABLE_VERSION"):
        table.restoreToVersion(17)
    with pytest.raises(ValueError, match="version needs to be an int but got '<class 'str'>'"):
        table.restoreToVersion("1")
    with pytest.raises(ValueError, match="timestamp needs to be a string but got '<class 'int'>'"):
        table.restoreToTimestamp(1)


def test_a_restore_is_in_the_change_feed(spark, tmp_path):
    path = str(tmp_path / "t")
    spark.range(4).write.format("delta").option("delta.enableChangeDataFeed", "true").save(path)
    table = DeltaTable.forPath(spark, path)
    table.delete("id = 1")
    table.restoreToVersion(0)
    changes = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 2).load(path)
    net = sorted((row.id, row._change_type) for row in changes.collect())
    inserted = [number for number, kind in net if kind == "insert"]
    deleted = [number for number, kind in net if kind == "delete"]
    assert sorted(set(inserted) - set(deleted)) == [1]
    assert rows(spark, path) == [0, 1, 2, 3]


def test_generate_writes_manifests_and_runs_no_job(spark, table, table_path):
    with jobs(spark) as ran:
        assert table.generate("SYMLINK_format_manifest") is None
    assert ran.value == 0
    written = Path(table_path, "_symlink_format_manifest", "manifest").read_text().splitlines()
    assert sorted(written) == sorted(f"file:{table_path}/{path}" for path in ("1.parquet",))
    with pytest.raises(InvalidOptionError, match="DELTA_MODE_NOT_SUPPORTED"):
        table.generate("other")
