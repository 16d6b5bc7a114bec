# SPDX-License-Identifier: Apache-2.0
"""What bayou needs from a session of Spark Connect, by the documented DataFrame API: see `spark.backend`."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
import uuid
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from weakref import WeakKeyDictionary

from pyspark.errors import ParseException, PySparkException
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from pyspark.sql.types import StructType as SparkStructType

from bayou.errors import DeltaError, failed, redact_uri
from bayou.protocol.types.schema import parse_schema
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.backend import ENCRYPTION_FACTORY, JOB_FOLDER, WriteFailure, WrittenRows, is_of_connect
from bayou.spark.errors.failed_calls import failed_calls, messages_of, reason_of
from bayou.spark.pinned_settings import Job, for_writer, values
from bayou.spark.portable import casts, client, names
from bayou.spark.portable.catalog import PortableCatalog, refusal
from bayou.spark.portable.failed_reads import convert_failed_reads
from bayou.spark.portable.files import delete_files, files_in, footers_in, remove_empty
from bayou.spark.portable.lookups import PortableLookups
from bayou.spark.portable.needs import check_client, check_server
from bayou.spark.portable.pruning.generation import generation_expression
from bayou.spark.portable.requests.frames import as_given
from bayou.spark.portable.requests.installation import requests_beside, requests_of
from bayou.spark.portable.scan.runs import ask_settings_once
from bayou.spark.portable.scratch.folders import literal
from bayou.spark.portable.scratch.reach import check_before_write
from bayou.spark.portable.settings.pins import SessionConf, pinned
from bayou.spark.portable.stored_values import error_of_cast
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import parsed_text
from bayou.spark.portable.text.tree import UnreadableTextError
from bayou.spark.user_defined_types import for_spark
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from bayou.log.delta_log import DeltaLog
    from bayou.plan.generated.expressions import Expression as GenerationExpression
    from bayou.protocol.types.schema import DataType, StructType
    from bayou.spark.backend import FileTasks, WriteJob
    from bayou.spark.catalog import Catalog, ParquetEntry
    from bayou.spark.text.parsed_expression import ParsedExpression

_logger = logging.getLogger("bayou")
_TIME_ZONE: Final = "spark.sql.session.timeZone"
_REQUESTS: Final = 8
"""So many requests about schemas run at once."""
_WIDE_DECIMAL: Final = re.compile(r'"decimal\((?:39|[4-9]\d|\d{3,}),')
"""A decimal with more than Spark's 38 digits, in a schema's JSON."""
_COLLATIONS: Final = re.compile(r'"(?:spark|icu)\.(\w+)"', re.IGNORECASE)
"""The names of collations in a schema's JSON, with their providers."""
_JOB_OF_FILE: Final = re.compile(r"/part-\d+-([0-9a-f-]{36})[^/]*$")
"""The name of a file that Spark wrote, with the id of its job."""
_NOT_CREATED: Final = ("Mkdirs failed", "Permission denied", "No space left", "AccessDenied", "Read-only file system")
"""Parts of a file system's messages about a file or a folder that it could not create."""


class PortableBackend:
    """The implementation of `Backend` for the session of one client."""

    is_native = False

    def __init__(self, version: str, used: Any) -> None:
        self.spark_version = version
        self._client = weakref.ref(used)
        self._persisted: dict[int, DataFrame] = {}
        self._collations: dict[str, bool] = {}
        self._lock = threading.Lock()
        self.failures = (PySparkException,) if is_of_connect(used) else failed_calls()

    def reason_of(self, error: Exception) -> str:
        """Return the first line of the message of a failed query."""
        return reason_of(error)

    def begin(self, missing: Callable[[str], DeltaError | None], unreadable: Callable[[str, str], DeltaError | None]) -> None:
        """Let the client's errors name data files of tables. Other errors of a server stay PySpark's."""
        used = self._client()
        if used is not None:
            convert_failed_reads(used, missing, unreadable)

    def check_store(self, uri: str) -> None:
        """Do nothing: the client opens logs with its own stores."""

    def thread_id(self) -> int:
        """Return the id of this thread: the server's threads are out of reach."""
        return threading.get_ident()

    def task_counters(self, spark: SparkSession) -> None:
        """Return None: the client's operations show no progress."""

    def settings(self, spark: SparkSession) -> dict[str, str]:
        """Return all settings of a session, in one request."""
        return dict(spark.conf.getAll)

    def conf(self, session: Any) -> SessionConf:
        """Return the settings of a session, which are read in one request."""
        return SessionConf(self.settings(session), self.time_zone(session))

    def answers_reads(self, spark: SparkSession) -> bool:
        """Whether bayou answers `spark.read.format("delta")` on the session."""
        return not is_of_connect(spark) or requests_of(spark) is not None

    def time_zone(self, session: Any) -> str:
        """Return a session's time zone."""
        return str(session.conf.get(_TIME_ZONE) or "UTC")

    def planning_session(self, session: Any) -> SparkSession:
        """Return the session itself: a client has no others."""
        return cast("SparkSession", session)

    def catalog(self, spark: SparkSession) -> Catalog:
        """Return the catalog of a session."""
        return PortableCatalog(spark)

    def parquet_entry(self, spark: SparkSession, name: Any) -> ParquetEntry:
        """Raise UnsupportedFeatureError: the entry could not become that of a Delta table."""
        del spark
        raise refusal(name)

    def refresh_caches(self, spark: SparkSession, log: DeltaLog, options: Mapping[str, str]) -> None:
        """Cache again the DataFrames of the process's sessions whose tables have a new version.

        A failure is a warning: the rows are committed.
        """
        del options
        for requests in requests_beside(spark):
            try:
                requests.renew_cached()
            except (PySparkException, DeltaError) as error:
                shown = redact_uri(log.table_uri)
                _logger.warning("cached DataFrames may have old rows of %s: %s", shown, self.reason_of(error))

    def local_frame(self, spark: SparkSession, rows: pa.Table, schema_json: str) -> DataFrame:
        """Return a small Arrow table as a DataFrame, whose rows are part of each request."""
        return spark.createDataFrame(rows, SparkStructType.fromJson(_loaded(schema_json)))

    def columns_of(self, frame: DataFrame) -> StructType:
        """Return the columns of a DataFrame, as the log spells them."""
        return parse_schema(frame.schema.json())

    def names_of(self, frame: DataFrame) -> list[str]:
        """Return the names of a DataFrame's columns."""
        return list(frame.columns)

    def select(self, frame: DataFrame, items: Sequence[Any]) -> DataFrame:
        """Return columns of a DataFrame."""
        return frame.select(*map(_column, items))

    def own_column(self, spark: SparkSession, text: str) -> Column:  # noqa: ARG002  (the interface)
        """Return SQL of bayou or of a table as a column."""
        return F.expr(text)

    def alias_of(self, frame: DataFrame) -> str | None:
        """Return the alias of a query's rows, or None."""
        return client.alias_of(frame)

    def columns_of_nulls(self, frame: DataFrame) -> list[str]:  # noqa: ARG002  (the interface)
        """No columns: the client does not see what the server's optimizer finds."""
        return []

    def evaluated_once(self, frame: DataFrame) -> DataFrame:
        """Return the rows of a DataFrame under its alias. The server keeps them as long as the result exists."""
        kept = client.kept_rows(frame)
        if not is_of_connect(frame):
            return kept
        once, _ = as_given(kept, frame)
        client.plan_of(once).kept = kept  # so that all DataFrames that are made of it hold the rows
        return once

    def note_rows_of_table(self, frame: DataFrame, table_uri: str, *, replaces: bool) -> None:
        """Note on a classic session whether rows come from the table. Requests of a client do it when they are answered."""
        if not is_of_connect(frame):
            client.note_rows_of_table(frame, table_uri, replaces=replaces)

    def watched(self, frame: DataFrame) -> None:
        """None: the rows of a write that depends on them are kept."""
        del frame

    def numbered(self, frame: DataFrame) -> tuple[DataFrame, int]:
        """Return rows that the server keeps until they are written, and the number of their partitions."""
        self._let_go()  # the rows of a write that failed before its job
        # The server finds what is cached by the plan. That of the program may be cached, and must stay so.
        kept = frame.where(F.lit(True)).persist()
        last = kept.select(F.spark_partition_id().alias("number")).agg(F.max("number")).collect()[0][0]
        with self._lock:
            self._persisted[threading.get_ident()] = kept
        return kept, 1 if last is None else int(last) + 1

    def rebalanced(
        self, frame: DataFrame, columns: Sequence[str], size: int | None = None, partitions: int | None = None
    ) -> DataFrame:
        """Return the rows in partitions of a good size. A hint cannot state it, so `write_files` makes it the session's."""
        del size
        return frame.hint("rebalance", *([] if partitions is None else [partitions]), *map(F.expr, columns))

    def observe(self, frame: DataFrame, name: str, aggregates: Sequence[Column]) -> DataFrame:
        """Return rows with an observation, whose values `write_files` returns."""
        return client.observe(frame, name, aggregates)

    def knows_type(self, json_text: str) -> bool:
        """Whether this client has all types of a schema's JSON, and its server all collations.

        Decimals with too many digits are the server's error otherwise.
        """
        if _WIDE_DECIMAL.search(json_text) is not None:
            return False
        try:
            SparkStructType.fromJson(_loaded(json_text))
        except Exception:  # noqa: BLE001  (PySpark has several exceptions for it)
            return False
        return all(map(self._knows_collation, _COLLATIONS.findall(json_text)))

    def _knows_collation(self, name: str) -> bool:
        if name not in self._collations:
            self._collations[name] = client.knows_collation(self._client(), name)
        return self._collations[name]

    def lookups(self, spark: SparkSession) -> PortableLookups:
        """Return searches in sorted arrays, by higher-order functions."""
        del spark
        return PortableLookups()

    def aligned_rows(self, frame: DataFrame, table: str, schema_json: str, *, by_name: bool) -> DataFrame:
        """Align rows to a table's columns by Spark's rules of an INSERT."""
        given, wanted, settings = self.columns_of(frame), parse_schema(schema_json), self.settings(frame.sparkSession)
        return casts.aligned_rows(frame, given, wanted, table, settings=settings, by_name=by_name)

    def ansi_cast(self, spark: SparkSession, value: str, given: DataType, wanted: DataType, name: str) -> Column:
        """Cast a column, whatever the session's settings."""
        del spark
        return casts.ansi_cast(F.col(value), given, wanted, name)

    def stored_value(
        self, spark: SparkSession, value: Column, given: DataType, wanted: DataType, name: str, *, is_legacy: bool
    ) -> Column:
        """Cast a value for a column of a table, whatever the session's settings."""
        del spark
        return casts.stored_value(value, given, wanted, name, is_legacy=is_legacy)

    def can_up_cast(self, given: DataType, wanted: DataType) -> bool:
        """Whether Spark casts a type to another without loss."""
        return casts.may_upcast(given, wanted)

    def padded_chars(self, frame: DataFrame, number: int, declared: str) -> Column:
        """Return a column of a DataFrame with its char values padded at any depth."""
        return casts.padded_chars(frame.columns[number], declared)

    def string_value(self, spark: SparkSession, literal: str) -> str:
        """Return the value of a string literal, as the session reads it."""
        return names.string_value(literal, self.settings(spark))

    def name_parts(self, spark: SparkSession, name: str) -> list[str]:
        """Return the parts of a name in SQL, without backticks."""
        del spark
        found = names.name_parts(name)
        if found is None:
            raise ParseException(f"[PARSE_SYNTAX_ERROR] {name!r} is not a name")
        return list(found)

    def has_alias(self, spark: SparkSession, expression: str) -> bool:
        """Whether an expression in SQL ends with an alias."""
        del spark
        try:
            read_expression(expression, is_stored=True)
        except UnreadableTextError:
            return True
        return False

    def table_name(self, spark: SparkSession, name: str) -> tuple[str, ...] | None:
        """Return the parts of a table's name in SQL, or None if it is not a name, or is in another catalog."""
        return names.in_session_catalog(names.name_parts(name), self.settings(spark))

    def parsed(self, spark: SparkSession, text: str) -> ParsedExpression:
        """Return the parts of an expression that a table stores."""
        del spark
        try:
            return parsed_text(text)
        except UnreadableTextError as error:
            raise failed("DELTA_SCHEMA_NOT_SET/stored-expression", expression=text, reason=str(error)) from None

    def means_the_same(self, spark: SparkSession, text: str) -> bool:
        """Whether the session's parser reads an expression as bayou does: no setting of the parser has another value."""
        del text
        settings = self.settings(spark)
        return not any(name in settings for name in _PARSER_SETTINGS)

    def may_upcast(self, frame: DataFrame) -> bool:
        """Whether Spark casts a frame's first column to the type of its second column without loss."""
        given, wanted = (field.type for field in self.columns_of(frame).fields)
        return casts.may_upcast(given, wanted)

    def expression_type(self, spark: SparkSession, schema_json: str, text: str) -> str:
        """Return the JSON schema of the column that a SQL expression gives."""
        nothing = spark.createDataFrame([], SparkStructType.fromJson(_loaded(schema_json)))
        try:
            return nothing.select(F.expr(f"({text}\n)").alias("value")).schema.json()
        except PySparkException as error:
            raise failed("DELTA_SCHEMA_NOT_SET/expression", expression=text, reason=self.reason_of(error)) from None

    def columns_in_json(self, spark: SparkSession, text: str) -> str:
        """Return columns given as SQL as JSON of a schema."""
        return client.columns_in_sql(spark, text).json()

    def type_in_json(self, spark: SparkSession, text: str) -> str:
        """Return a type given as SQL as JSON."""
        return client.type_in_sql(spark, text).json()

    def expressions_in_json(self, spark: SparkSession, schema_json: str, texts: Sequence[str]) -> list[str] | None:
        """None: the client does not see resolved expressions."""
        del spark, schema_json, texts
        return None

    def generation_expression(self, spark: SparkSession, columns: StructType, text: str) -> GenerationExpression | None:
        """Return a generation expression over some columns, as bayou reads it."""
        del spark
        return generation_expression(text, columns)

    def parquet_schemas(self, spark: SparkSession, uris: Sequence[str], options: Mapping[str, str]) -> list[str | ValueError]:
        """Return the schemas that Spark derives from the Parquet types of files, in one request for each.

        The server reads them with its own credentials: the options may be secrets.
        """
        del options
        with ThreadPoolExecutor(_REQUESTS, thread_name_prefix="bayou-schemas") as pool:
            return list(pool.map(lambda uri: self._parquet_schema(spark, uri), uris))

    def _parquet_schema(self, spark: SparkSession, uri: str) -> str | ValueError:
        try:
            # No part of the path is the value of a partition.
            return spark.read.options(recursiveFileLookup="true").parquet(literal(uri)).schema.json()
        except PySparkException as error:
            return ValueError(self.reason_of(error))

    def write_files(self, frame: DataFrame, job: WriteJob) -> WrittenRows:
        """Write the rows of a DataFrame as Parquet files into a new folder of the table, in one job.

        The server writes with its own credentials. The job's settings of the file system may be secrets, so they are not sent.
        """
        local = qualify(job.root).local
        is_new = local is not None and not Path(local).exists()
        check_before_write(frame.sparkSession, job.root, job.hadoop)
        folder = f"{job.root}/{JOB_FOLDER}{uuid.uuid4().hex}"
        options = {**for_writer(job.options), **_WRITER_OPTIONS}
        own = {_OPEN_FILES: job.open_files, _PARTITION_BYTES: job.partition_bytes}
        settings = {**values(Job.WRITE, job.types), **{name: str(value) for name, value in own.items() if value is not None}}
        if job.observations and is_of_connect(frame) and _keeps_observations(self.spark_version):
            settings[_PLAN_CACHE] = "false"
        try:
            with pinned(frame.sparkSession, settings):
                frame.write.mode("append").options(**options).partitionBy(*job.partition_by).parquet(folder)
        except BaseException as error:
            delete_files(folder, job.hadoop)
            if is_new:
                remove_empty(job.root, is_deep=False)
            of_cast = error_of_cast(error) if isinstance(error, self.failures) else None
            if of_cast is None:
                raise
            raise of_cast from error
        else:
            observed = client.observed(frame, job.observations)
        finally:
            client.forget_observations(job.observations)
            self._let_go()
        files = files_in(folder, job.hadoop)
        if len({found[1] for each in files if (found := _JOB_OF_FILE.search(each.uri))}) > 1:
            delete_files(folder, job.hadoop)
            raise failed("written-twice", table=job.root)
        return WrittenRows(files, observed)

    def _let_go(self) -> None:
        with self._lock:
            kept = self._persisted.pop(threading.get_ident(), None)
        if kept is not None:
            with contextlib.suppress(PySparkException):
                kept.unpersist()

    def write_failure(self, error: Exception) -> WriteFailure:
        """Return why a job of `write_files` failed."""
        texts = list(messages_of(error))
        lines = (line.strip() for text in texts for line in text.split("\n"))
        return WriteFailure(texts, next((line for line in lines if any(part in line for part in _NOT_CREATED)), None))

    def in_file_tasks(self, frame: DataFrame, tasks: FileTasks) -> tuple[DataFrame, Sequence[Sequence[str]]]:
        """Raise UnsupportedFeatureError: tasks of chosen files need the JVM."""
        del frame, tasks
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what="OPTIMIZE", features=("Spark Connect",))

    def writes_encrypted(self, spark: SparkSession, options: Mapping[str, str]) -> bool:
        """Whether the options or the session name a factory for encryption."""
        names = {name.lower() for name in (*options, *self.settings(spark))}
        return ENCRYPTION_FACTORY in names or f"spark.hadoop.{ENCRYPTION_FACTORY}" in names

    def footers(self, files: Sequence[tuple[str, int]], storage_options: Mapping[str, str]) -> list[bytes | Exception]:
        """Return the footers of Parquet files of one store, read by this process."""
        return footers_in(files, storage_options)


_WRITER_OPTIONS: Final = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
}
"""No file `_SUCCESS`, and no second renaming of files. The folder is new, so nobody reads it before the commit."""
_OBSERVES_AGAIN: Final = (4, 3)
"""From this version on, servers are tested to observe each time."""
_OPEN_FILES: Final = "spark.sql.maxConcurrentOutputFileWriters"
_PARTITION_BYTES: Final = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
_PLAN_CACHE: Final = "spark.connect.session.planCache.enabled"
_PARSER_SETTINGS: Final = (
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.legacy.consecutiveStringLiterals.enabled",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled",
    "spark.sql.legacy.interval.enabled",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.timestampType",
)

_backends: WeakKeyDictionary[Any, PortableBackend] = WeakKeyDictionary()
_making: Final = threading.Lock()


def backend_of(spark: SparkSession) -> PortableBackend:
    """Return the implementation for the client of a session. Raise SessionError if it or the server is too old."""
    key = client.client_of(spark)
    with _making:
        if key not in _backends:
            if is_of_connect(spark):
                check_client()
                check_server(spark)
                ask_settings_once(spark)
            _backends[key] = PortableBackend(spark.version, key)
        return _backends[key]


def _keeps_observations(version: str) -> bool:
    """Whether a server may observe nothing in a plan that it has kept from a request about the schema, as Spark 4.0 does."""
    return tuple(int(part) for part in version.split(".")[:2]) < _OBSERVES_AGAIN


def _column(item: Any) -> Column:
    if isinstance(item, tuple):
        return F.col(quoted_name(item[0]))
    if isinstance(item, str):
        return F.col("*") if item == "*" else F.expr(item)
    column: Column = item
    return column


def _loaded(json_text: str) -> Any:
    return json.loads(for_spark(json_text))
