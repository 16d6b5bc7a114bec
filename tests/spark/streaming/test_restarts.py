# SPDX-License-Identifier: Apache-2.0
"""Streams that go on: after a restart, without new rows, and while the table gets commits."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from tests.support.observing import jobs
from tests.support.operations.streams import finish, read, run, stream
from tests.support.tables.built import ids, numbers_table

import bayou
from bayou.spark.native.streaming.stream_reader import StreamReader
from bayou.testing.table_builder import remove


def test_a_query_takes_up_the_work_where_it_was_stopped(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2], [3], [4])
    writer = stream(spark, table_path, maxFilesPerTrigger=1).writeStream.format("delta").option("checkpointLocation", checkpoint)
    query = writer.trigger(processingTime="0 seconds").start(out)
    while not Path(out, "_delta_log", f"{1:020}.json").exists():
        assert query.isActive, query.exception()
        time.sleep(0.05)
    query.stop()
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3, 4]


def test_an_idle_trigger_costs_no_job(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    run(stream(spark, table_path), checkpoint, out)
    with jobs(spark) as count:
        run(stream(spark, table_path), checkpoint, out)
    assert count.value == 0


def test_a_restart_reads_no_file_again(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2])
    run(stream(spark, table_path), checkpoint, out)
    for name in ("0.parquet", "1.parquet"):
        Path(table_path, name).unlink()
    spark.range(3, 4).write.format("delta").mode("append").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3]


def test_a_restart_asks_for_no_batch_that_is_committed(spark, table_path, checkpoint, out, monkeypatch):
    spark.range(0, 10, 1, 1).write.format("delta").option("delta.enableDeletionVectors", "true").save(table_path)
    bayou.DeltaTable.forPath(spark, table_path).delete("id = 3")
    run(stream(spark, table_path), checkpoint, out)
    asked, answer = [], StreamReader.__call__

    def noted(reader, facts, data):
        asked.append(facts.split("\0")[0])
        return answer(reader, facts, data)

    monkeypatch.setattr(StreamReader, "__call__", noted)
    run(stream(spark, table_path), checkpoint, out)
    assert "latest" in asked
    assert "batch" not in asked
    spark.range(20, 21).write.format("delta").mode("append").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    assert asked.count("batch") == 1
    assert ids(read(spark, out)) == [0, 1, 2, *range(4, 10), 20]


def test_commits_while_a_query_runs_are_seen_by_it(spark, table_path, checkpoint, out):
    numbers_table(table_path, [0])
    writer = stream(spark, table_path).writeStream.format("delta").option("checkpointLocation", checkpoint)
    query = writer.trigger(processingTime="50 milliseconds").start(out)
    threads = [
        threading.Thread(target=lambda i=i: spark.range(i, i + 1).write.format("delta").mode("append").save(table_path))
        for i in (1, 2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    query.processAllAvailable()
    query.stop()
    finish(query)
    assert ids(read(spark, out)) == [0, 1, 2]


def test_a_file_that_is_removed_while_the_snapshot_is_read_is_still_in_it(spark, table_path, checkpoint, tmp_path):
    builder = numbers_table(table_path, [1], [2], [3])
    seen = []

    def take(batch, number):
        if number == 1 and not seen[1:]:
            seen.append("stopped")
            raise RuntimeError("stopped in the snapshot")
        seen.extend(ids(batch))

    def start():
        rows = stream(spark, table_path, maxFilesPerTrigger=1, ignoreDeletes="true")
        return finish(
            rows.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        )

    with pytest.raises(PySparkException, match="stopped in the snapshot"):
        start()
    builder.commit(remove("2.parquet"))
    start()
    assert seen == [1, "stopped", 2, 3]
