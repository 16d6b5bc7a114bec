# SPDX-License-Identifier: Apache-2.0
"""Create the relations and DataFrames that read tables, for `bayou.read`, `format("delta")` and SQL by path.

A relation has no files at first. When a query runs, bayou's optimizer rule replaces it by a scan of the necessary files.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.errors import failed
from bayou.log.checkpoint.sharding import jobs_for
from bayou.protocol.columns.column_defaults import defaults
from bayou.protocol.types.schema import StructField, StructType, schema_to_json
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.expressions.default_checks import harmless_defaults
from bayou.spark.jvm.core.session import dataset, java_session, session_of
from bayou.spark.jvm.relations.relation import BareTable, bare_relation, frame_of_relation
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.change_scan import changes_now, pin
from bayou.spark.read.request import RelationRequest, TableRequest, resolve
from bayou.spark.scan.row_ids import has_row_id_columns
from bayou.spark.scan.scan import PlannedScan, Scan
from bayou.spark.types.catalog_columns import catalog_schema
from bayou.spark.types.readable_types import check_types
from bayou.spark.types.types import readable_schema, spark_data_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


def check_has_columns(snapshot: Snapshot) -> None:
    """Raise InvalidSchemaError if a table has no columns yet."""
    if not snapshot.schema.fields:
        raise failed("DELTA_READ_TABLE_WITHOUT_COLUMNS", at=snapshot)


def relation(application: Application, session: JavaObject, request: TableRequest, options: JavaObject | None = None) -> JavaObject:
    """Return a table as a relation without files, which the optimizer rule replaces when a query runs.

    If the request has no version, each execution of a query reads the latest version at that time.

    Args:
        options: the Scala map of the reader's options; None if Spark passed none.
    """
    request, snapshot = resolve(application, session, request)
    if request.changes is not None:
        return _change_relation(application, session, request, snapshot, options)
    return _relation_of(application, session, request, snapshot, options)


def written_relation(application: Application, session: JavaObject, path: str, storage_options: dict[str, str]) -> JavaObject:
    """Return the relation of a table after a write, which Spark needs to refresh its caches. Avoid listing the log again."""
    request = TableRequest.from_options({"path": path, **storage_options})
    cached_snapshot = application.logs.get(request.path, request.storage_options).known
    if cached_snapshot is None:
        return relation(application, session, request)
    return _relation_of(application, session, request, cached_snapshot, None)


def _relation_of(
    application: Application, session: JavaObject, request: TableRequest, snapshot: Snapshot, options: JavaObject | None
) -> JavaObject:
    schema = readable_schema(snapshot.schema)
    columns = columns_with_defaults = schema_to_json(schema)
    if any(defaults(snapshot.schema)):
        columns_with_defaults = schema_to_json(
            catalog_schema(harmless_defaults(application.backend, session_of(session), snapshot))
        )
    partitions = [schema.field(name) for name in snapshot.partition_columns]
    bare = BareTable(
        key=_key(snapshot, request, "latest" if request.version is None else "pinned", follows=request.version is None),
        table=RelationRequest.of(request).to_json(),
        root=snapshot.table_uri,
        partitions=schema_to_json(StructType(tuple(f for f in partitions if f is not None))),
        columns=columns,
        filled=columns_with_defaults,
        size=_size(snapshot),
        tracks_rows=has_row_id_columns(snapshot),
    )
    return bare_relation(jvm_of(application), session, bare, request.path if options is None else options)


def _change_relation(
    application: Application, session: JavaObject, request: TableRequest, latest: Snapshot, options: JavaObject | None
) -> JavaObject:
    """Return the change data feed as a relation. Without an end, each execution reads up to the latest version at that time."""
    assert request.changes is not None  # noqa: S101  (checked by the caller)
    pinned, changes = pin(application, session, latest, request.changes, request.storage_options)
    feed = changes.feed
    check_types(application, feed.snapshot)
    schema = readable_schema(feed.schema)
    columns = schema_to_json(schema)
    partitions = [schema.field(name) for name in feed.snapshot.partition_columns]
    bare = BareTable(
        key=_key(latest, request, str(pinned), follows=pinned.end is None),
        table=RelationRequest.of(request, pinned).to_json(),
        root=latest.table_uri,
        partitions=schema_to_json(StructType(tuple(f for f in partitions if f is not None))),
        columns=columns,
        filled=columns,
        size=feed.size_bytes,
    )
    return bare_relation(jvm_of(application), session, bare, request.path if options is None else options)


def _key(snapshot: Snapshot, request: TableRequest, rows: str, *, follows: bool) -> str:
    """Return the key of a relation in Spark's caches, in the form that `bayou.TableKey` parses.

    The key contains the version: a DataFrame created after another program's commit must not use the cached rows of an older one.

    Args:
        rows: the part of the history that the relation reads: `latest`, `pinned`, or a range of changes.
        follows: whether the relation reads new versions as they are committed.
    """
    parts = (snapshot.table_uri, str(snapshot.version), snapshot.metadata.id, rows, _mark(request), str(follows).lower())
    return "\0".join(parts)


_UNKNOWN_SIZE = 1 << 60
"""A size too large for a broadcast join, and small enough that Spark can multiply it without overflow."""


def _size(snapshot: Snapshot) -> int:
    """Return the size in bytes that Spark uses for the relation until the optimizer rule has replaced it."""
    checksum = snapshot.source.checksum
    if checksum is None and jobs_for(snapshot.source) is not None:
        return _UNKNOWN_SIZE  # the log is so large that jobs read it: do not read all of it here for the sum
    return snapshot.size_bytes


def _mark(request: TableRequest) -> str:
    """Return a string that distinguishes requests with other partitions or storage options.

    EXPLAIN shows it. Storage options may be secrets, so only a hash of them is included.
    """
    part = f" {request.partition}" if request.partition else ""
    part += " (every file)" if request.reads_every_file else ""
    if not request.storage_options:
        return part
    return f"{part} {hashlib.sha256(repr(sorted(request.storage_options.items())).encode()).hexdigest()[:12]}"


def read(application: Application, spark: SparkSession, request: TableRequest) -> DataFrame:
    """Return a table as a DataFrame, or its change data feed."""
    if application.backend.is_native:
        return frame_of_relation(spark, relation(application, java_session(spark), request))
    from bayou.spark.portable.scan.rows import scan_frame as portable_frame  # noqa: PLC0415  (classic sessions need none of it)

    resolved, latest = resolve(application, spark, request)  # so that what cannot be read is an error here
    if resolved.changes is not None:
        changes_now(application, spark, latest, resolved.changes, resolved.storage_options)
    else:
        check_has_columns(latest)
    if not application.backend.answers_reads(spark):
        if resolved.changes is not None:
            raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what="The change data feed", features=("Spark Connect",))
        return portable_frame(spark, latest, storage_options=resolved.storage_options)
    return spark.read.format("delta").options(**request.to_options()).load(request.path)


def scan_frame(scan: Scan, spark: SparkSession) -> DataFrame:
    """Return the rows of a scan as a DataFrame: the table's columns under their logical names, then the hidden constants.

    The metadata of a row's file comes last, under the scan's name for it.
    """
    planned = scan.planned()
    metadata = planned.columns[-1:] if scan.metadata is not None else []
    return named_frame(scan.application, spark, planned, scan.fields, [*scan.hidden, *metadata])


def named_frame(
    application: Application, spark: SparkSession, planned: PlannedScan, fields: Sequence[StructField], more: Iterable[str] = ()
) -> DataFrame:
    """Return a planned scan as a DataFrame: the table's columns under their logical names and types, then further columns.

    Args:
        fields: the table's columns in the scan.
        more: the names of the further columns.
    """
    frame = DataFrame(dataset(jvm_of(application), java_session(spark), planned.plan), spark)
    return frame.select(
        *(
            F.col(quoted_name(physical)).cast(spark_data_type(f)).alias(f.name)
            for f, physical in zip(fields, planned.columns, strict=False)
        ),
        *more,
    )
