# SPDX-License-Identifier: Apache-2.0
"""What an action costs: Spark's jobs, and py4j's calls."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@dataclass
class Count:
    """How many there were; to be looked at after the block."""

    value: int = 0


@contextlib.contextmanager
def jobs(spark: SparkSession) -> Iterator[Count]:
    """Counts the jobs that the block starts, on any thread."""
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    count = Count()
    before = scheduler.numTotalJobs()
    yield count
    count.value = scheduler.numTotalJobs() - before


@contextlib.contextmanager
def py4j_calls(spark: SparkSession) -> Iterator[Count]:
    """Counts what Python asks the JVM in the block, callbacks included, and objects let go of left out."""
    client = spark.sparkContext._gateway._gateway_client
    original = client.send_command
    count = Count()

    def counted(command: str, *arguments: Any, **options: Any) -> Any:
        count.value += not command.startswith("m\nd\n")
        return original(command, *arguments, **options)

    client.send_command = counted
    try:
        yield count
    finally:
        del client.send_command


@contextlib.contextmanager
def sorted_joins(spark: SparkSession) -> Iterator[Count]:
    """Counts the queries of the block that shuffle and sort both sides of a join, as their plans are when they have run."""
    count = Count()
    with physical_plans(spark) as plans:
        yield count
    count.value = sum("SortMergeJoin" in plan for plan in plans)


@contextlib.contextmanager
def physical_plans(spark: SparkSession) -> Iterator[list[str]]:
    """The plans of the queries that the block runs, as text and as they are when they have run; to be looked at after it."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    before = next((each.executionId() for each in _newest_queries(spark)), -1)
    found: list[str] = []
    yield found
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    ran = itertools.takewhile(lambda each: each.executionId() > before, _newest_queries(spark))
    found += [each.physicalPlanDescription() for each in ran]


def _newest_queries(spark: SparkSession) -> Iterator[Any]:
    """What Spark keeps of the queries that ran, the last one first. It forgets old ones, so that their number says nothing."""
    store = spark._jsparkSession.sharedState().statusStore()
    for place in reversed(range(store.executionsCount())):
        yield store.executionsList(place, 1).apply(0)


def plan_of(frame: Any) -> str:
    """The physical plan as text, as it was after the query ran."""
    return frame._jdf.queryExecution().executedPlan().toString()


def files_read(frame):
    """How many files the scans of an executed query read, by Spark's own metric."""
    found = 0
    pending = [frame._jdf.queryExecution().executedPlan()]
    while pending:
        node = pending.pop()
        if node.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
            node = node.executedPlan()
        if node.getClass().getSimpleName().endswith("QueryStageExec"):
            pending.append(node.plan())
        if node.getClass().getSimpleName() == "FileSourceScanExec":
            found += node.metrics().apply("numFiles").value()
        children = node.children()
        pending += [children.apply(i) for i in range(children.size())]
    return found
