# SPDX-License-Identifier: Apache-2.0
"""Auto compaction: it follows writes where it is asked for, and no write fails for it."""

from __future__ import annotations

import threading

import pytest
from tests.support.observing import last

import bayou
from bayou import DeltaTable
from bayou.log import events
from bayou.spark.maintenance import auto_compaction

ON = {"delta.autoOptimize.autoCompact": "true"}
PREFIX = "spark.databricks.delta.autoCompact"
SETTINGS = ("enabled", "minNumFiles", "maxFileSize", "nonBlindAppend.enabled")


@pytest.fixture
def few(spark):
    """Partitions are compacted from three small files on."""
    spark.conf.set(f"{PREFIX}.minNumFiles", "3")
    yield spark
    for name in (*(f"{PREFIX}.{each}" for each in SETTINGS), "spark.bayou.autoCompact"):
        spark.conf.unset(name)


@pytest.fixture
def append(spark, table_path):
    def write(first, **properties):
        rows = spark.range(first, first + 10, 1, 1).selectExpr("id", "id % 2 as p")
        rows.write.format("delta").mode("append").options(**properties).save(table_path)

    return write


@pytest.fixture
def seen():
    found = []
    remove = bayou.add_listener(found.append)
    yield found
    remove()


def operations(path):
    return [each.operation for each in reversed(bayou.open(path).history())]


def ids(spark, path):
    return sorted(row.id for row in spark.read.format("delta").load(path).collect())


def test_it_runs_after_the_write_that_makes_the_partition_have_too_many_files(few, table_path, append):
    for number in range(7):
        append(10 * number, **ON)
    assert operations(table_path) == ["WRITE"] * 3 + ["OPTIMIZE"] + ["WRITE"] * 3 + ["OPTIMIZE", "WRITE"]
    entry = bayou.open(table_path).history()[1]
    assert entry.operation_parameters["auto"] == "true"
    assert ids(few, table_path) == list(range(70))
    assert bayou.open(table_path).snapshot().num_files == 2


@pytest.mark.parametrize(
    ("properties", "setting", "runs"),
    [
        ({}, None, False),
        ({}, "true", True),
        (ON, "false", False),
        ({"delta.autoOptimize": "true"}, None, True),
        ({"delta.autoOptimize": "false", **ON}, None, False),
    ],
)
def test_the_session_comes_before_the_table(few, table_path, append, properties, setting, runs):
    if setting is not None:
        few.conf.set(f"{PREFIX}.enabled", setting)
    for number in range(3):
        append(10 * number, **properties)
    assert ("OPTIMIZE" in operations(table_path)) is runs


def test_row_changes_and_merges_are_followed_too(few, table_path, append):
    for number in range(2):
        append(10 * number, **ON)
    table = DeltaTable.forPath(few, table_path)
    source = few.createDataFrame([(100, 0)], "id long, p long")
    table.alias("t").merge(source.alias("s"), "t.id = s.id").whenNotMatchedInsertAll().execute()
    assert operations(table_path)[-2:] == ["MERGE", "OPTIMIZE"]
    for number in range(3, 6):
        few.conf.set(f"{PREFIX}.enabled", "false")
        append(10 * number)
    few.conf.unset(f"{PREFIX}.enabled")
    table.update("id = 40", {"p": "5"})
    assert operations(table_path)[-2:] == ["UPDATE", "OPTIMIZE"]
    assert ids(few, table_path) == [*range(20), *range(30, 60), 100]


def test_only_partitions_that_were_added_to_are_compacted(few, table_path):
    for p in (0, 0, 1, 1, 1):
        few.range(5).selectExpr("id", f"{p}L as p").coalesce(1).write.format("delta").mode("append").partitionBy("p").options(
            **{"delta.autoOptimize.autoCompact": "false"}
        ).save(table_path)
    table = DeltaTable.forPath(few, table_path)
    table.setProperties(ON)
    few.range(5).selectExpr("id", "0L as p").coalesce(1).write.format("delta").mode("append").save(table_path)
    files = bayou.open(table_path).snapshot().files(["partition_values"])["partition_values"].to_pylist()
    assert sorted(dict(each)["p"] for each in files) == ["0", "1", "1", "1"]


def test_blind_appends_may_be_left_out(few, table_path, append):
    few.conf.set(f"{PREFIX}.nonBlindAppend.enabled", "true")
    for number in range(4):
        append(10 * number, **ON)
    assert "OPTIMIZE" not in operations(table_path)
    DeltaTable.forPath(few, table_path).update("id = 0", {"p": "5"})
    assert operations(table_path)[-1] == "OPTIMIZE"


@pytest.mark.parametrize(
    ("setting", "value"),
    [(f"{PREFIX}.minNumFiles", "many"), (f"{PREFIX}.maxFileSize", "0"), ("spark.bayou.autoCompact", "sometimes")],
)
def test_a_wrong_setting_is_an_event_and_the_write_stands(few, table_path, append, seen, setting, value):
    few.conf.set(setting, value)
    append(0, **ON)
    (found,) = [each for each in seen if isinstance(each, events.HookFailedEvent)]
    assert (found.hook, found.version) == ("auto compaction", 0)
    assert setting in found.error
    assert ids(few, table_path) == list(range(10))


def test_a_failure_is_an_event_and_the_write_stands(few, table_path, append, seen, monkeypatch):
    def fails(*_):
        raise OSError("no space")

    monkeypatch.setattr(auto_compaction, "optimize", fails)
    append(0, **ON)
    (found,) = [each for each in seen if isinstance(each, events.HookFailedEvent)]
    assert "no space" in found.error
    assert last(table_path).operation == "WRITE"


def test_in_the_background_the_writer_does_not_wait(few, table_path, append, monkeypatch):
    few.conf.set("spark.bayou.autoCompact", "background")
    may_run, compact = threading.Event(), auto_compaction._compact

    def waits(written):
        may_run.wait(60)
        compact(written)

    monkeypatch.setattr(auto_compaction, "_compact", waits)
    for number in range(4):
        append(10 * number, **ON)
    assert operations(table_path) == ["WRITE"] * 4
    may_run.set()
    assert auto_compaction._queue.wait(60)
    assert operations(table_path) == ["WRITE"] * 4 + ["OPTIMIZE"]
    assert bayou.open(table_path).snapshot().num_files == 1
    assert ids(few, table_path) == list(range(40))


def test_a_table_waits_once_and_not_too_many_wait(monkeypatch):
    queue, started, may_run, done = auto_compaction._Queue(), threading.Event(), threading.Event(), []

    def compact(written):
        started.set()
        may_run.wait(60)
        done.append((written.log.table_uri, written.version))

    class Log:
        def __init__(self, uri):
            self.table_uri = uri

    class Written:
        def __init__(self, uri, version):
            self.log, self.version = Log(uri), version

    monkeypatch.setattr(auto_compaction, "_compact", compact)
    monkeypatch.setattr(auto_compaction, "_MOST_WAITING", 2)
    queue.add(Written("first", 1))
    assert started.wait(60)
    for uri, version in (("a", 1), ("b", 1), ("a", 2), ("c", 1)):
        queue.add(Written(uri, version))
    may_run.set()
    assert queue.wait(60)
    assert done == [("first", 1), ("a", 2), ("c", 1)]
    queue.end()


def test_clustered_tables_are_left_to_optimize(few, table_path):
    for number in range(4):
        bayou.write(
            few.range(10 * number, 10 * number + 10, 1, 1), table_path, mode="append", **({} if number else {"clusterBy": ["id"]})
        )
        if not number:
            DeltaTable.forPath(few, table_path).setProperties(ON)
    assert "OPTIMIZE" not in operations(table_path)
