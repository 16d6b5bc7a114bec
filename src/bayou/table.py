# SPDX-License-Identifier: Apache-2.0
"""The user's door to tables on a Spark session: `read`, `write` and `DeltaTable`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.errors import DeltaError, StorageError, TableNotFoundError
from bayou.log.delta_log import open_log
from bayou.spark.application import Application
from bayou.spark.describe import detail_frame, history_frame
from bayou.spark.errors import raised_as_pyspark
from bayou.spark.jvm.hadoop import host_of
from bayou.spark.reader import TableRequest
from bayou.spark.reader import read as read_request
from bayou.spark.session import enable
from bayou.spark.write_request import WriteRequest
from bayou.spark.writer import WriteResult
from bayou.spark.writer import write as write_request
from bayou.storage import qualify

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DeltaTable", "read", "write"]


@raised_as_pyspark
def read(
    spark: SparkSession,
    path: str,
    *,
    version: int | None = None,
    timestamp: str | dt.datetime | dt.date | None = None,
    **options: Any,
) -> DataFrame:
    """A table as a DataFrame.

    Without a version or timestamp, each execution of the DataFrame reads the version that is the latest then, one version for
    each table in a query. An explicit version or timestamp pins.

    Args:
        spark: a classic session; the data source `delta` need not be on it.
        path: the table's path; `path@v12` and `path@20260102030405678` travel in time too.
        version: the version to read.
        timestamp: the latest version at this time; text is read in the session's time zone.
        options: options of the reader, for example `fs.*` settings.

    Raises:
        TableNotFoundError: there is no table.
        VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
        UnsupportedFeatureError: the table needs what bayou does not read; the features are named.
    """
    enable(spark)
    given = {**options, "path": path, "versionAsOf": version, "timestampAsOf": timestamp}
    return read_request(Application.of(spark), spark, TableRequest.from_options(given))


@raised_as_pyspark
def write(
    frame: DataFrame,
    path: str,
    *,
    mode: str = "error",
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
    """
    enable(frame.sparkSession)
    named = {} if txn is None else {"txnAppId": txn[0], "txnVersion": txn[1]}
    request = WriteRequest.from_options({**options, **named, "path": path}, mode, list(partition_by))
    # Each write plans anew, as each action of Spark does: a plan that ran once keeps its metrics.
    return write_request(Application.of(frame.sparkSession), frame.select("*"), request)


class DeltaTable:
    """A Delta table on a Spark session, as delta-spark's class of that name."""

    def __init__(self, spark: SparkSession, path: str, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._path = path
        self._options = dict(options)

    @classmethod
    @raised_as_pyspark
    def forPath(  # noqa: N802  (delta-spark's name)
        cls,
        spark: SparkSession,
        path: str,
        hadoopConf: Mapping[str, str] | None = None,  # noqa: N803
    ) -> DeltaTable:
        """The table at a path.

        Args:
            spark: a classic session.
            path: the table's path.
            hadoopConf: settings of the file system, whose names start with `fs.` or `dfs.`.

        Raises:
            TableNotFoundError: there is no table.
        """
        enable(spark)
        options = dict(hadoopConf or {})
        table = cls(spark, path, options)
        try:
            table._log().update()
        except TableNotFoundError as error:
            message = f"{path} is not a Delta table."
            raise TableNotFoundError(message, table=path, error_class="DELTA_MISSING_DELTA_TABLE") from error
        return table

    @staticmethod
    @raised_as_pyspark
    def isDeltaTable(spark: SparkSession, identifier: str) -> bool:  # noqa: N802  (delta-spark's name)
        """Whether there is a Delta table at a path, or at a folder above it.

        Args:
            spark: any session; a classic one reaches what is not on the local disk.
            identifier: a path.
        """
        place = qualify(identifier)
        if place.local is None:
            enable(spark)
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
        """The table's rows; each execution reads the version that is the latest then."""
        request = TableRequest.from_options({**self._options, "path": self._path})
        return read_request(Application.of(self._spark), self._spark, request)

    @raised_as_pyspark
    def history(self, limit: int | None = None) -> DataFrame:
        """The commits, newest first, with the columns of DESCRIBE HISTORY. Runs no Spark job.

        Args:
            limit: how many; all by default.
        """
        return history_frame(Application.of(self._spark), self._spark, self._log().history(limit))

    @raised_as_pyspark
    def detail(self) -> DataFrame:
        """One row of facts, with the columns of DESCRIBE DETAIL. Runs no Spark job."""
        return detail_frame(Application.of(self._spark), self._spark, self._log().update())

    def _log(self) -> Any:
        return Application.of(self._spark).logs.get(qualify(self._path).uri, self._options)
