# SPDX-License-Identifier: Apache-2.0
"""Create the streaming source of a table when a query starts, and state its schema.

`bayou.log.streaming` decides which files a batch has, and Spark's own reader turns them into rows. Offsets have delta-spark's
format, so that a query can continue with either engine.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from bayou.errors import failed, redact_uri
from bayou.protocol.types.schema import parse_schema, schema_to_json
from bayou.spark.jvm.core.session import SessionConf, session_of, settings_of
from bayou.spark.jvm.relations.streaming import stream_source
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.native.streaming.stream_reader import Reading, StreamReader
from bayou.spark.session.given_options import report_unknown_of_stream
from bayou.spark.streaming.opening import open_source
from bayou.spark.types.types import incompatible, readable_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application
    from bayou.spark.streaming.opening import OpenedSource

_numbers: Final = itertools.count(1)


def schema_of(application: Application, options: Mapping[str, str], session: JavaObject, given: str | None) -> str:
    """Return the columns of a stream, as JSON.

    Args:
        given: the schema of the reader or of the catalog entry, as JSON; None if neither has one.

    Raises:
        DeltaError: the table does not exist or cannot be read, or an option is not valid for streams.
    """
    schema = readable_schema(_opened(application, options, session).source.schema)
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
    opened = _opened(application, options, session, checkpoint)
    source = opened.source
    report_unknown_of_stream(options, source.table_uri)
    by_event_time = opened.options.with_event_time_order
    reading = Reading(application, session, source, next(_numbers), checkpoint, by_event_time, opened.storage_options)
    name = f"DeltaSource[{redact_uri(source.table_uri)}]"
    schema = schema_to_json(readable_schema(source.schema))
    return stream_source(jvm_of(application), reading.number, name, schema, StreamReader(reading))


def _opened(
    application: Application, options: Mapping[str, str], session: JavaObject, checkpoint: str | None = None
) -> OpenedSource:
    zone = SessionConf(session).time_zone  # not from the settings, which lack the defaults
    return open_source(application, options, settings_of(session_of(session)), zone, checkpoint)
