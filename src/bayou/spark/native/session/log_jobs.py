# SPDX-License-Identifier: Apache-2.0
"""Read the checkpoints of very large logs by Spark jobs, whose Python workers process file actions, and never rows of tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from bayou.log.checkpoint.columns import spark_schema
from bayou.log.checkpoint.sharding import MIN_FILES, LogJobError
from bayou.log.staging.footer_statistics import columns_of
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.own_sessions import default_session
from bayou.spark.jvm.core.session import java_session, session_of
from bayou.spark.jvm.gateway import Py4JError
from bayou.spark.pinned_settings import SQL_PREFIX, Job, values, with_options
from bayou.spark.session.arrow_rows import collected
from bayou.storage import qualify

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.log.checkpoint.sharding import Work
    from bayou.log.snapshot.source import SnapshotSource

_FILE_ACTIONS = ("add", "remove")
# Spark's internal option for literal paths: a path in a log is one file, even if it contains characters of a glob pattern.
_NO_PATTERNS = {"__globPaths__": "false"}


class SparkLogJobs:
    """The implementation of LogJobs by the running Spark application, for tables with `min_files` files or more."""

    def __init__(self, min_files: int = MIN_FILES) -> None:
        self.min_files = min_files

    def run(
        self, source: SnapshotSource, files: Sequence[str], work: Work, schema: pa.Schema, *, stream: bool = False
    ) -> Iterable[pa.Table]:
        """See LogJobs. `work` runs in Python workers, which need bayou and pyarrow.

        Raises:
            LogJobError: no session is active, or the job failed.
        """
        session = SparkSession.getActiveSession()
        if session is None:
            raise LogJobError("there is no active Spark session")
        try:
            frame = _frame(session, [f"{qualify(source.table_uri).uri}/{file}" for file in files], _columns(source, files[0]))
            result = frame.mapInArrow(_function(work), StructType.fromJson(spark_schema(schema)))
            return _streamed(result, schema) if stream else [collected(result, schema)]
        except (PySparkException, Py4JError, ImportError, OSError) as error:
            if isinstance(error, ImportError) or "ModuleNotFoundError" in str(error):
                # The workers lack bayou, or Spark 3.5 lacks pandas. Every later job would fail too, so run none.
                self.min_files = sys.maxsize
            raise LogJobError(str(error).split("\n", 1)[0]) from error


def _function(work: Work) -> Any:
    """Wrap the work in a plain function, because PySpark does not accept other callables."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return work(batches)

    return run


def _columns(source: SnapshotSource, file: str) -> StructType:
    """Return the columns with file actions, as the schema for the read.

    Without a schema, Spark would derive it from the file's metadata, and load the classes of user-defined types named there.
    """
    with source.store.open(file) as opened:
        columns = columns_of(pq.read_metadata(opened))
    try:
        return StructType.fromJson(spark_schema(each for each in columns if each.name in _FILE_ACTIONS))
    except KeyError as error:
        raise LogJobError(f"{file} has a column of the type {error}") from None


def _frame(active: SparkSession, uris: list[str], columns: StructType) -> DataFrame:
    jvm = Jvm.of(active)
    internal_session = session_of(default_session(jvm, java_session(active), values(Job.LOG), SQL_PREFIX))
    return internal_session.read.options(**with_options(_NO_PATTERNS, Job.REWRITE)).schema(columns).parquet(*uris)


def _streamed(frame: DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of a DataFrame one at a time.

    Executors compute the rows in parallel and keep them on their disks. The driver then fetches one partition after the other,
    which limits its memory.
    """
    persisted = frame.persist(StorageLevel.DISK_ONLY)
    persisted.count()
    return _fetched(persisted, schema)


def _fetched(persisted: DataFrame, schema: pa.Schema) -> Iterator[pa.Table]:
    try:
        for row in persisted.toLocalIterator():
            yield pa.Table.from_pylist([row.asDict()], schema=schema)
    finally:
        persisted.unpersist()
