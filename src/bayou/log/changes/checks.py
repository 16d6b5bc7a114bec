# SPDX-License-Identifier: Apache-2.0
"""Checks that the changes of a range of versions were recorded and can be read under one schema.

Source: delta-spark's `CDCReader.changesToDF`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError, failed
from bayou.protocol import properties
from bayou.protocol.features.features import check_readable
from bayou.protocol.schema.read_compatibility import column_mapping_mode, is_read_compatible, keeps_columns, reads_older_rows
from bayou.protocol.types.schema import parse_schema

if TYPE_CHECKING:
    from bayou.log.actions.action_files import Header
    from bayou.log.changes.range import ChangeRange
    from bayou.protocol.actions.actions import Metadata

SCHEMA_MODE_CONF: Final = "spark.databricks.delta.changeDataFeed.defaultSchemaModeForColumnMappingTable"
"""The session's setting for the SchemaMode."""
UNSAFE_READ_CONF: Final = "spark.databricks.delta.changeDataFeed.unsafeBatchReadOnIncompatibleSchemaChanges.enabled"
"""The session's setting that allows incompatible schema changes."""


class SchemaMode(Enum):
    """Which version's schema a feed has if the table has column mapping; without mapping it is the latest version's.

    Attributes:
        END_VERSION: the last version of the range.
        LATEST: the latest version.
        LEGACY: the same as LATEST; delta-spark has two names for it.
    """

    END_VERSION = "endVersion"
    LATEST = "latest"
    LEGACY = "legacy"


def records_changes(metadata: Metadata) -> bool:
    """Return whether `delta.enableChangeDataFeed`, or its old name, is true."""
    return properties.ENABLE_CHANGE_DATA_FEED.read(metadata.configuration)


class RangeCheck:
    """Collects the metadata of a range's commits, in order, and checks them.

    Attributes:
        start: the metadata of the first version.
        end: the metadata of the last version seen.
    """

    def __init__(self, versions: ChangeRange, start: Metadata, table: str) -> None:
        """Begin with the first version, or raise TimeTravelError if it did not record changes."""
        self.start = start
        self.end = start
        self._versions = versions
        self._table = table
        self._changes: list[tuple[int, Metadata]] = []
        self._check_recorded(versions.start, start)

    def see(self, version: int, header: Header) -> None:
        """Note the next commit.

        Raises:
            TimeTravelError: the commit stopped the recording of changes.
            UnsupportedFeatureError: bayou cannot read the table from this commit on.
        """
        if header.protocol is not None:
            check_readable(header.protocol, self._table, version)
        if header.metadata is None:
            return
        self._check_recorded(version, header.metadata)
        self.end = header.metadata
        if version > self._versions.start:
            self._changes.append((version, header.metadata))

    def maps_columns(self) -> bool:
        """Return whether the first or the last version has column mapping."""
        return any(column_mapping_mode(each) != "none" for each in (self.start, self.end))

    def check_schemas(self, read: Metadata, read_version: int) -> None:
        """Check that all rows of the range can be read under one schema.

        Args:
            read: the metadata of the schema to read, of the range's end or later.

        Raises:
            UnsupportedFeatureError: a version of the range has a column that was renamed, dropped or retyped later, or other
                partition columns.
        """
        for version, metadata in self._changes:
            if not _can_be_read(metadata, read):
                raise self._incompatible(version, read, read_version, is_change=True)
        if not _can_be_read(self.start, read):
            raise self._incompatible(self._versions.start, read, read_version, is_change=False)

    def check_before(self, previous: Metadata, read: Metadata, read_version: int) -> None:
        """Check that files which the first commit removed can be read under the schema.

        They may have columns that no longer exist. The other columns need the same names in the files and types that are read
        without loss, and the partition columns must be the same.

        Args:
            previous: the metadata of the version before the range.
            read: the metadata of the schema to read.

        Raises:
            UnsupportedFeatureError: a file cannot be read under the schema.
        """
        if not reads_older_rows(previous, read):
            raise self._incompatible(self._versions.start - 1, read, read_version, is_change=False)

    def _check_recorded(self, version: int, metadata: Metadata) -> None:
        if not records_changes(metadata):
            raise failed(
                "DELTA_MISSING_CHANGE_DATA", table=self._table, version=version, start=self._versions.start, end=self._versions.end
            )

    def _incompatible(self, version: int, read: Metadata, read_version: int, *, is_change: bool) -> DeltaError:
        first, last = self._versions.start, self._versions.end
        return failed(
            "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE" if is_change else "DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA",
            table=self._table,
            version=version,
            features=("changeDataFeed",),
            start=first,
            end=last,
            before=version - 1,
            read_version=read_version,
            schema=read.schema_string,
            incompatible_version=version,
        )


def _can_be_read(written: Metadata, read: Metadata) -> bool:
    return keeps_columns(written, read) and is_read_compatible(
        parse_schema(written.schema_string), parse_schema(read.schema_string)
    )
