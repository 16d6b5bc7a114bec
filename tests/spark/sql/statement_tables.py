# SPDX-License-Identifier: Apache-2.0
"""A table for statements that alter it, by its name or by its path, and its latest snapshot."""

from __future__ import annotations

import pytest

import bayou

PROPERTIES = (
    "'delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = 'true', 'delta.feature.allowColumnDefaults' = 'supported'"
)
"""What lets columns be renamed, dropped and widened, and have defaults."""


@pytest.fixture(params=["name", "path"])
def table(request, spark, table_path):
    """A table with a row, by a name of the catalog or by its path."""
    found = request.getfixturevalue("name") if request.param == "name" else f"delta.`{table_path}`"
    where = f"LOCATION '{table_path}'" if request.param == "name" else ""
    spark.sql(f"CREATE TABLE {found} (id BIGINT, name STRING, s STRUCT<x: INT>) USING delta {where} TBLPROPERTIES ({PROPERTIES})")
    spark.sql(f"INSERT INTO {found} VALUES (1, 'a', struct(1))")
    return found


def snapshot(path):
    return bayou.open(path).snapshot()
