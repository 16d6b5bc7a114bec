# SPDX-License-Identifier: Apache-2.0
"""Identity columns whose numbers come to an end: the write fails and says so, and nothing is committed."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables.built import ids

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidSchemaError

LAST, FIRST = (1 << 63) - 1, -(1 << 63)
WRITES = {
    "append": lambda spark, path, n: bayou.write(spark.range(n).selectExpr("int(id) v").repartition(1), path, mode="append"),
    "overwrite": lambda spark, path, n: bayou.write(spark.range(0, n, 1, 1).selectExpr("int(id) v"), path, mode="overwrite"),
    "insert": lambda spark, path, n: spark.sql(f"insert into delta.`{path}` (v) select int(id) from range(0, {n}, 1, 1)"),
    "merge": lambda spark, path, n: (
        DeltaTable.forPath(spark, path)
        .merge(spark.range(0, n, 1, 1), "false")
        .whenNotMatchedInsert(values={"v": "int(id)"})
        .execute()
    ),
}


def made(spark, path, start, step):
    builder = DeltaTable.create(spark).location(path).addColumn("v", "INT")
    generator = bayou.IdentityGenerator(start=start, step=step)
    builder.addColumn("a number", "BIGINT", generatedAlwaysAs=generator).property("delta.columnMapping.mode", "name").execute()
    return path


def files(path):
    """The data files. A task that ends after its job has failed may leave its file, so the failing writes have one task."""
    return sorted(file.name for file in Path(path).rglob("*.parquet"))


@pytest.mark.smoke
@pytest.mark.parametrize(("start", "step"), [(LAST - 1, 1), (FIRST + 5, -5), (LAST - (1 << 62), 1 << 62)])
def test_the_last_numbers_are_given_and_no_further_ones(spark, table_path, start, step):
    made(spark, table_path, start, step)
    bayou.write(spark.range(2).selectExpr("int(id) v").repartition(1), table_path, mode="append")
    assert ids(bayou.read(spark, table_path).select("a number")) == sorted((start, start + step))
    with pytest.raises(InvalidSchemaError, match="'a number' has no values left"):
        bayou.write(spark.range(1).selectExpr("int(id) v"), table_path, mode="append")
    assert bayou.open(table_path).version() == 1


@pytest.mark.parametrize("what", WRITES)
def test_a_write_that_needs_more_numbers_than_are_left_commits_nothing_and_leaves_no_file(spark, table_path, what):
    made(spark, table_path, LAST - 8, 1)
    WRITES[what](spark, table_path, 1)
    held, before = ids(bayou.read(spark, table_path).select("a number")), files(table_path)
    with pytest.raises(Exception, match='identity column "a number" has no values left'):
        WRITES[what](spark, table_path, 20)
    assert bayou.open(table_path).version() == 1
    assert ids(bayou.read(spark, table_path).select("a number")) == held
    assert files(table_path) == before
    assert bayou.open(table_path).snapshot().schema.field("a number").metadata["delta.identity.highWaterMark"] == held[0]
