# SPDX-License-Identifier: Apache-2.0
"""What a writer asked for: the mode, and the options under their names, whose case does not count.

What it leaves open, the session's settings decide.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bayou.errors import InvalidOptionError
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

    from bayou.protocol.columns.clustering import ClusteringColumns
    from bayou.spark.jvm.relations.streaming import PlannedBatch

PARTITION_COLUMNS_OPTION = "__partition_columns"
"""Where Spark's `DataFrameWriter` puts the columns of `partitionBy`, as a JSON array."""
MODES = ("append", "overwrite", "error", "errorifexists", "ignore")
_WRITER_OPTIONS = ("compression", "maxrecordsperfile", "parquet.")
_CLUSTERING_COLUMNS_OPTION = "__clustering_columns"
"""Where Spark 4's `DataFrameWriter` puts the columns of `clusterBy`, as a JSON array of their names."""
_CLUSTER_BY_OPTION = "clusterby"
_BESIDE_REPLACE_ON = {
    "replaceWhere": "DELTA_OVERWRITE_BY_FILTER_INCOMPATIBLE_REPLACE_ON_OR_USING",
    "partitionOverwriteMode": "DELTA_DYNAMIC_PARTITION_OVERWRITE_INCOMPATIBLE_REPLACE_ON_OR_USING",
}
"""The error classes of options beside `replaceOn` and `replaceUsing` that have one of their own."""
_PARTITION_MODE = "spark.sql.sources.partitionOverwriteMode"


@dataclass(frozen=True, slots=True)
class Statement:
    """The statement that the rows of a write belong to, where it makes or replaces a table.

    Attributes:
        operation: its name in the history.
        comment: what the table is.
        managed: whether the catalog chose the table's folder.
        replaces: whether the table takes the place of the one that is there, with its schema, its properties and its id.
        overwrites: whether it is an overwrite by `saveAsTable`, which the history shows as a statement.
    """

    operation: str
    comment: str | None
    managed: bool
    replaces: bool
    overwrites: bool = False


@dataclass(frozen=True, slots=True)
class StreamBatch:
    """The micro-batch that the rows of a write are.

    Attributes:
        query_id: the id of the streaming query.
        epoch: the number of the batch.
        output_mode: Append or Complete.
        batch: its rows.
        reads_itself: whether the batch is read from the table that it is written to.
    """

    query_id: str
    epoch: int
    output_mode: str
    batch: PlannedBatch
    reads_itself: bool = False


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """What a writer asked for.

    Attributes:
        path: the table's URI.
        mode: append, overwrite, error or ignore.
        partition_by: the partition columns; None where none were named.
        storage_options: options for the file system, by their Hadoop names.
        writer_options: options for Spark's Parquet writer.
        properties: table properties, for a table that this write creates.
        user_metadata: a note for the history.
        txn: an application's id and a version of its own, for which the rows are written once.
        merge_schema: whether new columns of the rows become the table's; None where the session decides.
        overwrite_schema: whether an overwrite replaces the schema and the partition columns too.
        replace_where: a condition; an overwrite replaces the rows for which it is true, and no others.
        replace_on: a condition on rows of the table and of the write; an overwrite replaces the rows for which it is true.
        replace_using: columns; an overwrite replaces the rows that have the values of one of the new rows in them.
        target_alias: the name that `replace_on` has for the table.
        dynamic_partitions: whether an overwrite replaces the partitions that the rows are in, and no others; None where the
            session decides.
        data_change: False where the rows are the table's own, moved.
        optimize_write: whether rows are gathered into fewer files; None where the session or the table decides.
        statement: the statement that makes the table with these rows; None for a write.
        cluster_by: the paths of the clustering columns; None where none were named.
        stream: the micro-batch of a streaming query that the rows are; None where they are none.
        string_prefix: how many characters of a text statistics keep, where the table does not say; None for the usual 32.
        keeps_null_partitions: whether a dynamic overwrite leaves partitions with NULL among their values
            (`useNullIntolerantEqualityWithDPO`).
        time_zone: the zone of partition values in the log whose text has none, for a dynamic overwrite: the session's.
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
    dynamic_partitions: bool | None = None
    data_change: bool = True
    optimize_write: bool | None = None
    statement: Statement | None = None
    replace_on: str | None = None
    replace_using: tuple[str, ...] | None = None
    target_alias: str | None = None
    cluster_by: ClusteringColumns | None = None
    stream: StreamBatch | None = None
    string_prefix: int | None = None
    keeps_null_partitions: bool = False
    time_zone: str = "UTC"

    @property
    def replaces_table(self) -> bool:
        """Whether the table is another one afterwards."""
        return self.statement is not None and self.statement.replaces

    @property
    def replaces_a_part(self) -> bool:
        """Whether an overwrite says by a condition, or by columns, which rows it replaces."""
        return self.replace_where is not None or self.replaces_by_match

    @property
    def replaces_by_match(self) -> bool:
        """Whether it is the rows that match one of the new ones."""
        return self.replace_on is not None or self.replace_using is not None

    @classmethod
    def from_options(cls, options: Mapping[str, Any], mode: str, partition_by: str | Sequence[str] | None = None) -> WriteRequest:
        """A request from a writer's options.

        Args:
            options: the options, with the path among them.
            partition_by: the partition columns, or a JSON array of them.

        Raises:
            InvalidOptionError: the path is missing, the mode is unknown, a value is not of its option, or options exclude
                each other.
            UnsupportedFeatureError: an option asks for what bayou does not do yet.
        """
        if mode not in MODES:
            raise InvalidOptionError(f"The save mode {arguments.shown_text(mode)} is none of {', '.join(MODES)}.", option="mode")
        given = {name: str(value) for name, value in options.items() if value is not None}
        read = _Options({name.lower(): value for name, value in given.items()})
        report_unknown(given, read.path)
        columns = json.loads(partition_by) if isinstance(partition_by, str) else partition_by
        overwrites = mode == "overwrite"
        replace_where = read.text("replacewhere") if overwrites else None
        # A wrong value is an error also where the mode makes nothing of it.
        dynamic, overwrite_schema = read.partition_mode(), bool(read.boolean("overwriteschema"))
        # What replaces a part of a table cannot replace its schema: delta-spark takes no notice of the option either.
        dynamic, overwrite_schema = (dynamic, overwrite_schema and replace_where is None) if overwrites else (None, False)
        read.refuse_combinations(replace_where, overwrite_schema=overwrite_schema, dynamic=dynamic)
        if overwrites:
            read.refuse_beside_replace_on()
        return cls(
            qualify(read.path).uri,
            "error" if mode == "errorifexists" else mode,
            tuple(columns) if columns else None,
            storage_options_of(given),
            {name: value for name, value in given.items() if name.lower().startswith(_WRITER_OPTIONS)},
            {name: value for name, value in given.items() if name.lower().startswith("delta.")},
            arguments.optional_text(read.text("usermetadata"), "userMetadata", table=read.path),
            txn_of(read.text("txnappid"), read.text("txnversion"), read.path),
            read.boolean("mergeschema"),
            overwrite_schema,
            replace_where,
            dynamic,
            read.boolean("datachange") is not False,
            read.boolean("optimizewrite"),
            cluster_by=_cluster_by(options),
            replace_on=read.filled("replaceOn", "a condition") if overwrites else None,
            replace_using=_names(read.filled("replaceUsing", "the names of columns")) if overwrites else None,
            target_alias=read.filled("targetAlias", "a name"),
            keeps_null_partitions=bool(read.boolean("usenullintolerantequalitywithdpo")),
        )


def with_settings(request: WriteRequest, settings: Mapping[str, str]) -> WriteRequest:
    """The request with what the session's settings say of what it leaves open.

    Raises:
        InvalidOptionError: the settings contradict the request.
    """
    dynamic = _replaces_partitions(request, settings)
    return replace(
        request,
        txn=request.txn or batch_of(settings, request.path),
        merge_schema=merges_schemas(settings) if request.merge_schema is None else request.merge_schema,
        user_metadata=user_metadata_of(settings) if request.user_metadata is None else request.user_metadata,
        dynamic_partitions=dynamic,
        optimize_write=optimizes_writes(settings) if request.optimize_write is None else request.optimize_write,
        string_prefix=string_prefix_of(settings, request.path),
    )


def _replaces_partitions(request: WriteRequest, settings: Mapping[str, str]) -> bool:
    """Whether the write replaces the partitions that its rows are in, and no others."""
    overwrites = request.mode == "overwrite"
    dynamic = settings.get(_PARTITION_MODE, "").lower() == "dynamic" and not request.replaces_a_part
    if dynamic and overwrites and request.overwrite_schema and request.dynamic_partitions is None:
        message = "'overwriteSchema' cannot be used in dynamic partition overwrite mode, which the session's settings ask for."
        error_class = "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE"
        step = "set the option partitionOverwriteMode to static for this write."
        raise _refused(request, "overwriteSchema", message, error_class, step)
    dynamic = overwrites and (dynamic if request.dynamic_partitions is None else request.dynamic_partitions)
    if request.keeps_null_partitions and not dynamic:
        message = "The option 'useNullIntolerantEqualityWithDPO' is for overwrites of partitions, and this write is none."
        step = "set partitionOverwriteMode to dynamic and the mode to overwrite, or leave it out."
        raise _refused(request, "useNullIntolerantEqualityWithDPO", message, "DELTA_ILLEGAL_OPTION", step)
    return dynamic


def _refused(request: WriteRequest, option: str, message: str, error_class: str, next_step: str) -> InvalidOptionError:
    return InvalidOptionError(message, table=request.path, error_class=error_class, option=option, next_step=next_step)


def _cluster_by(options: Mapping[str, Any]) -> ClusteringColumns | None:
    """The clustering columns that a writer's options name: as a list, as text with commas, or as Spark's own option."""
    given = {name.lower(): value for name, value in options.items() if value is not None}
    value = given.get(_CLUSTER_BY_OPTION)
    if value is None and _CLUSTERING_COLUMNS_OPTION in given:
        value = json.loads(given[_CLUSTERING_COLUMNS_OPTION])
    if value is None:
        return None
    return tuple(parse_column_list(value)) if isinstance(value, str) else parse_columns(value)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(each.strip().strip("`") for each in text.split(",") if each.strip())


class _Options:
    """Options by their names in lower case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        if not options.get("path", "").strip():
            raise InvalidOptionError("A Delta table is written to its path, and none is given.", option="path")
        self.path = options["path"]

    def text(self, name: str) -> str | None:
        return self._options.get(name)

    def filled(self, name: str, what: str) -> str | None:
        """The text of an option that must not be empty."""
        text = self._options.get(name.lower())
        if text is not None and not text.strip(" ,"):
            raise self._illegal(name, text, f"must be {what}")
        return text

    def boolean(self, name: str) -> bool | None:
        text = self._options.get(name)
        if text is None:
            return None
        if text.strip().lower() not in {"true", "false"}:
            raise self._illegal(name, text, "must be 'true' or 'false'")
        return text.strip().lower() == "true"

    def partition_mode(self) -> bool | None:
        text = self._options.get("partitionoverwritemode")
        if text is None:
            return None
        if text.strip().lower() not in {"dynamic", "static"}:
            raise self._illegal("partitionOverwriteMode", text, "must be 'STATIC' or 'DYNAMIC'")
        return text.strip().lower() == "dynamic"

    def refuse_combinations(self, replace_where: str | None, *, overwrite_schema: bool, dynamic: bool | None) -> None:
        if replace_where is not None and dynamic:
            message = "A 'replaceWhere' expression and 'partitionOverwriteMode'='dynamic' cannot both be set."
            raise self._excluded(message, "DELTA_REPLACE_WHERE_WITH_DYNAMIC_PARTITION_OVERWRITE", "replaceWhere")
        if overwrite_schema and dynamic:
            message = "'overwriteSchema' cannot be used in dynamic partition overwrite mode."
            raise self._excluded(message, "DELTA_OVERWRITE_SCHEMA_WITH_DYNAMIC_PARTITION_OVERWRITE", "overwriteSchema")

    def refuse_beside_replace_on(self) -> None:
        """Refuses options beside `replaceOn` or `replaceUsing` that say something else about what is replaced."""
        asked = [name for name in ("replaceOn", "replaceUsing") if name.lower() in self._options]
        others = [name for name in ("replaceWhere", "partitionOverwriteMode") if name.lower() in self._options]
        others += ["overwriteSchema"] if self.boolean("overwriteschema") else []
        others += ["dataChange"] if self.boolean("datachange") is False else []
        if asked and (others or len(asked) > 1):
            first, second = [*others, *asked][:2]
            message = f"The options '{first}' and '{second}' cannot both be set."
            raise self._excluded(message, _BESIDE_REPLACE_ON.get(first, "DELTA_INCOMPATIBLE_DATAFRAME_OPTIONS"), first)

    def _illegal(self, name: str, text: str, why: str) -> InvalidOptionError:
        return illegal_option(name, text, why, self.path)

    def _excluded(self, message: str, error_class: str, option: str) -> InvalidOptionError:
        return InvalidOptionError(
            message, table=self.path, error_class=error_class, option=option, next_step="leave one of the two out."
        )
