# SPDX-License-Identifier: Apache-2.0
"""Tables read alike without Spark in bayou and in delta-rs."""

from __future__ import annotations

import datetime as dt
import os
import time
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from tests.core.arrow.tables import parquet

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import TableBuilder, add

UTC = dt.timezone.utc
NTZ = ("timestampNtz",)
TYPES = {
    "byte": pa.array([-128, 127, None], pa.int8()),
    "short": pa.array([-32768, 32767, None], pa.int16()),
    "integer": pa.array([-(1 << 31), (1 << 31) - 1, None], pa.int32()),
    "long": pa.array([-(1 << 63), (1 << 63) - 1, None], pa.int64()),
    "float": pa.array([1.5, float("inf"), None], pa.float32()),
    "double": pa.array([-0.0, 1e300, None], pa.float64()),
    "boolean": pa.array([True, False, None]),
    "decimal": pa.array([Decimal("-99999999.99"), Decimal("0.01"), None], pa.decimal128(10, 2)),
    "wide decimal": pa.array([Decimal("12345678901234567890.123456789012345678"), Decimal(0), None], pa.decimal128(38, 18)),
    "string": pa.array(["", "é 𝄞", None]),
    "binary": pa.array([b"", b"\xff\x00", None], pa.binary()),
    "date": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "timestamp": pa.array([dt.datetime(1500, 1, 1, 0, 0, 0, 1, UTC), dt.datetime(9999, 12, 31, tzinfo=UTC), None]).cast(
        pa.timestamp("us", "UTC")
    ),
    "timestamp_ntz": pa.array([dt.datetime(1500, 1, 1), dt.datetime(9999, 12, 31), None], pa.timestamp("us")),  # noqa: DTZ001
    "struct": pa.array(
        [{"x": 1, "y": [None]}, None, {"x": None, "y": None}], pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int8()))])
    ),
    "map": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
    "list of maps": pa.array([[[("a", 1)], None], [], None], pa.list_(pa.map_(pa.string(), pa.int64()))),
}


def theirs(path, column, kind):
    """The values of a column as delta-rs reads them, in the order of the ids."""
    if kind in {"string", "binary"} and not hasattr(pa, "string_view"):
        pytest.skip("delta-rs gives views of strings, which this PyArrow does not take")
    rows = QueryBuilder().register("t", DeltaTable(path)).execute(f"SELECT {column} AS found FROM t ORDER BY id")
    return pa.table(rows)["found"].to_pylist()


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_reads_as_delta_rs_wrote_it(kind, tmp_path):
    path = str(tmp_path / "t")
    write_deltalake(path, pa.table({"id": [0, 1, 2], "v": TYPES[kind]}))
    found = bayou.open(path).snapshot().to_arrow()
    assert found["v"].to_pylist() == theirs(path, "v", kind) == TYPES[kind].to_pylist()


PARTITIONS = {
    "byte": "-3",
    "integer": "70000",
    "long": "5000000000",
    "float": "1.5",
    "boolean": "true",
    "decimal(10,2)": "1.50",
    "string": "a/b c",
    "date": "2024-02-29",
    "timestamp": "2024-01-02 03:04:05.678901",
    "timestamp_ntz": "2024-01-02 03:04:05",
}


@pytest.mark.parametrize("kind", PARTITIONS)
def test_each_partition_value_reads_as_in_delta_rs(kind, tmp_path):
    made = TableBuilder(tmp_path / "t").create({"id": "long", "p": kind}, partition_by=["p"], protocol=Protocol(3, 7, NTZ, NTZ))
    for number, text in enumerate((PARTITIONS[kind], None)):
        data = parquet(pa.table({"id": [number]}))
        made.write(f"{number}.parquet", data).commit(add(f"{number}.parquet", partitionValues={"p": text}, size=len(data)))
    found = made.log().snapshot().to_arrow().sort_by("id")
    assert found["p"].to_pylist() == theirs(str(tmp_path / "t"), "p", kind)
    assert found["p"][0].is_valid


@pytest.mark.parametrize("text", ["2024-01-02 03:04:05", "2024-01-02T03:04:05.000000Z", "2024-01-02T05:04:05+02:00"])
def test_the_zone_of_the_process_does_not_change_a_partition_value(text, tmp_path, monkeypatch):
    before = os.environ.get("TZ")
    made = TableBuilder(tmp_path / "t").create({"id": "long", "p": "timestamp"}, partition_by=["p"])
    made.write("f.parquet", parquet(pa.table({"id": [1]}))).commit(add("f.parquet", partitionValues={"p": text}))
    try:
        monkeypatch.setenv("TZ", "Pacific/Auckland")
        time.tzset()
        moment = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
        found = made.log().snapshot()
        assert found.to_arrow(where=[("p", "==", moment)])["p"].to_pylist() == [moment]
    finally:
        monkeypatch.undo()
        assert os.environ.get("TZ") == before
        time.tzset()
