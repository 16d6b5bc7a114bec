# SPDX-License-Identifier: Apache-2.0
"""OPTIMIZE, RESTORE and VACUUM among row changes, one after the other and at the same time: no row is lost, doubled or changed."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from tests.scenarios.spark.writers.maintained_table import MaintainedTable

import bayou
from bayou import DeltaTable
from bayou.log.checksum.verify import verify_checksum

VECTORS = {"delta.enableDeletionVectors": "true"}
ROW_IDS = {"delta.enableRowTracking": "true"}
FEED = {"delta.enableChangeDataFeed": "true"}
TABLES = {
    "files": {"delta.enableDeletionVectors": "false"},
    "vectors": VECTORS,
    "vectors and row ids": VECTORS | ROW_IDS,
    "vectors, row ids and feed": VECTORS | ROW_IDS | FEED,
}


@pytest.mark.parametrize("properties", TABLES.values(), ids=TABLES)
@pytest.mark.in_turn(2)
def test_a_history_with_maintenance_has_the_rows_of_each_version(spark, table_path, properties):
    MaintainedTable(spark, table_path, 3, properties).run(8)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("properties", TABLES.values(), ids=TABLES)
def test_fifty_histories_with_maintenance_have_the_rows_of_each_version(spark, tmp_path, properties):
    counts = Counter()
    for number in range(50):
        table = MaintainedTable(spark, str(tmp_path / str(number)), time.time_ns(), properties)
        table.run(10)
        counts += table.counts
    assert {"OPTIMIZE", "RESTORE", "VACUUM", "Append", "Delete", "Update", "Merge"} <= counts.keys()


def write_beside_optimize(spark, path, seconds):
    """Eight writers, each with a range of keys of its own in files that all of them share, and OPTIMIZE in a loop.

    Returns:
        How many operations there were.
    """
    writers = 8
    begun = spark.range(40 * writers, numPartitions=4).selectExpr("1000000 * (id div 40) + id % 40 as id", "0L v")
    bayou.write(begun, path, **VECTORS)
    end = time.monotonic() + seconds
    done = threading.Event()

    def optimize():
        runs = 0
        while not done.is_set():
            DeltaTable.forPath(spark, path).optimize().executeCompaction()
            runs += 1
        return runs

    def write(writer):
        first = 1_000_000 * writer
        mine = dict.fromkeys(range(first, first + 40), 0)
        count = 0
        while time.monotonic() < end or count < 3:
            key = sorted(mine)[7 * count % len(mine)]
            new = first + 100 + count
            table = DeltaTable.forPath(spark, path)
            match (writer + count) % 4:
                case 0:
                    bayou.write(spark.range(new, new + 1, 1, 1).selectExpr("id", "1L v"), path, mode="append")
                    mine[new] = 1
                case 1:
                    table.delete(f"id = {key}")
                    del mine[key]
                case 2:
                    table.update(f"id = {key}", {"v": "v + 1"})
                    mine[key] += 1
                case _:
                    source = spark.sql(f"select * from values ({key}L, 7L), ({new}L, 8L) as s(id, v)").alias("s")
                    merge = table.alias("t").merge(source, "t.id = s.id")
                    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
                    mine |= {key: 7, new: 8}
            count += 1
        return mine, count

    with ThreadPoolExecutor(writers + 1) as pool:
        loop = pool.submit(optimize)
        try:
            found = [each.result() for each in [pool.submit(partial(write, writer)) for writer in range(writers)]]
        finally:
            done.set()
        assert loop.result() > 0
    expected = {key: value for mine, _ in found for key, value in mine.items()}
    rows = [tuple(row) for row in bayou.read(spark, path).select("id", "v").collect()]
    assert sorted(rows) == sorted(expected.items())
    verify_checksum(bayou.open(path).snapshot())
    return sum(count for _, count in found)


def test_none_of_eight_writers_fails_beside_an_optimize_loop(spark, table_path):
    assert write_beside_optimize(spark, table_path, 2) >= 24


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_none_of_eight_writers_fails_beside_an_optimize_loop_for_long(spark, table_path):
    assert write_beside_optimize(spark, table_path, 600) >= 24
