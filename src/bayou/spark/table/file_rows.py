# SPDX-License-Identifier: Apache-2.0
"""The live data files of a table as rows. Built from the log without a Spark job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.log.actions.keys import hadoop_uris
from bayou.protocol.types.schema import StructType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from bayou.log.snapshot.snapshot import Snapshot

_TEXTS: Final = pa.map_(pa.string(), pa.string())
FILES_SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("partitionValues", _TEXTS),
        ("size", pa.int64()),
        ("modificationTime", pa.timestamp("us", "UTC")),
        ("numRecords", pa.int64()),
        ("minValues", _TEXTS),
        ("maxValues", _TEXTS),
        ("nullCount", pa.map_(pa.string(), pa.int64())),
        ("deletionVectorCardinality", pa.int64()),
        ("baseRowId", pa.int64()),
        ("defaultRowCommitVersion", pa.int64()),
        ("clusteringProvider", pa.string()),
        ("tags", _TEXTS),
    ]
)
_STATISTICS: Final = ("numRecords", "minValues", "maxValues", "nullCount")
_PLAIN: Final = {
    "size": "size",
    "baseRowId": "base_row_id",
    "defaultRowCommitVersion": "default_row_commit_version",
    "clusteringProvider": "clustering_provider",
    "tags": "tags",
}


def file_rows(snapshot: Snapshot, wanted: Collection[str] | None = None) -> pa.Table:
    """Return the live files, one row per file.

    Paths are absolute, as `_metadata.file_path` has them. Columns are named by their logical names, fields of structs with dots.

    Args:
        snapshot: the table.
        wanted: the columns to fill, others are NULL; None for all. Statistics are parsed only if they are wanted.
    """
    names = [name for name in FILES_SCHEMA.names if wanted is None or name in wanted]
    made: dict[str, Any] = {name: snapshot.files([_PLAIN[name]])[_PLAIN[name]] for name in names if name in _PLAIN}
    if "path" in names:
        made["path"] = hadoop_uris(snapshot.files(["path"])["path"], snapshot.table_uri)
    if "partitionValues" in names:
        made["partitionValues"] = _partition_values(snapshot)
    if "modificationTime" in names:
        times = snapshot.files(["modification_time"])["modification_time"]
        made["modificationTime"] = times.cast(pa.timestamp("ms", "UTC")).cast(pa.timestamp("us", "UTC"))
    if "deletionVectorCardinality" in names:
        made["deletionVectorCardinality"] = pc.struct_field(snapshot.files(["deletion_vector"])["deletion_vector"], "cardinality")
    if any(name in _STATISTICS for name in names):
        made |= {"numRecords": snapshot.statistics({}).num_records} if _is_count(names) else _statistics(snapshot)
    count = snapshot.files(["path"]).num_rows
    columns = [_as(made[field.name], field.type) if field.name in names else pa.nulls(count, field.type) for field in FILES_SCHEMA]
    return pa.Table.from_arrays(columns, schema=FILES_SCHEMA)


def _is_count(names: list[str]) -> bool:
    """Return whether the row count is all that is needed of the statistics. A regular expression can then read it, without JSON."""
    return [name for name in names if name in _STATISTICS] == ["numRecords"]


def _as(values: Any, kind: pa.DataType) -> pa.Array:
    """Return values as one array of the column's type."""
    if isinstance(values, list):
        return pa.array(values, kind)
    return pa.concat_arrays([pa.array([], kind), *(chunk.cast(kind) for chunk in pa.chunked_array(values).chunks)])


def _partition_values(snapshot: Snapshot) -> list[list[tuple[str, str | None]]]:
    """Return the partition values of each file as serialised in the log, by logical column name."""
    texts = snapshot.partition_texts()
    logical = {field.physical_name: field.name for field in snapshot.schema.fields}
    names = [logical[name] for name in texts]
    count = snapshot.files(["path"]).num_rows
    if not names:
        return [[] for _ in range(count)]
    return [list(zip(names, row, strict=True)) for row in zip(*(each.to_pylist() for each in texts.values()), strict=True)]


def _statistics(snapshot: Snapshot) -> dict[str, list[Any]]:
    """Return the statistics of each file."""
    parsed = [json.loads(text) if text else {} for text in snapshot.files(["stats"])["stats"].to_pylist()]
    made: dict[str, list[Any]] = {"numRecords": [entry.get("numRecords") for entry in parsed]}
    for name in ("minValues", "maxValues", "nullCount"):
        bounds = [entry.get(name) for entry in parsed]
        made[name] = [None if entry is None else list(_leaves(entry, snapshot.schema)) for entry in bounds]
    for name in ("minValues", "maxValues"):
        made[name] = [entry and [(column, _text(value)) for column, value in entry] for entry in made[name]]
    return made


def _leaves(values: Mapping[str, Any], schema: StructType, before: str = "") -> Iterator[tuple[str, Any]]:
    """Return values of columns and nested fields by their logical names."""
    by_name = {field.physical_name: field for field in schema.fields}
    for name, value in values.items():
        field = by_name.get(name)
        if field is None:
            continue  # a column that was dropped
        if isinstance(value, dict) and isinstance(field.type, StructType):
            yield from _leaves(value, field.type, f"{before}{field.name}.")
        elif not isinstance(value, dict):
            yield f"{before}{field.name}", value


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
