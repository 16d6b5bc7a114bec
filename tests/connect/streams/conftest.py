# SPDX-License-Identifier: Apache-2.0
"""A table that streams read, and queries on it that write plain Parquet."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

import bayou

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

SECONDS = 120
_requests = itertools.count()


class Source:
    """A table, one file a commit, and one query that reads it as a stream.

    Attributes:
        path: the table.
        folder: the folder with everything.
        target: where the query writes.
        checkpoint: its checkpoint.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.path = str(folder / "table")
        self.target = folder / "target"
        self.checkpoint = folder / "checkpoint"

    def add(self, *ids: int, columns: str = "id", partition_by: Sequence[str] = (), **options: Any) -> None:
        """Commit one file with some rows, or one for each partition."""
        rows = self.spark.createDataFrame([(each,) for each in ids], "id long").selectExpr(*columns.split("; "))
        writer = rows.coalesce(1).write.format("delta").mode("append").options(**options)
        (writer.partitionBy(*partition_by) if partition_by else writer).save(self.path)

    def delete(self, condition: str) -> None:
        bayou.DeltaTable.forPath(self.spark, self.path).delete(condition)

    def stream(self, **options: Any) -> DataFrame:
        return self.spark.readStream.format("delta").options(**options).load(self.path)

    def start(self, change: Callable[[DataFrame], DataFrame] | None = None, trigger: Any = None, **options: Any) -> Any:
        frame = self.stream(**options)
        writer = (frame if change is None else change(frame)).writeStream.format("parquet")
        writer = writer.option("path", str(self.target)).option("checkpointLocation", str(self.checkpoint))
        if trigger != {}:
            writer = writer.trigger(**(trigger or {"availableNow": True}))
        return writer.start()

    def run(self, change: Callable[[DataFrame], DataFrame] | None = None, trigger: Any = None, **options: Any) -> Any:
        """Run the query until everything is read."""
        query = self.start(change, trigger, **options)
        assert query.awaitTermination(SECONDS), query.status
        return query

    def batches(self) -> int:
        """The number of completed batches."""
        return len([each for each in (self.checkpoint / "commits").iterdir() if each.name.isdigit()])

    def ids(self, *columns: str) -> list[Any]:
        """What the completed batches have written."""
        # Equal requests would have the answer of the first one.
        rows = self.spark.read.option("request", str(next(_requests))).parquet(str(self.target)).select(*(columns or ("id",)))
        try:
            found = rows.collect()
        except AnalysisException as error:
            if not any(reason in str(error) for reason in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA", "Unable to infer schema")):
                raise
            return []
        return sorted((tuple(row) if len(row) > 1 else row[0] for row in found), key=repr if columns else None)

    def left_behind(self) -> list[str]:
        """The files of streams in the folder of the table."""
        # Folders vanish meanwhile, which `os.walk` ignores and `Path.rglob` does not.
        return sorted(
            f"{folder}/{each}" for folder, _, names in os.walk(self.path) if "/_bayou_scratch" in folder for each in names
        )


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> Source:
    return Source(spark, tmp_path)
