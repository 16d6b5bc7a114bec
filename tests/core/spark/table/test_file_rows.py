# SPDX-License-Identifier: Apache-2.0
"""The live files of a table as rows."""

from __future__ import annotations

import datetime as dt

import pytest

from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.table.file_rows import FILES_SCHEMA, file_rows
from bayou.testing.table_builder import TableBuilder, add, remove

INNER = StructType((StructField("x", "integer", metadata={"delta.columnMapping.physicalName": "c-x"}),))
SCHEMA = StructType(
    (
        StructField("id", "long", metadata={"delta.columnMapping.physicalName": "c-id"}),
        StructField("s", INNER, metadata={"delta.columnMapping.physicalName": "c-s"}),
        StructField("p", "string", metadata={"delta.columnMapping.physicalName": "c-p"}),
    )
)
STATS = {
    "numRecords": 3,
    "minValues": {"c-id": 1, "c-s": {"c-x": 7}, "gone": 1},
    "maxValues": {"c-id": 9007199254740993, "c-s": {"c-x": None}},
    "nullCount": {"c-id": 0, "c-s": {"c-x": 2}},
}


@pytest.fixture
def snapshot(tmp_path):
    vector = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4, "sizeInBytes": 40, "cardinality": 2}
    builder = TableBuilder(tmp_path / "a table").create(SCHEMA, partition_by=["p"])
    more = {
        "deletionVector": vector,
        "baseRowId": 5,
        "defaultRowCommitVersion": 1,
        "clusteringProvider": "liquid",
        "tags": {"a": "b"},
    }
    builder.commit(add("gone.parquet"), add("p=x%20y/1.parquet", stats=STATS, partitionValues={"c-p": "x y"}, **more))
    return builder.commit(remove("gone.parquet"), add("2.parquet", partitionValues={"c-p": None})).log().snapshot()


def test_a_row_has_what_the_log_says_of_a_file(snapshot):
    found = file_rows(snapshot)
    assert found.schema == FILES_SCHEMA
    first, second = sorted(found.to_pylist(), key=lambda row: row["size"] if row["numRecords"] is None else -1)
    assert first == {
        "path": first["path"],
        "partitionValues": [("p", "x y")],
        "size": 100,
        "modificationTime": dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.timezone.utc),
        "numRecords": 3,
        "minValues": [("id", "1"), ("s.x", "7")],
        "maxValues": [("id", "9007199254740993"), ("s.x", None)],
        "nullCount": [("id", 0), ("s.x", 2)],
        "deletionVectorCardinality": 2,
        "baseRowId": 5,
        "defaultRowCommitVersion": 1,
        "clusteringProvider": "liquid",
        "tags": [("a", "b")],
    }
    assert first["path"].endswith("/a%20table/p=x%20y/1.parquet")
    assert second["partitionValues"] == [("p", None)]
    assert {second[name] for name in ("numRecords", "minValues", "deletionVectorCardinality", "tags")} == {None}


def test_columns_that_are_not_wanted_are_null(snapshot):
    every = file_rows(snapshot)
    for name in FILES_SCHEMA.names:
        found = file_rows(snapshot, [name])
        assert found.schema == FILES_SCHEMA
        assert found[name].to_pylist() == every[name].to_pylist()
        assert all(found[other].null_count == 2 for other in FILES_SCHEMA.names if other != name)


def test_a_table_without_files_has_no_rows(tmp_path):
    assert file_rows(TableBuilder(tmp_path).create().log().snapshot()).num_rows == 0
