# SPDX-License-Identifier: Apache-2.0
"""Writes of DataFrames on Spark Connect, read back by delta-rs."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from tests.support.on_connect import another_session

import bayou
from bayou.errors import ConstraintViolationError, SchemaMismatchError, SessionError, StorageError, TableExistsError
from bayou.spark.portable import backend
from bayou.spark.portable.files import files_in


def rows_of(path):
    table = deltalake.DeltaTable(path).to_pyarrow_table()
    return sorted(table.to_pylist(), key=lambda row: row["id"])


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "table")


def numbered(spark, start, end):
    return spark.range(start, end).selectExpr("id", "id % 3 as p", "cast(id as string) as s")


def test_appends_and_overwrites_are_the_rows_that_delta_rs_reads(spark, path):
    created = bayou.write(numbered(spark, 0, 20), path, partition_by=["p"])
    assert (created.version, created.num_rows) == (0, 20)
    bayou.write(numbered(spark, 20, 30), path, mode="append")
    assert [row["id"] for row in rows_of(path)] == list(range(30))
    assert rows_of(path)[7] == {"id": 7, "p": 1, "s": "7"}
    bayou.write(numbered(spark, 5, 7), path, mode="overwrite")
    assert [row["id"] for row in rows_of(path)] == [5, 6]


@pytest.mark.in_turn(1)
@pytest.mark.parametrize("name", ["_p", ".p", "_temporary"])
def test_folders_of_partitions_may_have_names_that_spark_hides(spark, path, name):
    written = bayou.write(spark.range(4).selectExpr("id", f"id % 2 as `{name}`"), path, partition_by=[name])
    assert written.num_rows == 4
    assert sorted(map(tuple, bayou.read(spark, path).collect())) == [(0, 0), (1, 1), (2, 0), (3, 1)]


def test_statistics_come_from_the_footers(spark, path):
    bayou.write(spark.range(10).coalesce(1), path)
    (file,) = pa.table(deltalake.DeltaTable(path).get_add_actions(flatten=True)).to_pylist()
    assert (file["num_records"], file["min.id"], file["max.id"]) == (10, 0, 9)


def test_a_batch_with_a_txn_is_written_once(spark, path):
    bayou.write(spark.range(3), path)
    assert bayou.write(spark.range(3, 5), path, mode="append", txn=("nightly", 1)).committed
    replayed = bayou.write(spark.range(3, 5), path, mode="append", txn=("nightly", 1))
    assert (replayed.committed, replayed.reason) == (False, "replayed")
    assert len(rows_of(path)) == 5


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_settings_of_the_session_change_nothing_in_the_files(spark, path, ansi):
    settings = {
        "spark.sql.ansi.enabled": ansi,
        "spark.sql.parquet.outputTimestampType": "INT96",
        "spark.sql.parquet.writeLegacyFormat": "true",
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        rows = spark.sql("select 1 as id, timestamp '2024-01-02 03:04:05.123456' as t, cast(1.5 as decimal(9, 2)) as d")
        bayou.write(rows, path)
        for name, value in settings.items():
            assert spark.conf.get(name) == value
    finally:
        for name in settings:
            spark.conf.unset(name)
    (file,) = pa.table(deltalake.DeltaTable(path).get_add_actions(flatten=True)).to_pylist()
    assert file["max.t"].microsecond // 1000 == 123  # INT96 has no statistics
    assert rows_of(path)[0]["id"] == 1


def test_what_is_refused_writes_nothing(spark, path):
    bayou.write(spark.range(3), path)
    with pytest.raises(TableExistsError):
        bayou.write(spark.range(3), path)
    with pytest.raises(SchemaMismatchError):
        bayou.write(spark.sql("select 'a' as id"), path, mode="append")
    assert bayou.open(path).update().version == 0


def test_a_column_that_must_not_be_null_is_checked_by_the_job_that_writes(spark, path):
    strict = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    deltalake.write_deltalake(path, pa.table({"id": [1]}, schema=strict))
    with pytest.raises(ConstraintViolationError, match="id"):
        bayou.write(spark.sql("select cast(null as bigint) as id"), path, mode="append")
    assert [row["id"] for row in rows_of(path)] == [1]


def test_rows_without_a_value_for_a_column_that_must_have_one_are_an_error(spark, path):
    bayou.DeltaTable.create(spark).location(path).addColumn("id", "int", nullable=False).execute()
    with pytest.raises(ConstraintViolationError, match="DELTA_NOT_NULL_CONSTRAINT_VIOLATED"):
        bayou.write(spark.sql("SELECT CAST(NULL AS INT) AS id"), path, mode="append")
    assert rows_of(path) == []


def test_a_folder_that_could_not_be_written_to_is_tried_again(spark, path, tmp_path):
    bayou.write(spark.range(3), path)
    spark = bayou.enable(another_session(spark))
    in_the_way = tmp_path / "table" / "_bayou_scratch"
    in_the_way.write_text("not a folder")
    with pytest.raises(StorageError, match="cannot write"):
        bayou.write(spark.range(3, 5), path, mode="append")
    in_the_way.unlink()
    bayou.write(spark.range(3, 5), path, mode="append")
    assert len(rows_of(path)) == 5


def test_a_failed_job_leaves_none_of_the_files_that_its_tasks_had_finished(spark, path):
    spark.range(1).write.format("delta").save(path)
    before = sorted(Path(path).rglob("*"))
    # The last of many tasks fails, when the first ones have moved their files.
    late = spark.range(0, 12, 1, 12).selectExpr("if(id = 11, raise_error('late'), id) as id")
    with pytest.raises(PySparkException, match="late"):
        late.write.format("delta").mode("append").save(path)
    assert sorted(Path(path).rglob("*")) == before


def test_the_files_of_two_runs_of_one_job_are_refused(spark, path, monkeypatch):
    spark.range(3).write.format("delta").save(path)
    before = sorted(Path(path).rglob("*"))

    def listed(folder, options):
        [file] = Path(folder.removeprefix("file://")).glob("part-*.parquet")
        job = file.name.partition("-c000")[0][-36:]
        shutil.copy(file, file.with_name(file.name.replace(job, str(uuid.uuid4()))))
        return files_in(folder, options)

    # A client sends a write again if the server lost it before its first answer. Tasks of the first run may have moved their files.
    monkeypatch.setattr(backend, "files_in", listed)
    with pytest.raises(SessionError, match="twice"):
        bayou.write(spark.range(3, 5).coalesce(1), path, mode="append")
    assert sorted(Path(path).rglob("*")) == before


def test_a_write_with_identity_columns_leaves_the_programs_cache_as_it_is(spark, path):
    bayou.DeltaTable.create(spark).location(path).addColumn("key", "BIGINT", generatedAlwaysAs=bayou.IdentityGenerator()).addColumn(
        "id", "BIGINT"
    ).execute()
    rows = spark.range(3).toDF("id").cache()
    assert rows.count() == 3
    rows.write.format("delta").mode("append").save(path)
    assert rows.storageLevel.useMemory
    rows.unpersist()
