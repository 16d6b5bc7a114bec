# SPDX-License-Identifier: Apache-2.0
"""The public API for tables on a Spark session: `read`, `write` and `DeltaTable`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NoReturn

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType  # noqa: TC002  (typing.get_type_hints)

from bayou.errors import DeltaError, StorageError, TableNotFoundError, failed
from bayou.health_report.collect import health_of
from bayou.health_report.report import Health
from bayou.log.commit.transaction import checked_txn
from bayou.log.delta_log import open_log
from bayou.log.segment.time_travel import Timestamp
from bayou.protocol import arguments
from bayou.spark.backend import backend_of, is_of_connect, native_part
from bayou.spark.create.builder import IdentityGenerator, TableBuilder
from bayou.spark.data_files.request import WriteOptions, WriteRequest
from bayou.spark.enable import enable
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.maintenance.convert import convert_table
from bayou.spark.read.change_request import change_options
from bayou.spark.read.net_changes import net_changes
from bayou.spark.read.reader import read as read_request
from bayou.spark.read.request import TableRequest
from bayou.spark.session.application import Application
from bayou.spark.session.given_arguments import frame_of, session_of
from bayou.spark.session.given_options import report_unknown_of_read
from bayou.spark.table.alterations import TableAlterations
from bayou.spark.table.clone import TableClones
from bayou.spark.table.describe import detail_frame, history_frame
from bayou.spark.table.dml import TableRows
from bayou.spark.table.maintenance import TableMaintenance
from bayou.spark.table.optimize import TableOptimization
from bayou.spark.types.user_types import given_schema
from bayou.spark.write.writer import WriteResult
from bayou.spark.write.writer import write as write_request
from bayou.storage import host_of, path_text, qualify

__all__ = ["DeltaTable", "DeltaTableBuilder", "IdentityGenerator", "SaveMode", "read", "write"]

SaveMode = Literal["error", "errorifexists", "append", "overwrite", "ignore"]
"""What `write` does if the table exists, as PySpark's `DataFrameWriter.mode` names it."""
_FILE_SYSTEM: Final = ("fs.", "dfs.")
"""The prefixes of the settings that `DeltaTable.forPath` accepts."""


@raised_as_pyspark
def read(
    spark: SparkSession,
    path: str,
    *,
    version: int | None = None,
    timestamp: str | dt.datetime | dt.date | None = None,
    changes: tuple[int | Timestamp, int | Timestamp | None] | None = None,
    net: bool = False,
    **options: Any,
) -> DataFrame:
    """Return a table as a DataFrame, or its change data feed.

    A version or timestamp pins what the DataFrame reads. Without one, each query that Spark plans from the DataFrame reads the
    version that is the latest at that time. All reads of a table in one query use the same version. A second `collect()` on the
    same DataFrame reuses its plan, and therefore its version.

    Args:
        spark: a session, classic or Spark Connect. It need not have the data source `delta`.
        path: the table's path; `path@v12` and `path@20260102030405678` select a version or a time.
        version: the version to read.
        timestamp: read the latest version at this time; a string is in the session's time zone.
        changes: the first and the last version or time of the change data feed to read. If the last is None, each execution reads
            up to the version that is the latest at that time.
        net: whether to read the net change of each row, which needs row tracking (see `net_changes`).
        options: options of the reader, for example `fs.*` settings.

    Raises:
        TableNotFoundError: the table does not exist.
        VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
        TimeTravelError: changes in the range were not recorded.
        UnsupportedFeatureError: the table uses features that bayou does not support for readers; the error names them.

    Examples:
        >>> bayou.read(spark, "/tmp/orders", version=1).show()
    """
    path = path_text(path)
    arguments.flag(net, "net", table=path)
    session = enable(spark)
    travel = {"versionAsOf": version, "timestampAsOf": timestamp}
    request = TableRequest.from_options({**options, **change_options(changes), **travel, "path": path})
    report_unknown_of_read(options, request.path)
    return (net_changes if net else read_request)(Application.of(session), session, request)


@raised_as_pyspark
def write(
    frame: DataFrame,
    path: str,
    *,
    mode: SaveMode = "error",
    partition_by: Sequence[str] = (),
    txn: tuple[str, int] | None = None,
    **options: Any,
) -> WriteResult:
    """Write a DataFrame to the table at a path. Create the table if it does not exist.

    Args:
        frame: the rows; columns match the table's by name.
        path: the table's path.
        mode: `error`, `append`, `overwrite` or `ignore`.
        partition_by: the partition columns of a new table.
        txn: an application's id and version, which make the write idempotent. If the log already has this version or a later one of
            the application, nothing is committed and the result's `reason` is `replayed`.
        options: options of the writer: `userMetadata`, `compression`, `maxRecordsPerFile`, `delta.*` properties of a new table.

    Raises:
        TableExistsError: the mode is `error` and the table exists.
        SchemaMismatchError: the rows do not have the table's columns.
        ConcurrentModificationError: a concurrent commit conflicts; the error names it.
        UnsupportedFeatureError: the table uses features that bayou does not support for writers; the error names them.
        ArgumentTypeError: `frame` is not a Spark DataFrame.

    Examples:
        >>> bayou.write(orders, "/tmp/orders", mode="append", txn=("nightly", 7)).version
    """
    path = path_text(path)
    rows = frame_of(frame)
    columns = arguments.texts(partition_by, "partition_by", table=path)
    named = dict(zip(("txnAppId", "txnVersion"), checked_txn(txn, path) or (), strict=False))
    session = enable(rows.sparkSession)
    request = WriteRequest(WriteOptions.parse({**options, **named, "path": path}, mode, columns))
    # Plan each write again, as Spark's actions do: a plan that has run keeps its metrics.
    rows = frame.select("*") if request.options.replace_on is None else frame  # `replaceOn` may name the rows by their alias
    return write_request(Application.of(session), rows, request)


class DeltaTable(TableRows, TableAlterations, TableMaintenance, TableOptimization, TableClones):
    """A Delta table on a Spark session, with the methods of delta-spark's class. Use `forPath` or `forName` to open one."""

    @raised_as_pyspark
    def __init__(self, *arguments: NoReturn, **options: NoReturn) -> None:
        """Raise an error that names the functions that open a table."""
        given: list[object] = [*arguments, *options.values()]
        raise failed("delta-table-constructor", given=", ".join(type(each).__name__ for each in given) or "nothing")

    @classmethod
    @raised_as_pyspark
    def forPath(  # noqa: N802  (delta-spark's name)
        cls,
        sparkSession: SparkSession,  # noqa: N803
        path: str,
        hadoopConf: Mapping[str, str] | None = None,  # noqa: N803
    ) -> DeltaTable:
        """Return the table at a path.

        Args:
            sparkSession: a session, classic or Spark Connect.
            path: the table's path.
            hadoopConf: settings of the file system, whose names start with `fs.` or `dfs.`.

        Raises:
            TableNotFoundError: the table does not exist.
            InvalidOptionError: a setting's name has another prefix.

        Examples:
            >>> table = bayou.DeltaTable.forPath(spark, "/tmp/orders")
        """
        path = path_text(path)
        options = arguments.text_map(hadoopConf, "hadoopConf", table=path, shown=False)
        session = enable(sparkSession)
        _check_settings(options, path)
        table = cls._at(session, path, options)
        try:
            table._log().update()  # noqa: SLF001  (of this class)
        except TableNotFoundError as error:
            raise failed("DELTA_MISSING_DELTA_TABLE/for-path", table=path) from error
        return table

    @classmethod
    @raised_as_pyspark
    def forName(cls, sparkSession: SparkSession, tableOrViewName: str) -> DeltaTable:  # noqa: N802, N803  (delta-spark's names)
        """Return a table by its name in the session's catalog, or by a name such as ``delta.`/a/path` ``.

        Args:
            sparkSession: a session, classic or Spark Connect.
            tableOrViewName: the name of a table, as in SQL. The name of a view is refused.

        Raises:
            TableNotFoundError: the name does not refer to a Delta table.

        Examples:
            >>> bayou.DeltaTable.forName(spark, "orders").toDF().show()
        """
        arguments.text(tableOrViewName, "tableOrViewName")
        session = enable(sparkSession)
        entry = backend_of(session).catalog(session).delta_entry(tableOrViewName)
        table = cls.forPath(session, entry.location)
        table._name = entry.name or None  # noqa: SLF001  (of this class)
        table._called = tuple(filter(None, entry.name.split(".")))  # noqa: SLF001  (conditions may use this name)
        return table

    @classmethod
    @raised_as_pyspark
    def convertToDelta(  # noqa: N802  (delta-spark's name)
        cls,
        sparkSession: SparkSession,  # noqa: N803
        identifier: str,
        partitionSchema: str | StructType | None = None,  # noqa: N803
        *,
        collectStatistics: bool = True,  # noqa: N803
    ) -> DeltaTable:
        """Convert a folder of Parquet files to a Delta table (CONVERT TO DELTA). No-op for a Delta table.

        Only the log is written: no file is moved or rewritten, and no row is read.

        Args:
            sparkSession: a session, classic or Spark Connect.
            identifier: ``parquet.`/a/path` ``, or the name of a table in the session's catalog.
            partitionSchema: the partition columns with their types, in the order of the folders, as SQL or as a `StructType`. A
                table of the catalog has them in the catalog.
            collectStatistics: whether the log gets minima, maxima and null counts of columns, from the files' footers. Otherwise it
                gets only the number of rows in each file.

        Raises:
            InvalidOptionError: the identifier is neither a name nor a Parquet path, or refers to a view or to another format.
            InvalidSchemaError: the folders do not have the names of the partition columns, or a value does not have the type.
            SchemaMismatchError: the files' schemas contradict each other; the error names a file.
            UnreadableDataFileError: a file is not a Parquet file.
            TableNotFoundError: the catalog does not have the table, or the folder does not contain files.
            UnsupportedFeatureError: the session's defaults for new tables enable a feature that a converted table cannot have.

        Examples:
            >>> bayou.DeltaTable.convertToDelta(spark, "parquet.`/tmp/events`", "day DATE")
        """
        arguments.text(identifier, "identifier")
        arguments.flag(collectStatistics, "collectStatistics", table=identifier)
        session = enable(sparkSession)
        columns = None if partitionSchema is None else given_schema(session, partitionSchema, table=identifier)
        application = Application.of(session)
        done = convert_table(application, session, identifier, columns, collects_statistics=collectStatistics)
        return cls.forName(session, identifier) if done.is_named else cls.forPath(session, done.uri)

    @staticmethod
    def create(sparkSession: SparkSession | None = None) -> DeltaTableBuilder:  # noqa: N803  (delta-spark's name)
        """Return the builder of a new table; `execute` raises an error if the table exists.

        Examples:
            >>> bayou.DeltaTable.create(spark).location("/tmp/created").addColumn("id", "BIGINT").execute()
        """
        return DeltaTable._builder(sparkSession, "create")

    @staticmethod
    def createIfNotExists(sparkSession: SparkSession | None = None) -> DeltaTableBuilder:  # noqa: N802, N803
        """Return the builder of a new table; `execute` keeps a table that exists.

        Examples:
            >>> bayou.DeltaTable.createIfNotExists(spark).tableName("customers").addColumn("id", "BIGINT").execute()
        """
        return DeltaTable._builder(sparkSession, "createIfNotExists")

    @staticmethod
    def replace(sparkSession: SparkSession | None = None) -> DeltaTableBuilder:  # noqa: N803
        """Return the builder of a table that replaces another; `execute` raises an error if that does not exist.

        Examples:
            >>> bayou.DeltaTable.replace(spark).tableName("customers").addColumn("name", "STRING").execute()
        """
        return DeltaTable._builder(sparkSession, "replace")

    @staticmethod
    def createOrReplace(sparkSession: SparkSession | None = None) -> DeltaTableBuilder:  # noqa: N802, N803
        """Return the builder of a table that is new, or replaces the one that exists.

        Examples:
            >>> bayou.DeltaTable.createOrReplace(spark).tableName("customers").addColumn("id", "BIGINT").execute()
        """
        return DeltaTable._builder(sparkSession, "createOrReplace")

    @staticmethod
    @raised_as_pyspark
    def _builder(spark: SparkSession | None, mode: str) -> DeltaTableBuilder:
        chosen = SparkSession.getActiveSession() if spark is None else spark
        if chosen is None:
            raise failed("no-active-session")
        return DeltaTableBuilder(enable(chosen), mode)

    @staticmethod
    @raised_as_pyspark
    def isDeltaTable(sparkSession: SparkSession, identifier: str) -> bool:  # noqa: N802, N803  (delta-spark's names)
        """Whether a path, or a folder above it, is a Delta table.

        Args:
            sparkSession: a session, classic or Spark Connect.
            identifier: a path.

        Raises:
            ArgumentTypeError: `sparkSession` is not a session.
            StorageError: a folder cannot be listed.

        Examples:
            >>> bayou.DeltaTable.isDeltaTable(spark, "/tmp/orders")
        """
        place = qualify(identifier)
        session = session_of(sparkSession)
        if place.local is None:
            enable(session)
        uri = place.uri
        while len(uri) > len(host_of(uri)):
            try:
                open_log(uri).version()
            except TableNotFoundError:
                uri = uri.rpartition("/")[0]
            except StorageError:
                raise
            except DeltaError:  # the log exists, even if it is damaged
                return True
            else:
                return True
        return False

    @raised_as_pyspark
    def toDF(self) -> DataFrame:  # noqa: N802  (delta-spark's name)
        """Return the table's rows under its alias. Each query reads the version that is the latest at that time (see `read`).

        Examples:
            >>> table.toDF().where("id = 1").show()
        """
        request = TableRequest.from_options({**self._options, "path": self._path})
        application = Application.of(self._spark)
        rows = read_request(application, self._spark, request)
        log = self._log()
        schema = (log.known or log.update()).schema
        if application.backend.is_native:
            self._frames.add(native_part("dml.own_columns").output_of(rows), schema)
        rows = rows.alias(self._called[-1]) if self._called else rows
        if is_of_connect(rows):
            self._frames.add_number(rows, schema)
        return rows

    @raised_as_pyspark
    def changes(
        self,
        startingVersion: int | None = None,  # noqa: N803  (the reader's names)
        endingVersion: int | None = None,  # noqa: N803
        startingTimestamp: str | dt.datetime | dt.date | None = None,  # noqa: N803
        endingTimestamp: str | dt.datetime | dt.date | None = None,  # noqa: N803
        *,
        net: bool = False,
    ) -> DataFrame:
        """Return the change data feed: change rows with `_change_type`, `_commit_version` and `_commit_timestamp`.

        Args:
            startingVersion: the first version; this or startingTimestamp is required.
            endingVersion: the last version. Without an end, each execution reads up to the version that is the latest at that time.
            startingTimestamp: the first version is the earliest one committed at or after this time.
            endingTimestamp: the last version is the latest one committed at or before this time.
            net: whether to read the net change of each row, which needs row tracking (see `net_changes`).

        Raises:
            InvalidOptionError: the start is missing, the start or the end is set twice, or the end is before the start.
            TimeTravelError: the range is not in the log, or changes in it were not recorded.
            UnsupportedFeatureError: the schemas in the range are not compatible, or `net` is set and the table has no row tracking.

        Examples:
            >>> table.changes(startingVersion=1, endingVersion=2).show()
        """
        arguments.flag(net, "net", table=self._path)
        range_options = {
            "startingVersion": startingVersion,
            "endingVersion": endingVersion,
            "startingTimestamp": startingTimestamp,
            "endingTimestamp": endingTimestamp,
        }
        request = TableRequest.from_options({**self._options, **range_options, "readChangeFeed": "true", "path": self._path})
        return (net_changes if net else read_request)(Application.of(self._spark), self._spark, request)

    @raised_as_pyspark
    def history(self, limit: int | None = None) -> DataFrame:
        """Return the commits, newest first, with the columns of DESCRIBE HISTORY. Runs no Spark job.

        Args:
            limit: the maximum number of commits; all by default.

        Examples:
            >>> table.history(5).select("version", "operation").show()
        """
        limit = arguments.optional_integer(limit, "limit", table=self._path)
        return history_frame(Application.of(self._spark), self._spark, self._log().history(limit))

    @raised_as_pyspark
    def detail(self) -> DataFrame:
        """Return one row about the table, with the columns of DESCRIBE DETAIL. Runs no Spark job.

        Examples:
            >>> table.detail().select("numFiles", "sizeInBytes").show()
        """
        return detail_frame(Application.of(self._spark), self._spark, self._log().update(), self._name)

    @raised_as_pyspark
    def health(self, *, folders: bool = False) -> Health:
        """Return what makes the table slow or large, and the calls that help. Runs no Spark job and changes nothing.

        Args:
            folders: list the table's folder too, as VACUUM does, to find files that no commit names.

        Examples:
            >>> print(table.health())
        """
        arguments.flag(folders, "folders", table=self._path)
        return health_of(self._log(), folders=folders, name=self._name)


class DeltaTableBuilder(TableBuilder):
    """The definition of a table to create. Each method changes the builder and returns it; `execute` creates the table."""

    @raised_as_pyspark
    def execute(self) -> DeltaTable:
        """Create or replace the table, as the method of `DeltaTable` that returned the builder states.

        Raises:
            TableExistsError: the builder is from `create`, and the table exists.
            TableNotFoundError: the builder is from `replace`, and the table does not exist.
            InvalidSchemaError: a table cannot have these columns.
            InvalidOptionError: a property cannot be set, or the builder has neither a name nor a location.

        Examples:
            >>> bayou.DeltaTable.createOrReplace(spark).tableName("sales").addColumn("id", "BIGINT").execute()
        """
        return DeltaTable._at(self._spark, self._create(), {})  # noqa: SLF001  (of this file)


def _check_settings(settings: Mapping[str, str], path: str) -> None:
    """Refuse settings that are not for the file system, as delta-spark does. The error omits values, which may be secrets."""
    others = [name for name in settings if not name.startswith(_FILE_SYSTEM)]
    if others:
        raise failed(
            "DELTA_TABLE_FOR_PATH_UNSUPPORTED_HADOOP_CONF",
            table=path,
            option=others[0],
            prefixes=",".join(_FILE_SYSTEM),
            names=others,
        )
