# SPDX-License-Identifier: Apache-2.0
"""Tables in memory, their checkpoints, and what is compared before and after."""

from __future__ import annotations

import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.log.checkpoint.writer import write_checkpoint
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder

NOW = 1_700_000_000_000
DAY = 86_400_000
V2 = Protocol(3, 7, ("v2Checkpoint",), ("v2Checkpoint",))
EVERYTHING = ("deletionVectors", "timestampNtz", "v2Checkpoint", "columnMapping")
# What a decimal(38,10) becomes that another writer sends through a double: more digits than a checkpoint may hold.
BEYOND_PRECISION = "1e+28"
V2_POLICY = {"delta.checkpointPolicy": "v2"}
STATS = {"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 5}, "nullCount": {"id": 0}}


def builder(*actions, schema=None, partition_by=(), configuration=None, protocol=None):
    found = TableBuilder(store=MemoryStore())
    return found.create(schema, partition_by=partition_by, configuration=configuration, protocol=protocol, actions=actions)


def vector(number):
    descriptor = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "sizeInBytes": 40, "cardinality": 6}
    return {**descriptor, "offset": number}


def from_checkpoint_alone(table, checkpoint):
    """The snapshot that a checkpoint gives with nothing else left of the log."""
    for status in list(table.store.list_from("_delta_log/")):
        if status.path not in checkpoint.files and not status.name.startswith("_"):
            table.delete(status.path)
    return table.log().snapshot()


def rewritten(table, **options):
    """The table before and after it is known by its checkpoint alone."""
    before = table.log().snapshot()
    return before, from_checkpoint_alone(table, write_checkpoint(before, **{"now_ms": NOW, **options}))


def state(snapshot):
    """What a reader can ask a snapshot for, in one value; a checkpoint always says that it changes no data."""
    return {
        "version": snapshot.version,
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "transactions": dict(snapshot.transactions),
        "domains": dict(snapshot.domain_metadata),
        "files": snapshot.files().drop_columns(["data_change"]).to_pylist(),
        "tombstones": snapshot.tombstones().drop_columns(["data_change"]).to_pylist(),
        "partitions": {path: values.to_pylist() for path, values in snapshot.partitions().items()},
    }


def unordered(found):
    """A state in which the order of rows counts for nothing."""
    ordered = {name: sorted(found[name], key=repr) for name in ("files", "tombstones")}
    return {**found, **ordered, "partitions": {path: sorted(values, key=repr) for path, values in found["partitions"].items()}}


def rows(table, path):
    """The rows of a Parquet file."""
    return pq.ParquetFile(io.BytesIO(table.store.read(path))).read().to_pylist()


def actions(table, path, kind):
    return [row[kind] for row in rows(table, path) if row[kind] is not None]


def classic_adds(table):
    return actions(table, file_names.checkpoint_path(table.version), "add")


def hint(table):
    return json.loads(table.store.read(file_names.LAST_CHECKPOINT))


def spark_type(column):
    """How Spark spells the type of a Parquet column, by the rules of its own reader."""
    if pa.types.is_struct(column):
        return {each.name: spark_type(each.type) for each in column}
    if pa.types.is_map(column):
        return [spark_type(column.key_type), spark_type(column.item_type)]
    return [spark_type(column.value_type)] if pa.types.is_list(column) else str(column)


def hinted_type(kind):
    names = {"long": "int64", "integer": "int32", "short": "int16", "byte": "int8", "boolean": "bool", "date": "date32[day]"}
    names |= {"timestamp": "timestamp[us, tz=UTC]", "timestamp_ntz": "timestamp[us]"}
    if isinstance(kind, str):
        return re.sub(r"decimal\((\d+),(\d+)\)", r"decimal128(\1, \2)", names.get(kind, kind))
    if kind["type"] == "struct":
        return {each["name"]: hinted_type(each["type"]) for each in kind["fields"]}
    if kind["type"] == "map":
        return [hinted_type(kind["keyType"]), hinted_type(kind["valueType"])]
    return [hinted_type(kind["elementType"])]


def shown(statistics):
    """Statistics as texts, in which NaN equals itself."""
    columns = {path: (str(each.min), str(each.max), str(each.null_count)) for path, each in statistics.columns.items()}
    return str(statistics.num_records), str(statistics.tight_bounds), columns
