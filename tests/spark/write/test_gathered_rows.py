# SPDX-License-Identifier: Apache-2.0
"""Optimised writes: rows are gathered into files of the size that the session names."""

from __future__ import annotations

import pytest

import bayou
from bayou.errors import InvalidOptionError

BIN = "spark.databricks.delta.optimizeWrite.binSize"
PARTITIONS = "spark.databricks.delta.optimizeWrite.maxShufflePartitions"
SIZE = 1 << 20
# Some 200 bytes that nothing makes smaller.
NOISE = "concat(" + ", ".join(f"sha2(cast(id * {number} as string), 256)" for number in (3, 5, 7)) + ") as noise"


def sizes(path):
    files = bayou.open(path).snapshot().files(["path", "size"])
    found = {}
    for name, size in zip(files["path"].to_pylist(), files["size"].to_pylist(), strict=True):
        found.setdefault(name.rpartition("/")[0], []).append(size)
    return {folder: sorted(each) for folder, each in found.items()}


def check(each):
    """All files but what is left at the end are within a factor of two of the size."""
    assert each[1] >= SIZE / 2
    assert each[-1] <= 2 * SIZE


def test_files_have_the_size_of_a_bin(session, table_path):
    session.conf.set(BIN, f"{SIZE}b")
    rows = session.range(0, 60_000, 1, 8).selectExpr("id", NOISE)
    rows.write.format("delta").option("optimizeWrite", "true").save(table_path)
    (found,) = sizes(table_path).values()
    check(found)
    assert len(found) > 6


def test_files_of_a_partition_that_has_most_rows_have_it_too(session, table_path):
    session.conf.set(BIN, str(SIZE))
    session.conf.set("spark.sql.shuffle.partitions", "200")  # Spark's default: few values share a partition
    rows = session.range(0, 60_000, 1, 32).selectExpr("id", NOISE, "if(id % 20 = 0, id % 5, 7) as p")
    rows.write.format("delta").partitionBy("p").option("optimizeWrite", "true").save(table_path)
    found = sizes(table_path)
    assert {folder: len(each) for folder, each in found.items() if folder != "p=7"} == {"p=0": 1}
    check(found["p=7"])


def test_a_few_rows_are_one_file_and_other_writes_are_as_they_were(session, table_path):
    session.conf.set(BIN, "512m")
    rows = session.range(0, 100, 1, 4)
    rows.write.format("delta").option("optimizeWrite", "true").save(table_path)
    assert bayou.open(table_path).snapshot().num_files == 1
    rows.write.format("delta").mode("overwrite").save(table_path)
    assert bayou.open(table_path).snapshot().num_files == 4


def test_rows_are_shuffled_into_as_many_partitions_as_the_session_says(session, table_path):
    session.conf.set(PARTITIONS, "3")
    session.conf.set("spark.sql.shuffle.partitions", "8")
    session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    rows = session.range(0, 100, 1, 4)
    rows.write.format("delta").option("optimizeWrite", "true").save(table_path)
    assert bayou.open(table_path).snapshot().num_files == 3


@pytest.mark.parametrize(("name", "value"), [(BIN, "much"), (BIN, "0"), (PARTITIONS, "0"), (PARTITIONS, "a few")])
def test_other_values_are_refused(session, table_path, name, value):
    session.conf.set(name, value)
    with pytest.raises(InvalidOptionError, match=name):
        session.range(3).write.format("delta").option("optimizeWrite", "true").save(table_path)
