# SPDX-License-Identifier: Apache-2.0
"""Schema tracking: a stream stores the metadata it reads a table under, and restarts at each schema change.

A change lies between two batches. Everything before it is read and written; then the new metadata is added to the schema log, and
the query fails. After a restart it reads under the new metadata if the change is additive or the user allowed it.

Source: delta-spark's `DeltaSourceMetadataEvolutionSupport`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bayou.errors import DeltaError, failed
from bayou.log.actions.action_files import ActionFile, Header
from bayou.log.streaming.request.offsets import METADATA_CHANGE_INDEX, POST_METADATA_CHANGE_INDEX, SourceOffset
from bayou.log.streaming.request.settings import StreamSettings
from bayou.log.streaming.schema.evolution import check_leave
from bayou.log.streaming.schema.tracking_log import SchemaLog, TrackedMetadata, conflict, log_location
from bayou.protocol.features.features import table_features
from bayou.protocol.schema.read_compatibility import is_read_compatible, keeps_columns
from bayou.protocol.types.schema import parse_schema
from bayou.storage.open_store import open_store
from bayou.storage.paths import qualify

if TYPE_CHECKING:
    from bayou.log.snapshot.log_reader import LogReader
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.protocol.actions.actions import Metadata, Protocol
    from bayou.storage.store import LogStore

_SOURCES = "/sources/"


class SchemaTracking:
    """The metadata that a stream reads a table under, and the steps from one schema to the next.

    Attributes:
        snapshot: the version that the query was analysed at, with the metadata that the stream reads it under.
    """

    def __init__(self, log: LogReader, snapshot: Snapshot, entries: SchemaLog, source_path: str) -> None:
        """Begin with the current entry of a schema log."""
        self._log = log
        self._entries = entries
        self._source_path = source_path
        self._at_start = entries.current
        self.snapshot = snapshot
        if self._at_start is not None:
            protocol = self._at_start.protocol or snapshot.protocol
            self.snapshot = snapshot.described_as(protocol, self._at_start.applied_to(snapshot.metadata))

    @property
    def location(self) -> str:
        """The schema log's folder."""
        return self._entries.location

    @property
    def is_active(self) -> bool:
        """Whether the schema log has an entry."""
        return self._entries.current is not None

    def has_change(self, metadata: Metadata | None, protocol: Protocol | None, version: int) -> bool:
        """Return whether a version's protocol, schema, partitioning or properties differ from the stream's."""
        if self._at_start is not None and self._at_start.version >= version:
            return False
        if protocol is not None and protocol != self.snapshot.protocol:
            return True
        return metadata is not None and _facts(metadata) != _facts(self.snapshot.metadata)

    def next_offset(self, at: SourceOffset) -> SourceOffset | None:
        """Return the offset after a metadata change; None if the stream is not at one, or has followed it.

        The engine commits a batch only when the next one begins. Therefore a change has two offsets, and the second one holds the
        stream.
        """
        if at.index == METADATA_CHANGE_INDEX:
            return SourceOffset(at.table_id, at.version, POST_METADATA_CHANGE_INDEX)
        if at.index == POST_METADATA_CHANGE_INDEX:
            header = self._header(at.version)
            if self.has_change(header.metadata, header.protocol, at.version):
                return at
        return None

    def begin(self, first: int, last: int | None) -> None:
        """Write the first entry, unless one exists.

        Args:
            last: the last version of a batch that was planned already, or None.

        Raises:
            SchemaChangedError: the entry differs from the metadata that the query was analysed with; a restart uses the entry.
            StreamingSourceError: the batch was planned across a change that no single schema can read.
        """
        if self.is_active:
            return
        if last is None or last < first:
            snapshot = self._log.snapshot(min(first, self._log.version()))
            version, metadata, protocol = snapshot.version, snapshot.metadata, snapshot.protocol
        else:
            version, (metadata, protocol) = last, self._common(first, last)
        entry = TrackedMetadata.of(metadata.id, version, metadata, protocol, self._source_path)
        self._entries.add(entry)
        if self.has_change(metadata, protocol, version):
            raise self._evolved(entry)

    def follow(self, end: SourceOffset) -> None:
        """Write a new entry and raise SchemaChangedError after the batch that ends at a change."""
        if self.is_active and end.is_metadata_change:
            header = self._header(end.version)
            self._follow(header.metadata, header.protocol, end.version, replaces=False)

    def check_initial(self, snapshot: Snapshot) -> None:
        """Raise SchemaChangedError, with a new entry, if the first snapshot is later than the entry and differs."""
        if self.is_active:
            self._follow(snapshot.metadata, snapshot.protocol, snapshot.version, replaces=True)

    def _follow(self, metadata: Metadata | None, protocol: Protocol | None, version: int, *, replaces: bool) -> None:
        if not self.has_change(metadata, protocol, version):
            return
        read = self.snapshot
        entry = TrackedMetadata.of(
            read.metadata.id, version, metadata or read.metadata, protocol or read.protocol, self._source_path
        )
        self._entries.add(entry, in_place_of_current=replaces)
        raise self._evolved(entry)

    def _common(self, first: int, last: int) -> tuple[Metadata, Protocol]:
        """Return the metadata and protocol that can read all of a range of versions."""
        start = self._log.snapshot(first)
        headers = [self._header(version) for version in range(first, last + 1)]
        found = [start.metadata, *(header.metadata for header in headers if header.metadata is not None)]
        newest = found[-1]
        schema = parse_schema(newest.schema_string)
        fits = all(
            keeps_columns(each, newest) and is_read_compatible(parse_schema(each.schema_string), schema) for each in found[:-1]
        )
        protocol = start.protocol
        for header in headers:
            if header.protocol is not None:
                fits = fits and table_features(protocol) <= table_features(header.protocol)
                protocol = header.protocol
        if not fits:
            raise failed(
                "DELTA_STREAMING_SCHEMA_LOG_INIT_FAILED_INCOMPATIBLE_METADATA", table=self._log.table_uri, version=last, first=first
            )
        return newest, protocol

    def _header(self, version: int) -> Header:
        try:
            return ActionFile.of_commit(self._log.store, version, self._log.table_uri).header()
        except FileNotFoundError as error:
            raise failed(
                "DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE/schema",
                table=self._log.table_uri,
                version=version,
                earliest=None,
                latest=None,
            ) from error

    def _evolved(self, entry: TrackedMetadata) -> DeltaError:
        return failed(
            "DELTA_STREAMING_METADATA_EVOLUTION",
            table=self._log.table_uri,
            version=entry.version,
            schema=entry.schema_json,
            configuration=dict(entry.configuration or {}),
            protocol=None if entry.protocol is None else entry.protocol.to_json(),
            retryable=True,
            operation=None,
            user=None,
        )


def open_tracking(
    log: LogReader,
    snapshot: Snapshot,
    options: StreamOptions,
    confs: Mapping[str, str],
    *,
    source_path: str | None = None,
    store: LogStore | None = None,
) -> SchemaTracking | None:
    """Return the schema tracking that a stream's options request; None if they request none.

    A query calls it twice. At the analysis, it merges consecutive changes in the schema log, so that the query restarts once for
    all of them. At the start, the source's folder is known, and it checks that the entry belongs to this source and that the user
    allowed the last change.

    Args:
        snapshot: the version that the query is analysed at.
        source_path: the folder of the stream's source in the query's checkpoint; None while the query is analysed.
        store: the store of the schema log's folder; None opens it by its scheme.

    Raises:
        SchemaChangedError: the stream has followed a change that the user did not allow.
        InvalidOptionError: the location is outside the checkpoint, or another stream's.
        StreamingSourceError: the schema log is corrupt, or of another table.
        UnsupportedFeatureError: the session disables schema tracking.
    """
    settings = StreamSettings.of(confs)
    if options.schema_location is None or settings.allows_mapping_changes:
        return None
    if not settings.tracks_schemas:
        raise failed("DELTA_UNSUPPORTED_FEATURES_FOR_READ/schema-tracking", table=log.table_uri, features=("schema tracking",))
    if source_path is not None and not settings.allows_outside:
        _check_under_checkpoint(options.schema_location, source_path)
    location = log_location(options.schema_location, snapshot.metadata.id, options.tracking_id)
    entries = SchemaLog(store or open_store(qualify(location)), location)
    current = entries.current
    if current is not None:
        _check_entry(current, snapshot, location)
        if source_path is None:
            if settings.merges_changes:
                _merge_changes(log, entries, current)
        else:
            if settings.checks_source_path and current.source_path != source_path:
                raise conflict(location, log.table_uri)
            previous = entries.previous
            if previous is not None:
                check_leave(previous, current, options, confs, source_path=source_path, table=log.table_uri)
    return SchemaTracking(log, snapshot, entries, source_path or "")


def _check_under_checkpoint(location: str, source_path: str) -> None:
    checkpoint, found, _ = source_path.rpartition(_SOURCES)
    if not found:
        return
    root, place = qualify(checkpoint).uri, qualify(location).uri
    if place != root and not place.startswith(f"{root}/"):
        raise failed(
            "DELTA_STREAMING_SCHEMA_LOCATION_NOT_UNDER_CHECKPOINT",
            option="schemaTrackingLocation",
            location=location,
            checkpoint=checkpoint,
        )


def _check_entry(entry: TrackedMetadata, snapshot: Snapshot, location: str) -> None:
    if entry.table_id != snapshot.metadata.id:
        raise failed(
            "DELTA_STREAMING_SCHEMA_LOG_INCOMPATIBLE_DELTA_TABLE_ID",
            table=snapshot.table_uri,
            persisted_id=entry.table_id,
            table_id=snapshot.metadata.id,
            location=location,
        )


def _merge_changes(log: LogReader, entries: SchemaLog, current: TrackedMetadata) -> None:
    """Replace the current entry by the last of the changes in the versions directly after it.

    A commit without a change ends the search. So does one with files, which must be read under the changes before it.
    """
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    version = current.version
    while (file := _commit(log, version)) is not None:
        header = file.header()
        if (header.metadata is None and header.protocol is None) or _has_files(file):
            break
        metadata, protocol = header.metadata or metadata, header.protocol or protocol
        version += 1
    last = version - 1
    if last <= current.version or (metadata is None and protocol is None):
        return
    source = current.source_path
    read = current.applied_to(log.update().metadata) if metadata is None else metadata
    merged = TrackedMetadata.of(current.table_id, last, read, protocol or current.protocol or log.update().protocol, source)
    entries.add(merged, in_place_of_current=True)


def _commit(log: LogReader, version: int) -> ActionFile | None:
    try:
        return ActionFile.of_commit(log.store, version, log.table_uri)
    except FileNotFoundError:
        return None


def _has_files(file: ActionFile) -> bool:
    return any(action.get(kind) is not None for action in file.actions() for kind in ("add", "remove", "cdc"))


def _facts(metadata: Metadata) -> tuple[object, ...]:
    properties = {key: value for key, value in metadata.configuration.items() if key.startswith("delta.")}
    return parse_schema(metadata.schema_string), metadata.partition_columns, properties
