# SPDX-License-Identifier: Apache-2.0
"""DEFAULT in the rows of an INSERT is the default of its column, or NULL without one."""

from __future__ import annotations

import pytest

import bayou


@pytest.fixture
def name(spark, table_path):
    table = bayou.DeltaTable.create(spark).location(table_path).addColumn("a", "int").addColumn("b", "string").addColumn("c", "int")
    table.property("delta.feature.allowColumnDefaults", "supported").execute()
    bayou.DeltaTable.forPath(spark, table_path).setDefault("b", "concat('x', 'y')")
    return f"delta.`{table_path}`"


@pytest.mark.parametrize(
    ("rest", "row"),
    [
        ("values (1, default, default)", (1, "xy", None)),
        ("(c, b) values (default, default)", (None, "xy", None)),
        ("(c, b) select 5, default", (None, "xy", 5)),
        ("values (1, 'default', 2)", (1, "default", 2)),
    ],
)
def test_default_is_that_of_its_column(spark, name, rest, row):
    spark.sql(f"insert into {name} {rest}")
    assert [tuple(each) for each in spark.sql(f"select * from {name}").collect()] == [row]
