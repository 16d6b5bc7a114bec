# SPDX-License-Identifier: Apache-2.0
"""Partition values of files that other programs wrote: given, in the names of folders, or in a column of the file."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.core.log.staging import parquet_files
from tests.core.log.staging.parquet_files import schema, write

import bayou
from bayou.errors import InvalidCommitError

table = parquet_files.table


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


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("integer", "abc"),
        ("integer", "1.9"),
        ("integer", "99999999999"),
        ("byte", 300),
        ("long", 2**63),
        ("long", True),
        ("boolean", "maybe"),
        ("date", "2024-13-01"),
        ("date", dt.datetime(2024, 1, 1, 12)),  # noqa: DTZ001  (a wall clock)
        ("timestamp", "soon"),
        ("timestamp", dt.date(2024, 1, 1)),
        ("timestamp_ntz", "2024-01-01 25:00:00"),
        ("decimal(5,2)", "1.555"),
        ("decimal(5,2)", Decimal(12345)),
        ("decimal(5,2)", "x"),
        ("decimal(5,2)", 0.1),
        ("decimal(5,2)", 1.0),
        ("double", "one"),
        ("double", [1.0]),
        ("binary", b"\xff"),
        ("string", "\ud800"),
    ],
)
def test_what_is_no_value_of_a_partition_columns_type_is_refused(tmp_path, kind, value):
    log = bayou.open(tmp_path)
    log.create(schema(id="long", p=kind), partition_by=["p"])
    path = write(tmp_path, "f.parquet", id=[1])
    with pytest.raises(InvalidCommitError, match=f"'p'.*{re.escape(kind)}") as caught:
        log.append([path], {path: {"p": value}})
    assert caught.value.getErrorClass() == "DELTA_PARTITION_COLUMN_CAST_FAILED"
    assert log.version() == 0


def test_a_folder_that_is_no_value_is_refused(tmp_path):
    log = bayou.open(tmp_path)
    log.create(schema(id="long", n="integer"), partition_by=["n"])
    with pytest.raises(InvalidCommitError, match="'abc'"):
        log.append([write(tmp_path, "n=abc/f.parquet", id=[1])])


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("integer", " +05 ", "5"),
        ("date", "2024-1-1", "2024-01-01"),
        ("boolean", "TRUE", "true"),
        ("decimal(5,2)", "1.5", "1.50"),
        ("decimal(5,2)", 2, "2.00"),
        ("double", 1, "1.0"),
        ("timestamp_ntz", "2024-01-01T12:00:00", "2024-01-01 12:00:00.000000"),
        ("timestamp", "2024-01-01 12:00:00", "2024-01-01 12:00:00"),
        ("binary", b"ab", "ab"),
    ],
)
def test_a_value_in_another_spelling_becomes_the_logs_text(tmp_path, kind, value, text):
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
        from bayou.protocol.actions.paths import decode

        assert (tmp_path / decode(path)).exists()


@pytest.mark.parametrize(
    ("kind", "folder", "column"),
    [
        ("date", "2024-01-01", pa.array([dt.date(2024, 1, 1)] * 2)),
        ("integer", "7", pa.array([7, 7], pa.int32())),
        ("string", "a b", pa.array(["a b"] * 2)),
        ("boolean", "true", pa.array([True, True])),
        ("decimal(5,2)", "1.5", pa.array([Decimal("1.50")] * 2, pa.decimal128(5, 2))),
        ("integer", "__HIVE_DEFAULT_PARTITION__", pa.array([None, None], pa.int32())),
        ("double", "1.5", pa.array([1.5, 1.5])),
    ],
)
def test_a_file_may_hold_the_partition_columns(tmp_path, kind, folder, column):
    log = bayou.open(tmp_path)
    log.create(schema(id="long", p=kind), partition_by=["p"])
    log.append([write(tmp_path, f"p={folder}/f.parquet", id=[1, 2], p=column)])
    found = json.loads(log.snapshot().files(["stats"])["stats"][0].as_py())
    assert found["minValues"] == {"id": 1}


@pytest.mark.parametrize("value", ["2", "__HIVE_DEFAULT_PARTITION__"])
@pytest.mark.parametrize("held", [[1, 1], [1, 2]])
def test_a_file_that_holds_other_partition_values_than_it_is_given_is_refused(tmp_path, held, value):
    log = bayou.open(tmp_path)
    log.create(schema(id="long", p="integer"), partition_by=["p"])
    path = write(tmp_path, f"p={value}/f.parquet", id=[1, 2], p=pa.array(held, pa.int32()))
    with pytest.raises(InvalidCommitError, match="'p'") as caught:
        log.append([path])
    assert caught.value.getErrorClass() == "DELTA_INVALID_PARTITIONING_SCHEMA"


def test_partition_values_that_are_not_known_are_refused(tmp_path, table):
    path = write(tmp_path, "f.parquet", id=[1])
    for given in (None, {}, {path: {}}, {path: {"day": None, "name": "x"}}):
        with pytest.raises(InvalidCommitError) as caught:
            table.append([path], given)
        assert caught.value.getErrorClass() == "DELTA_INVALID_PARTITIONING_SCHEMA"
