# SPDX-License-Identifier: Apache-2.0
"""REORG: files are rewritten for what they hold and the table does not; and the methods that keep the log short."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.support.observing import last, tracked

import bayou
from bayou import DeltaTable
from bayou.errors import DeltaError, InvalidOptionError

MAPPED = {"delta.columnMapping.mode": "name"}
VECTORS = {"delta.enableDeletionVectors": "true"}


@pytest.fixture
def table(spark, table_path):
    def make(*, files=3, **properties):
        for number in range(files):
            rows = spark.range(10 * number, 10 * number + 10, 1, 1).selectExpr(
                "id", "id % 2 as p", "array(named_struct('a', id, 'b', 'x')) as nested", "cast(id as string) as text"
            )
            rows.write.format("delta").mode("append").partitionBy("p").options(**properties).save(table_path)
        return DeltaTable.forPath(spark, table_path)

    return make


def live(path):
    return set(bayou.open(path).snapshot().files(["path"])["path"].to_pylist())


def counts(frame):
    (row,) = frame.select("metrics.numFilesAdded", "metrics.numFilesRemoved").collect()
    return tuple(row)


def rows(spark, path):
    return sorted(map(str, spark.read.format("delta").load(path).collect()))


@pytest.mark.parametrize("properties", [VECTORS, {**VECTORS, "delta.enableRowTracking": "true"}], ids=["vectors", "row ids"])
def test_files_with_deleted_rows_are_rewritten_and_no_others(spark, table_path, table, properties):
    made = table(**properties)
    made.delete("id in (4, 11)")
    before, files = rows(spark, table_path), live(table_path)
    ids = tracked(table_path) if len(properties) > 1 else None
    assert counts(made.reorg()) == (2, 2)
    assert rows(spark, table_path) == before
    assert len(live(table_path) & files) == 4
    assert bayou.open(table_path).snapshot().files(["deletion_vector"])["deletion_vector"].null_count == 6
    if ids is not None:
        assert tracked(table_path) == ids
    entry = last(table_path)
    assert (entry.operation, dict(entry.operation_parameters)) == ("REORG", {"predicate": "[]", "applyPurge": "true"})
    assert counts(made.reorg()) == (0, 0)
    assert last(table_path).version == entry.version


@pytest.mark.parametrize("column", ["text", "nested.element.b"])
def test_files_with_columns_that_the_table_dropped_are_rewritten(spark, table_path, table, column):
    made = table(**MAPPED)
    spark.sql(f"alter table delta.`{table_path}` drop column {column}")
    before = rows(spark, table_path)
    assert counts(made.reorg("p = 1")) == (1, 3)
    assert counts(made.reorg()) == (1, 3)
    assert rows(spark, table_path) == before
    # In the files are no more columns of Parquet than id, nested.a and the one of text and nested.b that is left.
    assert {pq.ParquetFile(Path(table_path, each)).metadata.num_columns for each in live(table_path)} == {3}
    assert counts(made.reorg()) == (0, 0)


def test_a_table_that_holds_nothing_else_is_left_alone(table, table_path):
    made = table(**MAPPED)
    version = last(table_path).version
    assert counts(made.reorg()) == (0, 0)
    assert last(table_path).version == version


def test_only_partitions_can_be_chosen(table):
    made = table(**VECTORS)
    with pytest.raises(InvalidOptionError) as caught:
        made.reorg("id = 1")
    assert caught.value.error_class == "DELTA_NON_PARTITION_COLUMN_REFERENCE"
    with pytest.raises(DeltaError, match="in the REORG"):
        made.reorg("p in (select 1)")
    with pytest.raises(ValueError, match="where needs to be a string"):
        made.reorg(1)


def test_checkpoints_and_compacted_commits_are_written(table, table_path):
    made = table()
    made.checkpoint()
    log = Path(table_path, "_delta_log")
    assert list(log.glob("*2.checkpoint*.parquet"))
    assert made.compactLog(0, 2).endswith(".compacted.json")
    assert list(log.glob("*.compacted.json"))
    with pytest.raises(ValueError, match="start needs to be an int"):
        made.compactLog("0", 2)
