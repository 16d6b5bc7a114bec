# SPDX-License-Identifier: Apache-2.0
"""What streams cost: calls and memory, counted."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.scenarios.spark.sessions.test_memory import Proxies
from tests.support.observing import jobs, py4j_calls
from tests.support.operations.streams import SECONDS, batches, finish, run, stream
from tests.support.processes import ask
from tests.support.tables.built import numbers_table

from bayou.spark.native.streaming.stream_reader import StreamReader
from bayou.storage import LocalStore

BATCHES = 15
TRIGGERS = 20
MEGABYTE = 1 << 20


def test_the_calls_of_a_batch_do_not_grow_with_its_files(spark, tmp_path):
    found = []
    for name, count in (("few", 2), ("many", 40)):
        path = str(tmp_path / name)
        numbers_table(path, *([i] for i in range(count)))
        run(stream(spark, path), tmp_path / f"warm-{name}", str(tmp_path / f"warm-out-{name}"))
        with py4j_calls(spark) as calls:
            query = run(stream(spark, path), tmp_path / f"checkpoint-{name}", str(tmp_path / f"out-{name}"))
        assert batches(query) == [count]
        found.append(calls.value)
    assert found[1] <= found[0] + 5, found


def test_many_batches_leave_no_proxies_behind(spark, table_path, tmp_path):
    numbers_table(table_path, *([i] for i in range(BATCHES)))
    run(stream(spark, table_path), tmp_path / "warm", str(tmp_path / "warm-out"))
    proxies = Proxies(spark)
    query = run(stream(spark, table_path, maxFilesPerTrigger=1), tmp_path / "checkpoint", str(tmp_path / "out"))
    assert len(batches(query)) == BATCHES
    del query
    held = proxies.left(at_most=4)
    assert held.total() <= 4, held


def test_an_idle_trigger_is_one_call_that_lists_the_log_once(spark, table_path, tmp_path, monkeypatch):
    numbers_table(table_path, [1], [2])
    asked, listings = Counter(), []
    answer, list_from = StreamReader.__call__, LocalStore.list_from

    def counted(reader, facts, data):
        asked[facts.split("\0")[0]] += 1
        return answer(reader, facts, data)

    monkeypatch.setattr(StreamReader, "__call__", counted)
    monkeypatch.setattr(LocalStore, "list_from", lambda *arguments: listings.append(arguments) or list_from(*arguments))
    writer = stream(spark, table_path).writeStream.format("delta").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(processingTime="10 milliseconds").start(str(tmp_path / "out"))
    try:
        query.processAllAvailable()
        asked.clear()
        listings.clear()
        with jobs(spark) as ran, py4j_calls(spark) as calls:
            until = time.monotonic() + SECONDS
            while asked["latest"] < TRIGGERS and time.monotonic() < until:
                time.sleep(0.01)
    finally:
        query.stop()
    finish(query)
    assert asked["latest"] >= TRIGGERS
    assert set(asked) <= {"latest", "metrics"}
    assert asked["metrics"] <= asked["latest"] + 1  # the count may begin in the midst of a trigger
    assert len(listings) <= asked["latest"] + 1
    assert (ran.value, calls.value) == (0, 0)


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the process is asked in Linux's way what it holds")
@pytest.mark.timeout(3600)
def test_a_thousand_batches_keep_memory_flat(tmp_path):
    found = ask(str(Path(__file__).with_name("long_stream.py")), str(tmp_path), "1000", "200", seconds=3500)["memory"]
    early, late = found[0], found[-1]
    assert late["batch"] - early["batch"] >= 700, found
    assert late["heap"] - early["heap"] < 20 * MEGABYTE, found
    assert late["resident"] - early["resident"] < 30 * MEGABYTE, found
    assert late["proxies"] - early["proxies"] <= 10, found


def test_streams_that_ended_leave_no_connection_to_python_behind(spark, table_path, tmp_path):
    """Each query has threads of its own, and py4j gives each thread a connection and never closes it."""
    numbers_table(table_path, [1])
    for name in ("first", "second"):
        run(stream(spark, table_path), tmp_path / name, str(tmp_path / f"{name}-out"))
    threads = threading.active_count()
    for number in range(6):
        run(stream(spark, table_path), tmp_path / str(number), str(tmp_path / f"{number}-out"))
    until = time.monotonic() + SECONDS
    while threading.active_count() > threads + 2 and time.monotonic() < until:
        time.sleep(0.1)
    assert threading.active_count() <= threads + 2, [each.name for each in threading.enumerate()]
