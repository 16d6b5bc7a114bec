# SPDX-License-Identifier: Apache-2.0
"""The actions of the log as immutable values, and their JSON.

Unknown fields are ignored, as the protocol requires. A field of the wrong type raises CorruptLogError, to which the caller adds
the table and the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

from bayou.errors import DeltaError, failed
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor

T = TypeVar("T")

_LONG_LIMIT: Final = 1 << 63

EMPTY_SCHEMA: Final = '{"type":"struct","fields":[]}'
"""The schema if the metadata has none, since some writers leave it out of the first commit. Source: delta-spark's `Metadata`."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a client must support to read and to write the table.

    Features keep the order of the log. They are None below reader version 3 or writer version 7, which list no features.
    """

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Protocol:
        """Read the value of a `protocol` action."""
        fields = _Fields("protocol", document)
        return cls(
            fields.required("minReaderVersion", int),
            fields.required("minWriterVersion", int),
            fields.texts("readerFeatures"),
            fields.texts("writerFeatures"),
        )

    def to_json(self) -> dict[str, Any]:
        """The value of a `protocol` action."""
        document: dict[str, Any] = {
            "minReaderVersion": self.min_reader_version,
            "minWriterVersion": self.min_writer_version,
        }
        if self.reader_features is not None:
            document["readerFeatures"] = list(self.reader_features)
        if self.writer_features is not None:
            document["writerFeatures"] = list(self.writer_features)
        return document


@dataclass(frozen=True, slots=True)
class Metadata:
    """The table's identity, schema, partition columns and properties."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    format_provider: str = "parquet"
    format_options: Mapping[str, str] = field(default_factory=dict)
    created_time: int | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Metadata:
        """Read the value of a `metaData` action."""
        fields = _Fields("metaData", document)
        schema = fields.optional("schemaString", str)
        file_format = _Fields("metaData.format", fields.optional("format", dict) or {})
        return cls(
            id=fields.optional("id", str) or "",
            schema_string=EMPTY_SCHEMA if schema is None else schema,
            partition_columns=fields.texts("partitionColumns") or (),
            configuration=fields.text_map("configuration"),
            name=fields.optional("name", str),
            description=fields.optional("description", str),
            format_provider=file_format.optional("provider", str) or "parquet",
            format_options=file_format.text_map("options"),
            created_time=fields.optional("createdTime", int),
        )

    def to_json(self) -> dict[str, Any]:
        """The value of a `metaData` action."""
        return _without_nulls(
            {
                "id": self.id,
                "name": self.name,
                "description": self.description,
                "format": {"provider": self.format_provider, "options": dict(self.format_options)},
                "schemaString": self.schema_string,
                "partitionColumns": list(self.partition_columns),
                "configuration": dict(self.configuration),
                "createdTime": self.created_time,
            }
        )


@dataclass(frozen=True, slots=True)
class AddFile:
    """A data file that a commit adds. `path` is percent-encoded, as in the log."""

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    modification_time: int
    data_change: bool = True
    stats: str | None = None
    tags: Mapping[str, str] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> AddFile:
        """Read the value of an `add` action."""
        fields = _Fields("add", document)
        return cls(
            path=fields.required("path", str),
            partition_values=fields.optional("partitionValues", dict) or {},
            size=fields.required("size", int),
            modification_time=fields.optional("modificationTime", int) or 0,
            data_change=fields.flag("dataChange"),
            stats=fields.optional("stats", str),
            tags=fields.optional("tags", dict),
            deletion_vector=_deletion_vector(fields.optional("deletionVector", dict)),
            base_row_id=fields.optional("baseRowId", int),
            default_row_commit_version=fields.optional("defaultRowCommitVersion", int),
            clustering_provider=fields.optional("clusteringProvider", str),
        )

    def to_json(self) -> dict[str, Any]:
        """The value of an `add` action."""
        return _without_nulls(
            {
                "path": self.path,
                "partitionValues": dict(self.partition_values),
                "size": self.size,
                "modificationTime": self.modification_time,
                "dataChange": self.data_change,
                "stats": self.stats,
                "tags": None if self.tags is None else dict(self.tags),
                "deletionVector": self.deletion_vector.to_json() if self.deletion_vector else None,
                "baseRowId": self.base_row_id,
                "defaultRowCommitVersion": self.default_row_commit_version,
                "clusteringProvider": self.clustering_provider,
            }
        )


@dataclass(frozen=True, slots=True)
class RemoveFile:
    """The tombstone of a data file that a commit removes."""

    path: str
    deletion_timestamp: int | None = None
    data_change: bool = True
    extended_file_metadata: bool | None = None
    partition_values: Mapping[str, str | None] | None = None
    size: int | None = None
    stats: str | None = None
    tags: Mapping[str, str] | None = None
    deletion_vector: DeletionVectorDescriptor | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RemoveFile:
        """Read the value of a `remove` action."""
        fields = _Fields("remove", document)
        return cls(
            path=fields.required("path", str),
            deletion_timestamp=fields.optional("deletionTimestamp", int),
            data_change=fields.flag("dataChange"),
            extended_file_metadata=fields.optional("extendedFileMetadata", bool),
            partition_values=fields.optional("partitionValues", dict),
            size=fields.optional("size", int),
            stats=fields.optional("stats", str),
            tags=fields.optional("tags", dict),
            deletion_vector=_deletion_vector(fields.optional("deletionVector", dict)),
            base_row_id=fields.optional("baseRowId", int),
            default_row_commit_version=fields.optional("defaultRowCommitVersion", int),
        )

    def to_json(self) -> dict[str, Any]:
        """The value of a `remove` action."""
        return _without_nulls(
            {
                "path": self.path,
                "deletionTimestamp": self.deletion_timestamp,
                "dataChange": self.data_change,
                "extendedFileMetadata": self.extended_file_metadata,
                "partitionValues": None if self.partition_values is None else dict(self.partition_values),
                "size": self.size,
                "stats": self.stats,
                "tags": None if self.tags is None else dict(self.tags),
                "deletionVector": self.deletion_vector.to_json() if self.deletion_vector else None,
                "baseRowId": self.base_row_id,
                "defaultRowCommitVersion": self.default_row_commit_version,
            }
        )


@dataclass(frozen=True, slots=True)
class AddCDCFile:
    """A change data file: the `cdc` action. `path` is percent-encoded, as in the log.

    Source: PROTOCOL.md, "Add CDC File".
    """

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    tags: Mapping[str, str] | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> AddCDCFile:
        """Read the value of a `cdc` action."""
        fields = _Fields("cdc", document)
        return cls(
            path=fields.required("path", str),
            partition_values=fields.optional("partitionValues", dict) or {},
            size=fields.required("size", int),
            tags=fields.optional("tags", dict),
        )

    def to_json(self) -> dict[str, Any]:
        """The value of a `cdc` action. `dataChange` is false, since its rows do not belong to the table."""
        return _without_nulls(
            {
                "path": self.path,
                "partitionValues": dict(self.partition_values),
                "size": self.size,
                "tags": None if self.tags is None else dict(self.tags),
                "dataChange": False,
            }
        )


@dataclass(frozen=True, slots=True)
class SetTransaction:
    """The last version that an application committed: the `txn` action."""

    app_id: str
    version: int
    last_updated: int | None = None

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> SetTransaction:
        """Read the value of a `txn` action."""
        fields = _Fields("txn", document)
        return cls(fields.required("appId", str), fields.required("version", int), fields.optional("lastUpdated", int))

    def to_json(self) -> dict[str, Any]:
        """The value of a `txn` action."""
        return _without_nulls({"appId": self.app_id, "version": self.version, "lastUpdated": self.last_updated})


@dataclass(frozen=True, slots=True)
class DomainMetadata:
    """The metadata of a domain, which belongs to a feature or a user."""

    domain: str
    configuration: str
    removed: bool = False

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> DomainMetadata:
        """Read the value of a `domainMetadata` action."""
        fields = _Fields("domainMetadata", document)
        removed = fields.optional("removed", bool) or False
        return cls(fields.required("domain", str), fields.optional("configuration", str) or "", removed)

    def to_json(self) -> dict[str, Any]:
        """The value of a `domainMetadata` action."""
        return {"domain": self.domain, "configuration": self.configuration, "removed": self.removed}


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """The provenance of a commit. Writers may add any fields; `raw` has all of them."""

    raw: Mapping[str, Any]

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> CommitInfo:
        """Read the value of a `commitInfo` action."""
        _Fields("commitInfo", document)
        return cls(document)

    def to_json(self) -> dict[str, Any]:
        """The value of a `commitInfo` action."""
        return dict(self.raw)

    @property
    def timestamp(self) -> int | None:
        """The time of the writer's clock in ms, or None."""
        return self._typed("timestamp", int)

    @property
    def in_commit_timestamp(self) -> int | None:
        """The in-commit timestamp in ms, or None if the table does not enable it."""
        return self._typed("inCommitTimestamp", int)

    @property
    def operation(self) -> str | None:
        """The name of the operation, for example WRITE."""
        return self._typed("operation", str)

    @property
    def txn_id(self) -> str | None:
        """The writer's unique name for the commit."""
        return self._typed("txnId", str)

    @property
    def read_version(self) -> int | None:
        """The version that the writer read, or None if it is not given."""
        return self._typed("readVersion", int)

    @property
    def is_blind_append(self) -> bool | None:
        """Whether the commit only added files and depends on nothing that it read."""
        return self._typed("isBlindAppend", bool)

    def _typed(self, name: str, kind: type[T]) -> T | None:
        value = self.raw.get(name)
        return value if type(value) is kind else None


def _deletion_vector(document: Mapping[str, Any] | None) -> DeletionVectorDescriptor | None:
    if document is None:
        return None
    return DeletionVectorDescriptor.from_json(document)


def _without_nulls(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if value is not None}


class _Fields:
    """Typed access to the fields of an action. A null field counts as absent."""

    def __init__(self, action: str, document: object) -> None:
        if not isinstance(document, Mapping):
            raise failed("DELTA_STATE_RECOVER_ERROR/not-an-object", action=action)
        self._action = action
        self._document = document

    def optional(self, name: str, kind: type[T]) -> T | None:
        value = self._document.get(name)
        if value is None:
            return None
        # To Python a boolean is a number, and JSON may have numbers that do not fit into a long.
        is_broken = kind is int and not (type(value) is int and -_LONG_LIMIT <= value < _LONG_LIMIT)
        if is_broken or not isinstance(value, kind):
            raise self._wrong(name, value)
        return value

    def required(self, name: str, kind: type[T]) -> T:
        value = self.optional(name, kind)
        if value is None:
            raise failed("DELTA_STATE_RECOVER_ERROR/field-missing", action=self._action, field=name)
        return value

    def flag(self, name: str) -> bool:
        value = self.optional(name, bool)
        return True if value is None else value

    def texts(self, name: str) -> tuple[str, ...] | None:
        values = self.optional(name, list)
        if values is None:
            return None
        if not all(isinstance(value, str) for value in values):
            raise self._wrong(name, values)
        return tuple(values)

    def text_map(self, name: str) -> Mapping[str, str]:
        values = self.optional(name, dict) or {}
        if all(isinstance(value, str) for value in values.values()):
            return cast("Mapping[str, str]", values)
        given = {key: value for key, value in values.items() if value is not None}
        return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in given.items()}

    def _wrong(self, name: str, value: object) -> DeltaError:
        return failed("DELTA_STATE_RECOVER_ERROR/field-type", action=self._action, field=name, value=value)
