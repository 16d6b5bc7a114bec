# SPDX-License-Identifier: Apache-2.0
"""Create the streaming source of a table when a query starts, and state its schema.

`bayou.log.streaming` decides which files a batch has, and Spark's own reader turns them into rows. Offsets have delta-spark's
format, so that a query can continue with either engine.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from bayou.errors import failed, redact_uri
from bayou.log.segment.time_travel import split_path
from bayou.log.streaming.request.options import StreamOptions
from bayou.log.streaming.source import StreamingSource
from bayou.protocol.features.features import check_readable
from bayou.protocol.types.schema import parse_schema, schema_to_json
from bayou.spark.jvm.core.session import SessionConf, session_of, settings_of
from bayou.spark.jvm.relations.streaming import stream_source
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.streaming.stream_reader import Reading, StreamReader
from bayou.spark.read.request import is_table
from bayou.spark.session.given_options import report_unknown_of_stream, storage_options_of
from bayou.spark.types.readable_types import check_types
from bayou.spark.types.types import incompatible, readable_schema
from bayou.storage.paths import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

_numbers: Final = itertools.count(1)


def schema_of(application: Application, options: Mapping[str, str], session: JavaObject, given: str | None) -> str:
    """Return the columns of a stream, as JSON.

    Args:
        given: the schema of the reader or of the catalog entry, as JSON; None if neither has one.

    Raises:
        DeltaError: the table does not exist or cannot be read, or an option is not valid for streams.
    """
    source, _, _ = _opened(application, options, session)
    schema = readable_schema(source.schema)
    problems = [] if given is None else list(incompatible(parse_schema(given).fields, schema))
    if problems:
        raise failed("DELTA_READ_SOURCE_SCHEMA_CONFLICT", table=options.get("path"), differences="; ".join(problems))
    return schema_to_json(schema)


def source_of(application: Application, options: Mapping[str, str], session: JavaObject, checkpoint: str) -> JavaObject:
    """Return the source of a query that starts or continues.

    Args:
        checkpoint: the folder of this source in the query's checkpoint.

    Raises:
        DeltaError: as `schema_of`.
    """
    source, stream_options, storage_options = _opened(application, options, session, checkpoint)
    report_unknown_of_stream(options, source.table_uri)
    reading = Reading(
        application, session, source, next(_numbers), checkpoint, stream_options.with_event_time_order, storage_options
    )
    name = f"DeltaSource[{redact_uri(source.table_uri)}]"
    schema = schema_to_json(readable_schema(source.schema))
    return stream_source(jvm_of(application), reading.number, name, schema, StreamReader(reading))


def _opened(
    application: Application, options: Mapping[str, str], session: JavaObject, checkpoint: str | None = None
) -> tuple[StreamingSource, StreamOptions, dict[str, str]]:
    options_in_lower_case = {name.lower(): value for name, value in options.items()}
    if not options_in_lower_case.get("path", "").strip():
        raise failed("read-path-missing", option="path")
    _refuse_time_travel(options_in_lower_case["path"])
    path, storage_options = qualify(options_in_lower_case["path"]).uri, storage_options_of(options)
    stream_options = StreamOptions.from_options(options, path)
    snapshot = application.snapshot(path, storage_options)
    check_readable(snapshot.protocol, snapshot.table_uri, snapshot.version)
    check_types(application, snapshot)
    settings = settings_of(session_of(session))
    log = application.logs.get(path, storage_options)
    zone = SessionConf(session).time_zone  # not from `settings`, which lack the defaults
    source = StreamingSource(log, snapshot, stream_options, time_zone=zone, settings=settings, source_path=checkpoint)
    return source, stream_options, storage_options


def _refuse_time_travel(path: str) -> None:
    suffixed = split_path(path)
    if suffixed is not None and not is_table(path):
        raise failed("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS/stream-path", table=suffixed.path)
