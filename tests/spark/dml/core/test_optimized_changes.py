# SPDX-License-Identifier: Apache-2.0
"""UPDATE and MERGE write files of a good size where the table, or the session, asks for optimized writes."""

from __future__ import annotations

import pytest

import bayou

OPTIMIZES = "delta.autoOptimize.optimizeWrite"
SESSION = "spark.databricks.delta.optimizeWrite.enabled"
GATHERS = "spark.databricks.delta.merge.repartitionBeforeWrite.enabled"


@pytest.fixture
def scattered(spark):
    """Each file is read by a task of its own, and a MERGE gathers no rows of its own accord."""
    settings = {"spark.sql.files.maxPartitionBytes": "4KB", "spark.sql.files.openCostInBytes": "4KB", GATHERS: "false"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


def make(spark, path, wanted, way):
    properties = {OPTIMIZES: "true"} if wanted == "table" else {}
    for part in range(6):
        rows = spark.sql(f"select id, id v from range({part * 10}, {part * 10 + 10}, 1, 1)")
        bayou.write(rows, path, mode="append", **(way | properties if part == 0 else {}))
    if wanted == "session":
        spark.conf.set(SESSION, "true")
    return bayou.DeltaTable.forPath(spark, path).alias("t")


OPERATIONS = {
    "update": lambda _, table: table.update("id % 10 = 3", {"v": "0"}),
    "update of all rows": lambda _, table: table.update(set={"v": "0"}),
    "merge": lambda spark, table: (
        table.merge(spark.sql("select id * 10 id, 0L v from range(9)").alias("s"), "t.id = s.id")
        .whenMatchedUpdateAll()
        .whenNotMatchedInsertAll()
        .execute()
    ),
}


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("wanted", [None, "table", "session"])
def test_as_many_files_are_written_as_the_rows_need(spark, table_path, way, scattered, wanted, operation):
    table = make(spark, table_path, wanted, way)
    try:
        metrics = OPERATIONS[operation](spark, table).metrics
    finally:
        spark.conf.unset(SESSION)
    added = metrics["numTargetFilesAdded" if operation == "merge" else "numAddedFiles"]
    assert (added == 1) == (wanted is not None)
