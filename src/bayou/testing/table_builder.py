# SPDX-License-Identifier: Apache-2.0
"""Tables for tests, made by writing their log: any state of a log in one line, without an engine."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.log.actions.columns import JSON_NAMES, TEXT_MAP, VECTOR_JSON_NAMES, to_objects
from bayou.log.checkpoint.part_hash import part_of_others, parts_of
from bayou.log.delta_log import DeltaLog
from bayou.log.staging.staged import encode_commit
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.protocol.types.schema import StructField, StructType, schema_to_json
from bayou.storage import LocalStore, LogStore, qualify

CheckpointKind: TypeAlias = Literal["classic", "multipart", "v2-json", "v2-parquet"]

_VECTOR: Final = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_FILE: Final = [("path", pa.string()), ("partitionValues", TEXT_MAP), ("size", pa.int64())]
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "add": pa.struct(
        [
            *_FILE,
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("tags", TEXT_MAP),
            ("deletionVector", _VECTOR),
            ("baseRowId", pa.int64()),
            ("defaultRowCommitVersion", pa.int64()),
            ("clusteringProvider", pa.string()),
            ("stats", pa.string()),
        ]
    ),
    "remove": pa.struct(
        [
            *_FILE,
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("extendedFileMetadata", pa.bool_()),
            ("deletionVector", _VECTOR),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", TEXT_MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", TEXT_MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", TEXT_MAP)]),
    "sidecar": pa.struct([("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())]),
}


def add(path: str, *, stats: Mapping[str, Any] | str | None = None, **fields: Any) -> dict[str, Any]:
    """An `add` action; `fields` are its other fields, as the log spells them."""
    values = {"partitionValues": {}, "size": 100, "modificationTime": 1_700_000_000_000, "dataChange": True, **fields}
    text = stats if stats is None or isinstance(stats, str) else json.dumps(stats)
    return {"add": {"path": path, **values, **({} if text is None else {"stats": text})}}


def remove(path: str, **fields: Any) -> dict[str, Any]:
    """A `remove` action; `fields` are its other fields, as the log spells them."""
    return {"remove": {"path": path, "deletionTimestamp": 1_700_000_000_000, "dataChange": True, **fields}}


class TableBuilder:
    """Writes a log, commit by commit. Every method returns the builder, so that calls chain.

    Example:
        TableBuilder(tmp_path).create().commit(add("a.parquet")).checkpoint("v2-json").commit(remove("a.parquet"))
    """

    def __init__(self, root: Any = None, *, store: LogStore | None = None) -> None:
        """Begin a table at a local folder, or in a store."""
        place = qualify(root if root is not None else "/memory/table")
        self.uri = place.uri
        self.store: LogStore = store if store is not None else LocalStore(place.local or "")
        self.version = -1

    def log(self) -> DeltaLog:
        """The table's log."""
        return DeltaLog(self.uri, self.store)

    def create(
        self,
        schema: StructType | Mapping[str, str] | None = None,
        *,
        partition_by: Sequence[str] = (),
        configuration: Mapping[str, str] | None = None,
        protocol: Protocol | None = None,
        actions: Iterable[Mapping[str, Any]] = (),
    ) -> TableBuilder:
        """Commit protocol and metadata; a schema may be given as names and primitive types."""
        return self.commit(
            {"protocol": (protocol or Protocol(1, 2)).to_json()},
            metadata(schema, partition_by=partition_by, configuration=configuration),
            *actions,
        )

    def commit(self, *actions: Mapping[str, Any], info: Mapping[str, Any] | None = None) -> TableBuilder:
        """Write the next version; `info` adds to its `commitInfo`."""
        self.version += 1
        provenance = {"timestamp": 1_700_000_000_000 + self.version, "operation": "WRITE", **(info or {})}
        return self.write(file_names.commit_path(self.version), encode_commit([{"commitInfo": provenance}, *actions]))

    def write(self, path: str, data: bytes | str) -> TableBuilder:
        """Put any bytes anywhere under the table."""
        self.store.put(path, data.encode() if isinstance(data, str) else data)
        return self

    def delete(self, path: str) -> TableBuilder:
        """Delete a file."""
        self.store.delete(path)
        return self

    def checkpoint(
        self, kind: CheckpointKind = "classic", *, parts: int = 2, version: int | None = None, hint: bool = True
    ) -> TableBuilder:
        """Write a checkpoint of a version, of the latest one if none is given; `parts` counts parts or sidecars."""
        at = self.version if version is None else version
        heads, files = self._state(at)
        match kind:
            case "classic":
                self.write(file_names.checkpoint_path(at), encode_parquet([*heads, *files]))
            case "multipart":
                for part, rows in enumerate(_parts(heads, files, parts), 1):
                    self.write(file_names.checkpoint_part_path(at, part, parts), encode_parquet(rows))
            case _:
                self._v2(at, heads, files, parts, as_json=kind == "v2-json")
        if hint:
            self.write(file_names.LAST_CHECKPOINT, json.dumps({"version": at, "size": len(heads) + len(files)}))
        return self

    def compact(self, start: int, end: int) -> TableBuilder:
        """Write a log compaction file for a range of versions."""
        last: dict[tuple[str, Any], Mapping[str, Any]] = {}
        for version in range(start, end + 1):
            for line in self.store.read(file_names.commit_path(version)).splitlines():
                action = json.loads(line)
                if "commitInfo" not in action:
                    last[_identity(action)] = action
        return self.write(file_names.compacted_path(start, end), encode_commit(last.values()))

    def checksum(self, version: int | None = None, **changes: Any) -> TableBuilder:
        """Write the checksum of a version; `changes` replace its fields, to make it wrong."""
        snapshot = self.log().snapshot(self.version if version is None else version)
        document = {
            "tableSizeBytes": snapshot.size_bytes,
            "numFiles": snapshot.num_files,
            "numMetadata": 1,
            "numProtocol": 1,
            "protocol": snapshot.protocol.to_json(),
            "metadata": snapshot.metadata.to_json(),
            **changes,
        }
        return self.write(file_names.checksum_path(snapshot.version), json.dumps(document))

    def _state(self, version: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        snapshot = self.log().snapshot(version)
        heads: list[dict[str, Any]] = [
            {"protocol": snapshot.protocol.to_json()},
            {"metaData": snapshot.metadata.to_json()},
            *({"txn": each.to_json()} for each in snapshot.transactions.values()),
            *({"domainMetadata": each.to_json()} for each in snapshot.domain_metadata.values()),
        ]
        files = [{"add": row} for row in _rows(snapshot.files())]
        gone = [{"remove": row} for row in _rows(snapshot.tombstones())]
        return heads, files + gone

    def _v2(self, version: int, heads: list[Any], files: list[Any], parts: int, *, as_json: bool) -> None:
        sidecars = []
        for part in range(parts):
            name = f"{version:020d}.checkpoint.{part + 1:010d}.{parts:010d}.sidecar.parquet"
            data = encode_parquet(files[part::parts], ("add", "remove"))
            self.write(f"{file_names.SIDECAR_FOLDER}/{name}", data)
            sidecars.append({"sidecar": {"path": name, "sizeInBytes": len(data), "modificationTime": 1}})
        rows = [{"checkpointMetadata": {"version": version}}, *heads, *sidecars]
        suffix = "json" if as_json else "parquet"
        path = f"{file_names.version_prefix(version)}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.{suffix}"
        self.write(path, encode_commit(rows) if as_json else encode_parquet(rows))


def _parts(heads: list[dict[str, Any]], files: list[dict[str, Any]], count: int) -> list[list[dict[str, Any]]]:
    """Return the actions of each part of a checkpoint, shared out by Spark's hash as the protocol asks."""
    values = [value for action in files for value in action.values()]
    vectors = [each.get("deletionVector") for each in values]
    ids = [None if each is None else DeletionVectorDescriptor.from_json(each).unique_id for each in vectors]
    paths = pa.chunked_array([[each["path"] for each in values]], pa.string())
    places = parts_of(paths, pa.chunked_array([ids], pa.string()), count).to_pylist()
    parts: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    parts[part_of_others(count)].extend(heads)
    for place, action in zip(places, files, strict=True):
        parts[place].append(action)
    return parts


def metadata(
    schema: StructType | Mapping[str, str] | None = None,
    *,
    partition_by: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A `metaData` action; a schema may be given as names and primitive types."""
    given = {"id": "long"} if schema is None else schema
    if not isinstance(given, StructType):
        given = StructType(tuple(StructField(name, kind) for name, kind in given.items()))
    return {
        "metaData": {
            "id": "11111111-2222-3333-4444-555555555555",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema_to_json(given),
            "partitionColumns": list(partition_by),
            "configuration": dict(configuration or {}),
            "createdTime": 1_700_000_000_000,
        }
    }


def encode_parquet(actions: Sequence[Mapping[str, Any]], kinds: Iterable[str] = _TYPES) -> bytes:
    """Actions as a checkpoint file."""
    columns = {kind: pa.array([action.get(kind) for action in actions], _TYPES[kind]) for kind in kinds}
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    columns = [to_objects(column) for column in table.columns]
    return [_to_json(dict(zip(table.column_names, row, strict=True))) for row in zip(*columns, strict=True)]


def _to_json(row: Mapping[str, Any]) -> dict[str, Any]:
    values = {JSON_NAMES[name]: value for name, value in row.items() if value is not None}
    vector = values.get("deletionVector")
    if vector is not None:
        values["deletionVector"] = {VECTOR_JSON_NAMES[name]: value for name, value in vector.items()}
    return values


def _identity(action: Mapping[str, Any]) -> tuple[str, Any]:
    ((kind, value),) = action.items()
    if kind in {"add", "remove"}:
        vector = value.get("deletionVector") or {}
        return ("file", (value["path"], vector.get("pathOrInlineDv"), vector.get("offset")))
    return (kind, value.get("appId") or value.get("domain"))
