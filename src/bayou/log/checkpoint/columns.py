# SPDX-License-Identifier: Apache-2.0
"""The columns of a checkpoint that bayou writes: one struct for each kind of action, as Spark's writers have them.

Sources: PROTOCOL.md, "Checkpoint Schema"; delta-spark's `Checkpoints.buildCheckpoint`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from bayou.errors import InvalidSchemaError
from bayou.log.actions.columns import ADD_SCHEMA, DELETION_VECTOR, JSON_NAMES, REMOVE_SCHEMA, TEXT_MAP, VECTOR_JSON_NAMES
from bayou.log.actions.parquet_actions import STATS_PARSED
from bayou.log.actions.stats_texts import stats_texts, wall_clocks
from bayou.log.checkpoint.stats import parsed_stats, stats_type
from bayou.log.snapshot.partition_columns import partition_text
from bayou.log.snapshot.snapshot import Snapshot
from bayou.plan.predicates.partition_values import arrow_type, to_arrow
from bayou.plan.statistics.members import Path
from bayou.protocol import properties
from bayou.protocol.features.features import writer_features
from bayou.protocol.stats.file_stats import indexed_leaves

PARTITION_VALUES_PARSED: Final = "partitionValues_parsed"

_TEXTS: Final = pa.list_(pa.string())
_VECTOR: Final = pa.struct([(VECTOR_JSON_NAMES[each.name], each.type) for each in DELETION_VECTOR])
_TXN: Final = pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())])
_METADATA: Final = pa.struct(
    [
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", TEXT_MAP)])),
        ("schemaString", pa.string()),
        ("partitionColumns", _TEXTS),
        ("configuration", TEXT_MAP),
        ("createdTime", pa.int64()),
    ]
)
_PROTOCOL: Final = pa.struct(
    [
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("readerFeatures", _TEXTS),
        ("writerFeatures", _TEXTS),
    ]
)
_DOMAIN: Final = pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())])
_REMOVE: Final = pa.struct(
    [(JSON_NAMES[each.name], _VECTOR if each.type == DELETION_VECTOR else each.type) for each in REMOVE_SCHEMA]
)


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A partition column: its names, and its type as in the schema's JSON."""

    physical_name: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class CheckpointColumns:
    """The columns of a table's checkpoint.

    Attributes:
        stats_as_json: whether `add.stats` is written.
        stats: the type of `add.stats_parsed`; None if it is not written.
        partitions: the members of `add.partitionValues_parsed`; empty if it is not written.
        wall_clocks: the physical paths of the columns of type timestamp_ntz.
    """

    stats_as_json: bool
    stats: pa.StructType | None
    partitions: tuple[PartitionColumn, ...]
    wall_clocks: frozenset[Path]

    @classmethod
    def of(cls, snapshot: Snapshot) -> CheckpointColumns:
        """Return the columns that a table's properties, schema and protocol require."""
        configuration = snapshot.metadata.configuration
        stats_as_json = properties.CHECKPOINT_STATS_AS_JSON.read(configuration)
        clocks = wall_clocks(snapshot.schema)
        if not properties.CHECKPOINT_STATS_AS_STRUCT.read(configuration):
            return cls(stats_as_json, None, (), clocks)
        indexed = indexed_leaves(snapshot.schema, configuration, snapshot.partition_columns)
        may_be_wide = "deletionVectors" in writer_features(snapshot.protocol)
        return cls(stats_as_json, stats_type(indexed, tight_bounds=may_be_wide), tuple(_typed_partitions(snapshot)), clocks)

    @property
    def add_type(self) -> pa.StructType:
        """The type of the column `add`."""
        fields = [(JSON_NAMES[name], ADD_SCHEMA.field(name).type) for name in ADD_SCHEMA.names if name != "stats"]
        members = [(name, _VECTOR if kind == DELETION_VECTOR else kind) for name, kind in fields]
        if self.stats_as_json:
            members.append(("stats", pa.string()))
        if self.partitions:
            typed = [(each.physical_name, arrow_type(each.type)) for each in self.partitions]
            members.append((PARTITION_VALUES_PARSED, pa.struct(typed)))
        if self.stats is not None:
            members.append((STATS_PARSED, self.stats))
        return pa.struct(members)

    @property
    def file_schema(self) -> pa.Schema:
        """The schema of sidecars, which hold file actions only."""
        return pa.schema([("add", self.add_type), ("remove", _REMOVE)])

    @property
    def schema(self) -> pa.Schema:
        """The schema of files that hold every kind of action."""
        return pa.schema(
            [
                ("txn", _TXN),
                *self.file_schema,
                ("metaData", _METADATA),
                ("protocol", _PROTOCOL),
                ("domainMetadata", _DOMAIN),
            ]
        )

    def adds(self, files: pa.Table) -> pa.ChunkedArray:
        """Return the column `add` of some files, which have ADD_SCHEMA and, if the base checkpoint has it, `stats_parsed`."""
        kind = self.add_type
        # Small commits give many small chunks, and JSON statistics are parsed per chunk.
        whole = files.combine_chunks()
        return pa.chunked_array([self._add_chunk(batch, kind) for batch in whole.to_batches()], kind)

    def _add_chunk(self, files: pa.RecordBatch, kind: pa.StructType) -> pa.Array:
        """Return the structs `add` of some files. The members must be in the order of `add_type`, which `kind` is.

        A file has its statistics as JSON if a commit added it, and as JSON, a struct or both if the base checkpoint has it.
        """
        parsed = files[STATS_PARSED] if STATS_PARSED in files.schema.names else None
        members = [_member(files[name], name) for name in ADD_SCHEMA.names if name != "stats"]
        if self.stats_as_json:
            members.append(stats_texts(files["stats"], parsed, self.wall_clocks))
        if self.partitions:
            members.append(_partition_values(files["partition_values"], self.partitions, kind.field(PARTITION_VALUES_PARSED).type))
        if self.stats is not None:
            members.append(parsed_stats(files["stats"], parsed, self.stats))
        return pa.StructArray.from_arrays(members, fields=list(kind))


def removes(tombstones: pa.Table) -> pa.ChunkedArray:
    """Return the column `remove` of some tombstones, REMOVE_SCHEMA."""
    chunks = [
        pa.StructArray.from_arrays([_member(batch[name], name) for name in REMOVE_SCHEMA.names], fields=list(_REMOVE))
        for batch in tombstones.to_batches()
    ]
    return pa.chunked_array(chunks, _REMOVE)


def action_rows(actions: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return JSON actions that are not about files, one row each."""
    return pa.Table.from_arrays(
        [pa.array([action.get(each.name) for action in actions], each.type) for each in schema], schema=schema
    )


def file_rows(kind: str, column: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """Return rows with one kind of action, and nulls for every other kind."""
    arrays = [column if each.name == kind else pa.nulls(len(column), each.type) for each in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def spark_type(kind: pa.DataType) -> Any:
    """Return the Spark type, in Spark's JSON, of a column of an Arrow type."""
    if pa.types.is_struct(kind):
        return spark_schema(kind)
    if pa.types.is_map(kind):
        key, value = spark_type(kind.key_type), spark_type(kind.item_type)
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    if pa.types.is_list(kind):
        return {"type": "array", "elementType": spark_type(kind.value_type), "containsNull": True}
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _SPARK_TYPES[kind]


def spark_schema(fields: Iterable[pa.Field]) -> dict[str, Any]:
    """Return the Spark struct of some columns, in Spark's JSON."""
    named = [{"name": each.name, "type": spark_type(each.type), "nullable": True, "metadata": {}} for each in fields]
    return {"type": "struct", "fields": named}


_SPARK_TYPES: Final[Mapping[pa.DataType, str]] = {
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


def _typed_partitions(snapshot: Snapshot) -> Iterable[PartitionColumn]:
    for name in snapshot.partition_columns:
        field = snapshot.schema.field(name)
        if field is None or not isinstance(field.type, str):
            continue
        try:
            has_values = not pa.types.is_null(arrow_type(field.type))
        except InvalidSchemaError:
            continue
        if has_values:
            yield PartitionColumn(field.physical_name, name, field.type)


def _partition_values(maps: pa.Array, columns: Sequence[PartitionColumn], kind: pa.StructType) -> pa.Array:
    texts = (partition_text(maps, each.physical_name, each.name) for each in columns)
    return pa.StructArray.from_arrays(
        [to_arrow(text, each.type) for text, each in zip(texts, columns, strict=True)], fields=list(kind)
    )


def _member(values: pa.Array, name: str) -> pa.Array:
    if name == "data_change":
        # A checkpoint changes no data.
        return pa.repeat(pa.scalar(value=False), len(values))
    if name == "deletion_vector":
        members = [pc.struct_field(values, [place]) for place in range(len(DELETION_VECTOR))]
        return pa.StructArray.from_arrays(members, fields=list(_VECTOR), mask=pc.is_null(values))
    return values
