# SPDX-License-Identifier: Apache-2.0
"""A filter on a column finds the partitions that are generated from it, where the files say nothing of the column itself."""

from __future__ import annotations

import pytest
from tests.support.observing import files_read
from tests.support.tables.built import ids

import bayou
from bayou import DeltaTable

DAYS = ("2024-01-30", "2024-01-31", "2024-02-01", "2024-02-02", "2024-02-03", "2024-02-04", "2024-02-05")


@pytest.fixture(scope="module")
def days(spark, tmp_path_factory):
    """A row for each day, in a partition of its own; the files have no statistics."""
    path = str(tmp_path_factory.mktemp("days") / "t")
    table = DeltaTable.create(spark).location(path).addColumn("id", "BIGINT").addColumn("at", "TIMESTAMP")
    table = table.addColumn("day", "DATE", generatedAlwaysAs="CAST(at AS DATE)").partitionedBy("day")
    table.property("delta.dataSkippingNumIndexedCols", "0").execute()
    rows = " union all ".join(f"select {n}L id, timestamp'{day} 12:00:00' at" for n, day in enumerate(DAYS))
    spark.sql(rows).write.format("delta").mode("append").save(path)
    assert bayou.open(path).snapshot().num_files == len(DAYS)
    return spark.read.format("delta").load(path)


# A day more on either side, because the writer may have been in any zone.
@pytest.mark.parametrize(
    ("condition", "found", "files"),
    [
        ("at = timestamp'2024-02-02 12:00:00'", [3], 3),
        ("at >= timestamp'2024-02-04 00:00:00'", [5, 6], 3),
        ("at < timestamp'2024-01-31 00:00:00'", [0], 3),
        ("at between timestamp'2024-02-01 00:00:00' and timestamp'2024-02-02 00:00:00'", [2], 4),
        ("at is null", [], 0),
        ("id = 4", [4], 7),
        ("at = timestamp'2024-02-02 12:00:00' or id = 6", [3, 6], 7),
    ],
)
def test_a_filter_on_the_base_column_skips_partitions(days, condition, found, files):
    frame = days.where(condition)
    assert files_read(frame) <= files
    assert ids(frame) == found
