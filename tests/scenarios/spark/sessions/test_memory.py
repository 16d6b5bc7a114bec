# SPDX-License-Identifier: Apache-2.0
"""Reading in a loop keeps nothing: no proxy, no session, no log beyond the bound."""

from __future__ import annotations

import gc
import resource
import time
from collections import Counter

import pytest
from tests.support.tables.built import ids, numbers, numbers_table, without_rows

import bayou
from bayou.spark.jvm.core.callbacks import ERRORS
from bayou.spark.session.application import Application

SECONDS = 60


class Proxies:
    """The Python objects that the JVM has come to hold since this was made.

    What other tests left behind is not counted, nor when it is let go of.
    """

    def __init__(self, spark):
        self._runtime = spark.sparkContext._jvm.java.lang.System
        self._pool = spark.sparkContext._gateway.gateway_property.pool
        self._known = set(self._pool.dict)

    def held(self):
        """How many there are of each kind."""
        new = [self._pool.dict.get(key) for key in set(self._pool.dict) - self._known]
        called = [getattr(proxy, "_function", proxy) for proxy in new]
        return Counter(getattr(function, "__qualname__", type(function).__qualname__) for function in called)

    def left(self, at_most):
        """What the JVM still holds after it was given the time to let go of all but so many.

        It lets go in a finalizer, which calls Python for each object, and runs some time after the collection: how long
        depends on what else the machine does, and some objects go only after others have gone. What is kept never goes.
        """
        until = time.monotonic() + SECONDS
        while self.held().total() > at_most and time.monotonic() < until:
            gc.collect()
            self._runtime.gc()
            self._runtime.runFinalization()
            time.sleep(0.1)
        return self.held()


def a_table(path):
    builder = numbers_table(path, [1, 2], [3])
    return builder.commit(numbers(path, "v.parquet", [4, 5], **without_rows([0])))


def test_two_hundred_reads_leave_no_proxies_behind(spark, table_path):
    a_table(table_path)

    def read_often(times):
        for number in range(times):
            frame = bayou.read(spark, table_path) if number % 2 else spark.read.format("delta").load(table_path)
            frame.where("id > 1")._jdf.queryExecution().executedPlan()

    read_often(20)
    proxies = Proxies(spark)
    read_often(180)
    held = proxies.left(at_most=10)
    assert held.total() <= 10, held


def test_errors_on_their_way_are_bounded(spark, tmp_path):
    for number in range(80):
        with pytest.raises(bayou.DeltaError):
            spark.read.format("delta").load(str(tmp_path / f"nothing{number}"))
    assert len(ERRORS._kept) <= 64


def test_tables_without_end_leave_logs_only_up_to_the_bound(spark, tmp_path, monkeypatch):
    logs = Application.of(spark).logs
    monkeypatch.setattr(logs, "_limit", 200_000)
    for number in range(60):
        path = str(tmp_path / str(number))
        numbers_table(path, [number])
        bayou.read(spark, path)._jdf.queryExecution().executedPlan()
    kept = logs.tables()
    assert 1 <= len(kept) < 60
    assert kept[-1].endswith("/59")
    for number in range(60):
        with pytest.raises(bayou.DeltaError):
            bayou.read(spark, str(tmp_path / f"nothing{number}"))
    assert len(logs.tables()) < 60


@pytest.mark.soak
def test_ten_thousand_reads_keep_memory_flat(spark, table_path):
    a_table(table_path)

    def read_often(times):
        for _ in range(times):
            assert ids(spark.read.format("delta").load(table_path)) == [1, 2, 3, 5]

    read_often(500)
    before, proxies = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, Proxies(spark)
    read_often(10_000)
    held = proxies.left(at_most=10)
    assert held.total() <= 10, held
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss <= before * 1.3


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_hundred_million_rows_leave_by_vectors_in_memory_for_a_bit_a_row(spark, table_path):
    rows, gone = 150_000_000, 100_000_000
    bayou.write(spark.range(0, rows, 1, 8), table_path, **{"delta.enableDeletionVectors": "true"})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB
    result = bayou.DeltaTable.forPath(spark, table_path).delete("id % 3 != 0")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert result.num_deleted_rows == gone
    assert grown < 12 * rows // 8 // 1024, f"{grown} KiB: a dozen times the bits of the rows"
    left = spark.read.format("delta").load(table_path)
    assert left.count() == rows - gone
    assert tuple(left.selectExpr("count(*)", "sum(id)").first()) == (rows - gone, sum(range(0, rows, 3)))
    assert left.where("id % 3 != 0").isEmpty()
