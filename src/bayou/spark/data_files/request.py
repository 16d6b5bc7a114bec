# SPDX-License-Identifier: Apache-2.0
"""The request of a write: the options that the user gave, and the context that the write comes from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from bayou.errors import failed
from bayou.protocol import arguments
from bayou.protocol.columns.clustering import parse_columns
from bayou.protocol.stats.file_stats import parse_column_list
from bayou.spark.session.given_options import report_unknown, storage_options_of
from bayou.spark.session.settings import (
    batch_of,
    illegal_option,
    merges_schemas,
    optimizes_writes,
    string_prefix_of,
    txn_of,
    user_metadata_of,
)
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.protocol.columns.clustering import ClusteringColumns

PARTITION_COLUMNS_OPTION = "__partition_columns"
"""The option in which Spark's `DataFrameWriter` passes the columns of `partitionBy`, as a JSON array."""
MODES = ("append", "overwrite", "error", "errorifexists", "ignore")
_CLUSTERING_COLUMNS_OPTION = "__clustering_columns"
"""The option in which Spark's `DataFrameWriter` passes the columns of `clusterBy`, as a JSON array."""
_WRITER_OPTIONS = ("compression", "maxrecordsperfile", "parquet.")
_WITH_REPLACE_ON = {
    "replaceWhere": "DELTA_OVERWRITE_BY_FILTER_INCOMPATIBLE_REPLACE_ON_OR_USING",
    "partitionOverwriteMode": "DELTA_DYNAMIC_PARTITION_OVERWRITE_INCOMPATIBLE_REPLACE_ON_OR_USING",
}
"""Options that `replaceOn` and `replaceUsing` exclude, with their own error classes."""
_PARTITION_MODE = "spark.sql.sources.partitionOverwriteMode"


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement that creates or replaces a table with the rows of a write.

    Attributes:
        operation: its name in the history.
        comment: the table's description.
        managed: whether the catalog chose the table's folder.
        replaces: whether it replaces the existing table, with its schema, properties and id.
        overwrites: whether it is an overwrite by `saveAsTable`, which the history shows as a statement.
    """

    operation: str
    comment: str | None
    managed: bool
    replaces: bool
    overwrites: bool = False


class PlannedBatch(Protocol):
    """The rows of a batch of a stream that Spark has planned already."""

    @property
    def rows(self) -> DataFrame:
        """The rows as a DataFrame that may be planned again."""
        ...

    def to_run(self, frame: DataFrame) -> DataFrame:
        """Return what to run for the rows of a DataFrame: the batch's own plan if the rows are unchanged."""
        ...


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """A micro-batch of a streaming query.

    Attributes:
        query_id: the id of the query.
        epoch: the number of the batch.
        output_mode: Append or Complete.
        batch: its rows in the form that a classic session has for them; None on Spark Connect.
        reads_itself: whether the query reads the table that it writes. The commit then counts as a read of the whole table.
    """

    query_id: str
    epoch: int
    output_mode: str
    batch: PlannedBatch | None
    reads_itself: bool = False


@dataclass(frozen=True, slots=True)
class WriteContext:
    """Where a write comes from.

    Attributes:
        statement: the statement that creates or replaces the table with these rows; None for other writes.
        stream: the micro-batch that the rows are; None for other writes.
        string_prefix: the session's length of strings in statistics; None if it has no setting.
        time_zone: the session's time zone, for partition values in the log that have none.
    """

    statement: Statement | None = None
    stream: StreamBatch | None = None
    string_prefix: int | None = None
    time_zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What the user of a writer asked for.

    Attributes:
        path: the table's URI.
        mode: append, overwrite, error or ignore.
        partition_by: the partition columns; None if not given.
        storage_options: options for the file system, by their Hadoop names.
        writer_options: options for Spark's Parquet writer.
        properties: table properties, if the write creates the table.
        user_metadata: the user's note for the history.
        txn: an application's id and version. Rows with the same are only written once.
        merge_schema: whether the table gets the new columns of the rows; None if the session's settings decide.
        overwrite_schema: whether an overwrite replaces the schema and the partition columns too.
        replace_where: a condition; an overwrite only replaces the rows for which it is true.
        replace_on: a condition on rows of the table and of the write; an overwrite only replaces rows with a match.
        replace_using: columns; an overwrite only replaces rows that equal a new row in them.
        target_alias: the table's alias in `replace_on`.
        dynamic_partitions: whether an overwrite only replaces the partitions of its rows; None if the session's settings decide.
        data_change: whether the write changes data; False if it only moves the table's rows.
        optimize_write: whether to coalesce rows into fewer files; None if the session's settings or the table decide.
        cluster_by: the paths of the clustering columns; None if not given.
        keeps_null_partitions: whether a dynamic overwrite keeps partitions that have a NULL value
            (`useNullIntolerantEqualityWithDPO`).
    """

    path: str
    mode: str
    partition_by: tuple[str, ...] | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    writer_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    properties: Mapping[str, str] = field(default_factory=dict)
    user_metadata: str | None = None
    txn: tuple[str, int] | None = None
    merge_schema: bool | None = None
    overwrite_schema: bool = False
    replace_where: str | None = None
    replace_on: str | None = None
    replace_using: tuple[str, ...] | None = None
    target_alias: str | None = None
    dynamic_partitions: bool | None = None
    data_change: bool = True
    optimize_write: bool | None = None
    cluster_by: ClusteringColumns | None = None
    keeps_null_partitions: bool = False

    @property
    def replaces_a_part(self) -> bool:
        """Whether a condition or columns select the rows that an overwrite replaces."""
        return self.replace_where is not None or self.replaces_by_match

    @property
    def replaces_by_match(self) -> bool:
        """Whether an overwrite replaces the rows that match a new row."""
        return self.replace_on is not None or self.replace_using is not None

    @classmethod
    def parse(cls, options: Mapping[str, Any], mode: str, partition_by: str | Sequence[str] | None = None) -> WriteOptions:
        """Parse the options of a writer. Their names are case-insensitive.

        Args:
            options: the options, including the path.
            partition_by: the partition columns, or a JSON array of them.

        Raises:
            InvalidOptionError: the path is missing, the mode or a value is not valid, or options exclude each other.
        """
        if mode not in MODES:
            raise failed("save-mode", mode=arguments.shown_text(mode), modes=MODES, option="mode")
        stated = {name: str(value) for name, value in options.items() if value is not None}
        read = _Reader({name.lower(): value for name, value in stated.items()})
        report_unknown(stated, read.path)
        columns = json.loads(partition_by) if isinstance(partition_by, str) else partition_by
        overwrites = mode == "overwrite"
        parsed = cls(
            qualify(read.path).uri,
            "error" if mode == "errorifexists" else mode,
            partition_by=tuple(columns) if columns else None,
            storage_options=storage_options_of(stated),
            writer_options={name: value for name, value in stated.items() if name.lower().startswith(_WRITER_OPTIONS)},
            properties={name: value for name, value in stated.items() if name.lower().startswith("delta.")},
            user_metadata=arguments.optional_text(read.values.get("usermetadata"), "userMetadata", table=read.path),
            txn=txn_of(read.values.get("txnappid"), read.values.get("txnversion"), read.path),
            merge_schema=read.boolean("mergeSchema"),
            overwrite_schema=bool(read.boolean("overwriteSchema")),
            replace_where=read.values.get("replacewhere"),
            replace_on=read.filled("replaceOn", "a condition") if overwrites else None,
            replace_using=_names(read.filled("replaceUsing", "the names of columns")) if overwrites else None,
            target_alias=read.filled("targetAlias", "a name"),
            dynamic_partitions=read.is_either("partitionOverwriteMode", "dynamic", "static", "must be 'STATIC' or 'DYNAMIC'"),
            data_change=read.boolean("dataChange") is not False,
            optimize_write=read.boolean("optimizeWrite"),
            cluster_by=_cluster_by(options),
            keeps_null_partitions=bool(read.boolean("useNullIntolerantEqualityWithDPO")),
        )
        if not overwrites:  # a wrong value is an error even if the mode ignores the option
            return replace(parsed, overwrite_schema=False, replace_where=None, dynamic_partitions=None)
        # Like delta-spark, ignore overwriteSchema if a condition selects the rows that are replaced.
        parsed = replace(parsed, overwrite_schema=parsed.overwrite_schema and parsed.replace_where is None)
        read.check_combinations(parsed)
        return parsed


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """A write that is requested.

    Attributes:
        options: what the user asked for.
        context: where the write comes from.
    """

    options: WriteOptions
    context: WriteContext = WriteContext()

    @property
    def replaces_table(self) -> bool:
        """Whether the write replaces the table with another one."""
        return self.context.statement is not None and self.context.statement.replaces


def with_settings(request: WriteRequest, settings: Mapping[str, str]) -> WriteRequest:
    """Return the request with the session's settings for options that were not given.

    Raises:
        InvalidOptionError: the settings contradict the options.
    """
    stated = request.options
    options = replace(
        stated,
        txn=stated.txn or batch_of(settings, stated.path),
        merge_schema=merges_schema(stated, settings),
        user_metadata=user_metadata_of(settings) if stated.user_metadata is None else stated.user_metadata,
        dynamic_partitions=_replaces_partitions(stated, settings),
        optimize_write=optimizes_writes(settings) if stated.optimize_write is None else stated.optimize_write,
    )
    return WriteRequest(options, replace(request.context, string_prefix=string_prefix_of(settings, stated.path)))


def merges_schema(options: WriteOptions, settings: Mapping[str, str]) -> bool:
    """Whether the table gets the new columns of the rows."""
    return merges_schemas(settings) if options.merge_schema is None else options.merge_schema


def _replaces_partitions(options: WriteOptions, settings: Mapping[str, str]) -> bool:
    """Whether the write only replaces the partitions of its rows."""
    dynamic = options.dynamic_partitions
    if dynamic is None:
        dynamic = settings.get(_PARTITION_MODE, "").lower() == "dynamic" and not options.replaces_a_part
        if dynamic and options.overwrite_schema:
            raise failed(
                "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE/session", table=options.path, option="overwriteSchema"
            )
    dynamic = dynamic and options.mode == "overwrite"
    if options.keeps_null_partitions and not dynamic:
        raise failed("DELTA_ILLEGAL_OPTION/null-partitions", table=options.path, option="useNullIntolerantEqualityWithDPO")
    return dynamic


def _cluster_by(options: Mapping[str, Any]) -> ClusteringColumns | None:
    """Return the clustering columns from a list, from a string with commas, or from Spark's own option."""
    values = {name.lower(): value for name, value in options.items() if value is not None}
    value = values.get("clusterby")
    if value is None and _CLUSTERING_COLUMNS_OPTION in values:
        value = json.loads(values[_CLUSTERING_COLUMNS_OPTION])
    if value is None:
        return None
    return tuple(parse_column_list(value)) if isinstance(value, str) else parse_columns(value)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(name.strip().strip("`") for name in text.split(",") if name.strip())


class _Reader:
    """Reads options by their names in lower case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.values = options
        self.path = options.get("path", "")
        if not self.path.strip():
            raise failed("write-path-missing", option="path")

    def filled(self, name: str, what: str) -> str | None:
        """Return the value of an option that must not be empty."""
        text = self.values.get(name.lower())
        if text is not None and not text.strip(" ,"):
            raise illegal_option(name, text, f"must be {what}", self.path)
        return text

    def boolean(self, name: str) -> bool | None:
        return self.is_either(name, "true", "false", "must be 'true' or 'false'")

    def is_either(self, name: str, yes: str, no: str, needs: str) -> bool | None:
        """Whether an option has the first of its two values; None if it is not given."""
        text = self.values.get(name.lower())
        if text is not None and text.strip().lower() not in {yes, no}:
            raise illegal_option(name, text, needs, self.path)
        return None if text is None else text.strip().lower() == yes

    def check_combinations(self, options: WriteOptions) -> None:
        """Raise InvalidOptionError if two options of an overwrite exclude each other."""
        if options.replace_where is not None and options.dynamic_partitions:
            raise failed("DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE", table=self.path, option="replaceWhere")
        if options.overwrite_schema and options.dynamic_partitions:
            raise failed("DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE", table=self.path, option="overwriteSchema")
        by_match = [name for name in ("replaceOn", "replaceUsing") if name.lower() in self.values]
        others = [name for name in _WITH_REPLACE_ON if name.lower() in self.values]
        others += ["overwriteSchema"] if self.boolean("overwriteSchema") else []
        others += [] if options.data_change else ["dataChange"]
        if by_match and (others or len(by_match) > 1):
            first, second = [*others, *by_match][:2]
            kind = _WITH_REPLACE_ON.get(first, "DELTA_INCOMPATIBLE_DATAFRAME_OPTIONS")
            raise failed("DELTA_INCOMPATIBLE_DATAFRAME_OPTIONS", table=self.path, option=first, other=second, error_class=kind)
