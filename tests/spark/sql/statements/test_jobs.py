# SPDX-License-Identifier: Apache-2.0
"""The jobs of statements: what they are called, whose group, pool and tags they have, and what is left where they are stopped."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from tests.support.observing import parquet_files

import bayou

FILES = 2
EVERY_SECOND = "length(text) > 3 AND id % 2 = 0"
TEXT = "repeat(uuid(), 3)"


@pytest.fixture
def delta(spark, name, table_path):
    """The name of a table with four files in two partitions."""
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p INT) USING delta PARTITIONED BY (p) LOCATION '{table_path}'")
    for start in (0, 10):
        spark.sql(f"INSERT INTO {name} SELECT id, CAST(id % 2 AS INT) FROM range({start}, {start + 10}, 1, 1)")
    return name


@pytest.fixture
def context(spark):
    """The Spark context, without groups, tags and descriptions of a test afterwards."""
    found = spark.sparkContext
    assert found.getLocalProperty("spark.job.description") is None
    yield found
    for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel", "spark.scheduler.pool"):
        found.setLocalProperty(name, None)


@pytest.fixture
def jobs(context):
    """Runs a function, and gives the jobs that it started: description, group and tags of each."""

    def of(function):
        store = context._jsc.sc().statusStore()
        before = store.jobsList(None).size()
        function()
        context._jsc.sc().listenerBus().waitUntilEmpty()
        found = store.jobsList(None)
        new = [found.apply(place) for place in range(found.size() - before)]  # the newest first
        return [(each.description().get(), each.jobGroup().get() if each.jobGroup().isDefined() else None) for each in new]

    return of


def test_jobs_say_which_bins_of_which_table_they_write(spark, delta, jobs, context):
    spark.conf.set("spark.databricks.delta.optimize.batchSize", "1")
    try:
        found = jobs(lambda: spark.sql(f"OPTIMIZE {delta}"))
    finally:
        spark.conf.unset("spark.databricks.delta.optimize.batchSize")
    name = f"spark_catalog.default.{delta}"
    assert {text for text, _ in found} == {f"OPTIMIZE {name}, bin 1 of 2", f"OPTIMIZE {name}, bin 2 of 2"}
    assert context.getLocalProperty("spark.job.description") is None


def test_methods_say_the_same(spark, delta, jobs, table_path):
    found = jobs(lambda: bayou.DeltaTable.forPath(spark, table_path).optimize().executeZOrderBy("id"))
    assert found
    assert {text.rpartition(", ")[2] for text, _ in found} == {"bins 1 to 2 of 2"}
    assert all(text.startswith("OPTIMIZE file:") for text, _ in found)


def test_jobs_are_in_the_callers_group_and_pool(spark, delta, jobs, context):
    context.setJobGroup("mine", "the nightly run")
    context.setLocalProperty("spark.scheduler.pool", "slow")
    found = jobs(lambda: spark.sql(f"OPTIMIZE {delta} WHERE p = 1"))
    assert found == [(f"the nightly run: OPTIMIZE spark_catalog.default.{delta}, bin 1 of 1", "mine")]
    assert context.getLocalProperty("spark.job.description") == "the nightly run"
    assert context.getLocalProperty("spark.scheduler.pool") == "slow"


STATEMENTS = {
    "OPTIMIZE": "OPTIMIZE {name}",
    "DELETE": f"DELETE FROM {{name}} WHERE {EVERY_SECOND}",
    "UPDATE": f"UPDATE {{name}} SET text = upper(text) WHERE {EVERY_SECOND}",
    "MERGE": "MERGE INTO {name} t USING (SELECT id * 2 id FROM range(1000000)) s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET text = upper(text) WHEN NOT MATCHED THEN INSERT (id, text) VALUES (s.id, uuid())",
    "INSERT": f"INSERT OVERWRITE {{name}} SELECT id, {TEXT} FROM range(1500000)",
}
METHODS = {
    "compact": lambda table, _rows, _path: table.optimize().executeCompaction(),
    "delete": lambda table, _rows, _path: table.delete(EVERY_SECOND),
    "save": lambda _, rows, path: rows.write.format("delta").mode("append").save(path),
}


@pytest.fixture(params=[*STATEMENTS, *METHODS])
def run(request, spark, large, table_path):
    """Runs an operation on that table that takes a while."""
    if request.param in STATEMENTS:
        return lambda: spark.sql(STATEMENTS[request.param].format(name=large))
    rows = spark.range(1_500_000).selectExpr("id", f"{TEXT} text")
    return lambda: METHODS[request.param](bayou.DeltaTable.forPath(spark, table_path), rows, table_path)


@pytest.fixture
def large(spark, name, table_path):
    """The name of a table with two files that take a while to be read and written."""
    spark.range(0, 1_200_000, 1, FILES).selectExpr("id", f"{TEXT} text").write.format("delta").save(table_path)
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{table_path}'")
    return name


def when_running(context, act):
    """A thread that acts once a job runs."""

    def wait():
        for _ in range(1000):
            if context.statusTracker().getActiveJobsIds():
                time.sleep(0.1)
                act()
                return
            time.sleep(0.01)

    found = threading.Thread(target=wait)
    found.start()
    return found


def left(table_path):
    """The files once the tasks that were stopped have deleted theirs: the driver does not wait for them."""
    for _ in range(100):
        if len(parquet_files(table_path)) == FILES:
            break
        time.sleep(0.1)
    return parquet_files(table_path)


def test_a_cancelled_group_commits_nothing_and_leaves_no_file(run, table_path, context):
    before = parquet_files(table_path)
    context.setJobGroup("to be stopped", "the nightly run", interruptOnCancel=True)
    done = threading.Event()

    def cancel():  # again and again: between two jobs there is nothing to cancel
        while not done.wait(0.05):
            context.cancelJobGroup("to be stopped")

    stopping = when_running(context, cancel)
    try:
        with pytest.raises(Exception, match="cancelled"):
            run()
    finally:
        done.set()
        stopping.join()
    assert bayou.open(table_path).snapshot().version == 0
    assert left(table_path) == before
    context.setJobGroup("another", "afterwards")
    run()
    assert bayou.open(table_path).snapshot().version == 1


def test_an_interrupt_commits_nothing_and_leaves_no_file(run, table_path, context):
    before = parquet_files(table_path)
    stopping = when_running(context, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run()
    stopping.join()
    assert bayou.open(table_path).snapshot().version == 0
    assert left(table_path) == before
    assert context.statusTracker().getActiveJobsIds() == []
    run()
    assert bayou.open(table_path).snapshot().version == 1
