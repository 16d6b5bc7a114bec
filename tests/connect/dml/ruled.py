# SPDX-License-Identifier: Apache-2.0
"""Tables of five rows with rules, such as generated columns. Their logs and first files are written without Spark."""

from __future__ import annotations

import json

import deltalake
import pyarrow as pa
from tests.support.tables.built import file_of

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import parse_schema
from bayou.testing.table_builder import TableBuilder

PLACE = pa.struct([("city", pa.string()), ("zip", pa.int32())])


def field(name, kind, **metadata):
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def _stored(given):
    return given["metadata"].get("delta.columnMapping.physicalName", given["name"])


STRUCT = {"type": "struct", "fields": [field("city", "string"), field("zip", "integer")]}
LIST = {"type": "array", "elementType": STRUCT, "containsNull": True}


def ruled_table(spark, table_path, *fields, features=(), of_id=(), **configuration):
    """Makes a table of five rows with these fields. The first is `id`."""
    schema = parse_schema(json.dumps({"type": "struct", "fields": [field("id", "long", **dict(of_id)), *fields]}))
    columns = {
        "place": pa.array([{"city": f"c{each}", "zip": each} for each in range(5)], PLACE),
        "places": pa.array([[{"city": "c", "zip": 1}]] * 5, pa.list_(PLACE)),
        "n": pa.array(range(5), pa.int32()),
        "stored-n": pa.array(range(5), pa.int32()),
        "c": pa.array(["a   ", "b   ", None, "d   ", "abcd"]),
        "double": pa.array([2 * each for each in range(5)], pa.int32()),
    }
    rows = pa.table({"id": pa.array(range(5), pa.int64()), **{_stored(each): columns[_stored(each)] for each in fields}})
    builder = TableBuilder(table_path)
    protocol = Protocol(2 if of_id else 1, 7, None, ("appendOnly", "invariants", *features))
    builder.create(schema, configuration=configuration, protocol=protocol)
    tracking = {"baseRowId": 0, "defaultRowCommitVersion": 1} if "rowTracking" in features else {}
    builder.commit(file_of(table_path, "0.parquet", rows, **tracking))
    return bayou.DeltaTable.forPath(spark, table_path)


def ruled_rows(table_path):
    """The rows as delta-rs reads them, by id."""
    return sorted(deltalake.DeltaTable(table_path).to_pyarrow_table().to_pylist(), key=lambda row: row["id"])
