# SPDX-License-Identifier: Apache-2.0
"""The door for other programs: their own Parquet files become a table's, checked and described from their footers."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayou
from bayou.errors import (
    DataFileNotFoundError,
    InvalidCommitError,
    InvalidSchemaError,
    SchemaMismatchError,
    TableExistsError,
    UnsupportedFeatureError,
)
from bayou.log.outcomes import Committed, Unchanged
from bayou.protocol.schema import ArrayType, MapType, StructField, StructType


def schema(**columns):
    return StructType(tuple(StructField(name, kind) for name, kind in columns.items()))


def write(root, path, **columns):
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), target)
    return path


@pytest.fixture
def table(tmp_path):
    log = bayou.open(tmp_path)
    log.create(schema(id="long", name="string", day="date"), partition_by=["day"])
    return log


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


def test_partition_values_can_be_given(tmp_path, table):
    path = write(tmp_path, "any/where.parquet", id=[1])
    table.append([path], {path: {"day": dt.date(2024, 2, 29)}})
    other = write(tmp_path, "elsewhere.parquet", id=[1])
    table.append([other], {other: {"day": None}})
    assert table.snapshot().partition_texts()["day"].to_pylist() == ["2024-02-29", None]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("long", 5, "5"),
        ("boolean", True, "true"),
        ("decimal(5,2)", Decimal("1.5"), "1.50"),
        ("string", "a/b", "a/b"),
        ("string", "", None),
        ("timestamp", dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2))), "2024-01-01T10:00:00.000000Z"),
        ("timestamp_ntz", dt.datetime(2024, 1, 1, 12), "2024-01-01 12:00:00.000000"),  # noqa: DTZ001  (a wall clock)
        ("date", "2024-01-01", "2024-01-01"),
    ],
)
def test_a_partition_value_of_every_type_becomes_its_text(tmp_path, kind, value, text):
    log = bayou.open(tmp_path)
    log.create(schema(id="long", p=kind), partition_by=["p"])
    path = write(tmp_path, "f.parquet", id=[1])
    log.append([path], {path: {"p": value}})
    assert log.snapshot().partition_texts()["p"].to_pylist() == [text]


def test_folders_say_null_and_encoded_values(tmp_path):
    log = bayou.open(tmp_path)
    log.create(schema(id="long", p="string"), partition_by=["p"])
    log.append([write(tmp_path, "p=__HIVE_DEFAULT_PARTITION__/f.parquet", id=[1]), write(tmp_path, "p=a%2Fb/f.parquet", id=[1])])
    snapshot = log.snapshot()
    assert snapshot.partition_texts()["p"].to_pylist() == [None, "a/b"]
    for path in snapshot.files(["path"])["path"].to_pylist():
        from bayou.protocol.paths import decode

        assert (tmp_path / decode(path)).exists()


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
    ("columns", "problem"),
    [
        ({"id": ["1"]}, "id is string in the file and long in the table"),
        ({"id": pa.array([1], pa.int32())}, "id is int32"),
        ({"id": [1], "more": [1]}, "more is no column"),
        ({"id": [1], "day": [dt.date(2024, 1, 1)]}, "day is no column"),
        ({"name": [[1]]}, "name is list"),
    ],
)
def test_a_file_with_other_columns_is_refused(tmp_path, table, columns, problem):
    path = write(tmp_path, "day=2024-01-01/f.parquet", **columns)
    with pytest.raises(SchemaMismatchError, match=problem) as caught:
        table.append([path])
    assert caught.value.file == path
    assert table.version() == 0


@pytest.mark.parametrize(
    "path", ["/etc/f.parquet", "../f.parquet", "a/../../f.parquet", "s3://b/f.parquet", "_delta_log/f.parquet", "./f"]
)
def test_a_path_that_leaves_the_table_is_refused(table, path):
    with pytest.raises(InvalidCommitError, match="no path of a data file"):
        table.append([path])


def test_a_missing_file_and_one_that_is_no_parquet_are_refused(tmp_path, table):
    with pytest.raises(DataFileNotFoundError):
        table.append(["day=2024-01-01/none.parquet"])
    (tmp_path / "day=2024-01-01").mkdir()
    (tmp_path / "day=2024-01-01" / "text.parquet").write_bytes(b"no parquet at all, but long enough")
    with pytest.raises(InvalidCommitError) as caught:
        table.append(["day=2024-01-01/text.parquet"])
    assert caught.value.getErrorClass() == "DELTA_FAILED_READ_FILE_FOOTER"
    assert table.version() == 0


def test_partition_values_that_are_not_known_are_refused(tmp_path, table):
    path = write(tmp_path, "f.parquet", id=[1])
    for given in (None, {}, {path: {}}, {path: {"day": None, "name": "x"}}):
        with pytest.raises(InvalidCommitError) as caught:
            table.append([path], given)
        assert caught.value.getErrorClass() == "DELTA_INVALID_PARTITIONING_SCHEMA"


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
        log.create(schema(id="long"), properties={"delta.enableChangeDataFeed": "true"})
    assert not (tmp_path / "_delta_log").exists()


def test_files_need_a_table(tmp_path):
    with pytest.raises(InvalidCommitError) as caught:
        bayou.open(tmp_path).append([write(tmp_path, "f.parquet", id=[1])])
    assert caught.value.getErrorClass() == "DELTA_METADATA_ABSENT"
