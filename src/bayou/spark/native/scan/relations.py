# SPDX-License-Identifier: Apache-2.0
"""Create the relations that read tables, for `bayou.read`, `format("delta")` and SQL by path.

A relation has no files at first. When a query runs, bayou's optimizer rule replaces it by a scan of the necessary files.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from bayou.log.checkpoint.sharding import jobs_for
from bayou.protocol.columns.column_defaults import defaults
from bayou.protocol.types.schema import StructType, schema_to_json
from bayou.spark.expressions.default_checks import harmless_defaults
from bayou.spark.jvm.core.session import java_session, session_of
from bayou.spark.jvm.relations.relation import BareTable, bare_relation, frame_of_relation
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.read.change_scan import pin
from bayou.spark.read.request import RelationRequest, TableRequest, resolve
from bayou.spark.scan.row_ids import has_row_id_columns
from bayou.spark.types.catalog_columns import catalog_schema
from bayou.spark.types.readable_types import check_types
from bayou.spark.types.types import readable_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application


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


def frame_of(application: Application, spark: SparkSession, request: TableRequest) -> DataFrame:
    """Return a table as a DataFrame, or its change data feed."""
    return frame_of_relation(spark, relation(application, java_session(spark), request))
