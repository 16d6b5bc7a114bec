# SPDX-License-Identifier: Apache-2.0
"""Tables as relations and DataFrames: what `bayou.read`, `format("delta")` and SQL by path come to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from bayou.errors import InvalidOptionError, InvalidSchemaError, TableNotFoundError
from bayou.log.active import active_transaction
from bayou.log.delta_log import open_log
from bayou.log.log_jobs import jobs_for
from bayou.log.time_travel import split_path
from bayou.protocol.column_defaults import defaults
from bayou.protocol.features import check_readable
from bayou.protocol.schema import StructField, StructType, schema_to_json
from bayou.protocol.sql_text import quoted_name
from bayou.spark.catalog_columns import catalog_schema
from bayou.spark.change_request import bounds_of
from bayou.spark.change_scan import FEED_NAMES, pin
from bayou.spark.default_checks import harmless_defaults
from bayou.spark.jvm.relation import BareTable, bare_relation, dataset
from bayou.spark.jvm.session import java_session
from bayou.spark.readable_types import check_types
from bayou.spark.row_ids import tells_row_ids
from bayou.spark.scan import PlannedScan, Scan
from bayou.spark.types import readable_schema, spark_data_type
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.log.change_range import ChangeBounds
    from bayou.log.snapshot import Snapshot
    from bayou.spark.application import Application
    from bayou.spark.jvm.bridge import JavaObject

PINNED_VERSION = "__bayou_version"
"""The option by which an entry of the catalog stands for one version of a table, whatever else a query says."""
_HADOOP_PREFIXES = ("fs.", "dfs.")


@dataclass(frozen=True, slots=True)
class TableRequest:
    """What a reader asked for.

    Attributes:
        path: the table's path, qualified, without a time travel suffix.
        version: the version asked for, or None.
        timestamp: the timestamp asked for, as text or datetime, or None.
        storage_options: options for the file system, by their Hadoop names.
        changes: the range of the change data feed that is asked for; None where the table itself is.
    """

    path: str
    version: int | None
    timestamp: Any
    storage_options: dict[str, str] = field(repr=False)
    changes: ChangeBounds | None = None

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> TableRequest:
        """A request from a reader's options, whose names are not case-sensitive.

        Raises:
            InvalidOptionError: there is no path, or two ways of time travel at once, or a version that is no number.
            TimeTravelError: the change data feed is asked for, and a version of the table as well.
        """
        given = {name.lower(): value for name, value in options.items() if value is not None}
        if "path" not in given:
            raise InvalidOptionError("A Delta table is read by its path, and none is given.", option="path")
        if PINNED_VERSION in given:
            given |= {"versionasof": given[PINNED_VERSION], "timestampasof": None}
        path, version, timestamp = _split(str(given["path"]))
        by_option = given.get("versionasof"), given.get("timestampasof")
        if (version is not None or timestamp is not None) and any(value is not None for value in by_option):
            raise InvalidOptionError(
                "The path names a version, and an option names another one.",
                table=path,
                error_class="DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS",
                sql_state="42613",
                next_step="name the version once.",
            )
        if all(value is not None for value in by_option):
            raise InvalidOptionError(
                "versionAsOf and timestampAsOf exclude each other.",
                table=path,
                error_class="DELTA_ONEOF_IN_TIMETRAVEL",
                sql_state="42601",
            )
        if by_option[0] is not None:
            version = _version(by_option[0], path)
        timestamp = by_option[1] or timestamp
        changes = bounds_of(given, path, travels=version is not None or timestamp is not None)
        return cls(qualify(path).uri, version, timestamp, storage_options_of(options), changes)


def storage_options_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Those of a reader's options that are for the file system."""
    return {name: str(value) for name, value in options.items() if value is not None and name.lower().startswith(_HADOOP_PREFIXES)}


def _split(path: str) -> tuple[str, int | None, Any]:
    """A path without its time travel suffix, and what the suffix says; a table of that very name comes first."""
    found = split_path(path)
    if found is None or is_table(path):
        return path, None, None
    return found.path, found.version, found.timestamp


def is_table(path: str) -> bool:
    """Whether there is a Delta table at exactly this path."""
    try:
        open_log(path).version()
    except TableNotFoundError:
        return False
    return True


def _version(text: Any, path: str) -> int:
    try:
        version = int(str(text))
    except ValueError:
        version = -1
    if version < 0:
        raise InvalidOptionError(
            f"versionAsOf is a number from 0 on, not {text!r}.",
            table=path,
            error_class="DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE",
            sql_state="42604",
        )
    return version


def resolve(application: Application, session: JavaObject, request: TableRequest) -> tuple[TableRequest, Snapshot]:
    """The state that a request names; a timestamp becomes the version that it stands for.

    Raises:
        TableNotFoundError, TimeTravelError, UnsupportedFeatureError: the table, or its version, cannot be read.
    """
    version = request.version
    if request.timestamp is not None:
        zone = session.conf().get("spark.sql.session.timeZone")
        log = application.logs.get(request.path, request.storage_options)
        snapshot = log.snapshot(timestamp=request.timestamp, time_zone=zone)
        version = snapshot.version
    else:
        snapshot = application.snapshot(request.path, request.storage_options, version)
    check_readable(snapshot.protocol, snapshot.table_uri, snapshot.version)
    check_types(application, snapshot)
    return replace(request, version=version, timestamp=None), snapshot


def check_has_columns(snapshot: Snapshot) -> None:
    """Refuses to read rows of a table that has no columns yet.

    Raises:
        InvalidSchemaError: it has none.
    """
    if not snapshot.schema.fields:
        raise InvalidSchemaError(
            f"You are trying to read a Delta table {snapshot.table_uri} that does not have any columns.",
            table=snapshot.table_uri,
            version=snapshot.version,
            error_class="DELTA_READ_TABLE_WITHOUT_COLUMNS",
            sql_state="428GU",
            next_step="add columns to it, or write rows with the option mergeSchema.",
        )


def relation(application: Application, session: JavaObject, request: TableRequest, options: JavaObject | None = None) -> JavaObject:
    """A table as a relation that the optimizer rule completes when a query runs.

    Without a version in the request each execution reads the version that is the latest then.

    Args:
        application: the application.
        session: the JVM session that the relation belongs to.
        request: the table.
        options: the Scala map of options that Spark gave, where it did.
    """
    request, snapshot = resolve(application, session, request)
    if request.changes is not None:
        return _change_relation(application, session, request, snapshot, options)
    schema = readable_schema(snapshot.schema)
    columns = filled = schema_to_json(schema)
    if any(defaults(snapshot.schema)):
        filled = schema_to_json(catalog_schema(harmless_defaults(application.jvm, session, snapshot)))
    partitions = [schema.field(name) for name in snapshot.partition_columns]
    # Caches know a relation by this key: a DataFrame made after the table moved on must not hit an older one's cache.
    pinned = "latest" if request.version is None else "pinned"
    bare = BareTable(
        key=f"{snapshot.table_uri}@{snapshot.version} ({pinned}) {snapshot.metadata.id}{_mark(request)}",
        table=json.dumps({"path": request.path, "version": request.version, "options": request.storage_options}),
        root=snapshot.table_uri,
        partitions=schema_to_json(StructType(tuple(f for f in partitions if f is not None))),
        columns=columns,
        filled=filled,
        size=_size(snapshot),
        tracks_rows=tells_row_ids(snapshot),
    )
    return bare_relation(application.jvm, session, bare, request.path if options is None else options)


def _change_relation(
    application: Application, session: JavaObject, request: TableRequest, latest: Snapshot, options: JavaObject | None
) -> JavaObject:
    """The changes as a relation. Without an end each execution reads those up to the version that is the latest then."""
    assert request.changes is not None  # noqa: S101  (asked by the caller)
    pinned, changes = pin(application, session, latest, request.changes, request.storage_options)
    feed = changes.feed
    check_types(application, feed.snapshot)
    schema = readable_schema(feed.schema)
    columns = schema_to_json(schema)
    partitions = [schema.field(name) for name in feed.snapshot.partition_columns]
    bare = BareTable(
        key=f"{latest.table_uri}@{latest.version} ({pinned}) {latest.metadata.id}{_mark(request)}",
        table=json.dumps({"path": request.path, "version": None, "options": request.storage_options, "changes": asdict(pinned)}),
        root=latest.table_uri,
        partitions=schema_to_json(StructType(tuple(f for f in partitions if f is not None))),
        columns=columns,
        filled=columns,
        size=feed.size_bytes,
    )
    return bare_relation(application.jvm, session, bare, request.path if options is None else options)


_UNKNOWN_SIZE = 1 << 60
"""Too large to be broadcast, and small enough for Spark to multiply."""


def _size(snapshot: Snapshot) -> int:
    """The size that a plan may count with until its files are known."""
    known = snapshot.source.checksum
    if known is None and jobs_for(snapshot.source) is not None:
        return _UNKNOWN_SIZE  # adding up the sizes would take what the jobs are there to avoid
    return snapshot.size_bytes


def _mark(request: TableRequest) -> str:
    """What tells two requests with other storage options apart. EXPLAIN shows it, so it must not show what they are."""
    if not request.storage_options:
        return ""
    return " " + hashlib.sha256(repr(sorted(request.storage_options.items())).encode()).hexdigest()[:12]


def read(application: Application, spark: SparkSession, request: TableRequest) -> DataFrame:
    """A table as a DataFrame."""
    session = java_session(spark)
    if application.native:
        return DataFrame(session.baseRelationToDataFrame(relation(application, session, request)), spark)
    _, snapshot = resolve(application, session, request)
    if request.changes is not None:
        _, changes = pin(application, session, snapshot, request.changes, request.storage_options)
        wanted = readable_schema(changes.feed.snapshot.schema).fields
        return named_frame(application, spark, changes.planned(application, session, wanted), wanted, FEED_NAMES)
    check_has_columns(snapshot)
    transaction = active_transaction(snapshot.table_uri)
    if transaction is not None and request.version is None:
        transaction.read_whole_table()
    return scan_frame(Scan(application, session, snapshot, readable_schema(snapshot.schema).fields), spark)


def scan_frame(scan: Scan, spark: SparkSession) -> DataFrame:
    """The rows of a scan as a DataFrame: the table's columns under their logical names, then the hidden constants.

    What the scan tells of a row's file comes last, under the name that the scan gives it.
    """
    planned = scan.planned()
    metadata = planned.columns[-1:] if scan.metadata is not None else []
    return named_frame(scan.application, spark, planned, scan.fields, [*scan.hidden, *metadata])


def named_frame(
    application: Application, spark: SparkSession, planned: PlannedScan, wanted: Sequence[StructField], more: Iterable[str] = ()
) -> DataFrame:
    """A planned scan as a DataFrame: the table's columns under their logical names and types, then others by their names."""
    frame = DataFrame(dataset(application.jvm, java_session(spark), planned.plan), spark)
    return frame.select(
        *(
            frame[quoted_name(physical)].cast(spark_data_type(f)).alias(f.name)
            for f, physical in zip(wanted, planned.columns, strict=False)
        ),
        *more,
    )
