# SPDX-License-Identifier: Apache-2.0
"""The user's door to tables on a Spark session: `read`, `write` and `DeltaTable`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NoReturn

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType  # noqa: TC002  (typing.get_type_hints)

from bayou.errors import ArgumentTypeError, DeltaError, InvalidOptionError, SessionError, StorageError, TableNotFoundError
from bayou.log.commit.transaction import checked_txn
from bayou.log.delta_log import open_log
from bayou.log.segment.time_travel import Timestamp
from bayou.protocol import arguments
from bayou.spark.create.builder import IdentityGenerator, TableBuilder
from bayou.spark.data_files.request import WriteOptions, WriteRequest
from bayou.spark.enable import enable
from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations.catalog import Catalog
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
"""What `write` does if there is a table already, as PySpark's `DataFrameWriter.mode` names it."""
_FILE_SYSTEM: Final = ("fs.", "dfs.")
"""How the names of settings begin that `DeltaTable.forPath` takes."""


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
    """A table as a DataFrame, or its change data feed.

    Without a version or timestamp, each query that Spark plans of the DataFrame reads the version that is the latest then, one
    version for each table in a query. `collect()` on the same object again runs the plan that it has. An explicit version or
    timestamp pins.

    Args:
        spark: a classic session; the data source `delta` need not be on it.
        path: the table's path; `path@v12` and `path@20260102030405678` travel in time too.
        version: the version to read.
        timestamp: the latest version at this time; text is read in the session's time zone.
        changes: the first and the last version or time whose changed rows to read, with `_change_type`, `_commit_version` and
            `_commit_timestamp`; without a last one, up to the version that is the latest at each execution.
        net: whether to read one change for each row, by row tracking: what became of it in the end (see `net_changes`).
        options: options of the reader, for example `fs.*` settings.

    Raises:
        TableNotFoundError: there is no table.
        VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
        TimeTravelError: changes in the range were not recorded.
        UnsupportedFeatureError: the table needs what bayou does not read; the features are named.
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
    """Writes a DataFrame into the table at a path, creating the table where there is none.

    Args:
        frame: the rows; columns match the table's by name.
        path: the table's path.
        mode: `error`, `append`, `overwrite` or `ignore`.
        partition_by: the partition columns of a new table.
        txn: an application's id and a version of its own. Its rows are written once: where the table has them already,
            nothing is committed, and the result says `replayed`.
        options: options of the writer: `userMetadata`, `compression`, `maxRecordsPerFile`, `delta.*` properties of a new table.

    Raises:
        TableExistsError: the mode is `error` and there is a table.
        SchemaMismatchError: the rows do not have the table's columns.
        ConcurrentModificationError: another writer's commit excludes this one; the error names it.
        UnsupportedFeatureError: the table needs a rule that is not enforced yet; it is named.
        ArgumentTypeError: `frame` is not a Spark DataFrame.
    """
    path = path_text(path)
    rows = frame_of(frame)
    columns = arguments.texts(partition_by, "partition_by", table=path)
    named = dict(zip(("txnAppId", "txnVersion"), checked_txn(txn, path) or (), strict=False))
    session = enable(rows.sparkSession)
    request = WriteRequest(WriteOptions.parse({**options, **named, "path": path}, mode, columns))
    # Each write plans anew, as each action of Spark does: a plan that ran once keeps its metrics.
    rows = frame.select("*") if request.options.replace_on is None else frame  # a condition may name the rows by their alias
    return write_request(Application.of(session), rows, request)


class DeltaTable(TableRows, TableAlterations, TableMaintenance, TableOptimization, TableClones):
    """A Delta table on a Spark session, as delta-spark's class of that name; `forPath` and `forName` give one."""

    @raised_as_pyspark
    def __init__(self, *arguments: NoReturn, **options: NoReturn) -> None:
        """Refuse to make a table, and name the functions that do."""
        given: list[object] = [*arguments, *options.values()]
        raise ArgumentTypeError(
            "DeltaTable(...) does not open a table.",
            given=", ".join(type(each).__name__ for each in given) or "nothing",
            next_step="use DeltaTable.forPath(spark, path) or DeltaTable.forName(spark, name); without Spark, bayou.open(path).",
        )

    @classmethod
    @raised_as_pyspark
    def forPath(  # noqa: N802  (delta-spark's name)
        cls,
        sparkSession: SparkSession,  # noqa: N803
        path: str,
        hadoopConf: Mapping[str, str] | None = None,  # noqa: N803
    ) -> DeltaTable:
        """The table at a path.

        Args:
            sparkSession: a classic session.
            path: the table's path.
            hadoopConf: settings of the file system, whose names start with `fs.` or `dfs.`.

        Raises:
            TableNotFoundError: there is no table.
            InvalidOptionError: a setting has another name.
        """
        path = path_text(path)
        options = arguments.text_map(hadoopConf, "hadoopConf", table=path, shown=False)
        session = enable(sparkSession)
        _check_settings(options, path)
        table = cls._at(session, path, options)
        try:
            table._log().update()  # noqa: SLF001  (of this class)
        except TableNotFoundError as error:
            message = f"{path} is not a Delta table."
            raise TableNotFoundError(message, table=path, error_class="DELTA_MISSING_DELTA_TABLE") from error
        return table

    @classmethod
    @raised_as_pyspark
    def forName(cls, sparkSession: SparkSession, tableOrViewName: str) -> DeltaTable:  # noqa: N802, N803  (delta-spark's names)
        """The table of a name in the session's catalog, or of a name like ``delta.`/a/path` ``.

        Args:
            sparkSession: a classic session.
            tableOrViewName: the name, as SQL has it. Views are no tables.

        Raises:
            TableNotFoundError: there is no such Delta table.
        """
        arguments.text(tableOrViewName, "tableOrViewName")
        session = enable(sparkSession)
        entry = Catalog(Jvm.of(session), session).delta_entry(tableOrViewName)
        table = cls.forPath(session, entry.location)
        table._name = entry.name or None  # noqa: SLF001  (of this class)
        table._called = tuple(filter(None, entry.name.split(".")))  # noqa: SLF001  (conditions may call it so)
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
        """Makes a folder of Parquet files a Delta table (CONVERT TO DELTA). No file is moved or rewritten, and no row is read.

        Nothing happens to a Delta table.

        Args:
            sparkSession: a classic session.
            identifier: ``parquet.`/a/path` ``, or the name of a table in the session's catalog.
            partitionSchema: the columns in the folders' names with their types, in their order, as SQL or as a `StructType`. For a
                table of the catalog, the catalog says it.
            collectStatistics: whether the log gets minima, maxima and null counts of columns, from the files' footers; else it gets
                the number of rows in each file.

        Raises:
            InvalidOptionError: the identifier is no name and no Parquet path, or is that of a view or of files of another format.
            InvalidSchemaError: the folders' names are not those of the partition columns, or a value in one is not of its type.
            SchemaMismatchError: the files' schemas do not fit each other; the error names a file.
            UnreadableDataFileError: a file is no Parquet file.
            TableNotFoundError: there is no such table in the catalog, or no file in the folder.
            UnsupportedFeatureError: the session's defaults for new tables ask for what such a table cannot have.
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
        """A builder of a table that is not there yet."""
        return DeltaTable._builder(sparkSession, "create")

    @staticmethod
    def createIfNotExists(sparkSession: SparkSession | None = None) -> DeltaTableBuilder:  # noqa: N802, N803
        """A builder of a table that is made unless there is one."""
        return DeltaTable._builder(sparkSession, "createIfNotExists")

    @staticmethod
    def replace(sparkSession: SparkSession | None = None) -> DeltaTableBuilder:  # noqa: N803
        """A builder of a table that takes the place of the one that is there."""
        return DeltaTable._builder(sparkSession, "replace")

    @staticmethod
    def createOrReplace(sparkSession: SparkSession | None = None) -> DeltaTableBuilder:  # noqa: N802, N803
        """A builder of a table, whether there is one or not."""
        return DeltaTable._builder(sparkSession, "createOrReplace")

    @staticmethod
    @raised_as_pyspark
    def _builder(spark: SparkSession | None, mode: str) -> DeltaTableBuilder:
        chosen = SparkSession.getActiveSession() if spark is None else spark
        if chosen is None:
            raise SessionError("There is no active Spark session.", next_step="give the session as an argument.")
        return DeltaTableBuilder(enable(chosen), mode)

    @staticmethod
    @raised_as_pyspark
    def isDeltaTable(sparkSession: SparkSession, identifier: str) -> bool:  # noqa: N802, N803  (delta-spark's names)
        """Whether there is a Delta table at a path, or at a folder above it.

        Args:
            sparkSession: any session; a classic one reaches what is not on the local disk.
            identifier: a path.

        Raises:
            ArgumentTypeError: `sparkSession` is not a session.
        """
        place = qualify(identifier)
        session = session_of(sparkSession)
        if place.local is None:
            enable(session)
        parts = place.uri
        while len(parts) > len(host_of(parts)):
            try:
                open_log(parts).version()
            except TableNotFoundError:
                parts = parts.rpartition("/")[0]
            except StorageError:
                raise
            except DeltaError:
                return True
            else:
                return True
        return False

    @raised_as_pyspark
    def toDF(self) -> DataFrame:  # noqa: N802  (delta-spark's name)
        """The table's rows, under its alias; each execution reads the version that is the latest then."""
        request = TableRequest.from_options({**self._options, "path": self._path})
        application = Application.of(self._spark)
        rows = read_request(application, self._spark, request)
        log = self._log()
        self._frames.add(rows, (log.known or log.update()).schema)
        return rows.alias(self._called[-1]) if self._called else rows

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
        """The change data feed: the rows that changed, with `_change_type`, `_commit_version` and `_commit_timestamp`.

        Args:
            startingVersion: the first version; this or startingTimestamp is needed.
            endingVersion: the last version. Without an end each execution reads up to the version that is the latest then.
            startingTimestamp: the first version is the earliest one committed at or after this time.
            endingTimestamp: the last version is the latest one committed at or before this time.
            net: whether to read one change for each row, by row tracking: what became of it in the end (see `net_changes`).

        Raises:
            InvalidOptionError: there is no start, a side is given twice, or the end is before the start.
            TimeTravelError: the range is not in the log, or changes in it were not recorded.
            UnsupportedFeatureError: the schemas in the range do not fit; or net changes are asked for of rows without stable ids.
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
        """The commits, newest first, with the columns of DESCRIBE HISTORY. Runs no Spark job.

        Args:
            limit: how many; all by default.
        """
        limit = arguments.optional_integer(limit, "limit", table=self._path)
        return history_frame(Application.of(self._spark), self._spark, self._log().history(limit))

    @raised_as_pyspark
    def detail(self) -> DataFrame:
        """One row of facts, with the columns of DESCRIBE DETAIL. Runs no Spark job."""
        return detail_frame(Application.of(self._spark), self._spark, self._log().update(), self._name)


class DeltaTableBuilder(TableBuilder):
    """A table in the making. Each call changes the builder and returns it; `execute` makes the table."""

    @raised_as_pyspark
    def execute(self) -> DeltaTable:
        """Makes the table.

        Raises:
            TableExistsError: there is a table, and the builder is one of `create`.
            TableNotFoundError: there is none, and the builder is one of `replace`.
            InvalidSchemaError: no table can have these columns.
            InvalidOptionError: a property cannot be set, or neither a name nor a location is given.
        """
        return DeltaTable._at(self._spark, self._create(), {})  # noqa: SLF001  (of this file)


def _check_settings(settings: Mapping[str, str], path: str) -> None:
    """Refuses settings that are none of the file system, as delta-spark does. Their values may be secrets, and are not told."""
    others = [name for name in settings if not name.startswith(_FILE_SYSTEM)]
    if others:
        raise InvalidOptionError(
            "Currently DeltaTable.forPath only supports hadoop configuration keys starting with "
            f"[{','.join(_FILE_SYSTEM)}] but got {', '.join(others)}",
            table=path,
            error_class="DELTA_TABLE_FOR_PATH_UNSUPPORTED_HADOOP_CONF",
            option=others[0],
            next_step="leave the others out, or set them on the session.",
        )
