# SPDX-License-Identifier: Apache-2.0
"""Parse a reader's options into a request, and resolve a request to the snapshot of a table."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bayou.errors import TableNotFoundError, failed
from bayou.log.delta_log import open_log
from bayou.log.segment.time_travel import split_path
from bayou.log.snapshot.partition_folder import PartitionFolder
from bayou.protocol.features.features import check_readable
from bayou.spark.read.change_request import PinnedChanges, bounds_of, options_of
from bayou.spark.session.given_options import storage_options_of
from bayou.spark.types.readable_types import check_types
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.changes.range import ChangeBounds
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.session.application import Application

PINNED_VERSION = "__bayou_version"
"""The option with which a catalog entry fixes the version of a table. It takes precedence over the options of a query."""
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")


@dataclass(frozen=True, slots=True)
class RelationRequest:
    """The request of a relation in a plan. The relation stores it as JSON until the optimizer rule reads it.

    Attributes:
        version: the version that the relation is fixed to; None for the latest version at each execution.
        changes: the part of the change data feed that it reads; None if it reads the table.
        path, storage_options, partition, reads_every_file: see `TableRequest`.
    """

    path: str
    version: int | None
    storage_options: dict[str, str] = field(repr=False)
    changes: PinnedChanges | None = None
    partition: str = ""
    reads_every_file: bool = False

    @classmethod
    def of(cls, request: TableRequest, changes: PinnedChanges | None = None) -> RelationRequest:
        """Return the request of a relation for a reader's request. If it reads changes, these contain the versions."""
        version = request.version if changes is None else None
        return cls(request.path, version, request.storage_options, changes, request.partition, request.reads_every_file)

    @classmethod
    def of_json(cls, text: str) -> RelationRequest:
        """Parse the JSON of `to_json`."""
        facts = json.loads(text)
        changes = facts.pop("changes")
        return cls(**facts, changes=None if changes is None else PinnedChanges(**changes))

    def to_json(self) -> str:
        """Return the request as JSON. Equal requests have equal JSON, because Spark compares relations by it."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class TableRequest:
    """A reader's request.

    Attributes:
        path: the table's path, qualified, without a time travel suffix.
        version: the requested version, or None.
        timestamp: the requested timestamp, as a string or datetime, or None.
        storage_options: options for the file system, by their Hadoop names.
        changes: the requested range of the change data feed; None for the table itself.
        partition: the partition folders to read, as a path below the table; empty for the whole table.
        reads_every_file: whether a file that cannot be read is always an error. If False, the session's settings decide.
    """

    path: str
    version: int | None
    timestamp: Any
    storage_options: dict[str, str] = field(repr=False)
    changes: ChangeBounds | None = None
    partition: str = ""
    reads_every_file: bool = False

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> TableRequest:
        """Return a request from a reader's options, whose names are not case-sensitive.

        Raises:
            InvalidOptionError: the path is missing, time travel is requested in two ways, or a version is not a number.
            TimeTravelError: the change data feed is requested together with a version of the table.
        """
        options_in_lower_case = {name.lower(): value for name, value in options.items() if value is not None}
        if not str(options_in_lower_case.get("path", "")).strip():
            raise failed("read-path-missing", option="path")
        if PINNED_VERSION in options_in_lower_case:
            options_in_lower_case |= {"versionasof": options_in_lower_case[PINNED_VERSION], "timestampasof": None}
        path, version, timestamp = _split(str(options_in_lower_case["path"]))
        by_option = options_in_lower_case.get("versionasof"), options_in_lower_case.get("timestampasof")
        if (version is not None or timestamp is not None) and any(value is not None for value in by_option):
            raise failed("DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS", table=path, place="path", other_place="option")
        if all(value is not None for value in by_option):
            raise failed("DELTA_ONEOF_IN_TIMETRAVEL", table=path)
        if by_option[0] is not None:
            version = _version(by_option[0], path)
        timestamp = timestamp if by_option[1] is None else by_option[1]
        changes = bounds_of(options_in_lower_case, path, travels=version is not None or timestamp is not None)
        return cls(qualify(path).uri, version, timestamp, storage_options_of(options), changes)

    def to_options(self) -> dict[str, str]:
        """Return the reader's options of this request, without the path."""
        options = dict(self.storage_options)
        if self.version is not None:
            options["versionAsOf"] = str(self.version)
        if self.timestamp is not None:
            options["timestampAsOf"] = str(self.timestamp)
        return options if self.changes is None else {**options, **options_of(self.changes)}


def _split(path: str) -> tuple[str, int | None, Any]:
    """Split a path into the path of the table, and the version and time of its time travel suffix.

    If a table exists at the whole path, that table takes precedence, and the version and time are None.
    """
    suffixed = split_path(path)
    if suffixed is None or is_table(path):
        return path, None, None
    return suffixed.path, suffixed.version, suffixed.timestamp


def is_table(path: str) -> bool:
    """Whether a Delta table exists at exactly this path."""
    try:
        open_log(path).version()
    except TableNotFoundError:
        return False
    return True


def _version(text: Any, path: str) -> int:
    """Return an option as a number. Negative numbers pass: the log refuses them later with the existing versions in the error."""
    if not _INTEGER.fullmatch(str(text)):  # `int` alone would read `1_0` as 10
        raise failed("DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE", table=path, option="versionAsOf", value=text)
    return int(str(text))


def resolve(application: Application, session: Any, request: TableRequest) -> tuple[TableRequest, Snapshot]:
    """Return the snapshot for a request, and the request with everything resolved.

    A timestamp becomes a version. If the path is a folder of a partition, the path becomes the table's, and `partition` is set.
    Timestamps in such a path are in the session's time zone.

    Args:
        session: a `SparkSession`, or its side in the JVM.

    Raises:
        TableNotFoundError, TimeTravelError, UnsupportedFeatureError: the table, or its version, cannot be read.
        InvalidOptionError: the path is a folder of a table, but not of one of its partitions.
    """
    try:
        return _resolve(application, session, request)
    except TableNotFoundError:
        folder = None
        if request.changes is None:
            folder = PartitionFolder.below_table(request.path, request.storage_options)
        if folder is None:
            raise
    request_of_table, snapshot = _resolve(application, session, replace(request, path=folder.table))
    return replace(request_of_table, partition=folder.folders), folder.files_of(snapshot, application.backend.time_zone(session))


def _resolve(application: Application, session: Any, request: TableRequest) -> tuple[TableRequest, Snapshot]:
    version = request.version
    if request.timestamp is not None:
        zone = application.backend.time_zone(session)
        log = application.logs.get(request.path, request.storage_options)
        snapshot = log.snapshot(timestamp=request.timestamp, time_zone=zone)
        version = snapshot.version
    else:
        snapshot = application.snapshot(request.path, request.storage_options, version)
    check_readable(snapshot.protocol, snapshot.table_uri, snapshot.version)
    check_types(application, snapshot)
    return replace(request, version=version, timestamp=None), snapshot
