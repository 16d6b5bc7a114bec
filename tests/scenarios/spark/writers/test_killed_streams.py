# SPDX-License-Identifier: Apache-2.0
"""Streams between tables are killed at any moment: in the end each row of the sources is in the sink, once."""

from __future__ import annotations

import random
import time
from itertools import cycle

import pytest
from tests.scenarios.spark.writers.kills import KILLS, kill_all, start
from tests.scenarios.spark.writers.stream_writer import GENERATION, GENERATIONS, rows_of
from tests.support.operations.streams import run as run_to_the_end
from tests.support.tables.built import ids

from bayou.errors import TableNotFoundError
from bayou.log.delta_log import open_log

FIRST = 1_000_000
"""The first batch of each further source, so that no two sources have the same rows."""


def next_batch(folder, number):
    """The number of the next append to a source."""
    try:
        return open_log(f"{folder}/{number}/source").snapshot().transactions["batches"].version + 1
    except TableNotFoundError:
        return number * FIRST


def kill(folder, sink, streams, kills, seed):
    """Kills streams that run side by side into one sink, and starts them again."""
    generator, ways = random.Random(seed), cycle(KILLS)
    for _ in range(kills // streams):
        processes = [start("stream_writer.py", folder, number, next_batch(folder, number), sink) for number in range(streams)]
        for told in kill_all(processes, ways, generator, lines=4, seconds=0.8):
            assert not any(line.startswith("stopped") for line in told), told


def run(spark, folder, streams, kills, seed):
    """Kills streams into one sink; then they run until nothing is left."""
    kill(folder, "sink", streams, kills, seed)
    expected = []
    for number in range(streams):
        rows = spark.readStream.format("delta").load(f"{folder}/{number}/source")
        run_to_the_end(rows, f"{folder}/{number}/checkpoint", f"{folder}/sink")
        expected += ids(spark.read.format("delta").load(f"{folder}/{number}/source"))
    assert ids(spark.read.format("delta").load(f"{folder}/sink")) == sorted(expected)
    open_log(f"{folder}/sink").verify_checksum()
    assert len(set(expected)) == len(expected) > kills


def run_into_its_source(spark, folder, kills, seed):
    """Kills a stream that writes into the table that it reads; then it runs until nothing is left."""
    kill(folder, "0/source", 1, kills, seed)
    table = f"{folder}/0/source"
    for _ in range(GENERATIONS):  # each run reads what was there when it began
        run_to_the_end(rows_of(spark, table, table), f"{folder}/0/checkpoint", table)
    found = ids(spark.read.format("delta").load(table))
    appended = [number for number in found if number < GENERATION]
    assert found == [number + each * GENERATION for each in range(GENERATIONS) for number in appended]
    assert appended == list(range(len(appended)))
    assert len(appended) > kills


def test_a_stream_that_is_killed_loses_no_row_and_writes_none_twice(spark, tmp_path):
    run(spark, tmp_path, streams=1, kills=1, seed=3)


@pytest.mark.soak
@pytest.mark.timeout(7200)  # each of them starts a Spark
def test_two_hundred_kills_of_a_stream_lose_no_row_and_write_none_twice(spark, tmp_path):
    run(spark, tmp_path, streams=1, kills=200, seed=time.time_ns())


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_forty_kills_of_two_streams_into_one_table_lose_no_row_and_write_none_twice(spark, tmp_path):
    run(spark, tmp_path, streams=2, kills=40, seed=time.time_ns())


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_forty_kills_of_a_stream_into_its_own_source_lose_no_row_and_write_none_twice(spark, tmp_path):
    run_into_its_source(spark, tmp_path, kills=40, seed=time.time_ns())
