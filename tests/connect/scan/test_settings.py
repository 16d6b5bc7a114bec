# SPDX-License-Identifier: Apache-2.0
"""Settings of the session and scans: what a scan needs is set while it runs, and what changes its rows is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from tests.support.tables.built import file_of

import bayou
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.scan.guards import FIELD_IDS
from bayou.testing.table_builder import TableBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

STATED = "spark.sql.parquet.fieldId.read.enabled"


@pytest.fixture
def by_ids(table_path: str) -> str:
    """A table whose file calls a column otherwise than the log, so that only its id finds it. Ids 1 to 3."""
    mapped = {"delta.columnMapping.id": 7, "delta.columnMapping.physicalName": "stored"}
    schema = StructType((StructField("id", "long", metadata=mapped),))
    configuration = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "7"}
    column = pa.field("other", pa.int64(), metadata={"PARQUET:field_id": "7"})
    data = pa.table({"other": pa.array([1, 2, 3], pa.int64())}, pa.schema([column]))
    TableBuilder(table_path).create(schema, configuration=configuration, protocol=Protocol(2, 5)).commit(
        file_of(table_path, "x.parquet", data)
    )
    return table_path


@pytest.fixture
def unset(spark: SparkSession) -> Iterator[None]:
    """The session states none of the settings, before and after the test."""
    assert not set(FIELD_IDS) & set(spark.conf.getAll)
    yield
    assert not set(FIELD_IDS) & set(spark.conf.getAll)


@pytest.mark.usefixtures("unset")
def test_columns_are_found_by_ids_and_the_setting_does_not_stay(spark: SparkSession, by_ids: str) -> None:
    frame = spark.read.format("delta").load(by_ids)
    assert sorted(row.id for row in frame.collect()) == [1, 2, 3]
    assert STATED not in spark.conf.getAll
    assert sorted(row.id for row in frame.where("id > 1").toLocalIterator()) == [2, 3]
    assert STATED not in spark.conf.getAll


@pytest.mark.usefixtures("unset")
def test_a_query_that_fails_does_not_leave_the_setting(spark: SparkSession, by_ids: str) -> None:
    frame = spark.read.format("delta").load(by_ids)
    with pytest.raises(PySparkException, match="on purpose"):
        frame.selectExpr("raise_error(concat('on purpose', id))").collect()
    assert frame.count() == 3


@pytest.mark.usefixtures("unset")
def test_views_caches_and_sql_find_columns_by_ids(spark: SparkSession, by_ids: str) -> None:
    frame = spark.read.format("delta").load(by_ids)
    frame.createOrReplaceTempView("of_ids")
    try:
        assert spark.sql("SELECT sum(id) FROM of_ids").first()[0] == 6
        assert spark.table("OF_IDS").where("id = 3").count() == 1
        assert spark.sql(f"SELECT sum(id) FROM delta.`{by_ids}`").first()[0] == 6
        spark.sql("CREATE OR REPLACE TEMPORARY VIEW of_of_ids AS SELECT id + 1 AS next FROM of_ids")
        assert spark.sql("SELECT sum(next) FROM of_of_ids").first()[0] == 9
    finally:
        spark.catalog.dropTempView("of_of_ids")
        spark.catalog.dropTempView("of_ids")
    kept = frame.cache()
    try:
        assert sorted(row.id for row in kept.collect()) == [1, 2, 3]
    finally:
        kept.unpersist()


@pytest.mark.usefixtures("unset")
def test_queries_at_the_same_time_find_columns_by_ids(spark: SparkSession, by_ids: str) -> None:
    frame = spark.read.format("delta").load(by_ids)
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(lambda least: frame.where(f"id > {least}").count(), [0] * 8)) == {3}


def test_what_the_program_set_stays_set(spark: SparkSession, by_ids: str) -> None:
    spark.conf.set(STATED, "false")
    try:
        assert spark.read.format("delta").load(by_ids).agg({"id": "sum"}).first()[0] == 6
        assert spark.conf.get(STATED) == "false"
    finally:
        spark.conf.unset(STATED)


@pytest.mark.usefixtures("unset")
def test_rows_that_change_are_found_by_ids(spark: SparkSession, by_ids: str) -> None:
    bayou.DeltaTable.forPath(spark, by_ids).update("id = 2", {"id": "20"})
    bayou.DeltaTable.forPath(spark, by_ids).delete("id = 3")
    assert sorted(row.id for row in spark.read.format("delta").load(by_ids).collect()) == [1, 20]
