# SPDX-License-Identifier: Apache-2.0
"""What bayou needs from a Spark session, as one interface with two implementations.

`spark/native` implements it for classic sessions, with Spark's internals. `spark/portable` implements it for sessions of Spark
Connect, and a classic session of a Spark whose internals bayou does not know, with the documented DataFrame API. All other modules
of `spark` use a session through this interface alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from bayou.errors import DeltaError
    from bayou.log.delta_log import DeltaLog
    from bayou.plan.generated.expressions import Expression as GenerationExpression
    from bayou.protocol.types.schema import DataType, StructType
    from bayou.spark.catalog import Catalog, ParquetEntry
    from bayou.spark.lookups import Lookups
    from bayou.spark.task_counts import SparkBar, TaskCounter
    from bayou.spark.text.parsed_expression import ParsedExpression

# The implementations are above this module, so it names them instead of importing them.
_NATIVE: Final = "bayou.spark.native."
_PORTABLE: Final = "bayou.spark.portable."
_CONNECT: Final = "pyspark.sql.connect."
_portable: Final[WeakSet[Any]] = WeakSet()
"""The contexts of the applications whose classic sessions are served by `spark/portable`."""

SHREDS_VARIANTS: Final = "spark.sql.variant.inferShreddingSchema"
"""The option of Spark's Parquet writer that shreds variants, on by default since Spark 4.2. Readers of a table without the feature
`variantShredding` need not support such files."""
JOB_FOLDER: Final = "b-"
"""The beginning of the name of a folder that only one job writes into."""
ENCRYPTION_FACTORY: Final = "parquet.crypto.factory.class"
"""The setting that names the factory for encryption. Without it files are plain."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that a job wrote.

    Attributes:
        uri: its absolute URI, percent-encoded.
        size: bytes.
        modification_time: milliseconds since the epoch.
    """

    uri: str
    size: int
    modification_time: int


@dataclass(frozen=True, slots=True)
class WriteJob:
    """A description of the files to write.

    Attributes:
        root: the folder's URI, not percent-encoded.
        partition_by: the partition columns, which become folders and are not written into the files.
        options: the Parquet writer's options.
        hadoop: settings of the file system.
        observations: the names of the observations in the rows to return.
        open_files: the number of open files, one per partition value, after which a task sorts its remaining rows by partition;
            None if the session decides.
        types: the types of the columns, those inside others included; None if they are not known.
        partition_bytes: the size of the partitions that `Backend.rebalanced` was to make; None if Spark decides.
    """

    root: str
    partition_by: Sequence[str]
    options: Mapping[str, str] = field(repr=False)
    hadoop: Mapping[str, str] = field(repr=False)
    observations: Sequence[str] = ()
    open_files: int | None = None
    types: frozenset[str] | None = None
    partition_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The result of a job.

    Attributes:
        files: the files that it wrote.
        observed: the values of the observations, by name, without those that Spark left out.
        read_by_tasks: for each task the URIs of the files that it read, in order, if tasks were created for files.
    """

    files: list[WrittenFile]
    observed: Mapping[str, list[Any]]
    read_by_tasks: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True)
class FileTasks:
    """The tasks of a job in which one task reads several chosen files in order and writes one file.

    Attributes:
        count: the number of tasks.
        column: the position of the task's number among the columns that are constant for a file.
    """

    count: int
    column: int


@dataclass(frozen=True, slots=True)
class WriteFailure:
    """Why a job that writes files failed.

    Attributes:
        messages: the messages of all errors, the outermost first.
        of_files: the file system's message, if a file or a folder could not be created; None otherwise.
    """

    messages: Sequence[str]
    of_files: str | None = None


class Conf(Protocol):
    """The settings of a session."""

    def get(self, name: str, default: str) -> str:
        """Return a setting, or the default if it has no value."""
        ...

    @property
    def time_zone(self) -> str:
        """The session's time zone."""
        ...


class Backend(Protocol):
    """A kind of session.

    Attributes:
        failures: the exceptions that a query of this session raises.
        is_native: whether it uses Spark's internals.
    """

    failures: tuple[type[Exception], ...]
    is_native: bool

    @property
    def spark_version(self) -> str:
        """The version of Spark that runs the queries."""
        ...

    def reason_of(self, error: Exception) -> str:
        """Return the first line of the message of a failed query."""
        ...

    # The application

    def begin(self, missing: Callable[[str], DeltaError | None], unreadable: Callable[[str, str], DeltaError | None]) -> None:
        """Prepare the errors and services of an application, at its first use.

        Args:
            missing: returns the error for a file that Spark did not find, from Spark's message; None for a file of no table.
            unreadable: returns the error for a file that Spark could not read, from Spark's message and the reason.
        """
        ...

    def check_store(self, uri: str) -> None:
        """Raise UnsupportedFeatureError or SessionError if the session's settings exclude that bayou opens the log of a table."""
        ...

    def thread_id(self) -> int:
        """Return the id of the thread that runs the calls of this Python thread."""
        ...

    def task_counters(self, spark: SparkSession) -> tuple[TaskCounter, SparkBar] | None:
        """Return what counts the tasks of the running thread's jobs, and Spark's own bar on the terminal; None without them."""
        ...

    # The session

    def settings(self, spark: SparkSession) -> dict[str, str]:
        """Return all settings of a session that are set."""
        ...

    def conf(self, session: Any) -> Conf:
        """Return the settings of a session, Spark's defaults included, to look up some of them.

        Args:
            session: a `SparkSession`, or its side in the JVM.
        """
        ...

    def answers_reads(self, spark: SparkSession) -> bool:
        """Whether bayou answers `spark.read.format("delta")` on the session; otherwise a server with its own `delta` does."""
        ...

    def time_zone(self, session: Any) -> str:
        """Return a session's time zone.

        Args:
            session: a `SparkSession`, or its side in the JVM.
        """
        ...

    def planning_session(self, session: Any) -> SparkSession:
        """Return a session that resolves expressions of tables, with the time zone of a session and none of its other settings.

        Args:
            session: a `SparkSession`, or its side in the JVM.
        """
        ...

    def catalog(self, spark: SparkSession) -> Catalog:
        """Return the catalog of a session."""
        ...

    def parquet_entry(self, spark: SparkSession, name: Any) -> ParquetEntry:
        """Return the catalog's entry of a table of Parquet files, to convert it.

        Args:
            name: a name that the catalog returned.
        """
        ...

    def refresh_caches(self, spark: SparkSession, log: DeltaLog, options: Mapping[str, str]) -> None:
        """Recompute cached DataFrames of a table at their next use. A failure is a warning: the rows are committed."""
        ...

    # Rows

    def local_frame(self, spark: SparkSession, rows: pa.Table, schema_json: str) -> DataFrame:
        """Return a small Arrow table as a DataFrame.

        Args:
            rows: the rows, of scalars, structs, lists of strings and maps.
            schema_json: JSON of the DataFrame's columns.
        """
        ...

    def columns_of(self, frame: DataFrame) -> StructType:
        """Return the columns of a DataFrame, as the log spells them."""
        ...

    def names_of(self, frame: DataFrame) -> list[str]:
        """Return the names of a DataFrame's columns."""
        ...

    def select(self, frame: DataFrame, items: Sequence[Any]) -> DataFrame:
        """Return columns of a DataFrame.

        Args:
            items: named columns: SQL of bayou or of a table (see `own_column`), names in tuples of one, or PySpark's columns.
        """
        ...

    def own_column(self, spark: SparkSession, text: str) -> Column:
        """Return SQL of bayou or of a table, without an alias, as a column. No setting changes its meaning."""
        ...

    def alias_of(self, frame: DataFrame) -> str | None:
        """Return the alias of a query's rows, or None."""
        ...

    def columns_of_nulls(self, frame: DataFrame) -> list[str]:
        """Return the columns that a query is known to fill only with NULL."""
        ...

    def evaluated_once(self, frame: DataFrame) -> DataFrame:
        """Return the rows of a DataFrame under its alias, the same at every evaluation. Runs a job, unless they are so already."""
        ...

    def note_rows_of_table(self, frame: DataFrame, table_uri: str, *, replaces: bool) -> None:
        """Note in the transaction on a table that a program's rows come from that table, unless their plan notes its own reads.

        Args:
            replaces: whether the rows replace others of the table.
        """
        ...

    def watched(self, frame: DataFrame) -> Any | None:
        """Start to watch the files that a DataFrame reads for changes: `WatchedFiles`. None if nothing needs to be watched."""
        ...

    def numbered(self, frame: DataFrame) -> tuple[DataFrame, int]:
        """Return rows whose partitions do not change when they are computed again, and the number of partitions."""
        ...

    def rebalanced(
        self, frame: DataFrame, columns: Sequence[str], size: int | None = None, partitions: int | None = None
    ) -> DataFrame:
        """Return the rows in partitions of a good size, with equal values of some columns together.

        Args:
            columns: SQL of the columns.
            size: the size in bytes of a partition's shuffled rows; None for Spark's default.
            partitions: the number of partitions of the shuffle; None for Spark's settings. Only one of the two may be given.
        """
        ...

    def observe(self, frame: DataFrame, name: str, aggregates: Sequence[Column]) -> DataFrame:
        """Return rows with an observation, whose values `write_files` returns."""
        ...

    # Types

    def knows_type(self, json_text: str) -> bool:
        """Whether this Spark has all types and collations of a schema's JSON."""
        ...

    def lookups(self, spark: SparkSession) -> Lookups:
        """Return searches in sorted arrays."""
        ...

    def aligned_rows(self, frame: DataFrame, table: str, schema_json: str, *, by_name: bool) -> DataFrame:
        """Align rows to a table's columns by Spark's rules of an INSERT: the session's store assignment, defaults, NULL."""
        ...

    def ansi_cast(self, spark: SparkSession, value: str, given: DataType, wanted: DataType, name: str) -> Column:
        """Cast a column, whatever the session's settings. A value that the type cannot hold is an error that names the column.

        Args:
            value: the column's name, quoted.
            given: its type.
            wanted: the type to cast it to.
            name: the column's name in the error.
        """
        ...

    def stored_value(
        self, spark: SparkSession, value: Column, given: DataType, wanted: DataType, name: str, *, is_legacy: bool
    ) -> Column:
        """Cast a value for a column of a table, whatever the session's settings.

        Args:
            value: the value; not a struct, array or map.
            given: its type.
            wanted: the column's type.
            name: the column's name in the error of a value that the type cannot hold.
            is_legacy: whether such a value becomes NULL, or is truncated, instead.
        """
        ...

    def can_up_cast(self, given: DataType, wanted: DataType) -> bool:
        """Whether Spark casts a type to another without loss."""
        ...

    def padded_chars(self, frame: DataFrame, number: int, declared: str) -> Column:
        """Return a column of a DataFrame with its char values padded at any depth, as Spark pads them on reads.

        Args:
            number: the column's position.
            declared: the column's type in SQL, with chars and varchars.
        """
        ...

    # SQL

    def string_value(self, spark: SparkSession, literal: str) -> str:
        """Return the value of a string literal, as the session reads it."""
        ...

    def name_parts(self, spark: SparkSession, name: str) -> list[str]:
        """Return the parts of a name in SQL, without backticks."""
        ...

    def has_alias(self, spark: SparkSession, expression: str) -> bool:
        """Whether an expression in SQL ends with an alias."""
        ...

    def table_name(self, spark: SparkSession, name: str) -> tuple[str, ...] | None:
        """Return the parts of a table's name in SQL, or None if it is not a name, or is in another catalog."""
        ...

    # Expressions

    def parsed(self, spark: SparkSession, text: str) -> ParsedExpression:
        """Return the parts of an expression that a table stores. Raise InvalidSchemaError if it cannot be read."""
        ...

    def means_the_same(self, spark: SparkSession, text: str) -> bool:
        """Whether the session's parser reads an expression as bayou does, so that no setting changes its meaning."""
        ...

    def may_upcast(self, frame: DataFrame) -> bool:
        """Whether Spark casts a frame's first column to the type of its second column without loss."""
        ...

    def expression_type(self, spark: SparkSession, schema_json: str, text: str) -> str:
        """Return the JSON schema of the column that a SQL expression gives, or raise InvalidSchemaError."""
        ...

    def columns_in_json(self, spark: SparkSession, text: str) -> str:
        """Return columns given as SQL, such as `a int, b string`, as JSON of a schema."""
        ...

    def type_in_json(self, spark: SparkSession, text: str) -> str:
        """Return a type given as SQL as JSON."""
        ...

    def expressions_in_json(self, spark: SparkSession, schema_json: str, texts: Sequence[str]) -> list[str] | None:
        """Return SQL expressions over some columns, resolved and simplified, each as Catalyst's JSON; None if that is unknown."""
        ...

    def generation_expression(self, spark: SparkSession, columns: StructType, text: str) -> GenerationExpression | None:
        """Return a generation expression over some columns, resolved; None if no filter can be derived from it."""
        ...

    # Files

    def parquet_schemas(self, spark: SparkSession, uris: Sequence[str], options: Mapping[str, str]) -> list[str | ValueError]:
        """Return the schemas that Spark derives from the Parquet types of files, under the session's settings.

        Args:
            uris: the files, not percent-encoded.

        Returns:
            For each file JSON of its schema, or why Spark cannot read it.
        """
        ...

    def write_files(self, frame: DataFrame, job: WriteJob) -> WrittenRows:
        """Write the rows of a DataFrame as Parquet files under a folder, in one job."""
        ...

    def write_failure(self, error: Exception) -> WriteFailure:
        """Return why a job of `write_files` failed."""
        ...

    def in_file_tasks(self, frame: DataFrame, tasks: FileTasks) -> tuple[DataFrame, Sequence[Sequence[str]]]:
        """Return rows of files in given tasks, and for each task the URIs of its files in order."""
        ...

    def writes_encrypted(self, spark: SparkSession, options: Mapping[str, str]) -> bool:
        """Whether Spark would encrypt the files of a write with these options."""
        ...

    def footers(self, files: Sequence[tuple[str, int]], storage_options: Mapping[str, str]) -> list[bytes | Exception]:
        """Return the last bytes of Parquet files of one store, with their footers.

        Args:
            files: the URI of each file, not percent-encoded, and its size in bytes.

        Returns:
            For each file the bytes from the start of its footer, as a Parquet file without data, or the error.
        """
        ...


def backend_of(spark: SparkSession) -> Backend:
    """Return the implementation for a session: one for each JVM, or for each client of Spark Connect."""
    made = import_module((_PORTABLE if is_portable(spark) else _NATIVE) + "backend")
    return cast("Backend", made.backend_of(spark))


def is_portable(spark: SparkSession) -> bool:
    """Whether bayou uses only the documented functions of PySpark on a session."""
    return is_of_connect(spark) or (len(_portable) > 0 and spark.sparkContext in _portable)


def make_portable(spark: SparkSession) -> None:
    """Use only the documented functions of PySpark on the classic sessions of an application from now on."""
    _portable.add(spark.sparkContext)


def part_of(backend: Backend, name: str) -> Any:
    """Return the module of this name among the modules of a backend, in `spark/native` or `spark/portable`."""
    return import_module((_NATIVE if backend.is_native else _PORTABLE) + name)


def native_part(name: str) -> Any:
    """Return the module of this name among the modules for classic sessions."""
    return import_module(_NATIVE + name)


def is_of_connect(given: Any) -> bool:
    """Whether this is an object of Spark Connect. Check by name, because importing its classes requires grpc."""
    return not isinstance(given, type) and any(base.__module__.startswith(_CONNECT) for base in type(given).__mro__)
