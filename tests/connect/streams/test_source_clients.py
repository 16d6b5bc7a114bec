# SPDX-License-Identifier: Apache-2.0
"""Two clients of a Spark Connect server that start one query at the same moment: its rows come once."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import bayou
from bayou.spark.portable.streams.running import SourceRun

SECONDS = 120


@pytest.fixture
def other(server):
    """A session of another client."""
    session = SparkSession.builder.remote(server.url).create()
    yield bayou.enable(session)
    session.stop()


@pytest.fixture
def start(source, other, monkeypatch):
    """Return a function that starts the query by both clients at once, and returns what is left of both queries."""
    publish = SourceRun.publish

    def published_slowly(run):
        time.sleep(0.5)
        publish(run)
        time.sleep(0.5)

    monkeypatch.setattr(SourceRun, "publish", published_slowly)

    def started(**trigger):
        both = threading.Barrier(2)

        def start_one(session):
            both.wait(SECONDS)
            stream = session.readStream.format("delta").option("maxFilesPerTrigger", 1).load(source.path)
            writer = stream.writeStream.format("parquet").option("checkpointLocation", str(source.checkpoint))
            writer = writer.trigger(**trigger) if trigger else writer
            return writer.start(str(source.target))

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(start_one, (source.spark, other)))

    return started


def locks(source):
    return list(Path(source.path, "_bayou_scratch").glob("starting-*"))


@pytest.mark.parametrize("has_run", [False, True], ids=["new", "known"])
def test_the_second_start_replaces_the_first(source, start, has_run):
    for each in range(3):
        source.add(each)
    if has_run:
        for query in start(availableNow=True):
            query.awaitTermination(SECONDS)
    queries = start()
    source.add(3)
    (running,) = [each for each in queries if each.isActive]
    running.processAllAvailable()
    running.stop()
    assert source.ids() == [0, 1, 2, 3]
    assert not locks(source)
