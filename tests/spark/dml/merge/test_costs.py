# SPDX-License-Identifier: Apache-2.0
"""What a MERGE costs: jobs, time, rows that are kept, and joins that sort."""

from __future__ import annotations

import time

import pytest
from tests.spark.dml.merge.merges import TEN, make, source
from tests.support.observing import jobs, physical_plans
from tests.support.tables.queried import FILES, rows

from bayou.errors import ConstraintViolationError, MultipleMatchesError


def test_times_say_how_long_the_source_took_and_the_whole_of_it(spark, table_path, way):
    table = make(spark, table_path, TEN, **way)
    given = "select id, 7L p, 1L v from range(8, 12)"
    for query, keeps in ((given, False), (f"select id, first(p) p, max(v) v from ({given}) group by id", True)):
        merge = table.merge(source(spark, query), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
        begin = time.monotonic()
        plan = merge.plan()
        paused = time.monotonic()
        time.sleep(0.5)  # what lies between a plan and its execution is no part of either
        resumed = time.monotonic()
        metrics = plan.execute().metrics
        took = (time.monotonic() - resumed + paused - begin) * 1000
        assert (metrics["materializeSourceTimeMs"] > 0) == keeps
        phases = sum(metrics[f"{phase}TimeMs"] for phase in ("materializeSource", "scan", "rewrite"))
        assert 0 < phases <= metrics["executionTimeMs"] <= took


def test_a_replay_is_no_work_at_all(spark, table_path):
    table = make(spark, table_path, TEN)
    new = source(spark, "select 50L id, 1L p, 1L v")
    assert table.merge(new, "false", txn=("load", 3)).whenNotMatchedInsertAll().execute().committed
    with jobs(spark) as started:
        result = table.merge(new, "false", txn=("load", 3)).whenNotMatchedInsertAll().execute()
    assert (started.value, result.committed, result.reason, result.version) == (0, False, "replayed", 1)


@pytest.mark.parametrize("inserts", [False, True], ids=["updates", "an upsert"])
def test_a_small_merge_takes_few_jobs_beside_the_look_at_its_source(spark, table_path, inserts):
    table = make(spark, table_path, "select id, id v from range(0, 100, 1, 4)", **FILES)
    begun = table.merge(source(spark, "select id, 0L v from range(98, 102)"), "t.id = s.id").whenMatchedUpdateAll()
    plan = (begun.whenNotMatchedInsertAll() if inserts else begun).plan()
    with jobs(spark) as started:
        plan.execute()
    # The search, the write, and a broadcast of the source for each; to insert, the pairs are kept and their keys broadcast.
    assert started.value <= (6 if inserts else 4)


@pytest.mark.parametrize("others", [False, True], ids=["matches", "all rows"])
def test_the_keys_of_the_table_are_read_once_and_no_pair_is_kept_after(spark, table_path, way, others):
    table = make(spark, table_path, "select id, id v from range(0, 100, 1, 4)", **way)
    begun = table.merge(source(spark, "select id, -1L v from range(98, 103)"), "t.id = s.id")
    begun = begun.whenMatchedUpdateAll("s.id > 98").whenNotMatchedInsertAll()
    begun = begun.whenNotMatchedBySourceDelete("t.id < 2") if others else begun
    kept = len(spark.sparkContext._jsc.getPersistentRDDs())
    with physical_plans(spark) as plans:
        begun.execute()
    changed = {99: -1, 100: -1, 101: -1, 102: -1}
    assert rows(table) == sorted(((i, changed.get(i, i)) for i in range(2 if others else 0, 103)), key=repr)
    assert len([plan for plan in plans if "InMemoryTableScan" in plan]) == 2  # what looks for rows, and what writes them
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == kept


def test_no_pair_is_kept_after_a_merge_that_fails(spark, table_path, way):
    table = make(spark, table_path, "select id, id v from range(0, 10, 1, 1)", **way)
    kept = len(spark.sparkContext._jsc.getPersistentRDDs())
    twice = source(spark, "select id, -1L v from values (3L), (3L), (11L) as x(id)")
    with pytest.raises(MultipleMatchesError):
        table.merge(twice, "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    table.addConstraint("positive", "v >= 0")
    with pytest.raises(ConstraintViolationError):
        table.merge(source(spark, "select 12L id, -1L v"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    assert len(spark.sparkContext._jsc.getPersistentRDDs()) == kept
