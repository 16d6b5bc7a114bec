# SPDX-License-Identifier: Apache-2.0
"""Scans of tables without a commit through Spark: their logs are written by the table builder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.support.tables.built import file_of, without_rows

import bayou
from bayou.spark.portable.scan.rows import scan_frame
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def scan(spark: SparkSession) -> Callable[..., DataFrame]:
    """Scans the latest version of a table, or some of its files."""

    def scanned(path: str, *arguments: Any, version: int | None = None, **options: Any) -> DataFrame:
        return scan_frame(spark, bayou.open(path).snapshot(version), *arguments, **options)

    return scanned


@pytest.fixture(params=["ansi", "not ansi"])
def ansi(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """The test runs with ANSI mode and without."""
    spark.conf.set("spark.sql.ansi.enabled", str(request.param == "ansi").lower())
    yield
    spark.conf.unset("spark.sql.ansi.enabled")


@pytest.fixture
def months(table_path: str) -> str:
    """Twelve files, one for each partition `month`, with the ids 10 * month to 10 * month + 9. Each third file lacks row 2."""
    files = [
        file_of(
            table_path,
            f"month={month}/{month}.parquet",
            {"id": pa.array(range(10 * month, 10 * month + 10), pa.int64())},
            partitionValues={"month": str(month)},
            modificationTime=1_700_000_000_000 + month,
            **(without_rows([2]) if month % 3 == 0 else {}),
        )
        for month in range(1, 13)
    ]
    TableBuilder(table_path).create({"id": "long", "month": "integer"}, partition_by=["month"]).commit(*files)
    return table_path
