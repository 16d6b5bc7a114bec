# SPDX-License-Identifier: Apache-2.0
"""Values that Parquet compares otherwise than Spark: a change of rows on Connect finds every row that Spark's comparison finds."""

from __future__ import annotations

import pytest

import bayou

VALUES = {
    "not UTF-8": ("cast(X'FF' as string)", "cast(X'FF' as string)"),
    "zero": ("-0.0D", "0.0D"),
    "an integer": ("-0.0D", "0"),
    "a field": ("named_struct('d', -0.0D)", "named_struct('d', 0.0D)"),
}
ROWS = 4


@pytest.mark.parametrize("vectors", ["true", "false"])
@pytest.mark.parametrize("value", VALUES)
def test_every_change_finds_each_row_with_the_value(spark, table_path, value, vectors):
    stored, literal = VALUES[value]
    rows = spark.sql(f"select {stored} k, id from range({ROWS})").coalesce(1)
    bayou.write(rows, table_path, **{"delta.enableDeletionVectors": vectors})
    condition = "k.d = 0.0D" if value == "a field" else f"k = {literal}"
    name = f"delta.`{table_path}`"
    assert spark.sql(f"update {name} set id = id + 10 where {condition}").first()[0] == ROWS
    merge = f"merge into {name} t using (select {literal} k) s on t.k = s.k when matched then update set id = t.id + 100"
    assert spark.sql(f"{merge} when not matched then insert (id) values (-1)").first().num_updated_rows == ROWS
    assert spark.sql(f"delete from {name} where {condition}").first()[0] == ROWS
