# SPDX-License-Identifier: Apache-2.0
"""What a reader asked for, and the state of a table that it names."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bayou.errors import InvalidOptionError, TableNotFoundError
from bayou.log.delta_log import open_log
from bayou.log.segment.time_travel import split_path
from bayou.log.snapshot.partition_folder import PartitionFolder
from bayou.protocol.features.features import check_readable
from bayou.spark.read.change_request import PinnedChanges, bounds_of
from bayou.spark.session.given_options import storage_options_of
from bayou.spark.types.readable_types import check_types
from bayou.storage import qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.log.changes.range import ChangeBounds
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.spark.jvm.core.bridge import JavaObject
    from bayou.spark.session.application import Application

PINNED_VERSION = "__bayou_version"
"""The option by which an entry of the catalog stands for one version of a table, whatever else a query says."""


@dataclass(frozen=True, slots=True)
class RelationRequest:
    """What a relation in a plan of Spark reads. The relation holds it as JSON.

    Attributes:
        path: the table's path.
        version: the version that the relation is fixed to; None for the latest version at each execution.
        storage_options: options for the file system, by their Hadoop names.
        changes: the part of the change data feed that it reads; None if it reads the table.
        partition: see `TableRequest`.
        reads_every_file: see `TableRequest`.
    """

    path: str
    version: int | None
    storage_options: dict[str, str] = field(repr=False)
    changes: PinnedChanges | None = None
    partition: str = ""
    reads_every_file: bool = False

    @classmethod
    def of(cls, request: TableRequest, changes: PinnedChanges | None = None) -> RelationRequest:
        """Return what a relation for a reader's request holds. `version` is ignored if it reads changes."""
        version = request.version if changes is None else None
        return cls(request.path, version, request.storage_options, changes, request.partition, request.reads_every_file)

    @classmethod
    def of_json(cls, text: str) -> RelationRequest:
        """Read the JSON that `to_json` made."""
        facts = json.loads(text)
        changes = facts.pop("changes")
        return cls(**facts, changes=None if changes is None else PinnedChanges(**changes))

    def to_json(self) -> str:
        """Return the request as JSON. Equal requests give equal text, by which Spark compares relations."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class TableRequest:
    """What a reader asked for.

    Attributes:
        path: the table's path, qualified, without a time travel suffix.
        version: the version asked for, or None.
        timestamp: the timestamp asked for, as text or datetime, or None.
        storage_options: options for the file system, by their Hadoop names.
        changes: the range of the change data feed that is asked for; None where the table itself is.
        partition: the folders below the table whose rows alone are read, as a path; empty for all rows.
        reads_every_file: whether a file that cannot be read is an error, whatever the session says.
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
        """A request from a reader's options, whose names are not case-sensitive.

        Raises:
            InvalidOptionError: there is no path, or two ways of time travel at once, or a version that is no number.
            TimeTravelError: the change data feed is asked for, and a version of the table as well.
        """
        given = {name.lower(): value for name, value in options.items() if value is not None}
        if not str(given.get("path", "")).strip():
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
                next_step="name the version once.",
            )
        if all(value is not None for value in by_option):
            raise InvalidOptionError(
                "versionAsOf and timestampAsOf exclude each other.", table=path, error_class="DELTA_ONEOF_IN_TIMETRAVEL"
            )
        if by_option[0] is not None:
            version = _version(by_option[0], path)
        timestamp = timestamp if by_option[1] is None else by_option[1]
        changes = bounds_of(given, path, travels=version is not None or timestamp is not None)
        return cls(qualify(path).uri, version, timestamp, storage_options_of(options), changes)


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
    """The number that an option is; no table has a version below 0, which the table's log says with those that it has."""
    try:
        return int(str(text))
    except ValueError:
        raise InvalidOptionError(
            f"versionAsOf is a number from 0 on, not {text!r}.", table=path, error_class="DELTA_TIME_TRAVEL_INVALID_BEGIN_VALUE"
        ) from None


def resolve(application: Application, session: JavaObject, request: TableRequest) -> tuple[TableRequest, Snapshot]:
    """The state that a request names; a timestamp becomes the version that it stands for, a folder of a table part of that table.

    Raises:
        TableNotFoundError, TimeTravelError, UnsupportedFeatureError: the table, or its version, cannot be read.
        InvalidOptionError: the path is that of a folder of a table, and names no partition of it.
    """
    try:
        return _resolve(application, session, request)
    except TableNotFoundError:
        folder = None
        if request.changes is None:
            folder = PartitionFolder.below_table(request.path, request.storage_options)
        if folder is None:
            raise
    whole, snapshot = _resolve(application, session, replace(request, path=folder.table))
    return replace(whole, partition=folder.folders), files_of(folder, snapshot, session)


def files_of(folder: PartitionFolder, snapshot: Snapshot, session: JavaObject) -> Snapshot:
    """A table's state with the files of a partition alone; timestamps in the path are of the session's zone."""
    return folder.files_of(snapshot, session.conf().get("spark.sql.session.timeZone"))


def _resolve(application: Application, session: JavaObject, request: TableRequest) -> tuple[TableRequest, Snapshot]:
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
