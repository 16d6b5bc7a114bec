# SPDX-License-Identifier: Apache-2.0
"""A stream from one table into another is killed at any moment: in the end each row of the one is in the other, once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from tests.spark.streams import run as run_to_the_end
from tests.spark.tables import ids
from tests.spark.test_killed_writers import KILLS, end, start

from bayou.errors import TableNotFoundError
from bayou.log.delta_log import open_log

SCRIPT = str(Path(__file__).with_name("stream_writer.py"))


def next_batch(folder):
    """The number of the next append to the source."""
    try:
        return open_log(str(folder / "source")).snapshot().transactions["batches"].version + 1
    except TableNotFoundError:
        return 0


def kill_a_stream(folder, kill, generator):
    process = start(folder, next_batch(folder), SCRIPT)
    try:
        lines = [process.stdout.readline().strip() for _ in range(1 + generator.randint(0, 4))]
        time.sleep(generator.uniform(0, 0.8))
    finally:
        end(process, kill)
    with process.stdout as rest:
        lines += rest.read().splitlines()
    assert lines[0] == "ready"
    assert not any(line.startswith("stopped") for line in lines), lines


def run(spark, folder, kills, seed):
    generator = random.Random(seed)
    for number in range(kills):
        kill_a_stream(folder, list(KILLS.values())[number % len(KILLS)], generator)
    source, sink = (str(folder / name) for name in ("source", "sink"))
    rows = spark.readStream.format("delta").load(source)
    run_to_the_end(rows, folder / "checkpoint", sink)
    assert ids(spark.read.format("delta").load(sink)) == ids(spark.read.format("delta").load(source))
    assert open_log(source).version() > 0


def test_a_stream_that_is_killed_loses_no_row_and_writes_none_twice(spark, tmp_path):
    run(spark, tmp_path, kills=2, seed=3)


@pytest.mark.soak
@pytest.mark.timeout(7200)  # each of them starts a Spark
def test_two_hundred_kills_of_a_stream_lose_no_row_and_write_none_twice(spark, tmp_path):
    run(spark, tmp_path, kills=200, seed=time.time_ns())
