# SPDX-License-Identifier: Apache-2.0
"""Facts about a table from its log, with the column names of DESCRIBE HISTORY and DESCRIBE DETAIL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bayou.cli.output import utc
from bayou.log.actions.columns import JSON_NAMES, VECTOR_JSON_NAMES
from bayou.log.snapshot.clustering import clustering_columns
from bayou.protocol.actions import exact_json
from bayou.protocol.features.features import table_features
from bayou.protocol.types.schema import StructField, StructType, simple_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bayou.log.segment.history import HistoryEntry
    from bayou.log.snapshot.snapshot import Snapshot

# The columns of `files` that a reader of the log asks for; the others of an `add` action are writers' affairs.
FILE_COLUMNS = ("path", "partition_values", "size", "modification_time", "stats", "deletion_vector")

_BATCH_ROWS = 1_000

# The columns of DESCRIBE HISTORY, and the attribute of an entry that each one holds.
_HISTORY = {
    "userId": "user_id",
    "userName": "user_name",
    "operation": "operation",
    "operationParameters": "operation_parameters",
    "job": "job",
    "notebook": "notebook",
    "clusterId": "cluster_id",
    "readVersion": "read_version",
    "isolationLevel": "isolation_level",
    "isBlindAppend": "is_blind_append",
    "operationMetrics": "operation_metrics",
    "userMetadata": "user_metadata",
    "engineInfo": "engine_info",
}


def of_commit(entry: HistoryEntry) -> dict[str, Any]:
    """Return a commit as a row of the history."""
    facts = {name: getattr(entry, attribute) for name, attribute in _HISTORY.items()}
    return {"version": entry.version, "timestamp": utc(entry.timestamp), **facts}


def of_table(snapshot: Snapshot, committed_at: int) -> dict[str, Any]:
    """Return the row of the detail.

    Args:
        snapshot: the table.
        committed_at: when its version was committed, in ms since the epoch, as the history shows it.
    """
    metadata, protocol = snapshot.metadata, snapshot.protocol
    return {
        "format": "delta",
        "id": metadata.id,
        "name": metadata.name,
        "description": metadata.description,
        "location": snapshot.table_uri,
        "version": snapshot.version,
        "createdAt": utc(metadata.created_time),
        "lastModified": utc(committed_at),
        "partitionColumns": list(snapshot.partition_columns),
        "clusteringColumns": clustering_columns(snapshot),
        "numFiles": snapshot.num_files,
        "sizeInBytes": snapshot.size_bytes,
        "properties": dict(snapshot.properties),
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "tableFeatures": sorted(table_features(protocol)),
    }


def of_files(snapshot: Snapshot, limit: int | None) -> Iterator[dict[str, Any]]:
    """Yield the live files as `add` actions. At most one batch of them is in memory."""
    table = snapshot.files(columns=FILE_COLUMNS)
    if limit is not None:
        table = table.slice(0, min(limit, table.num_rows))
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        for row in batch.to_pylist():
            yield _file(row)


def _file(row: Mapping[str, Any]) -> dict[str, Any]:
    vector = row["deletion_vector"]
    facts = {JSON_NAMES[name]: row[name] for name in FILE_COLUMNS}
    facts["partitionValues"] = dict(row["partition_values"] or ())
    facts["modificationTime"] = utc(row["modification_time"])
    facts["stats"] = _parsed(row["stats"])
    facts["deletionVector"] = vector and {VECTOR_JSON_NAMES[name]: value for name, value in vector.items()}
    return facts


def _parsed(text: str | None) -> Any:
    """Parse statistics as JSON. Return invalid JSON as it is."""
    try:
        return None if text is None else exact_json.loads(text)
    except (ValueError, RecursionError):
        return text


def of_columns(schema: StructType, partition_columns: tuple[str, ...]) -> Iterator[tuple[str, str, str, str]]:
    """Yield name, type, nullability and remarks of each column. Fields of a struct follow it with dotted names."""
    partitioned = set(partition_columns)
    for field in schema.fields:
        yield from _column((), field, "partition column" if field.name in partitioned else "")


def _column(parent: tuple[str, ...], field: StructField, remark: str) -> Iterator[tuple[str, str, str, str]]:
    path = (*parent, field.name)
    remarks = "; ".join(filter(None, (remark, str(field.metadata.get("comment", "")))))
    is_struct = isinstance(field.type, StructType)
    kind = "struct" if is_struct else simple_type(field.type)
    yield ".".join(path), kind, "yes" if field.nullable else "no", remarks
    if isinstance(field.type, StructType):
        for child in field.type.fields:
            yield from _column(path, child, "")
