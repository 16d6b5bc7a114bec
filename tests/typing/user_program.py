# SPDX-License-Identifier: Apache-2.0
"""A user's program that type checkers read and nobody runs: `make lint` checks it. An unused `type: ignore` is an error."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession  # noqa: TC002  (a user imports them like this)

import bayou


def read_and_write(spark: SparkSession) -> int:
    rows: DataFrame = bayou.read(bayou.enable(spark), "/data/orders", version=3)
    version: int = bayou.write(rows, "/data/copy", mode="append", partition_by=["day"], txn=("job", 1)).version
    snapshot: bayou.Snapshot = bayou.open("/data/orders").snapshot(version=version)
    return snapshot.version + snapshot.num_files


def refuse_a_misspelt_mode(rows: DataFrame) -> None:
    bayou.write(rows, "/data/copy", mode="appnd")  # type: ignore[arg-type]


def create(spark: SparkSession) -> bayou.DeltaTable:
    builder = bayou.DeltaTable.createIfNotExists(spark).location("/data/orders").addColumn("id", "bigint", nullable=False)
    table: bayou.DeltaTable = builder.property("delta.enableDeletionVectors", "true").execute()
    return table


def change(table: bayou.DeltaTable, source: DataFrame) -> int:
    deleted: int = table.delete("id < 10").num_deleted_rows
    table.update("id = 3", {"name": "'x'"})
    merged = table.alias("t").merge(source.alias("s"), "t.id = s.id").whenMatchedUpdateAll().whenNotMatchedInsertAll()
    pruned: int = merged.plan().plan.num_pruned_files
    commits: DataFrame = table.history(3)
    return deleted + pruned + commits.count() + merged.execute().num_affected_rows


def refuse_a_misspelt_method(table: bayou.DeltaTable) -> None:
    table.whenMatchedUpdat()  # type: ignore[attr-defined]
