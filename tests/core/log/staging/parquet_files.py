# SPDX-License-Identifier: Apache-2.0
"""Parquet files that another program wrote into a table's folder."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayou
from bayou.protocol.types.schema import StructField, StructType


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
