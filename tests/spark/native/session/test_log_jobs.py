# SPDX-License-Identifier: Apache-2.0
"""Above a number of files, Spark's jobs read a log and write its checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import bayou
from bayou.log.checkpoint.sharding import register_log_jobs
from bayou.log.checkpoint.writer import write_checkpoint
from bayou.spark.native.session.log_jobs import SparkLogJobs

V2 = {"delta.checkpointPolicy": "v2"}


class Counted(SparkLogJobs):
    """Spark's jobs, from ten files on, counted."""

    runs = 0

    def run(self, *arguments, **options):
        self.runs += 1
        return super().run(*arguments, **options)


@pytest.fixture
def jobs(spark):
    if spark.version < "4":
        pytest.importorskip("pandas", reason="mapInArrow wants pandas in Spark 3.5")
    made = Counted(10)
    take_back = register_log_jobs(made)
    yield made
    take_back()


@pytest.fixture
def many(spark, tmp_path):
    """A table of 40 files in a folder whose name would be a pattern, with a checkpoint and commits after it."""
    path = str(tmp_path / "a [1]{x} b")
    frame = spark.range(4000).selectExpr("id", "cast(id % 4 as int) p", "timestamp_seconds(id) at", "cast(id as decimal(9,2)) d")
    frame.repartitionByRange(10, "id").write.format("delta").partitionBy("p").options(**V2).save(path)
    bayou.open(path).checkpoint()
    spark.range(4000, 4010).selectExpr("id", "9 p").write.format("delta").mode("append").save(path)
    return path


@pytest.mark.in_turn(3)
@pytest.mark.smoke
@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("id = 1234", 1),
        ("p = 3 and id < 100", 25),
        ("at >= timestamp_seconds(3990)", 10),
        ("p = 9", 10),
        ("d = 17", 1),
        ("id < 0", 0),
    ],
)
def test_a_filtered_read_gives_the_same_rows(spark, many, jobs, condition, rows):
    log_of_session = bayou.spark.session.application.Application.of(spark).logs
    log_of_session.clear()  # another session has not read this log yet
    frame = spark.read.format("delta").load(many).where(condition)
    assert frame.count() == rows
    assert jobs.runs >= 1


def test_the_names_of_classes_in_a_checkpoint_are_not_believed(spark, many, jobs, tmp_path, monkeypatch):
    mark, module = tmp_path / "imported", tmp_path / "modules" / "bayou_test_checkpoint.py"
    module.parent.mkdir()
    module.write_text(f"open({str(mark)!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(str(module.parent))
    named = {"type": "udt", "class": "nowhere.Type", "pyClass": "bayou_test_checkpoint.Type", "sqlType": "string"}
    schema = {"type": "struct", "fields": [{"name": "add", "type": named, "nullable": True, "metadata": {}}]}
    for file in Path(many, "_delta_log").rglob("*.parquet"):
        table = pq.read_table(file)
        pq.write_table(table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": json.dumps(schema)}), file)
    bayou.spark.session.application.Application.of(spark).logs.clear()
    assert spark.read.format("delta").load(many).where("id = 1234").count() == 1
    assert jobs.runs >= 1
    assert not mark.exists()


@pytest.mark.smoke
def test_sidecars_are_written_by_jobs_and_read_back(spark, many, jobs):
    before = bayou.open(many).snapshot()
    written = write_checkpoint(before, sidecar_actions=15)
    assert jobs.runs == 1
    assert len(written.files) > 3
    after = bayou.open(many).snapshot()
    assert sorted(after.files(["path"])["path"].to_pylist()) == sorted(
        bayou.open(many).snapshot().files(["path"])["path"].to_pylist()
    )
    assert after.num_files == written.num_adds == before.files(["path"]).num_rows
    assert not after.segment.deltas
    sidecar = pq.read_table(f"{many}/{written.files[1]}")
    assert sidecar["add"].type.get_field_index("stats_parsed") >= 0


def test_workers_without_bayou_are_no_obstacle(spark, many, jobs, monkeypatch, caplog):
    def fails(*_arguments, **_options):
        raise ModuleNotFoundError("No module named 'bayou'")

    monkeypatch.setattr("bayou.log.checkpoint.sharding.Prune.__reduce__", lambda _self: (fails, ()), raising=False)
    bayou.spark.session.application.Application.of(spark).logs.clear()
    assert spark.read.format("delta").load(many).where("id = 1234").count() == 1
    assert jobs.runs >= 1
    assert "read in this process" in caplog.text


def test_without_what_spark_wants_for_it_the_log_is_read_here(spark, many, jobs, monkeypatch, caplog):
    def fails(*_arguments, **_options):
        raise ImportError("Pandas >= 1.0.5 must be installed")

    monkeypatch.setattr(type(spark.range(1)), "mapInArrow", fails)
    for _ in range(2):
        bayou.spark.session.application.Application.of(spark).logs.clear()
        assert spark.read.format("delta").load(many).where("id = 1234").count() == 1
    assert jobs.runs == 1
    assert "Pandas" in caplog.text
