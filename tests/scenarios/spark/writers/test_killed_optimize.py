# SPDX-License-Identifier: Apache-2.0
"""A process that compacts a table is killed at any moment: each row is there once, and VACUUM deletes what is left over."""

from __future__ import annotations

import random
import time
from itertools import cycle

import pytest
from tests.scenarios.spark.writers.kills import KILLS, kill_all, start
from tests.support.observing import parquet_files

import bayou
from bayou.log.checksum.verify import verify_checksum


def run(spark, path, kills, seed):
    """Kills a process again and again; returns how many appends and compactions were committed."""
    generator, ways = random.Random(seed), cycle(KILLS)
    properties = {"delta.enableDeletionVectors": "true", "delta.checkpointInterval": "5"}
    bayou.write(spark.range(10), path, **properties)
    first = 1
    for _ in range(kills):
        (lines,) = kill_all([start("optimizer.py", path, first)], ways, generator, lines=3, seconds=0.8)
        assert lines == [str(number) for number in range(first, first + len(lines))]
        told = first + len(lines)
        rows = sorted(row.id for row in bayou.read(spark, path).collect())
        first = len(rows) // 10
        assert rows == list(range(10 * first))
        assert first in {told, told + 1}
        snapshot = bayou.open(path).snapshot()
        verify_checksum(snapshot)
        bayou.open(path).vacuum(0, check_retention=False).check_deleted()
        assert parquet_files(path) == set(snapshot.files(["path"])["path"].to_pylist())
    operations = [entry.operation for entry in bayou.open(path).history()]
    return operations.count("WRITE"), operations.count("OPTIMIZE")


def test_a_process_that_compacts_may_be_killed(spark, table_path):
    writes, compactions = run(spark, table_path, kills=2, seed=0)
    assert writes > 1
    assert compactions > 0


@pytest.mark.soak
@pytest.mark.timeout(3600)  # each of them starts a Spark
def test_thirty_processes_that_compact_may_be_killed(spark, table_path):
    writes, compactions = run(spark, table_path, kills=30, seed=time.time_ns())
    assert writes > compactions > 10
