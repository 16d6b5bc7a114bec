# SPDX-License-Identifier: Apache-2.0
"""What tests look at: what a commit did to rows, and how many jobs and calls an action costs."""

from __future__ import annotations

import contextlib
import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow.parquet as pq
from tests.support.on_connect import is_on_connect

import bayou
from bayou.log.rows.vector_reader import read_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from bayou.log.segment.history import HistoryEntry


def feed(spark: SparkSession, path: str, *columns: str, start: int = 1, end: int | None = None) -> list[tuple[Any, ...]]:
    """The rows of the change data feed with their kinds, sorted; columns `id` and `v` where none are named."""
    frame = bayou.read(spark, path, changes=(start, end))
    return sorted((tuple(row) for row in frame.select(*(columns or ("id", "v")), "_change_type").collect()), key=repr)


def actions(path: str, kind: str, version: int = 1) -> list[dict[str, Any]]:
    """The actions of one kind in a commit."""
    lines = Path(path, "_delta_log", f"{version:020d}.json").read_text(encoding="utf-8").splitlines()
    return [found[kind] for line in lines if kind in (found := json.loads(line))]


def files(path: str, pattern: str = "*") -> set[str]:
    """The files of data, of change rows and of deletion vectors that are in a table's folder, by their paths in it."""
    return {str(file.relative_to(path)) for file in Path(path).rglob(pattern) if file.is_file() and "_delta_log" not in file.parts}


def parquet_files(path: str) -> set[str]:
    """Those of data and of change rows."""
    return files(path, "*.parquet")


def folders(path: str) -> set[str]:
    """The names of the folders in the table's own."""
    return {each.name for each in Path(path).iterdir() if each.is_dir()}


def data_files(path: str) -> set[str]:
    """The same by their whole paths."""
    return {str(Path(path, file)) for file in parquet_files(path)}


def last(path: str) -> HistoryEntry:
    """What the history says of the latest commit."""
    return next(iter(bayou.open(path).history()))


def metrics(path: str) -> dict[str, str]:
    """What it counted."""
    return dict(last(path).operation_metrics or {})


def without_statistics(path: str) -> None:
    """Takes the statistics out of a table's only commit."""
    log = Path(path, "_delta_log", f"{0:020}.json")
    lines = [
        json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line
    ]  # a text may hold other ends of lines
    for each in lines:
        each.get("add", {}).pop("stats", None)
    log.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    for each in {*log.parent.glob("*.crc"), *log.parent.glob(".*.crc")}:
        each.unlink()


def tracked_rows(path: str) -> list[tuple[Any, int, int]]:
    """The column `id`, the row id and the version of each row, as the protocol has readers find them."""
    snapshot = bayou.open(path).snapshot()
    configuration = snapshot.metadata.configuration
    names = [configuration[f"delta.rowTracking.materialized{what}ColumnName"] for what in ("RowId", "RowCommitVersion")]
    column = snapshot.schema.field("id").physical_name
    files = snapshot.files()
    vectors = read_vectors(snapshot, files["deletion_vector"].combine_chunks())
    found = []
    for file, vector in zip(files.to_pylist(), vectors, strict=True):
        rows = pq.ParquetFile(Path(path, unquote(file["path"]))).read()
        held = [rows[name].to_pylist() if name in rows.column_names else [None] * rows.num_rows for name in names]
        deleted = set() if vector is None else set(vector.to_list())
        for number, (key, row_id, version) in enumerate(zip(rows[column].to_pylist(), *held, strict=True)):
            if number not in deleted:
                known = file["base_row_id"] + number if row_id is None else row_id
                found.append((key, known, file["default_row_commit_version"] if version is None else version))
    return found


def tracked(path: str) -> dict[Any, tuple[int, int]]:
    """The row id and the version of each row by its column `id`."""
    return {key: (row_id, version) for key, row_id, version in tracked_rows(path)}


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
    if is_on_connect(frame.sparkSession):
        return frame._explain_string()
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
