# SPDX-License-Identifier: Apache-2.0
"""Open a table as the source of a stream, by the options of the reader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.log.segment.time_travel import split_path
from bayou.log.streaming.request.options import StreamOptions
from bayou.log.streaming.source import StreamingSource
from bayou.protocol.features.features import check_readable
from bayou.spark.read.request import is_table
from bayou.spark.session.given_options import storage_options_of
from bayou.spark.types.readable_types import check_types
from bayou.storage.paths import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application


@dataclass(frozen=True, slots=True)
class OpenedSource:
    """A table as the source of a stream.

    Attributes:
        snapshot: the latest version, whose schema the stream has.
        options: the options of the stream.
        storage_options: the options for the file system.
    """

    source: StreamingSource
    snapshot: Snapshot
    options: StreamOptions
    storage_options: dict[str, str] = field(repr=False)


def open_source(
    application: Application,
    options: Mapping[str, str],
    settings: Mapping[str, str],
    time_zone: str,
    source_path: str | None = None,
) -> OpenedSource:
    """Return the source at the latest version of the table.

    Args:
        options: the reader's options, with the path.
        settings: the session's settings.
        time_zone: the time zone of `startingTimestamp`.
        source_path: the folder of the source in the query's checkpoint; None if it is not known.

    Raises:
        DeltaError: the table does not exist or cannot be read, or an option is not valid for streams.
    """
    options_in_lower_case = {name.lower(): value for name, value in options.items()}
    if not options_in_lower_case.get("path", "").strip():
        raise failed("read-path-missing", option="path")
    _refuse_time_travel(options_in_lower_case["path"])
    path, storage_options = qualify(options_in_lower_case["path"]).uri, storage_options_of(options)
    stream_options = StreamOptions.from_options(options, path)
    snapshot = application.snapshot(path, storage_options)
    check_readable(snapshot.protocol, snapshot.table_uri, snapshot.version)
    check_types(application, snapshot)
    log = application.logs.get(path, storage_options)
    source = StreamingSource(log, snapshot, stream_options, time_zone=time_zone, settings=settings, source_path=source_path)
    return OpenedSource(source, snapshot, stream_options, storage_options)


def _refuse_time_travel(path: str) -> None:
    suffixed = split_path(path)
    if suffixed is not None and not is_table(path):
        raise failed("DELTA_UNSUPPORTED_TIME_TRAVEL_VIEWS/stream-path", table=suffixed.path)
