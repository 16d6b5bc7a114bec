# SPDX-License-Identifier: Apache-2.0
"""The columns that are named for statistics exist, are in the files, and have an order."""

from __future__ import annotations

import pytest

import bayou
from bayou.errors import InvalidSchemaError
from bayou.protocol.schema import ArrayType, StructField, StructType
from bayou.protocol.schema_paths import TableRules
from bayou.protocol.stats_columns import check_stats_columns

SCHEMA = StructType(
    (
        StructField("a", "long"),
        StructField("t", "string"),
        StructField("flag", "boolean"),
        StructField("l", ArrayType("long")),
        StructField("s", StructType((StructField("x", "date"), StructField("y", "binary")))),
        StructField("p", "integer"),
    )
)


@pytest.mark.parametrize("named", ["", "a", "A, t", "s.x", "`s`.`x`, a"])
def test_columns_with_an_order_are_taken(named):
    check_stats_columns(SCHEMA, ("p",), {"delta.dataSkippingStatsColumns": named}, TableRules())


@pytest.mark.parametrize(
    ("named", "error_class"),
    [
        ("no", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
        ("a, P", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN"),
        ("flag", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE"),
        ("l", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE"),
        ("s", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE"),
    ],
)
def test_others_are_refused_when_a_table_is_made(tmp_path, named, error_class):
    with pytest.raises(InvalidSchemaError) as caught:
        bayou.open(tmp_path).create(SCHEMA, partition_by=["p"], properties={"delta.dataSkippingStatsColumns": named})
    assert caught.value.error_class == error_class
    assert not (tmp_path / "_delta_log").exists()
