# SPDX-License-Identifier: Apache-2.0
"""What streams cost: calls and memory, counted."""

from __future__ import annotations

from tests.spark.counting import py4j_calls
from tests.spark.streams import batches, run
from tests.spark.tables import numbers_table
from tests.spark.test_memory import Proxies

BATCHES = 30


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


def stream(spark, path, **options):
    return spark.readStream.format("delta").options(**options).load(path)
