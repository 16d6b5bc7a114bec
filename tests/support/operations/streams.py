# SPDX-License-Identifier: Apache-2.0
"""Streams for tests: rows that arrive as files, and queries that run until nothing is left."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

SECONDS = 180
"""How long a query may take at the most."""


class Arrivals:
    """A folder of Parquet files that a stream reads, one file a batch."""

    def __init__(self, spark: SparkSession, path: Path, schema: str) -> None:
        self.spark = spark
        self.path = str(path)
        self.schema = schema
        Path(path).mkdir(parents=True)

    def bring(self, rows: list[Any]) -> None:
        """One more file with these rows."""
        self.spark.createDataFrame(rows, self.schema).coalesce(1).write.mode("append").parquet(self.path)

    def stream(self) -> DataFrame:
        """The rows as a stream."""
        return self.spark.readStream.schema(self.schema).option("maxFilesPerTrigger", 1).parquet(self.path)


def stream(spark: SparkSession, path: str, **options: Any) -> DataFrame:
    """A table as a stream."""
    return spark.readStream.format("delta").options(**options).load(path)


def read(spark: SparkSession, path: str) -> DataFrame:
    """A table as it is."""
    return spark.read.format("delta").load(path)


def rows(spark: SparkSession, path: str) -> list[tuple[Any, ...]]:
    """The rows of a table, in order."""
    return sorted(map(tuple, read(spark, path).collect()))


def run(frame: DataFrame, checkpoint: Path | str, path: str | None = None, mode: str = "append", **options: Any) -> StreamingQuery:
    """Runs a stream into a table until nothing is left to do, and raises what stopped it, if anything did."""
    writer = frame.writeStream.format("delta").outputMode(mode).option("checkpointLocation", str(checkpoint))
    partitions = options.pop("partition_by", None)
    writer = writer.options(**options).trigger(availableNow=True)
    writer = writer.partitionBy(*partitions) if partitions else writer
    return finish(writer.start(path))


def finish(query: StreamingQuery) -> StreamingQuery:
    """Waits until a query has ended, and raises what stopped it, if anything did."""
    assert query.awaitTermination(SECONDS), f"the query did not end:\n{whereabouts(query)}"
    return query


def whereabouts(query: StreamingQuery) -> str:
    """What a query that does not end was doing: its last batches, and the stacks of its threads and of Python's."""
    batches = [(each["batchId"], each["numInputRows"], each["sources"][0]["endOffset"]) for each in query.recentProgress[-3:]]
    lines = [str(query.status), str(batches)]
    stacks = SparkContext._active_spark_context._jvm.java.lang.Thread.getAllStackTraces()
    for thread in list(stacks.keySet()):
        frames = [frame.toString() for frame in list(stacks.get(thread))]
        if any("org.apache.spark" in frame or "bayou" in frame for frame in frames):
            lines += [f"{thread.getName()} ({thread.getState().toString()})", *(f"    {frame}" for frame in frames[:25])]
    for identity, frame in sys._current_frames().items():
        lines += [f"Python thread {identity}", *traceback.format_stack(frame)[-8:]]
    return "\n".join(lines)


def forget_last_commit(checkpoint: Path | str) -> None:
    """Makes a query's checkpoint what it is when the query is killed after its sink wrote, and before Spark noted that it did."""
    notes = sorted((each for each in Path(checkpoint, "commits").iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
    notes[-1].unlink()
    Path(checkpoint, "commits", f".{notes[-1].name}.crc").unlink(missing_ok=True)


def batches(query: StreamingQuery) -> list[int]:
    """How many rows each batch of a query had; batches without rows are left out."""
    return [each["numInputRows"] for each in query.recentProgress if each["numInputRows"]]


def error_class(error: BaseException) -> str:
    """The Delta error class that an error names."""
    found = re.search(r"\[(DELTA_[A-Z_.]+|DIFFERENT_DELTA[A-Z_]+)\]", str(error))
    return "" if found is None else found.group(1)
