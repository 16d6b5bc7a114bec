# SPDX-License-Identifier: Apache-2.0
"""Streams from Delta tables on Spark Connect that must fail: with an error that says why, and never with other rows."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import StreamingQueryException

import bayou
from bayou.errors import SessionError, StreamingSourceError, TimeTravelError, UnsupportedFeatureError
from bayou.spark.portable.streams import running
from bayou.spark.portable.streams.folder import StreamFolder

IGNORES = "spark.sql.streaming.fileStreamSink.ignoreMetadata"
NOTE = "note-of-the-stream.json"
LIST = "_spark_metadata/0"


def fails(source, text, change=None, **options):
    with pytest.raises(StreamingQueryException, match=text):
        source.run(change, **options)


@pytest.fixture
def stopped(source):
    """The folder of a query whose first batch has failed in its projection, so that its next run will run it again."""
    source.add(1)
    fails(source, "not yet", lambda stream: stream.selectExpr("if(id < 0, id, raise_error('not yet')) as id"))
    (found,) = Path(source.path, "_bayou_scratch").iterdir()
    return found


def test_deleted_rows_stop_the_stream_after_the_commits_before(source):
    source.add(1)
    source.add(2)
    source.delete("id = 2")
    source.add(3)
    fails(source, r"\[DELTA_SOURCE_IGNORE_DELETE\].*version 2.*ignoreDeletes", startingVersion=0)
    assert source.ids() == [1, 2]
    fails(source, r"\[DELTA_SOURCE_IGNORE_DELETE\]", startingVersion=0)
    source.run(ignoreDeletes=True)
    assert source.ids() == [1, 2, 3]


def test_updated_rows_stop_a_stream_whatever_rows_it_keeps(source):
    source.add(1, 2)
    source.run()
    bayou.DeltaTable.forPath(source.spark, source.path).update("id = 1", {"id": "5"})
    fails(source, r"\[DELTA_SOURCE_TABLE_IGNORE_CHANGES\].*skipChangeCommits", lambda stream: stream.where("id = 77"))
    fails(source, r"\[DELTA_SOURCE_TABLE_IGNORE_CHANGES\]", lambda stream: stream.selectExpr("1L as id"), trigger={"once": True})
    assert source.ids() == [1, 2]


def test_deleted_rows_stop_a_running_query(source):
    source.add(1)
    query = source.start(trigger={})
    query.processAllAvailable()
    source.delete("id = 1")
    with pytest.raises(StreamingQueryException, match="DELTA_SOURCE_IGNORE_DELETE"):
        query.awaitTermination(60)
    assert source.ids() == [1]


def test_a_new_column_stops_the_stream_until_it_starts_again(source):
    source.add(1)
    query = source.start(trigger={})
    query.processAllAvailable()
    source.add(2, columns="id; id as more", mergeSchema=True)
    with pytest.raises(StreamingQueryException, match="DELTA_SCHEMA_CHANGED"):
        query.awaitTermination(60)
    source.run()
    assert source.ids() == [1, 2]


def test_a_table_that_was_replaced_by_another_is_not_read_on(source):
    source.add(1)
    source.run()
    shutil.rmtree(source.path)
    source.add(2)
    with pytest.raises(StreamingSourceError, match="DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"):
        source.start()


@pytest.mark.parametrize(
    "options",
    [{"schemaTrackingLocation": "/tmp/x"}, {"withEventTimeOrder": True}],
    ids=lambda given: next(iter(given)),
)
def test_options_of_classic_sessions_are_refused_by_name(source, options):
    source.add(1)
    with pytest.raises(UnsupportedFeatureError, match=f"{next(iter(options))} of a stream.*Next: "):
        source.start(**options)


def test_a_version_of_the_table_is_refused(source):
    source.add(1)
    with pytest.raises(TimeTravelError):
        source.start(versionAsOf=0)


def test_a_query_on_a_temporary_view_fails_because_the_view_cannot_follow(source):
    source.add(1)
    source.stream().createOrReplaceTempView("view_of_a_stream")
    writer = source.spark.table("view_of_a_stream").writeStream.format("memory").queryName("of_view")
    with pytest.raises(StreamingQueryException, match="from the DataFrame of readStream"):
        writer.trigger(availableNow=True).start().awaitTermination(60)
    source.spark.catalog.dropTempView("view_of_a_stream")


def test_a_setting_that_ignores_lists_is_refused(source, monkeypatch):
    source.add(1)
    source.spark.conf.set(IGNORES, "true")
    try:
        with pytest.raises(SessionError, match=IGNORES):
            source.start()
        # Without this check, the query fails all the same.
        monkeypatch.setattr("bayou.spark.portable.scan.session_settings.ScanSettings.check_lists", lambda *_: None)
        fails(source, "not in the list")
    finally:
        source.spark.conf.unset(IGNORES)
    assert source.ids() == []


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_list_that_is_deleted_before_the_batch_is_never_an_empty_batch(source, monkeypatch, ansi):
    source.add(1)
    publish = StreamFolder.publish

    def published(folder, *names):
        publish(folder, *names)
        shutil.rmtree(Path(source.path) / "_bayou_scratch" / folder.name / names[0] / "_spark_metadata")

    monkeypatch.setattr(StreamFolder, "publish", published)
    source.spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        with pytest.raises(StreamingQueryException):
            source.run()
    finally:
        source.spark.conf.unset("spark.sql.ansi.enabled")
    monkeypatch.undo()
    assert source.ids() == []
    source.run()
    assert source.ids() == [1]


def test_a_folder_that_is_deleted_while_the_query_runs_is_never_an_empty_batch(source, monkeypatch):
    source.add(1)
    query = source.start(trigger={})
    query.processAllAvailable()
    monkeypatch.setattr(StreamFolder, "put_note", lambda *_: None)
    next(Path(source.path).rglob(NOTE)).unlink()
    source.add(2)
    with pytest.raises(StreamingQueryException, match=NOTE):
        query.awaitTermination(60)
    monkeypatch.undo()
    source.run()
    assert source.ids() == [1, 2]


def test_a_note_of_other_files_is_an_error(source, monkeypatch):
    source.add(1, columns="id; 7 as part", partition_by=["part"])
    put = StreamFolder.put_note
    monkeypatch.setattr(StreamFolder, "put_note", lambda folder, base, facts, count: put(folder, base + 1, facts, count))
    fails(source, "not in the list")
    assert source.ids() == []


def test_a_list_that_another_program_changes_stops_a_running_query(source, caplog):
    source.add(1)
    query = source.start(trigger={})
    query.processAllAvailable()
    source.add(2)

    def change_lists():
        found = list(Path(source.path).rglob(f"bayou-batch-*/{LIST}"))
        for each in found:
            each.write_bytes(b"v1")
        return found

    while not change_lists():
        pass
    with caplog.at_level(logging.ERROR, logger="bayou"), pytest.raises(PySparkException, match="rows of this batch may be missing"):
        query.awaitTermination(60)
    assert "rows of this batch may be missing" in caplog.text


def test_a_data_file_that_is_gone_is_an_error(source):
    source.add(1)
    source.add(2)
    next(each for each in Path(source.path).rglob("*.parquet") if "_delta_log" not in str(each)).unlink()
    fails(source, "FILE_NOT_EXIST|does not exist")
    assert source.ids() == []


def test_a_batch_of_another_run_is_not_read(source, stopped):
    """Its list has numbers of another run."""
    (batch,) = [each for each in stopped.iterdir() if each.name.startswith("bayou-batch-")]
    old = (batch / LIST).read_bytes()
    put = running.put_list
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "put_list", lambda scratch, folder, _: put(scratch, folder, old))
        fails(source, "not in the list")
    assert source.ids() == []
    source.run()
    assert source.ids() == [1]
