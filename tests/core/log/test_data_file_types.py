# SPDX-License-Identifier: Apache-2.0
"""Columns of files that other programs wrote: which types are taken for the table's, and which are refused."""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.core.log import parquet_files
from tests.core.log.parquet_files import schema, write

import bayou
from bayou.errors import SchemaMismatchError
from bayou.protocol.types.schema import ArrayType, StructField, StructType

table = parquet_files.table


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": ["1"]}, "id is string in the file and long in the table"),
        ({"id": pa.array([1], pa.int32())}, "id is int32"),
        ({"id": [1], "more": [1]}, "more is no column"),
        ({"id": [1], "day": ["2024-01-01"]}, "day is string in the file and date in the table"),
        ({"name": [[1]]}, "name is list"),
    ],
)
def test_a_file_with_other_columns_is_refused(tmp_path, table, columns, problem):
    path = write(tmp_path, "day=2024-01-01/f.parquet", **columns)
    with pytest.raises(SchemaMismatchError, match=problem) as caught:
        table.append([path])
    assert caught.value.file == path
    assert table.version() == 0


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz"])
def test_nanoseconds_are_refused_for_spark_reads_none(tmp_path, kind):
    log = bayou.open(tmp_path)
    log.create(schema(t=kind))
    zone = "UTC" if kind == "timestamp" else None
    path = write(tmp_path, "f.parquet", t=pa.array([1], pa.timestamp("ns", zone)))
    with pytest.raises(SchemaMismatchError, match=r"t is timestamp\[ns") as caught:
        log.append([path])
    assert "microseconds" in caught.value.next_step


def test_the_timestamps_that_spark_writes_by_default_are_taken(tmp_path):
    log = bayou.open(tmp_path)
    log.create(StructType((StructField("t", "timestamp"), StructField("l", ArrayType("timestamp", contains_null=True)))))
    moment = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    kind = pa.timestamp("us", "UTC")
    rows = pa.table({"t": pa.array([moment], kind), "l": pa.array([[moment]], pa.list_(kind))})
    pq.write_table(rows, tmp_path / "f.parquet", use_deprecated_int96_timestamps=True)
    assert log.append(["f.parquet"]).version == 1
    found = json.loads(log.snapshot().files(["stats"])["stats"][0].as_py())
    assert (found["minValues"], found["numRecords"]) == ({}, 1)


def test_wall_clocks_are_no_moments(tmp_path):
    log = bayou.open(tmp_path)
    log.create(schema(t="timestamp_ntz"))
    rows = pa.table({"t": pa.array([1], pa.timestamp("us"))})
    pq.write_table(rows, tmp_path / "f.parquet", use_deprecated_int96_timestamps=True)
    with pytest.raises(SchemaMismatchError, match="t is timestamp"):
        log.append(["f.parquet"])


def test_categories_are_their_texts(tmp_path):
    log = bayou.open(tmp_path)
    log.create(schema(name="string", id="long"))
    log.append([write(tmp_path, "f.parquet", name=pa.array(["b", "a", "b"]).dictionary_encode(), id=[1, 2, 3])])
    assert json.loads(log.snapshot().files(["stats"])["stats"][0].as_py())["minValues"] == {"name": "a", "id": 1}


@pytest.mark.parametrize(("kind", "value"), [("byte", 300), ("short", 70_000), ("byte", 3)])
def test_an_integer_that_may_be_too_wide_is_refused(tmp_path, kind, value):
    log = bayou.open(tmp_path)
    log.create(schema(n=kind))
    with pytest.raises(SchemaMismatchError, match=f"n .*int32.*{kind}"):
        log.append([write(tmp_path, "f.parquet", n=pa.array([value], pa.int32()))])
    narrow = pa.int8() if kind == "byte" else pa.int16()
    assert log.append([write(tmp_path, "g.parquet", n=pa.array([3], narrow))]).version == 1
