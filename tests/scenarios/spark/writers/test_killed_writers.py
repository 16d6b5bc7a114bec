# SPDX-License-Identifier: Apache-2.0
"""A Spark writer is killed at any moment: the table opens, what was committed is there once, and the next writer goes on."""

from __future__ import annotations

import random
import time
from itertools import cycle

import pyarrow.parquet as pq
import pytest
from tests.scenarios.spark.writers.batch_writer import ROWS
from tests.scenarios.spark.writers.kills import KILLS, kill_all, start

import bayou
from bayou.errors import TableNotFoundError
from bayou.log.checksum.verify import verify_checksum
from bayou.protocol.actions.paths import decode


def check(table, committed):
    """The promise; returns the number of the next batch."""
    try:
        snapshot = bayou.open(table).snapshot()
    except TableNotFoundError:
        assert not committed
        return 0
    verify_checksum(snapshot)
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
    generator, ways = random.Random(seed), cycle(KILLS)
    committed, first = [], 0
    for _ in range(kills):
        (told,) = kill_all([start("batch_writer.py", table, first)], ways, generator, lines=4, seconds=0.6)
        committed += map(int, told)
        first = check(table, committed)
    assert first > 0


@pytest.mark.soak
@pytest.mark.timeout(3600)  # each of them starts a Spark
def test_a_hundred_killed_writers_leave_a_sound_table(tmp_path):
    run(tmp_path / "table", kills=100, seed=time.time_ns())
