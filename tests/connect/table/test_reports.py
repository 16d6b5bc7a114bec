# SPDX-License-Identifier: Apache-2.0
"""What a table says of itself on a Connect session: the same rows and columns as on a classic one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import LongType, StructField, StructType, TimestampType
from tests.support.tables.built import numbers_table

import bayou
from bayou import DeltaTable
from bayou.errors import InvalidOptionError, TableNotFoundError
from bayou.spark.row_counts import count_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def table(spark: SparkSession, table_path: str) -> DeltaTable:
    numbers_table(table_path, [1, 2], [3, 4, 5])
    return DeltaTable.forPath(spark, table_path)


def test_the_history_has_the_columns_of_delta_spark(table: DeltaTable) -> None:
    frame = table.history()
    assert [row.version for row in frame.collect()] == [1, 0]
    assert frame.schema["version"] == StructField("version", LongType())
    assert frame.schema["timestamp"].dataType == TimestampType()
    assert isinstance(frame.schema["job"].dataType, StructType)
    assert frame.columns[-1] == "engineInfo"
    assert table.history(1).count() == 1
    assert "version" in frame._repr_html_()  # type: ignore[operator]


def test_the_parameters_of_an_operation_are_a_map(spark: SparkSession, table_path: str) -> None:
    bayou.write(spark.range(3), table_path)
    (row,) = DeltaTable.forPath(spark, table_path).history().collect()
    assert row.operation == "WRITE"
    assert row.operationParameters["mode"] == "ErrorIfExists"
    assert row.operationMetrics["numOutputRows"] == "3"
    assert row.engineInfo.startswith("Apache-Spark/")


def test_the_detail_is_one_row(table: DeltaTable, table_path: str) -> None:
    (row,) = table.detail().collect()
    assert (row.format, row.numFiles, row.location) == ("delta", 2, f"file:{table_path}")
    assert row.partitionColumns == []
    assert row.minReaderVersion == 1
    assert table.detail().where("numFiles = 2").count() == 1


def test_the_health_report_needs_no_job(table: DeltaTable) -> None:
    assert table.health().version == 1


def test_a_path_is_found_or_refused(spark: SparkSession, table: DeltaTable, table_path: str, tmp_path: Path) -> None:
    assert DeltaTable.isDeltaTable(spark, table_path)
    assert not DeltaTable.isDeltaTable(spark, str(tmp_path / "other"))
    with pytest.raises(TableNotFoundError):
        DeltaTable.forPath(spark, str(tmp_path / "other"))
    assert "version=1" in repr(table)


def test_a_name_that_is_a_path_opens_the_table(spark: SparkSession, table: DeltaTable, table_path: str) -> None:
    assert table.detail().count() == 1
    assert DeltaTable.forName(spark, f"delta.`{table_path}`").history().count() == 2


def test_names_of_the_servers_catalog_are_looked_up(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        DeltaTable.forName(spark, "no_such_table")
    with pytest.raises(InvalidOptionError, match="not the name of a table"):
        DeltaTable.forName(spark, "a b")
    with pytest.raises(InvalidOptionError, match="other"):
        DeltaTable.forName(spark, "other.default.t")
    spark.sql(f"CREATE TABLE plain_of_reports (id INT) USING parquet LOCATION '{tmp_path}/p'")
    try:
        with pytest.raises(TableNotFoundError):
            DeltaTable.forName(spark, "spark_catalog.default.plain_of_reports")
    finally:
        spark.sql("DROP TABLE plain_of_reports")


def test_the_rows_are_those_of_the_latest_version(spark: SparkSession, table: DeltaTable, table_path: str) -> None:
    frame = table.toDF()
    assert frame.count() == 5
    bayou.write(spark.range(100, 102), table_path, mode="append")
    assert table.toDF().where("id > 4").count() == 3


def test_the_full_check_counts_the_rows_that_violate_conditions(spark: SparkSession, table: DeltaTable, table_path: str) -> None:
    table.addConstraint("few", "id < 10")
    counts = count_rows(bayou.open(table_path).table_uri, bayou.open(table_path).version())
    assert [(each.kind, each.name, each.count) for each in counts.counts] == [("CHECK", "few", 0)]
