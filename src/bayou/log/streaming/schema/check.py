# SPDX-License-Identifier: Apache-2.0
"""Checks whether a stream can continue under its schema when the table's schema changes.

A query's schema is fixed while it runs. A change that a restart can follow stops the query once; any other change stops it for
good.

Sources: delta-spark's `DeltaSourceBase.checkReadIncompatibleSchemaChanges` and `DeltaStreamUtils`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import DeltaError, failed
from bayou.log.streaming.batches.stops import operation_of, user_of, what_it_was
from bayou.log.streaming.request.settings import StreamSettings
from bayou.log.streaming.schema.differences import has_wider_types
from bayou.protocol.features.features import writer_features
from bayou.protocol.features.type_widening import Widening
from bayou.protocol.schema.read_compatibility import column_mapping_mode, is_read_compatible, keeps_columns
from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.snapshot.snapshot import Snapshot
    from bayou.protocol.actions.actions import Metadata

_NO_MAPPING: Final = "none"
_WIDENING: Final = frozenset({"typeWidening", "typeWidening-preview"})
_NO_COMMIT: Final[Mapping[str, Any]] = {}

_RESTART: Final = "Please try restarting the query, which continues from its checkpoint with the new schema."


class SchemaCheck:
    """Checks schemas against the version at which a stream's query was analysed."""

    def __init__(self, snapshot: Snapshot, settings: StreamSettings, *, has_start: bool) -> None:
        """Begin with the version that the query was analysed at; errors mention its start if it `has_start`."""
        self._snapshot = snapshot
        self._settings = settings
        self._has_start = has_start
        self._maps_columns = column_mapping_mode(snapshot.metadata) != _NO_MAPPING
        self._widens = settings.allows_widening and bool(writer_features(snapshot.protocol) & _WIDENING)

    @property
    def maps_columns(self) -> bool:
        """Whether the table has column mapping and renamed columns are not allowed."""
        return self._maps_columns and not self._settings.allows_mapping_changes

    def check(self, metadata: Metadata, version: int, info: Mapping[str, Any] = _NO_COMMIT, *, is_start: bool = False) -> None:
        """Check the metadata of a version that the stream reads.

        Args:
            info: the `commitInfo` of the commit that set it, for the error.
            is_start: whether the run begins with this version.

        Raises:
            StreamingSourceError: the metadata belongs to another table.
            SchemaChangedError: the metadata is not compatible with the stream's schema.
        """
        read = self._snapshot.metadata
        is_older = version < self._snapshot.version
        older, newer = (metadata, read) if is_older else (read, metadata)
        if newer.id != older.id:
            raise failed(
                "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", table=self._snapshot.table_uri, new_id=newer.id, old_id=older.id
            )
        same_layout = _same_partitions(metadata, read) and column_mapping_mode(metadata) == column_mapping_mode(read)
        if same_layout and metadata.schema_string == read.schema_string:
            return
        if self._settings.allows_partition_changes:
            older = replace(older, partition_columns=newer.partition_columns)
        if self._needs_tracking(older, newer):
            raise self._incompatible(metadata, version, info)
        if not is_start or self._settings.checks_start:
            self._check_schema(metadata, version, info, is_older=is_older, same_partitions=_same_partitions(older, newer))

    def _needs_tracking(self, older: Metadata, newer: Metadata) -> bool:
        if self._widens and self._settings.tracks_widening:
            before, after = parse_schema(older.schema_string), parse_schema(newer.schema_string)
            if has_wider_types(before, after):
                return True
        if self._settings.allows_mapping_changes:
            return False
        if {column_mapping_mode(older), column_mapping_mode(newer)} == {_NO_MAPPING}:
            return False
        return not keeps_columns(older, newer)

    def _check_schema(
        self, metadata: Metadata, version: int, info: Mapping[str, Any], *, is_older: bool, same_partitions: bool
    ) -> None:
        schema, change = self._snapshot.schema, parse_schema(metadata.schema_string)
        widening = Widening.ALWAYS if self._widens and not self._settings.tracks_widening else Widening.NEVER
        nulls = self._settings.checks_nulls
        fits = is_read_compatible(
            change,
            schema,
            widening=widening if is_older else Widening.NEVER,
            allow_missing=self._maps_columns and self._settings.allows_mapping_changes and is_older,
            checks_nulls=nulls,
        )
        if fits and same_partitions:
            return
        retryable = not is_older and is_read_compatible(schema, change, widening=widening, checks_nulls=nulls)
        raise self._changed(metadata, version, info, retryable=retryable)

    def _changed(self, metadata: Metadata, version: int, info: Mapping[str, Any], *, retryable: bool) -> DeltaError:
        return failed(
            "DELTA_SCHEMA_CHANGED_WITH_STARTING_OPTIONS" if self._has_start else "DELTA_SCHEMA_CHANGED_WITH_VERSION",
            table=self._snapshot.table_uri,
            version=version,
            next_step=_RESTART if retryable else None,
            commit=_said(version, info),
            schema=_described(self._snapshot.metadata),
            new_schema=_described(metadata),
            retryable=retryable,
            operation=operation_of(info),
            user=user_of(info),
        )

    def _incompatible(self, metadata: Metadata, version: int, info: Mapping[str, Any]) -> DeltaError:
        return failed(
            "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"
            if self._settings.tracks_schemas
            else "DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE",
            table=self._snapshot.table_uri,
            version=version,
            commit=_said(version, info),
            schema=self._snapshot.metadata.schema_string,
            new_schema=metadata.schema_string,
            retryable=False,
            operation=operation_of(info),
            user=user_of(info),
        )


def _said(version: int, info: Mapping[str, Any]) -> str:
    return what_it_was(version, info) if info else f"it is what version {version} was written under"


def _same_partitions(one: Metadata, other: Metadata) -> bool:
    return one.partition_columns == other.partition_columns


def _described(metadata: Metadata) -> str:
    partitions = f", partitioned by {', '.join(metadata.partition_columns)}" if metadata.partition_columns else ""
    return metadata.schema_string + partitions
