# SPDX-License-Identifier: Apache-2.0
"""The schema tracking log of a stream: the metadata it reads a table under, with one entry for each followed change.

Sources: delta-spark's `DeltaSourceMetadataTrackingLog` and `SchemaTrackingLog`; the files are the same to the byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from bayou.errors import CorruptLogError, DeltaError, failed
from bayou.protocol.actions.actions import Metadata, Protocol
from bayou.protocol.types.schema import StructType, parse_schema, schema_to_json

if TYPE_CHECKING:
    from bayou.storage.store import LogStore

_HEAD: Final = "v1"


@dataclass(frozen=True, slots=True)
class TrackedMetadata:
    """One entry of the log.

    Attributes:
        source_path: the folder of the stream's source in the query's checkpoint.
        configuration: the table's properties; None if an older program wrote the entry.
        protocol: the table's protocol; None likewise.
        previous: the number of the preceding entry if it is not the number before.
    """

    table_id: str
    version: int
    schema_json: str
    partition_schema_json: str
    source_path: str
    configuration: Mapping[str, str] | None = None
    protocol: Protocol | None = None
    previous: int | None = None

    @classmethod
    def of(cls, table_id: str, version: int, metadata: Metadata, protocol: Protocol, source_path: str) -> TrackedMetadata:
        """Return the entry for a table's metadata at a version."""
        schema = parse_schema(metadata.schema_string)
        fields = [found for name in metadata.partition_columns if (found := schema.field(name)) is not None]
        return cls(
            table_id,
            version,
            schema_to_json(schema),
            schema_to_json(StructType(tuple(fields))),
            source_path,
            dict(metadata.configuration),
            protocol,
        )

    @property
    def schema(self) -> StructType:
        """The table's schema."""
        return parse_schema(self.schema_json)

    def applied_to(self, metadata: Metadata) -> Metadata:
        """Return a table's metadata with the schema, partition columns and properties of the entry."""
        return replace(
            metadata,
            schema_string=self.schema_json,
            partition_columns=parse_schema(self.partition_schema_json).names,
            configuration=metadata.configuration if self.configuration is None else self.configuration,
        )

    def to_text(self) -> str:
        """Return the entry as its file holds it."""
        document: dict[str, Any] = {
            "tableId": self.table_id,
            "deltaCommitVersion": self.version,
            "dataSchemaJson": self.schema_json,
            "partitionSchemaJson": self.partition_schema_json,
            "sourceMetadataPath": self.source_path,
        }
        if self.configuration is not None:
            document["tableConfigurations"] = dict(self.configuration)
        if self.protocol is not None:
            document["protocolJson"] = _json({"protocol": self.protocol.to_json()})
        if self.previous is not None:
            document["previousMetadataSeqNum"] = self.previous
        return f"{_HEAD}\n{_json(document)}"

    @classmethod
    def from_text(cls, text: str, location: str) -> TrackedMetadata:
        """Parse an entry, or raise StreamingSourceError if it is incomplete or corrupt."""
        lines = text.split("\n")
        try:
            document: dict[str, Any] = json.loads(lines[1] if lines[0].strip() == _HEAD else "")
            protocol = document.get("protocolJson")
            found = cls(
                table_id=_text(document, "tableId"),
                version=int(document["deltaCommitVersion"]),
                schema_json=_text(document, "dataSchemaJson"),
                partition_schema_json=_text(document, "partitionSchemaJson"),
                source_path=_text(document, "sourceMetadataPath"),
                configuration=document.get("tableConfigurations"),
                protocol=None if protocol is None else Protocol.from_json(json.loads(protocol)["protocol"]),
                previous=document.get("previousMetadataSeqNum"),
            )
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, CorruptLogError) as error:
            raise failed("DELTA_STREAMING_SCHEMA_LOG_DESERIALIZE_FAILED", location=location) from error
        for schema in (found.schema_json, found.partition_schema_json):
            try:
                parse_schema(schema)
            except DeltaError as error:
                raise failed("DELTA_STREAMING_SCHEMA_LOG_PARSE_SCHEMA_FAILED", location=location) from error
        return found


@dataclass(slots=True)
class SchemaLog:
    """The entries of one stream's log: those found when it was opened, and those that the stream adds.

    The number of the current entry is -1 without an entry.
    """

    store: LogStore
    location: str
    number: int = field(init=False)
    current: TrackedMetadata | None = field(init=False)

    def __post_init__(self) -> None:
        self.number = max(self._numbers(), default=-1)
        self.current = self.entry(self.number)

    def entry(self, number: int) -> TrackedMetadata | None:
        """Return the entry with a number, or None; raise StreamingSourceError if it is corrupt."""
        if number < 0:
            return None
        try:
            data = self.store.read(str(number))
        except FileNotFoundError:
            return None
        return TrackedMetadata.from_text(data.decode("utf-8", errors="replace"), self.location)

    @property
    def previous(self) -> TrackedMetadata | None:
        """The entry that precedes the current one."""
        return self.entry(self._previous_number)

    @property
    def _previous_number(self) -> int:
        known = None if self.current is None else self.current.previous
        return self.number - 1 if known is None else known

    def add(self, entry: TrackedMetadata, *, in_place_of_current: bool = False) -> TrackedMetadata:
        """Make an entry the current one.

        Args:
            in_place_of_current: whether the new entry takes the current one's predecessor.

        Raises:
            InvalidOptionError: another stream writes to the same log.
        """
        if in_place_of_current and self.current is not None:
            entry = replace(entry, previous=self._previous_number)
        if entry == self.current:
            return entry
        if not self.store.put_if_absent(str(self.number + 1), entry.to_text().encode()):
            raise conflict(self.location, entry.table_id)
        self.number += 1
        self.current = entry
        return entry

    def _numbers(self) -> list[int]:
        try:
            names = [status.name for status in self.store.list_from("")]
        except FileNotFoundError:
            return []
        return [int(name) for name in names if name.isdecimal() and name.isascii()]


def log_location(root: str, table_id: str, tracking_id: str | None) -> str:
    """Return the folder of a stream's schema log."""
    return f"{root.rstrip('/')}/_schema_log_{table_id}{'' if tracking_id is None else f'_{tracking_id}'}"


def conflict(location: str, table: str) -> DeltaError:
    """Return the error for a log that another stream uses."""
    return failed("DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT", option="schemaTrackingLocation", location=location, reader=table)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False)
