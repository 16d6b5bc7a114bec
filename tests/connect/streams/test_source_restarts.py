# SPDX-License-Identifier: Apache-2.0
"""Streams from Delta tables on Spark Connect that are started again: no row is lost, and none comes twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.errors.exceptions.connect import StreamingQueryException

import bayou
from bayou.errors import StreamingSourceError
from bayou.spark.portable.streams.follower import follower_of

SECONDS = 120


def not_yet(stream):
    return stream.selectExpr("if(id < 2, id, raise_error('not yet')) as id")


@pytest.fixture
def interrupted(source):
    """A query whose second batch has failed, so that its checkpoint has a batch that is not completed."""
    for each in range(4):
        source.add(each + 1)
    with pytest.raises(StreamingQueryException, match="not yet"):
        source.run(not_yet, maxFilesPerTrigger=1)
    assert source.ids() == [1]
    return source


@pytest.mark.parametrize("trigger", [None, {"once": True}, {}], ids=["available now", "once", "always"])
def test_a_batch_that_failed_runs_again_with_the_same_files(interrupted, trigger):
    if trigger == {}:
        query = interrupted.start(trigger={}, maxFilesPerTrigger=3)
        query.processAllAvailable()
        query.stop()
    else:
        interrupted.run(trigger=trigger, maxFilesPerTrigger=3)
    assert interrupted.ids() == [1, 2, 3, 4]
    assert interrupted.batches() == 3


def test_runs_leave_no_empty_folders(interrupted):
    for each in range(2):
        interrupted.add(5 + each)
        query = interrupted.run()
        follower_of(str(query.runId)).wait(SECONDS)
    assert not list((Path(interrupted.path) / "_bayou_scratch").glob("stream-*"))


def test_the_folder_may_be_deleted_between_two_runs(interrupted):
    folder = Path(interrupted.path) / "_bayou_scratch"
    while folder.exists():  # the thread of the first run deletes in it, too
        shutil.rmtree(folder, ignore_errors=True)
    interrupted.add(5)
    interrupted.run()
    assert interrupted.ids() == [1, 2, 3, 4, 5]


def test_a_batch_whose_folder_is_out_of_reach_is_an_error(interrupted, spark, tmp_path):
    log = interrupted.checkpoint / "sources" / "0" / "1"
    entry = log.read_text()
    log.write_text(entry.replace(str(tmp_path), "/proc/bayou"))
    (log.parent / ".1.crc").unlink()
    with pytest.raises(StreamingSourceError, match=r"has planned batch 1.*/proc/bayou"):
        interrupted.start()
    log.write_text(entry)
    interrupted.run()
    assert interrupted.ids() == [1, 2, 3, 4]


def test_the_next_run_deletes_what_a_failed_one_has_left(interrupted):
    assert any("bayou-batch-1-" in each for each in interrupted.left_behind())
    interrupted.run()
    end = time.monotonic() + SECONDS
    while interrupted.left_behind():
        assert time.monotonic() < end
        time.sleep(0.1)


def test_a_query_that_was_stopped_while_it_ran_goes_on(source):
    source.add(1)
    for each in range(3):
        query = source.start(trigger={}, maxFilesPerTrigger=1)
        if each == 1:
            query.processAllAvailable()
        source.add(each + 2)
        query.stop()
    source.run(maxFilesPerTrigger=1)
    assert source.ids() == [1, 2, 3, 4]


def test_a_start_stops_the_run_before(source):
    source.add(1)
    source.start(trigger={}, maxFilesPerTrigger=1)
    for each in range(2, 6):
        source.add(each)
    source.run()
    assert source.ids() == [1, 2, 3, 4, 5]


def test_a_restart_in_the_middle_of_the_first_snapshot(source):
    for each in range(4):
        source.add(each)
    with pytest.raises(StreamingQueryException, match="not yet"):
        source.run(lambda stream: stream.selectExpr("if(id <> 2, id, raise_error('not yet')) as id"), maxFilesPerTrigger=1)
    source.add(4)
    source.delete("id = 0")
    source.run(maxFilesPerTrigger=3, ignoreDeletes=True)
    assert source.ids() == [0, 1, 2, 3, 4]


def test_batches_that_a_failed_run_planned_and_did_not_reach_are_planned_again(interrupted):
    interrupted.run(maxFilesPerTrigger=1)
    interrupted.run(maxFilesPerTrigger=1)
    assert interrupted.ids() == [1, 2, 3, 4]
    assert interrupted.batches() == 4


@pytest.mark.parametrize("trigger", [None, {}], ids=["available now", "always"])
def test_a_batch_that_spark_had_taken_and_not_planned(interrupted, trigger):
    """As after a crash between the log of the source and the log of offsets: the last entry is in the first only."""
    (interrupted.checkpoint / "offsets" / "1").unlink()
    (interrupted.checkpoint / "offsets" / ".1.crc").unlink()
    if trigger == {}:
        query = interrupted.start(trigger={}, maxFilesPerTrigger=1)
        query.processAllAvailable()
        query.stop()
    else:
        interrupted.run(maxFilesPerTrigger=1)
    assert interrupted.ids() == [1, 2, 3, 4]


def test_the_log_of_a_batch_to_repeat_is_gone(interrupted):
    """The files of the batch are known from the log alone."""
    interrupted.add(5)
    bayou.open(interrupted.path).checkpoint()
    for each in (Path(interrupted.path) / "_delta_log").glob("0000000000000000000[0-3]*"):
        each.unlink()
    with pytest.raises(StreamingQueryException, match="DELTA_"):
        interrupted.run()
    assert interrupted.ids() == [1]


CLIENT = """
import json, os, sys, time
import bayou
from pyspark.sql import SparkSession
url, path, target, checkpoint = sys.argv[1:]
spark = bayou.enable(SparkSession.builder.remote(url).getOrCreate())
stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(path)
query = stream.writeStream.format("parquet").option("path", target).option("checkpointLocation", checkpoint).start()
while query.lastProgress is None or query.lastProgress["batchId"] < 1:
    time.sleep(0.05)
os._exit(0)
"""


def test_a_client_that_dies_leaves_a_query_that_waits_and_can_go_on(source, server):
    for each in range(8):
        source.add(each)
    command = [sys.executable, "-c", CLIENT, server.url, source.path, str(source.target), str(source.checkpoint)]
    subprocess.run(command, check=True, timeout=SECONDS, env=os.environ)
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and len(source.ids()) < 8:
        time.sleep(0.2)
    read = source.ids()
    assert read == list(range(len(read)))
    assert 2 <= len(read) < 8
    source.run()
    assert source.ids() == list(range(8))
