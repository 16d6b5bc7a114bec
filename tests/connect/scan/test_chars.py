# SPDX-License-Identifier: Apache-2.0
"""CHAR columns that tables are partitioned by: a query pads their values, whoever wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import bayou

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

AS_TEXT = "spark.sql.legacy.charVarcharAsString"
PADS = "spark.sql.readSideCharPadding"


@pytest.fixture
def table(spark: SparkSession, table_path: str) -> Iterator[str]:
    """A table with padded values and one that another writer stored without padding."""
    properties = "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
    spark.sql(f"CREATE TABLE delta.`{table_path}` (v INT, p CHAR(4)) USING delta PARTITIONED BY (p) {properties}")
    spark.sql(f"INSERT INTO delta.`{table_path}` VALUES (1, 'x'), (2, 'y'), (4, null)")
    spark.conf.set(AS_TEXT, "true")
    spark.sql(f"INSERT INTO delta.`{table_path}` VALUES (3, 'x')")
    spark.conf.unset(AS_TEXT)
    yield table_path
    spark.conf.unset(PADS)


def values(frame: Any) -> list[Any]:
    return sorted((row.v, row.p) for row in frame.where("p = 'x'").select("v", "p").collect())


def test_a_filter_finds_all_rows_in_reads_feeds_and_streams(spark: SparkSession, table: str, tmp_path: Path) -> None:
    expected = [(1, "x   "), (3, "x   ")]
    assert values(spark.read.format("delta").load(table)) == expected
    assert values(bayou.read(spark, table, changes=(0, None))) == expected
    assert spark.read.format("delta").load(table).where("p IS NULL").count() == 1
    rows = spark.readStream.format("delta").load(table).where("p = 'x'")
    query = rows.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    query.start(str(tmp_path / "rows")).awaitTermination()
    assert values(spark.read.parquet(str(tmp_path / "rows"))) == expected


def test_the_setting_at_the_time_of_the_read_counts(spark: SparkSession, table: str) -> None:
    spark.conf.set(PADS, "false")
    assert spark.read.format("delta").load(table).where("v = 3").collect()[0].p == "x"
    spark.conf.unset(PADS)
    assert len(values(spark.read.format("delta").load(table))) == 2


def test_a_filter_on_the_base_of_a_generated_char_loses_no_row(spark: SparkSession, table_path: str) -> None:
    builder = bayou.DeltaTable.create(spark).location(table_path).addColumn("name", "STRING")
    builder.addColumn("p", "CHAR(5)", generatedAlwaysAs="substring(name, 1, 5)").partitionedBy("p").execute()
    spark.sql("SELECT 'ab' AS name").write.format("delta").mode("append").save(table_path)
    assert spark.read.format("delta").load(table_path).where("name = 'ab'").count() == 1
    bayou.DeltaTable.forPath(spark, table_path).delete("name = 'ab'")
    assert spark.read.format("delta").load(table_path).count() == 0
