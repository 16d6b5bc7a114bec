# SPDX-License-Identifier: Apache-2.0
"""A Spark writer is killed at any moment: the table opens, what was committed is there once, and the next writer goes on."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.spark.batch_writer import ROWS
from tests.spark.processes import ROOT

import bayou
from bayou.errors import TableNotFoundError
from bayou.protocol.paths import decode

SCRIPT = str(Path(__file__).with_name("batch_writer.py"))
KILLS = {"the whole process group": os.killpg, "Python alone": os.kill}


def start(table, first, script=SCRIPT):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    return subprocess.Popen(
        [sys.executable, script, str(table), str(first)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


def kill_during_a_batch(table, first, kill, generator):
    """The batches that a writer said were committed before it was killed, some way into the next one."""
    process = start(table, first)
    try:
        lines = [process.stdout.readline().strip() for _ in range(1 + generator.randint(1, 4))]
        time.sleep(generator.uniform(0, 0.6))
    finally:
        end(process, kill)
    with process.stdout as rest:
        lines += rest.read().split()
    assert lines[0] == "ready"
    return [int(line) for line in lines[1:]]


def end(process, kill):
    """Kills a writer, and whatever is left of it."""
    kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(1.5)  # Spark's JVM ends by itself when Python is gone; until then it may still write
    if _group_lives(process.pid):
        os.killpg(process.pid, signal.SIGKILL)


def _group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def check(table, committed):
    """The promise; returns the number of the next batch."""
    try:
        snapshot = bayou.open(table).snapshot()
    except TableNotFoundError:
        assert not committed
        return 0
    snapshot.verify_checksum()
    paths = [decode(path) for path in snapshot.files(["path"])["path"].to_pylist()]
    ids = sorted(
        value for path in paths for value in pq.read_table(table / path, columns=["id"], partitioning=None)["id"].to_pylist()
    )
    done = snapshot.transactions["batches"].version + 1
    assert ids == list(range(done * ROWS))
    assert set(range(done)) >= set(committed)
    assert done - 1 <= max(committed, default=done - 2) + 1, "at most the batch in flight was not told"
    return done


def run(table, kills, seed):
    generator = random.Random(seed)
    committed, first = [], 0
    for number in range(kills):
        kill = list(KILLS.values())[number % len(KILLS)]
        told = kill_during_a_batch(table, first, kill, generator)
        committed += told
        first = check(table, committed)
    assert first > 0


def test_a_writer_that_is_killed_leaves_a_sound_table(tmp_path):
    run(tmp_path / "table", kills=2, seed=7)


@pytest.mark.soak
@pytest.mark.timeout(3600)  # each of them starts a Spark
def test_a_hundred_killed_writers_leave_a_sound_table(tmp_path):
    run(tmp_path / "table", kills=100, seed=time.time_ns())
