# SPDX-License-Identifier: Apache-2.0
"""Spark jobs on the checkpoints of very large logs. Python workers process facts of files here, never rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from bayou.log.checkpoint.columns import spark_schema
from bayou.log.checkpoint.sharding import MIN_FILES, LogJobError
from bayou.log.staging.footer_statistics import columns_of
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.own_sessions import default_session
from bayou.spark.jvm.core.pinned_settings import SQL_PREFIX, Job, values, with_options
from bayou.spark.jvm.core.session import java_session, session_of
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.log.checkpoint.sharding import Work
    from bayou.log.snapshot.source import SnapshotSource

_FILE_ACTIONS = ("add", "remove")
# A path of a log is one file, even if it contains characters of a pattern. The name is Spark's own.
_NO_PATTERNS = {"__globPaths__": "false"}


class SparkLogJobs:
    """The jobs of the running Spark application, for checkpoints with `min_files` files or more."""

    def __init__(self, min_files: int = MIN_FILES) -> None:
        self.min_files = min_files

    def run(
        self, source: SnapshotSource, files: Sequence[str], work: Work, schema: pa.Schema, *, stream: bool = False
    ) -> Iterable[pa.Table]:
        """See LogJobs. The function runs in Python workers, which need bayou and pyarrow.

        Raise LogJobError if no session is active, or the job failed.
        """
        active = SparkSession.getActiveSession()
        if active is None:
            raise LogJobError("there is no active Spark session")
        try:
            frame = _frame(active, [f"{qualify(source.table_uri).uri}/{file}" for file in files], _columns(source, files[0]))
            result = frame.mapInArrow(_function(work), StructType.fromJson(spark_schema(schema)))
            return _streamed(result, schema) if stream else [collected(result, schema)]
        except (PySparkException, Py4JError, ImportError, OSError) as error:
            if isinstance(error, ImportError) or "ModuleNotFoundError" in str(error):
                self.min_files = sys.maxsize  # the workers lack bayou, or Spark 3.5 lacks pandas: every job would fail
            raise LogJobError(str(error).split("\n", 1)[0]) from error


def _function(work: Work) -> Any:
    """Return the work as a function, the only callable that PySpark accepts."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return work(batches)

    return run


def _columns(source: SnapshotSource, file: str) -> StructType:
    """Return the columns with file actions. Without a schema Spark would trust the class names in the file."""
    with source.store.open(file) as opened:
        found = columns_of(pq.read_metadata(opened))
    try:
        return StructType.fromJson(spark_schema(each for each in found if each.name in _FILE_ACTIONS))
    except KeyError as error:
        raise LogJobError(f"{file} has a column of the type {error}") from None


def _frame(active: SparkSession, uris: list[str], columns: StructType) -> DataFrame:
    jvm = Jvm.of(active)
    own = session_of(default_session(jvm, java_session(active), values(Job.LOG), SQL_PREFIX))
    return own.read.options(**with_options(_NO_PATTERNS, Job.REWRITE)).schema(columns).parquet(*uris)


def collected(frame: DataFrame, schema: pa.Schema) -> pa.Table:
    """Return the rows of a DataFrame of file facts. `schema` is for a table without rows."""
    newer: Any = getattr(type(frame), "toArrow", None)
    if newer is not None:
        table: pa.Table = newer(frame)
        return table
    batches: Any = frame._collect_as_arrow()  # type: ignore[operator]  # noqa: SLF001  (Spark 3.5 has no public way)
    return pa.Table.from_batches(batches) if batches else schema.empty_table()


def _streamed(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of a frame one at a time. They are computed in parallel, kept on executor disks, and fetched by task."""
    kept = frame.persist(StorageLevel.DISK_ONLY)
    kept.count()
    return _fetched(kept, schema)


def _fetched(kept: DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    try:
        for row in kept.toLocalIterator():
            yield pa.Table.from_pylist([row.asDict()], schema=schema)
    finally:
        kept.unpersist()
