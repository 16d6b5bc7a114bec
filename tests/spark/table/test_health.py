# SPDX-License-Identifier: Apache-2.0
"""Each call that `health` advises runs, and is not advised afterwards."""

from __future__ import annotations

import pytest

import bayou

CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


def with_deleted_rows(spark, name):
    """A table with small files, deleted rows, and files without statistics of a column."""
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, `a.name` STRING) USING delta TBLPROPERTIES ("
        "'delta.enableDeletionVectors' = 'true', 'delta.targetFileSize' = '1kb', 'delta.dataSkippingStatsColumns' = 'id')"
    )
    for _ in range(3):
        spark.sql(f"INSERT INTO {name} SELECT id, CAST(hash(id) AS STRING) FROM range(0, 2000, 1, 2)")
    spark.sql(f"DELETE FROM {name} WHERE id % 10 = 1")
    spark.sql(f"UPDATE {name} SET `a.name` = 'x' WHERE id = 7")
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.dataSkippingStatsColumns' = 'id,`a.name`')")


def without_order(spark, name):
    """A table whose files all have the same range, with removed files and many commits without a checkpoint."""
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, `a.name` STRING) USING delta TBLPROPERTIES ("
        "'delta.targetFileSize' = '1kb', 'delta.checkpointInterval' = '100')"
    )
    for seed in range(7):
        spark.sql(f"INSERT INTO {name} SELECT id * 7, CAST(hash(id + {seed}) AS STRING) FROM range(0, 3000, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id = 14")
    properties = "'delta.checkpointInterval' = '2', 'delta.deletedFileRetentionDuration' = 'interval 0 hours'"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ({properties})")


@pytest.mark.parametrize("as_sql", [True, False], ids=["sql", "python"])
@pytest.mark.parametrize(
    ("lay", "words"),
    [(with_deleted_rows, ("optimize", "reorg", "stat")), (without_order, ("order", "vacuum", "checkpoint"))],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_each_advised_call_runs_and_helps(spark, name, lay, words, as_sql):
    lay(spark, name)
    table = bayou.DeltaTable.forName(spark, name)
    advised = table.health().advice
    calls = [each.sql if as_sql and each.sql is not None else each.python for each in advised]
    for word in words:
        assert word in "\n".join(calls).lower()
    spark.conf.set(CHECK, "false")
    try:
        for call, advice in zip(calls, advised, strict=True):
            _ = spark.sql(call) if call == advice.sql else eval(call, {**vars(bayou), "spark": spark, "bayou": bayou})
    finally:
        spark.conf.unset(CHECK)
    # The order of the rows may still leave columns whose filters read many files.
    assert [each for each in table.health().advice if "ZORDER" not in str(each.sql)] == []
