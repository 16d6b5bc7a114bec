# SPDX-License-Identifier: Apache-2.0
"""What bayou needs from a classic session, by the JVM: see `spark.backend`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import SessionError, failed, reason
from bayou.log.checkpoint.sharding import register_log_jobs
from bayou.protocol.types.schema import schema_to_json
from bayou.spark.backend import WriteFailure
from bayou.spark.expressions.predicates import expression_of
from bayou.spark.jvm.catalyst import casts, file_writer, frames, wide_columns
from bayou.spark.jvm.catalyst.lookups import NativeLookups
from bayou.spark.jvm.catalyst.settled import settled
from bayou.spark.jvm.core import callbacks, exceptions, session
from bayou.spark.jvm.core.adapters import Adapters, has_delta_spark
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.job_tasks import ConsoleBar, JobTasks
from bayou.spark.jvm.core.own_sessions import default_session
from bayou.spark.jvm.core.session import TIME_ZONE, SessionConf, is_stopped, java_session, session_of
from bayou.spark.jvm.relations import encryption, file_tasks, own_sql, parquet_tables, parser, relation
from bayou.spark.jvm.relations.catalog import Catalog
from bayou.spark.jvm.relations.hadoop import HadoopError, HadoopFiles
from bayou.spark.jvm.relations.parquet_tables import ParquetEntry
from bayou.spark.native.errors.conversion import extend_conversion
from bayou.spark.native.session.hadoop_store import check_log_store_settings
from bayou.spark.native.session.log_jobs import SparkLogJobs
from bayou.spark.native.session.object_stores import check_file_system
from bayou.spark.pinned_settings import SQL_PREFIX, Job, values
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column

    from bayou.errors import DeltaError
    from bayou.log.delta_log import DeltaLog
    from bayou.plan.generated.expressions import Expression as GenerationExpression
    from bayou.protocol.types.schema import DataType, StructType
    from bayou.spark.backend import FileTasks, WriteJob, WrittenRows
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.jvm.relations.listed_files import WatchedFiles
    from bayou.spark.text.parsed_expression import ParsedExpression


class NativeBackend:
    """The implementation of `Backend` for all sessions of one JVM."""

    failures: tuple[type[Exception], ...] = callbacks.FAILED_CALL
    is_native = True

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self._workbenches: dict[str, JavaObject] = {}
        self._lock = threading.Lock()

    @property
    def spark_version(self) -> str:
        """The version of Spark that runs the queries."""
        return self.jvm.spark_version_text

    def reason_of(self, error: Exception) -> str:
        """Return the first line of the message of a failed query."""
        return callbacks.reason_of(error)

    def begin(self, missing: Callable[[str], DeltaError | None], unreadable: Callable[[str, str], DeltaError | None]) -> None:
        """Compile the adapters, accept callbacks, and let the errors of bayou pass through the JVM."""
        register_log_jobs(SparkLogJobs())
        callbacks.start(self.jvm)
        Adapters.of(self.jvm)
        extend_conversion(missing, unreadable)

    def check_store(self, uri: str) -> None:
        """Check the log store and the file system that the session's settings name for a URI."""
        check_log_store_settings(self.jvm, uri.partition(":")[0])
        check_file_system(self.jvm, uri)

    def thread_id(self) -> int:
        """Return the id of the JVM thread that runs the calls of this Python thread."""
        return self.jvm.thread_id()

    def task_counters(self, spark: SparkSession) -> tuple[JobTasks, ConsoleBar]:
        """Return what counts the tasks of the running thread's jobs, and Spark's own bar on the terminal."""
        return JobTasks(spark), ConsoleBar(spark)

    def settings(self, spark: SparkSession) -> dict[str, str]:
        """Return all settings of a session, in two calls."""
        return session.settings_of(spark)

    def conf(self, session: Any) -> SessionConf:
        """Return the settings of a session."""
        return SessionConf(java_session(session) if isinstance(session, SparkSession) else session)

    def answers_reads(self, spark: SparkSession) -> bool:
        """Whether bayou answers `spark.read.format("delta")` on the session."""
        del spark
        return not has_delta_spark(self.jvm)

    def time_zone(self, session: Any) -> str:
        """Return a session's time zone."""
        return self.conf(session).time_zone

    def planning_session(self, session: Any) -> SparkSession:
        """Return a session that resolves expressions of tables: the workbench."""
        return session_of(self.workbench(java_session(session) if isinstance(session, SparkSession) else session))

    def catalog(self, spark: SparkSession) -> Catalog:
        """Return the catalog of a session."""
        return Catalog(self.jvm, spark)

    def parquet_entry(self, spark: SparkSession, name: Any) -> ParquetEntry:
        """Return the catalog's entry of a table of Parquet files."""
        return ParquetEntry(self.jvm, spark, name)

    def workbench(self, session: JavaObject) -> JavaObject:
        """Return an internal session for planning, with the time zone of `session`.

        bayou casts partition values and resolves generation expressions in it. A cast that is not possible gives NULL.

        A JVM has one such session for each time zone, and all sessions share it. Therefore it has none of the other SQL settings of
        `session`, which must not affect the reads of another session.
        """
        zone = self.time_zone(session)
        with self._lock:
            workbench = self._workbenches.get(zone)
            if workbench is None or is_stopped(workbench):
                settings = {**values(Job.PLANNING), TIME_ZONE: zone}
                self._workbenches[zone] = default_session(self.jvm, session, settings, SQL_PREFIX)
            return self._workbenches[zone]

    def refresh_caches(self, spark: SparkSession, log: DeltaLog, options: Mapping[str, str]) -> None:
        """Recompute cached DataFrames of a table at their next use."""
        session.refresh_caches(spark, log, self.jvm, options)

    def local_frame(self, spark: SparkSession, rows: pa.Table, schema_json: str) -> DataFrame:
        """Return a small Arrow table as a DataFrame that needs no job."""
        java = java_session(spark)
        return DataFrame(Bulk.of(self.jvm).dataset(java, self.workbench(java), rows, schema_json), spark)

    def columns_of(self, frame: DataFrame) -> StructType:
        """Return the columns of a DataFrame, as the log spells them."""
        return frames.columns_of(frame)

    def names_of(self, frame: DataFrame) -> list[str]:
        """Return the names of a DataFrame's columns."""
        return frames.names_of(frame)

    def select(self, frame: DataFrame, items: Sequence[Any]) -> DataFrame:
        """Return columns of a DataFrame."""
        return wide_columns.select(self.jvm, frame, items)

    def own_column(self, spark: SparkSession, text: str) -> Column:
        """Return SQL of bayou or of a table as a column."""
        return own_sql.own_column(spark, text)

    def alias_of(self, frame: DataFrame) -> str | None:
        """Return the alias of a query's rows, or None."""
        return relation.alias_of(frame)

    def columns_of_nulls(self, frame: DataFrame) -> list[str]:
        """Return the columns that a query fills only with NULL."""
        return relation.columns_of_nulls(self.jvm, frame)

    def evaluated_once(self, frame: DataFrame) -> DataFrame:
        """Return rows that are the same at every evaluation: materialised on the executors, unless they are so already."""
        fixed = settled(self.jvm, frame)
        if fixed is not None and fixed.frame is frame:
            return frame
        alias, once = self.alias_of(frame), frame.localCheckpoint() if fixed is None else fixed.frame
        return once if alias is None else once.alias(alias)

    def note_rows_of_table(self, frame: DataFrame, table_uri: str, *, replaces: bool) -> None:
        """Do nothing: the optimizer rule notes what plans read."""

    def watched(self, frame: DataFrame) -> WatchedFiles | None:
        """Start to watch the files that a DataFrame reads for changes."""
        fixed = settled(self.jvm, frame)
        return None if fixed is None else fixed.watched()

    def numbered(self, frame: DataFrame) -> tuple[DataFrame, int]:
        """Return rows in partitions that stay, and their number. The shuffles of the plan run for this."""
        return relation.evaluated(frame)

    def rebalanced(
        self, frame: DataFrame, columns: Sequence[str], size: int | None = None, partitions: int | None = None
    ) -> DataFrame:
        """Return the rows in partitions of a good size, with equal values of some columns together."""
        return relation.rebalanced(self.jvm, frame, columns, size, partitions)

    def observe(self, frame: DataFrame, name: str, aggregates: Sequence[Column]) -> DataFrame:
        """Return rows with an observation, whose values `write_files` returns."""
        return frame.observe(name, *aggregates)

    def knows_type(self, json_text: str) -> bool:
        """Whether this Spark has all types and collations of a schema's JSON."""
        return relation.knows_type(self.jvm, json_text)

    def lookups(self, spark: SparkSession) -> NativeLookups:
        """Return searches in sorted arrays, by Java's binary search."""
        return NativeLookups(self.jvm, spark)

    def aligned_rows(self, frame: DataFrame, table: str, schema_json: str, *, by_name: bool) -> DataFrame:
        """Align rows to a table's columns by Spark's rules of an INSERT."""
        return relation.aligned_rows(self.jvm, frame, table, schema_json, by_name=by_name)

    def ansi_cast(self, spark: SparkSession, value: str, given: DataType, wanted: DataType, name: str) -> Column:
        """Cast a column, whatever the session's settings."""
        del given
        return casts.ansi_cast(self.jvm, F.col(value), spark, casts.schema_of(wanted), name)

    def stored_value(
        self, spark: SparkSession, value: Column, given: DataType, wanted: DataType, name: str, *, is_legacy: bool
    ) -> Column:
        """Cast a value for a column of a table, whatever the session's settings."""
        del given
        if is_legacy:
            return casts.legacy_cast(self.jvm, value, spark, casts.schema_of(wanted))
        return casts.ansi_cast(self.jvm, value, spark, casts.schema_of(wanted), name)

    def can_up_cast(self, given: DataType, wanted: DataType) -> bool:
        """Whether Spark casts a type to another without loss."""
        return casts.can_up_cast(self.jvm, casts.schema_of(given), casts.schema_of(wanted))

    def padded_chars(self, frame: DataFrame, number: int, declared: str) -> Column:
        """Return a column of a DataFrame with its char values padded at any depth."""
        return casts.padded_chars(self.jvm, relation.analyzed_plan(frame), number, declared)

    def string_value(self, spark: SparkSession, literal: str) -> str:
        """Return the value of a string literal, as the session reads it."""
        return parser.string_value(java_session(spark), literal)

    def name_parts(self, spark: SparkSession, name: str) -> list[str]:
        """Return the parts of a name in SQL, without backticks."""
        return parser.name_parts(self.jvm, java_session(spark), name)

    def has_alias(self, spark: SparkSession, expression: str) -> bool:
        """Whether an expression in SQL ends with an alias."""
        return parser.has_alias(java_session(spark), expression)

    def table_name(self, spark: SparkSession, name: str) -> tuple[str, ...] | None:
        """Return the parts of a table's name in SQL, or None if it is not a name, or is in another catalog."""
        return parser.table_name(self.jvm, java_session(spark), name)

    def parsed(self, spark: SparkSession, text: str) -> ParsedExpression:
        """Return the parts of an expression that a table stores."""
        return parser.parsed(self.jvm, java_session(spark), text)

    def means_the_same(self, spark: SparkSession, text: str) -> bool:
        """Whether the session's parser reads an expression as bayou does."""
        return own_sql.means_the_same(self.jvm, java_session(spark), text)

    def may_upcast(self, frame: DataFrame) -> bool:
        """Whether Spark casts a frame's first column to the type of its second column without loss."""
        return relation.may_upcast(self.jvm, frame)

    def expression_type(self, spark: SparkSession, schema_json: str, text: str) -> str:
        """Return the JSON schema of the column that a SQL expression gives."""
        return relation.expression_type(self.jvm, spark, schema_json, text)

    def columns_in_json(self, spark: SparkSession, text: str) -> str:
        """Return columns given as SQL as JSON of a schema."""
        return parser.columns_in_json(java_session(spark), text)

    def type_in_json(self, spark: SparkSession, text: str) -> str:
        """Return a type given as SQL as JSON."""
        return parser.type_in_json(java_session(spark), text)

    def expressions_in_json(self, spark: SparkSession, schema_json: str, texts: Sequence[str]) -> list[str] | None:
        """Return SQL expressions over some columns, resolved and simplified, each as Catalyst's JSON."""
        return relation.expressions_in_json(self.jvm, spark, schema_json, texts)

    def generation_expression(self, spark: SparkSession, columns: StructType, text: str) -> GenerationExpression | None:
        """Return a generation expression over some columns, resolved and simplified by Spark."""
        trees = self.expressions_in_json(spark, schema_to_json(readable_schema(columns)), [text])
        return None if trees is None else expression_of(trees[0])

    def parquet_schemas(self, spark: SparkSession, uris: Sequence[str], options: Mapping[str, str]) -> list[str | ValueError]:
        """Return the schemas that Spark derives from the Parquet types of files, in one call."""
        return parquet_tables.derived_schemas(self.jvm, spark, uris, options)

    def write_files(self, frame: DataFrame, job: WriteJob) -> WrittenRows:
        """Write the rows of a DataFrame as Parquet files under a folder, in one job."""
        return file_writer.write_files(self.jvm, frame, job)

    def write_failure(self, error: Exception) -> WriteFailure:
        """Return why a job of `write_files` failed."""
        chain = list(exceptions.causes(exceptions.thrown_by(error)))
        of_files = next((exceptions.shown(cause) for cause in reversed(chain) if exceptions.is_failed_write(cause)), None)
        return WriteFailure([str(error), *map(exceptions.message_of, chain)], of_files)

    def in_file_tasks(self, frame: DataFrame, tasks: FileTasks) -> tuple[DataFrame, Sequence[Sequence[str]]]:
        """Return rows of files in given tasks, and for each task the URIs of its files in order."""
        return file_tasks.in_file_tasks(self.jvm, frame, tasks)

    def writes_encrypted(self, spark: SparkSession, options: Mapping[str, str]) -> bool:
        """Whether Spark would encrypt the files of a write with these options."""
        return encryption.writes_encrypted(java_session(spark), options)

    def footers(self, files: Sequence[tuple[str, int]], storage_options: Mapping[str, str]) -> list[bytes | Exception]:
        """Return the footers of Parquet files of one store, read by Hadoop's file system."""
        first = files[0][0]
        try:
            return HadoopFiles.of(self.jvm, first, storage_options).footers(files)
        except (HadoopError, SessionError) as error:
            raise failed("footers-unreadable", file=first, num_files=len(files), reason=reason(error)) from error


_backends: WeakKeyDictionary[Jvm, NativeBackend] = WeakKeyDictionary()


def backend_of(spark: SparkSession) -> NativeBackend:
    """Return the implementation for the JVM of a session."""
    return backend_of_jvm(Jvm.of(spark))


def backend_of_jvm(jvm: Jvm) -> NativeBackend:
    """Return the implementation for a JVM."""
    found = _backends.get(jvm)
    return found if found is not None else _backends.setdefault(jvm, NativeBackend(jvm))
