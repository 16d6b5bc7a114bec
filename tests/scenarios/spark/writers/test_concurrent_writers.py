# SPDX-License-Identifier: Apache-2.0
"""Spark writers and other programs on one table at once: every version is there, every row once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.support.tables.built import ids

import bayou

LOW_LEVEL = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
import bayou
table, writer, batches = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
log = bayou.open(table)
for batch in range(batches):
    path = f"writer-{writer}-{batch}.parquet"
    pq.write_table(pa.table({"id": [1000 * writer + batch]}), f"{table}/{path}")
    log.append([path], txn=(f"writer-{writer}", batch))
"""


def test_spark_writers_and_other_programs_share_a_table(spark, table_path):
    bayou.write(spark.range(0), table_path)
    others = [subprocess.Popen([sys.executable, "-c", LOW_LEVEL, table_path, str(n), "15"]) for n in (2, 3, 4)]

    def append(writer):
        for batch in range(6):
            bayou.write(spark.range(1000 * writer + batch, 1000 * writer + batch + 1), table_path, mode="append")

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(append, (0, 1)))
    assert [other.wait(120) for other in others] == [0, 0, 0]
    expected = [1000 * n + batch for n in range(5) for batch in range(6 if n < 2 else 15)]
    assert ids(bayou.read(spark, table_path)) == sorted(expected)
    log = bayou.open(table_path)
    assert log.version() == 2 * 6 + 3 * 15
    assert [entry.version for entry in log.history()] == list(range(log.version(), -1, -1))
    log.verify_checksum()  # it raises where the checksum is wrong


def test_two_overwrites_at_once_leave_one_of_them(spark, table_path):
    bayou.write(spark.range(3), table_path)

    def overwrite(first):
        try:
            bayou.write(spark.range(first, first + 5), table_path, mode="overwrite")
        except bayou.DeltaError as error:
            return type(error).__name__
        return "committed"

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(overwrite, (100, 200)))
    assert "committed" in outcomes
    found = ids(bayou.read(spark, table_path))
    assert found in (list(range(100, 105)), list(range(200, 205)))
    assert bayou.open(table_path).snapshot().num_files == len(set(bayou.read(spark, table_path).inputFiles()))
