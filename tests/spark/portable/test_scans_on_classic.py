# SPDX-License-Identifier: Apache-2.0
"""The portable scan needs only the documented DataFrame API, so that it gives the same rows on a classic session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.support.tables.built import file_of, without_rows

import bayou
from bayou.spark.portable.scan import rows as scans
from bayou.spark.portable.scan import sources
from bayou.spark.portable.scan.rows import scan_frame
from bayou.spark.scan.row_ids import FILE, METADATA
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ids(*values: int) -> dict[str, pa.Array]:
    return {"id": pa.array(values, pa.int64())}


@pytest.mark.parametrize("has_list", [True, False])
@pytest.mark.parametrize("most_words", [-1, 1000])
@pytest.mark.every_way
def test_a_scan_has_the_rows_of_the_table(
    plain_spark: SparkSession, table_path: str, has_list: object, most_words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "MOST_WORDS_IN_REQUEST", most_words)
    if not has_list:
        monkeypatch.setattr(sources, "scratch_of", lambda *_: None)
    files = [
        file_of(
            table_path,
            f"{n}.parquet",
            {"id": pa.array([n, n + 10], pa.int64())},
            partitionValues={"p": str(n)},
            **without_rows([n]),
        )
        for n in (0, 1)
    ]
    TableBuilder(table_path).create({"id": "long", "p": "date"}, partition_by=["p"]).commit(*files)
    frame = scan_frame(plain_spark, bayou.open(table_path).snapshot(), with_numbers=True)
    found = {(row.id, row[FILE], row[METADATA].row_index) for row in frame.collect()}
    names = bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist()
    assert found == {(10, names.index("0.parquet"), 1), (1, names.index("1.parquet"), 0)}
    assert frame.where(f"{METADATA}.row_index = 0").count() == 1


def test_filters_on_partitions_prune_files(plain_spark: SparkSession, table_path: str) -> None:
    files = [
        file_of(table_path, f"{n}.parquet", {"id": pa.array([n], pa.int64())}, partitionValues={"p": str(n)}) for n in range(3)
    ]
    TableBuilder(table_path).create({"id": "long", "p": "integer"}, partition_by=["p"]).commit(*files)
    frame = scan_frame(plain_spark, bayou.open(table_path).snapshot())
    Path(table_path, "1.parquet").unlink()
    assert frame.where("p + 1 = 3").collect() == [(2, 2)]
