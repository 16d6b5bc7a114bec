# SPDX-License-Identifier: Apache-2.0
"""The user's door to tables on a Spark session: `read`, `write` and `DeltaTable`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from bayou.errors import DeltaError, SessionError, StorageError, TableNotFoundError
from bayou.log.delta_log import open_log
from bayou.spark import (
    alter,
    alter_clustering,
    alter_columns,
    alter_constraints,
    alter_defaults,
    alter_identity,
    alter_protocol,
    drop_feature,
)
from bayou.spark.alter_target import AlterTarget
from bayou.spark.application import Application
from bayou.spark.builder import DeltaTableBuilder, IdentityGenerator
from bayou.spark.change_request import change_options
from bayou.spark.describe import detail_frame, history_frame
from bayou.spark.dml.change import Target
from bayou.spark.dml.merge.builder import DeltaMergeBuilder, merge_builder
from bayou.spark.dml.statements import planned_delete, planned_update
from bayou.spark.errors import raised_as_pyspark
from bayou.spark.jvm.bridge import Jvm
from bayou.spark.jvm.catalog import Catalog
from bayou.spark.jvm.hadoop import host_of
from bayou.spark.not_yet import CommandsNotYet
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

    from pyspark.sql import Column, DataFrame

    from bayou.log.time_travel import Timestamp
    from bayou.spark.dml.result import PlannedChange, RowChangeResult

__all__ = ["DeltaTable", "DeltaTableBuilder", "IdentityGenerator", "read", "write"]


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

    Without a version or timestamp, each execution of the DataFrame reads the version that is the latest then, one version for
    each table in a query. An explicit version or timestamp pins.

    Args:
        spark: a classic session; the data source `delta` need not be on it.
        path: the table's path; `path@v12` and `path@20260102030405678` travel in time too.
        version: the version to read.
        timestamp: the latest version at this time; text is read in the session's time zone.
        changes: the first and the last version or time whose changed rows to read, with `_change_type`, `_commit_version` and
            `_commit_timestamp`; without a last one, up to the version that is the latest at each execution.
        net: whether to read one change for each row. Not yet.
        options: options of the reader, for example `fs.*` settings.

    Raises:
        TableNotFoundError: there is no table.
        VersionNotFoundError, TimestampOutOfRangeError: the version cannot be read.
        TimeTravelError: changes in the range were not recorded.
        UnsupportedFeatureError: the table needs what bayou does not read; the features are named.
    """
    enable(spark)
    travel = {"versionAsOf": version, "timestampAsOf": timestamp}
    given = {**options, **change_options(changes, net=net), **travel, "path": path}
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


class DeltaTable(CommandsNotYet):
    """A Delta table on a Spark session, as delta-spark's class of that name."""

    def __init__(self, spark: SparkSession, path: str, options: Mapping[str, str]) -> None:
        self._spark = spark
        self._path = path
        self._options = dict(options)
        self._alias: str | None = None

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
        """
        enable(sparkSession)
        options = dict(hadoopConf or {})
        table = cls(sparkSession, path, options)
        try:
            table._log().update()
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
        enable(sparkSession)
        catalog = Catalog(Jvm.of(sparkSession), sparkSession)
        name = catalog.name(tableOrViewName)
        if name.path is not None:
            return cls.forPath(sparkSession, name.path)
        entry = catalog.entry(name)
        if entry is None or entry.is_view or entry.provider != "delta":
            message = f"{tableOrViewName} is not a Delta table."
            raise TableNotFoundError(message, table=tableOrViewName, error_class="DELTA_MISSING_DELTA_TABLE", sql_state="42P01")
        return cls.forPath(sparkSession, entry.location)

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
    def _builder(spark: SparkSession | None, mode: str) -> DeltaTableBuilder:
        chosen = spark or SparkSession.getActiveSession()
        if chosen is None:
            raise SessionError("There is no active Spark session.", next_step="give the session as an argument.")
        enable(chosen)
        return DeltaTableBuilder(chosen, mode, lambda uri: DeltaTable(chosen, uri, {}))

    @staticmethod
    @raised_as_pyspark
    def isDeltaTable(sparkSession: SparkSession, identifier: str) -> bool:  # noqa: N802, N803  (delta-spark's names)
        """Whether there is a Delta table at a path, or at a folder above it.

        Args:
            sparkSession: any session; a classic one reaches what is not on the local disk.
            identifier: a path.
        """
        place = qualify(identifier)
        if place.local is None:
            enable(sparkSession)
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
            net: whether to read one change for each row. Not yet.

        Raises:
            InvalidOptionError: there is no start, a side is given twice, or the end is before the start.
            TimeTravelError: the range is not in the log, or changes in it were not recorded.
            UnsupportedFeatureError: the schemas in the range do not fit, or net changes are asked for.
        """
        range_options = {
            "startingVersion": startingVersion,
            "endingVersion": endingVersion,
            "startingTimestamp": startingTimestamp,
            "endingTimestamp": endingTimestamp,
        }
        given = {**self._options, **change_options(None, net=net), **range_options, "readChangeFeed": "true", "path": self._path}
        return read_request(Application.of(self._spark), self._spark, TableRequest.from_options(given))

    def alias(self, aliasName: str) -> DeltaTable:  # noqa: N803  (delta-spark's name)
        """The same table under a name that conditions and values may put before its columns."""
        named = DeltaTable(self._spark, self._path, self._options)
        named._alias = aliasName
        return named

    @raised_as_pyspark
    def delete(self, condition: str | Column | None = None, *, txn: tuple[str, int] | None = None) -> RowChangeResult:
        """Deletes the rows for which a condition is true; rows for which it is NULL stay (DELETE FROM).

        Where the condition is about partition columns alone, or the log proves it true for whole files, no data is read.
        Other rows go by deletion vectors where the table has them enabled, else by writing the rest of their files again.

        Args:
            condition: which rows, as SQL or as a column; all rows where None.
            txn: an application's id and a version of its own: the rows are deleted once for them.

        Raises:
            TypeError: the condition is neither.
            UnsupportedFeatureError: there is a subquery in the condition, or the table asks for more than bayou does.
            AppendOnlyError: the table only takes appends.
            ConcurrentModificationError: another commit excludes this one.
        """
        return self.plan_delete(condition, txn=txn).execute()

    @raised_as_pyspark
    def plan_delete(self, condition: str | Column | None = None, *, txn: tuple[str, int] | None = None) -> PlannedChange:
        """A DELETE that is not run: `print` shows which files it reads and which not, and why; `execute` runs it.

        Args:
            condition: as for `delete`.
            txn: as for `delete`.
        """
        return planned_delete(self._target(), self._alias, condition, txn)

    @raised_as_pyspark
    def update(
        self,
        condition: str | Column | None = None,
        set: dict[str, str | Column] | None = None,  # noqa: A002  (delta-spark's name)
        *,
        txn: tuple[str, int] | None = None,
    ) -> RowChangeResult:
        """Sets columns of the rows for which a condition is true (UPDATE).

        Args:
            condition: which rows, as SQL or as a column; all rows where None.
            set: the new values by column, or by field such as `s.x`: SQL, or columns. They see the row as it was.
            txn: an application's id and a version of its own: the rows are updated once for them.

        Raises:
            TypeError, ValueError: an argument is not of its type.
            SchemaMismatchError: a column is set twice, or to a value of another structure.
            ConstraintViolationError: a new row breaks a rule of the table; nothing is left of the update.
            UnsupportedFeatureError: there is a subquery in the condition, or the table asks for more than bayou does.
            ConcurrentModificationError: another commit excludes this one.
        """
        return self.plan_update(condition, set, txn=txn).execute()

    @raised_as_pyspark
    def plan_update(
        self,
        condition: str | Column | None = None,
        set: dict[str, str | Column] | None = None,  # noqa: A002  (delta-spark's name)
        *,
        txn: tuple[str, int] | None = None,
    ) -> PlannedChange:
        """An UPDATE that is not run; see `plan_delete`.

        Args:
            condition: as for `update`.
            set: as for `update`.
            txn: as for `update`.
        """
        return planned_update(self._target(), self._alias, condition, set, txn)

    @raised_as_pyspark
    def merge(self, source: DataFrame, condition: str | Column, *, txn: tuple[str, int] | None = None) -> DeltaMergeBuilder:
        """Changes rows of the table that match rows of a source, and inserts those that match nothing (MERGE INTO).

        Args:
            source: the rows to compare the table with.
            condition: when rows match, as SQL or as a column; `DeltaTable.alias` and `DataFrame.alias` name the two sides.
            txn: an application's id and a version of its own: the MERGE is done once for them.

        Returns:
            A builder for the clauses; its `execute` runs the MERGE, and `plan` shows what it would read.

        Raises:
            TypeError, ValueError: an argument is not of its type.
        """
        return merge_builder(self._target(), self._alias, source, condition, txn)

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

    @raised_as_pyspark
    def setProperties(self, properties: Mapping[str, Any]) -> None:  # noqa: N802  (named as the methods beside it)
        """Sets table properties, with the features and the protocol that they need (SET TBLPROPERTIES).

        Args:
            properties: `comment` sets the table's comment, `delta.feature.<name>` = `supported` adds a feature.

        Raises:
            InvalidOptionError: a key is unknown or no user's to set, a value is not of its key, or values exclude each other.
            UnsupportedFeatureError: files would have to be rewritten, or the table would ask for what bayou does not do.
        """
        alter.set_properties(self._altered(), properties)

    @raised_as_pyspark
    def unsetProperties(self, *keys: str, ifExists: bool = False) -> None:  # noqa: N802, N803
        """Takes table properties away (UNSET TBLPROPERTIES).

        Args:
            keys: the properties' keys.
            ifExists: whether keys that are not set are passed over.

        Raises:
            InvalidOptionError: a key is not set, or no user's to change.
            UnsupportedFeatureError: files would have to be rewritten.
        """
        alter.unset_properties(self._altered(), keys, if_exists=ifExists)

    @raised_as_pyspark
    def setComment(self, text: str | None) -> None:  # noqa: N802
        """Sets the table's comment, or takes it away where it is None (COMMENT ON TABLE)."""
        alter.set_comment(self._altered(), text)

    @raised_as_pyspark
    def addConstraint(self, name: str, condition: str) -> None:  # noqa: N802
        """Adds a CHECK constraint, after a query that checks every row of the table (ADD CONSTRAINT).

        Args:
            name: its name; case makes no difference.
            condition: a SQL condition over the table's columns. NULL breaks it as false does.

        Raises:
            ConstraintViolationError: rows break it; `num_violations` counts them, `rows` shows up to five.
            InvalidSchemaError: the name is taken, or the expression is no condition that a table may keep.
            ConcurrentModificationError: another writer added rows in the meantime.
        """
        alter_constraints.add_constraint(self._altered(), name, condition)

    @raised_as_pyspark
    def dropConstraint(self, name: str, ifExists: bool = False) -> None:  # noqa: FBT001, FBT002, N802, N803
        """Drops a CHECK constraint (DROP CONSTRAINT).

        Args:
            name: its name; case makes no difference.
            ifExists: whether it is no error that there is none.

        Raises:
            InvalidSchemaError: there is no such constraint.
        """
        alter_constraints.drop_constraint(self._altered(), name, if_exists=ifExists)

    @raised_as_pyspark
    def addColumns(  # noqa: N802
        self, columns: Any, *, parent: str | Sequence[str] = (), after: str | None = None, first: bool = False
    ) -> None:
        """Adds columns, which are NULL in the rows that are there (ADD COLUMNS).

        Args:
            columns: PySpark's `StructType`, a list of its `StructField`, or SQL such as `a int, b string`.
            parent: the struct that they go into, such as `s`, `list.element` or `map.value`; the table by default.
            after: the column of the table, or of that struct, behind which they go; behind all by default.
            first: whether they go before all.

        Raises:
            InvalidSchemaError: a column is NOT NULL or has a default, a name that is taken, or a type that no table has.
            UnsupportedFeatureError: a type needs a feature that has to be added first.
        """
        alter_columns.add_columns(self._altered(), columns, parent=parent, after=after, first=first)

    @raised_as_pyspark
    def renameColumn(self, path: str | Sequence[str], newName: str) -> None:  # noqa: N802, N803
        """Gives a column another name (RENAME COLUMN). The table needs column mapping.

        Args:
            path: the column or the nested field, such as `s.x`, or the names as a list.
            newName: its new name, without those of the structs around it.

        Raises:
            UnsupportedFeatureError: the table has no column mapping.
            InvalidSchemaError: there is no such column, the name is taken, or an expression of the table uses the column.
        """
        alter_columns.rename_column(self._altered(), path, newName)

    @raised_as_pyspark
    def dropColumns(self, *paths: str | Sequence[str]) -> None:  # noqa: N802
        """Drops columns; the files keep their values (DROP COLUMNS). The table needs column mapping.

        Args:
            paths: the columns or nested fields.

        Raises:
            UnsupportedFeatureError: the table has no column mapping.
            InvalidSchemaError: there is no such column, or the table needs it.
        """
        alter_columns.drop_columns(self._altered(), paths)

    @raised_as_pyspark
    def changeColumn(  # noqa: N802
        self,
        path: str | Sequence[str],
        *,
        dataType: Any = None,  # noqa: N803
        comment: str | None = None,
        nullable: bool | None = None,
        after: str | None = None,
        first: bool = False,
    ) -> None:
        """Changes a column; what is not given stays (ALTER COLUMN). No file is rewritten.

        Args:
            path: the column or the nested field; what an array or a map holds is its `element`, `key` or `value`.
            dataType: its new type, of PySpark or as SQL; a wider one where the table enables type widening.
            comment: its comment.
            nullable: True where it may hold NULL from now on.
            after: the column behind which it goes.
            first: whether it goes before all others.

        Raises:
            InvalidSchemaError: there is no such column, or the change is not possible.
        """
        alter_columns.change_column(
            self._altered(), path, data_type=dataType, comment=comment, nullable=nullable, after=after, first=first
        )

    @raised_as_pyspark
    def setDefault(self, path: str | Sequence[str], expression: str | None) -> None:  # noqa: N802
        """Sets what a column is in later rows that bring no value for it, or takes the default away where it is None.

        That is ALTER COLUMN SET DEFAULT and DROP DEFAULT. The rows that are there stay as they are.

        Args:
            path: the column.
            expression: a constant SQL expression, such as `0` or `current_timestamp()`.

        Raises:
            UnsupportedFeatureError: the table does not have the feature `allowColumnDefaults`.
            InvalidSchemaError: there is no such column, it can have no default, or the expression is none that it can have.
        """
        alter_defaults.set_default(self._altered(), path, expression)

    @raised_as_pyspark
    def replaceColumns(self, columns: Any) -> None:  # noqa: N802
        """Makes the table's columns these, in their order (REPLACE COLUMNS).

        Args:
            columns: PySpark's `StructType`, a list of its `StructField`, or SQL.

        Raises:
            InvalidSchemaError: the change is not possible.
        """
        alter_columns.replace_columns(self._altered(), columns)

    @raised_as_pyspark
    def clusterBy(self, *columns: str | Sequence[str]) -> None:  # noqa: N802
        """Sets the columns that OPTIMIZE clusters rows by (ALTER TABLE ... CLUSTER BY); without columns, none (CLUSTER BY NONE).

        Args:
            columns: the columns: `s.x`, or the names as a list.

        Raises:
            InvalidSchemaError: the table is partitioned, or cannot be clustered by these columns.
        """
        alter_clustering.alter_cluster_by(self._altered(), columns)

    @raised_as_pyspark
    def syncIdentity(self, column: str) -> None:  # noqa: N802
        """Lets an identity column go on behind the greatest number that the table holds (SYNC IDENTITY).

        Args:
            column: the identity column.

        Raises:
            InvalidSchemaError: there is no such identity column.
        """
        alter_identity.sync_identity(self._altered(), column)

    @raised_as_pyspark
    def upgradeTableProtocol(self, readerVersion: int, writerVersion: int) -> None:  # noqa: N802, N803  (delta-spark's)
        """Adds the features that two protocol versions imply; lower versions than the table's change nothing.

        Args:
            readerVersion: the reader version, from 1 to 3.
            writerVersion: the writer version, from 1 to 7.

        Raises:
            InvalidOptionError: there is no such version.
        """
        alter_protocol.upgrade_protocol(self._altered(), readerVersion, writerVersion)

    @raised_as_pyspark
    def addFeatureSupport(self, featureName: str) -> None:  # noqa: N802, N803  (delta-spark's names)
        """Adds a table feature, with those that it requires.

        Args:
            featureName: the feature, in any case.

        Raises:
            UnsupportedFeatureError: the feature is not known, or bayou does not do what it asks of writers.
        """
        alter_protocol.add_feature(self._altered(), featureName)

    @raised_as_pyspark
    def dropFeatureSupport(  # noqa: N802  (delta-spark's names)
        self,
        featureName: str,  # noqa: N803
        truncateHistory: bool | None = None,  # noqa: FBT001, N803
    ) -> None:
        """Takes a table feature away (DROP FEATURE). bayou can where no data file has to be rewritten for it.

        Args:
            featureName: the feature, in any case.
            truncateHistory: whether the history that knows the feature may go.

        Raises:
            UnsupportedFeatureError: the feature cannot be dropped, or something needs it.
            InvalidOptionError: the table does not have it.
        """
        drop_feature.drop_feature(self._altered(), featureName, truncate_history=bool(truncateHistory))

    def _target(self) -> Target:
        return Target.of(Application.of(self._spark), self._spark, qualify(self._path).uri, self._options)

    def _altered(self) -> AlterTarget:
        application = Application.of(self._spark)
        return AlterTarget.of(application, self._spark, qualify(self._path).uri, self._options)

    def _log(self) -> Any:
        return Application.of(self._spark).logs.get(qualify(self._path).uri, self._options)
