# SPDX-License-Identifier: Apache-2.0
"""Checkpoints as different writers spell them: other column types, columns that are missing, columns nobody knows."""

from __future__ import annotations

import datetime as dt
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayou.protocol.actions import file_names
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
SCHEMA = {"id": "long", "day": "date", "n": "integer", "name": "string"}


def table(columns, *, rows_per_group=None, partition_by=("day",)):
    """A table that is known by a checkpoint of version 1 alone, made of these columns."""
    builder = TableBuilder(store=MemoryStore()).create(SCHEMA, partition_by=partition_by).commit()
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, row_group_size=rows_per_group)
    builder.write(file_names.checkpoint_path(1), out.getvalue())
    return builder.delete(file_names.commit_path(0)).delete(file_names.commit_path(1))


def heads(count, text=None, maps=None):
    """Protocol and metadata, followed by `count` empty rows, in the types given."""
    text, maps = text or pa.string(), maps or pa.map_(pa.string(), pa.string())
    action = metadata(SCHEMA, partition_by=["day"])["metaData"]
    document = {key: action[key] for key in ("id", "schemaString", "partitionColumns")}
    document["configuration"] = {"k": "v"}
    meta = pa.struct([("id", text), ("schemaString", text), ("partitionColumns", pa.list_(text)), ("configuration", maps)])
    protocol = pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])
    return {
        "protocol": pa.array([PROTOCOL, None, *[None] * count], protocol),
        "metaData": pa.array([None, document, *[None] * count], meta),
    }


def adds(rows, *fields):
    return pa.array([None, None, *rows], pa.struct(list(fields)))


TEXT_MAP = pa.map_(pa.string(), pa.string())


def test_only_the_columns_that_a_checkpoint_must_have_are_needed():
    rows = [{"path": "a", "partitionValues": {"day": "2024-01-02"}, "size": 5}]
    fields = (("path", pa.string()), ("partitionValues", TEXT_MAP), ("size", pa.int64()))
    snapshot = table({**heads(1), "add": adds(rows, *fields)}).log().snapshot()
    assert snapshot.properties == {"k": "v"}
    assert (snapshot.num_files, snapshot.size_bytes, snapshot.transactions, snapshot.domain_metadata) == (1, 5, {}, {})
    row = snapshot.files().to_pylist()[0]
    assert (row["path"], row["stats"], row["deletion_vector"], row["tags"]) == ("a", None, None, None)
    assert snapshot.partitions()["day",].to_pylist() == [dt.date(2024, 1, 2)]
    assert snapshot.tombstones().num_rows == 0


def test_large_texts_small_integers_and_unknown_columns_are_taken():
    large = pa.large_string()
    maps = pa.map_(large, large)
    vector = pa.struct(
        [
            ("storageType", large),
            ("pathOrInlineDv", large),
            ("offset", pa.int64()),
            ("sizeInBytes", pa.int64()),
            ("cardinality", pa.int32()),
            ("maxRowIndex", pa.int64()),
        ]
    )
    descriptor = {"storageType": "u", "pathOrInlineDv": "x", "offset": 1, "sizeInBytes": 2, "cardinality": 3}
    row = {"path": "a", "partitionValues": {"day": None}, "size": 5, "deletionVector": descriptor, "new": 3}
    fields = (
        ("path", large),
        ("partitionValues", maps),
        ("size", pa.int32()),
        ("deletionVector", vector),
        ("new", pa.int8()),
    )
    columns = {**heads(1, large, maps), "add": adds([row], *fields), "future": pa.array([None, None, {"x": 1}])}
    builder = table(columns)
    found = builder.log().snapshot().files().to_pylist()[0]
    assert found["deletion_vector"] == {
        "storage_type": "u",
        "path_or_inline_dv": "x",
        "offset": 1,
        "size_in_bytes": 2,
        "cardinality": 3,
    }
    assert found["partition_values"] == [("day", None)]
    builder.version = 1
    builder.commit(remove("a", deletionVector=descriptor))
    assert builder.log().snapshot().num_files == 0


@pytest.mark.parametrize("rows_per_group", [1, 3, 100])
def test_actions_in_any_order_and_any_row_groups_are_found(rows_per_group):
    count = 20
    order = [*range(7), "protocol", *range(7, 12), "metaData", *range(12, count)]
    head = heads(0)
    rows = {
        "add": [{"path": f"f{each}", "size": each} if isinstance(each, int) else None for each in order],
        "protocol": [head["protocol"][0].as_py() if each == "protocol" else None for each in order],
        "metaData": [head["metaData"][1].as_py() if each == "metaData" else None for each in order],
    }
    columns = {
        "add": pa.array(rows["add"], pa.struct([("path", pa.string()), ("size", pa.int64())])),
        "protocol": pa.array(rows["protocol"], head["protocol"].type),
        "metaData": pa.array(rows["metaData"], head["metaData"].type),
    }
    snapshot = table(columns, rows_per_group=rows_per_group).log().snapshot()
    assert snapshot.files(["path"])["path"].to_pylist() == [f"f{each}" for each in range(count)]
    assert snapshot.size_bytes == sum(range(count))


def test_rows_whose_struct_is_there_but_empty_are_no_actions():
    fields = (("path", pa.string()), ("size", pa.int64()))
    rows = [{"path": "a", "size": 1}, {"path": None, "size": None}, {"path": "b", "size": 2}]
    snapshot = table({**heads(3), "add": adds(rows, *fields)}).log().snapshot()
    assert snapshot.files(["path", "size"]).to_pylist() == [{"path": "a", "size": 1}, {"path": "b", "size": 2}]


def test_typed_partition_values_do_where_the_texts_are_missing():
    parsed = pa.struct([("day", pa.date32()), ("n", pa.int32()), ("name", pa.string())])
    rows = [
        {"path": "a", "size": 1, "partitionValues_parsed": {"day": dt.date(2024, 1, 2), "n": 7, "name": "x y"}},
        {"path": "b", "size": 1, "partitionValues_parsed": {"day": None, "n": None, "name": None}},
    ]
    fields = (("path", pa.string()), ("size", pa.int64()), ("partitionValues_parsed", parsed))
    snapshot = table({**heads(2), "add": adds(rows, *fields)}).log().snapshot()
    assert snapshot.files(["partition_values"])["partition_values"].to_pylist() == [
        [("day", "2024-01-02"), ("n", "7"), ("name", "x y")],
        [("day", None), ("n", None), ("name", None)],
    ]


STATS = pa.struct(
    [
        ("numRecords", pa.int64()),
        ("minValues", pa.struct([("id", pa.int64()), ("name", pa.string())])),
        ("maxValues", pa.struct([("id", pa.int64()), ("name", pa.string())])),
        ("nullCount", pa.struct([("id", pa.int64()), ("name", pa.int64())])),
    ]
)


def parsed(low, high):
    bounds = {"id": 0, "name": 0}
    return {
        "numRecords": 9,
        "minValues": {"id": low, "name": "a"},
        "maxValues": {"id": high, "name": "b"},
        "nullCount": bounds,
    }


def test_statistics_come_from_structs_where_there_are_some_and_from_json_elsewhere():
    text = json.dumps({"numRecords": 4, "minValues": {"id": 50}, "maxValues": {"id": 60}, "nullCount": {"id": 1}})
    rows = [
        {"path": "a", "size": 1, "stats": None, "stats_parsed": parsed(1, 5)},
        {"path": "b", "size": 1, "stats": text, "stats_parsed": None},
        {"path": "c", "size": 1, "stats": None, "stats_parsed": None},
    ]
    fields = (("path", pa.string()), ("size", pa.int64()), ("stats", pa.string()), ("stats_parsed", STATS))
    builder = table({**heads(3), "add": adds(rows, *fields)})
    builder.version = 1
    builder.commit(add("d", stats=text), remove("a"))
    snapshot = builder.log().snapshot()
    found = snapshot.statistics({("id",): "long"})
    assert found.num_records.to_pylist() == [4, None, 4]
    assert found.columns["id",].min.to_pylist() == [50, None, 50]
    assert found.columns["id",].null_count.to_pylist() == [1, None, 1]
    assert snapshot.files(["path"], where=[("id", ">", 55)])["path"].to_pylist() == ["b", "c", "d"]
    assert snapshot.files(["path"], where=[("id", ">", 99)])["path"].to_pylist() == ["c"]


def test_struct_statistics_alone_are_enough():
    rows = [{"path": "a", "size": 1, "stats_parsed": parsed(1, 5)}]
    fields = (("path", pa.string()), ("size", pa.int64()), ("stats_parsed", STATS))
    snapshot = table({**heads(1), "add": adds(rows, *fields)}).log().snapshot()
    assert snapshot.files(["path"], where=[("id", "==", 7)]).num_rows == 0
    assert snapshot.files(["path"], where=[("id", "==", 3), ("name", "==", "a")]).num_rows == 1
    assert snapshot.statistics({}).num_records.to_pylist() == [9]
    assert snapshot.nbytes > 0
