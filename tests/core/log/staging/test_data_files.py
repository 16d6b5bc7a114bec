# SPDX-License-Identifier: Apache-2.0
"""The door for other programs: their own Parquet files become a table's, described from their footers and committed once.

Columns of files that other programs wrote: which types are taken for the table's, and which are refused.
"""

from __future__ import annotations

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.core.log.staging import parquet_files
from tests.core.log.staging.parquet_files import schema, write

import bayou
from bayou.errors import (
    DataFileNotFoundError,
    InvalidCommitError,
    InvalidSchemaError,
    SchemaMismatchError,
    TableExistsError,
    UnsupportedFeatureError,
)
from bayou.log.commit.outcomes import Committed, Unchanged
from bayou.protocol.types.schema import ArrayType, MapType, StructField, StructType

table = parquet_files.table


def test_files_become_the_tables_with_statistics_and_partition_values(tmp_path, table):
    first = write(tmp_path, "day=2024-01-01/a b.parquet", id=[3, 1, None], name=["x", "y", "z"])
    assert table.append([first], user_metadata="by hand") == Committed(1, 1)
    found = table.snapshot().files(["path", "partition_values", "size", "stats"]).to_pylist()[0]
    assert found["path"] == "day=2024-01-01/a%20b.parquet"
    assert found["partition_values"] == [("day", "2024-01-01")]
    assert found["size"] == (tmp_path / first).stat().st_size
    assert json.loads(found["stats"]) == {
        "numRecords": 3,
        "minValues": {"id": 1, "name": "x"},
        "maxValues": {"id": 3, "name": "z"},
        "nullCount": {"id": 1, "name": 0},
    }
    info = table.history(1)[0]
    assert (info.operation, info.is_blind_append, info.user_metadata) == ("WRITE", True, "by hand")
    assert info.operation_metrics == {"numFiles": "1", "numOutputBytes": str(found["size"])}


def test_nested_columns_and_columns_that_a_file_lacks(tmp_path):
    log = bayou.open(tmp_path)
    inner = StructType((StructField("x", "integer"), StructField("tags", ArrayType("string", contains_null=True))))
    log.create(StructType((StructField("s", inner), StructField("m", MapType("string", "long", True)), StructField("n", "long"))))
    nested = pa.array([{"x": 1, "tags": ["a"]}], pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))]))
    path = write(tmp_path, "f.parquet", s=nested, m=pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())))
    log.append([path])
    stats = json.loads(log.snapshot().files(["stats"])["stats"][0].as_py())
    assert stats["minValues"] == {"s": {"x": 1}}
    assert stats["nullCount"]["n"] == 1


@pytest.mark.parametrize(
    "path", ["/etc/f.parquet", "../f.parquet", "a/../../f.parquet", "s3://b/f.parquet", "_delta_log/f.parquet", "./f"]
)
def test_a_path_that_leaves_the_table_is_refused(table, path):
    with pytest.raises(InvalidCommitError) as caught:
        table.append([path])
    assert (caught.value.getErrorClass(), caught.value.file) == ("DELTA_INVALID_PATH", path)


@pytest.mark.parametrize("path", ["_tmp/f.parquet", "a/.b/f.parquet", "_f.parquet", "day=2024-01-01/.f.parquet"])
def test_a_path_that_other_engines_pass_over_is_refused(tmp_path, table, path):
    write(tmp_path, path, id=[1])
    with pytest.raises(InvalidCommitError) as caught:
        table.append([path], {path: {"day": None}})
    assert caught.value.getErrorClass() == "DELTA_INVALID_PATH"


def test_the_folder_of_a_partition_may_begin_as_it_likes(tmp_path):
    log = bayou.open(tmp_path)
    log.create(schema(id="long", _p="string"), partition_by=["_p"])
    log.append([write(tmp_path, "_p=x/f.parquet", id=[1])])
    assert log.snapshot().partition_texts()["_p"].to_pylist() == ["x"]


def test_a_link_out_of_the_table_is_refused_and_one_inside_of_it_is_not(tmp_path):
    log = bayou.open(tmp_path / "table")
    log.create(schema(id="long"))
    write(tmp_path, "elsewhere/f.parquet", id=[1])
    (tmp_path / "table" / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidCommitError, match="link"):
        log.append(["link/f.parquet"])
    write(tmp_path, "table/real/f.parquet", id=[1])
    (tmp_path / "table" / "within").symlink_to(tmp_path / "table" / "real")
    (tmp_path / "to the table").symlink_to(tmp_path / "table")
    assert bayou.open(tmp_path / "to the table").append(["within/f.parquet"]).version == 1


def test_a_missing_file_and_one_that_is_no_parquet_are_refused(tmp_path, table):
    with pytest.raises(DataFileNotFoundError):
        table.append(["day=2024-01-01/none.parquet"])
    (tmp_path / "day=2024-01-01").mkdir()
    (tmp_path / "day=2024-01-01" / "text.parquet").write_bytes(b"no parquet at all, but long enough")
    with pytest.raises(InvalidCommitError) as caught:
        table.append(["day=2024-01-01/text.parquet"])
    assert caught.value.getErrorClass() == "DELTA_FAILED_READ_FILE_FOOTER"
    assert table.version() == 0


def test_a_batch_of_files_is_appended_once(tmp_path, table):
    path = write(tmp_path, "day=2024-01-01/f.parquet", id=[1])
    assert table.append([path], txn=("loader", 1)) == Committed(1, 1)
    assert table.append([path], txn=("loader", 1)) == Unchanged(1, "replayed")


def test_creating_a_table_twice_is_refused(table):
    with pytest.raises(TableExistsError):
        table.create(schema(id="long"))


def test_a_table_that_cannot_be_is_not_created(tmp_path):
    log = bayou.open(tmp_path)
    with pytest.raises(InvalidSchemaError):
        log.create(schema(id="long"), partition_by=["day"])
    with pytest.raises(UnsupportedFeatureError):
        log.create(schema(id="long"), properties={"delta.enableIcebergCompatV2": "true"})
    assert not (tmp_path / "_delta_log").exists()


def test_files_need_a_table(tmp_path):
    with pytest.raises(InvalidCommitError) as caught:
        bayou.open(tmp_path).append([write(tmp_path, "f.parquet", id=[1])])
    assert caught.value.getErrorClass() == "DELTA_METADATA_ABSENT"


@pytest.mark.parametrize("mark", ["name", "value"])
def test_bytes_of_a_file_that_are_not_text_are_a_typed_error_or_no_statistics(tmp_path, mark):
    log = bayou.open(tmp_path)
    log.create(StructType((StructField("id", "long"), StructField("MARK_name", "string"))))
    columns = pa.table({"id": [1, 2], "MARK_name": ["MARK_value", "MARK_value"]})
    pq.write_table(columns, tmp_path / "f.parquet", compression="none", use_dictionary=False, store_schema=False)
    data = (tmp_path / "f.parquet").read_bytes()
    (tmp_path / "f.parquet").write_bytes(data.replace(f"MARK_{mark}".encode(), b"\xff\xfe\xfd_" + mark.encode() + b"\xff"))
    if mark == "name":
        with pytest.raises(InvalidCommitError, match="utf-8") as caught:
            log.append(["f.parquet"])
        assert (caught.value.file, caught.value.table) == ("f.parquet", log.table_uri)
    else:
        log.append(["f.parquet"])
        stats = json.loads(log.snapshot().files(["stats"])["stats"][0].as_py())
        assert stats["minValues"] == {"id": 1}


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"id": ["1"]}, "id is string in the file and long in the table"),
        ({"id": pa.array([1], pa.int32())}, "id is int32"),
        ({"id": [1], "more": [1]}, "more is not a column"),
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
