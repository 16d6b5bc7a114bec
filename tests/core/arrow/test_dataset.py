# SPDX-License-Identifier: Apache-2.0
"""A dataset of PyArrow is given out only if it reads exactly the table's rows."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from tests.core.arrow.tables import mapped, snapshot, without_rows

from bayou import errors
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType


def test_it_has_the_rows_and_prunes_by_partition(tmp_path):
    files = [
        (pa.table({"id": [1, 2]}), {"partitionValues": {"day": "2024-01-01"}}),
        (pa.table({"id": [3]}), {"partitionValues": {"day": None}}),
    ]
    found = snapshot({"id": "long", "day": "date", "later": "string"}, files, partition_by=["day"], root=tmp_path / "t")
    dataset = found.to_pyarrow_dataset()
    assert dataset.to_table() == found.to_arrow()
    assert dataset.to_table(filter=ds.field("day") == dt.date(2024, 1, 1))["id"].to_pylist() == [1, 2]
    assert [len(list(dataset.get_fragments(ds.field("day").is_null()))), dataset.count_rows()] == [1, 3]


STRUCT = StructType((StructField("x", "long"), StructField("y", "long")))
INEXACT = {
    "deletion vectors": ({"id": "long"}, (pa.table({"id": [1, 2]}), without_rows(0)), {}),
    "INT96": ({"t": "timestamp"}, pa.table({"t": pa.array([1], pa.timestamp("us"))}), {"use_deprecated_int96_timestamps": True}),
    "another type": ({"id": "long"}, pa.table({"id": pa.array([1], pa.int32())}), {}),
    "another type or name": ({"id": "long"}, pa.table({"ID": [1]}), {}),
    "'s'": (StructType((StructField("s", STRUCT),)), pa.table({"s": pa.array([{"x": 1}])}), {}),
    "char": (
        StructType((StructField("c", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}),)),
        pa.table({"c": ["a"]}),
        {},
    ),
    "maps columns": (
        StructType((mapped("a", "long", "p-a", 1),)),
        pa.table({"p-a": [1]}),
        {"configuration": {"delta.columnMapping.mode": "name"}, "protocol": Protocol(2, 5)},
    ),
    "holds the partition column": (
        {"id": "long", "p": "long"},
        (pa.table({"id": [1], "p": [1]}), {"partitionValues": {"p": "1"}}),
        {"partition_by": ["p"]},
    ),
    "calendar": (
        {"id": "long"},
        pa.table({"id": [1]}).replace_schema_metadata({"org.apache.spark.version": "2.4.8"}),
        {},
    ),
}


@pytest.mark.parametrize("why", INEXACT)
def test_it_is_refused_where_it_would_read_something_else(why, tmp_path):
    columns, file, options = INEXACT[why]
    found = snapshot(columns, [file], root=tmp_path / "t", **options)
    assert found.to_arrow().num_rows == 1
    with pytest.raises(errors.UnsupportedFeatureError, match=why) as raised:
        found.to_pyarrow_dataset()
    assert "to_batches" in raised.value.next_step


def test_a_table_in_another_store_is_refused():
    with pytest.raises(errors.UnsupportedFeatureError, match="local disk"):
        snapshot({"id": "long"}, []).to_pyarrow_dataset()
