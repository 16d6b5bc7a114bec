# SPDX-License-Identifier: Apache-2.0
"""Jobs that work on the checkpoints of very large logs: per-file facts go through Python workers here, rows never do."""

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
# A path of a log is one file, whatever characters of a pattern are in it. The name is Spark's own.
_NO_PATTERNS = {"__globPaths__": "false"}


class SparkLogJobs:
    """The jobs of the running Spark application.

    Attributes:
        min_files: from how many files on a checkpoint is worked on by jobs.
    """

    def __init__(self, min_files: int = MIN_FILES) -> None:
        self.min_files = min_files

    def run(
        self, source: SnapshotSource, files: Sequence[str], work: Work, schema: pa.Schema, *, stream: bool = False
    ) -> Iterable[pa.Table]:
        """See LogJobs. The function runs in Python workers, which need bayou and pyarrow.

        Raises:
            LogJobError: there is no session, or the job failed.
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
                self.min_files = sys.maxsize  # the workers have no bayou, or Spark 3.5 no pandas: it would fail each time
            raise LogJobError(str(error).split("\n", 1)[0]) from error


def _function(work: Work) -> Any:
    """The work as a function: PySpark takes no other kind of callable."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return work(batches)

    return run


def _columns(source: SnapshotSource, file: str) -> StructType:
    """The columns with actions of files. Spark is told of them: by itself it would believe the names of classes in the file."""
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
    """The rows of a DataFrame, for facts of files; `schema` is that of a table without rows."""
    newer: Any = getattr(type(frame), "toArrow", None)
    if newer is not None:
        table: pa.Table = newer(frame)
        return table
    batches: Any = frame._collect_as_arrow()  # type: ignore[operator]  # noqa: SLF001  (Spark 3.5 has no public way)
    return pa.Table.from_batches(batches) if batches else schema.empty_table()


def _streamed(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a frame one by one: made in parallel, kept on the executors' disks, and fetched one task's at a time."""
    kept = frame.persist(StorageLevel.DISK_ONLY)
    kept.count()
    return _fetched(kept, schema)


def _fetched(kept: DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    try:
        for row in kept.toLocalIterator():
            yield pa.Table.from_pylist([row.asDict()], schema=schema)
    finally:
        kept.unpersist()
