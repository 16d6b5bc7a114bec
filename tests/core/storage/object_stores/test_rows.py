# SPDX-License-Identifier: Apache-2.0
"""Rows are read from an object store as from memory."""

from __future__ import annotations

import pyarrow as pa
from tests.core.arrow.tables import parquet

import bayou
from bayou.storage import open_store, qualify
from bayou.testing.table_builder import TableBuilder, add


def test_rows_are_read_from_a_bucket(moto_bucket):
    uri = moto_bucket.new_uri()
    made = TableBuilder(store=open_store(qualify(uri), moto_bucket.options)).create({"id": "long", "name": "string"})
    for number in range(3):
        rows = pa.table({"id": range(number * 50_000, (number + 1) * 50_000), "name": ["x" * 20] * 50_000})
        made.write(f"part {number}.parquet", parquet(rows, row_group_size=20_000))
    made.commit(*(add(f"part%20{number}.parquet") for number in range(3)))
    found = bayou.open(uri, moto_bucket.options).snapshot()
    assert found.to_arrow(["id"])["id"].to_pylist() == list(range(150_000))
    assert found.to_batches(where=[("id", ">=", 149_990)]).read_all()["id"].to_pylist() == list(range(149_990, 150_000))
