# SPDX-License-Identifier: Apache-2.0
"""The columns that are named for statistics exist, are in the files, and have an order."""

from __future__ import annotations

import pytest

import bayou
from bayou.errors import InvalidOptionError, InvalidSchemaError
from bayou.protocol.stats.indexed_columns import check_stats_columns
from bayou.protocol.types.paths import TableRules
from bayou.protocol.types.schema import ArrayType, StructField, StructType

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
    ("named", "error_class", "advised"),
    [
        ("no", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "column"),
        ("s.no", "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA", "column"),
        ("a.no", "DELTA_COLUMN_PATH_NOT_NESTED", " a "),
        ("a, P", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_PARTITIONED_COLUMN", "delta.dataSkippingStatsColumns"),
        ("flag", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE", "delta.dataSkippingStatsColumns"),
        ("l", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE", "delta.dataSkippingStatsColumns"),
        ("l.element", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE", "delta.dataSkippingStatsColumns"),
        ("s", "DELTA_COLUMN_DATA_SKIPPING_NOT_SUPPORTED_TYPE", " s "),
    ],
)
def test_others_are_refused_when_a_table_is_made(tmp_path, named, error_class, advised):
    with pytest.raises(InvalidSchemaError) as caught:
        bayou.open(tmp_path).create(SCHEMA, partition_by=["p"], properties={"delta.dataSkippingStatsColumns": named})
    assert caught.value.error_class == error_class
    assert advised in caught.value.next_step
    assert not (tmp_path / "_delta_log").exists()


def test_what_is_no_list_of_columns_is_refused_when_a_table_is_made(tmp_path):
    with pytest.raises(InvalidOptionError) as caught:
        bayou.open(tmp_path).create(SCHEMA, properties={"delta.dataSkippingStatsColumns": "a,,t"})
    assert caught.value.next_step
