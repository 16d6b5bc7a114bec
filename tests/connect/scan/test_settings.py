# SPDX-License-Identifier: Apache-2.0
"""Settings of the session and scans: what a scan needs is set while it runs, and what changes its rows is refused."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from tests.support.tables.built import file_of

import bayou
from bayou.errors import SessionError
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.scan.guards import FIELD_IDS
from bayou.spark.portable.scan.rows import scan_frame
from bayou.testing.table_builder import TableBuilder, add

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


CASE = "spark.sql.caseSensitive"


@pytest.fixture
def sensitive(spark: SparkSession) -> Iterator[None]:
    """Names depend on case."""
    spark.conf.set(CASE, "true")
    yield
    spark.conf.unset(CASE)


@pytest.fixture
def other_case(table_path: str) -> str:
    """A table whose second file spells columns with other cases than the table. Ids 1 to 4."""
    names = {"id": "long", "s": StructType((StructField("inner", "string"),))}
    schema = StructType(tuple(StructField(name, kind) for name, kind in names.items()))
    first = {"id": pa.array([1, 2], pa.int64()), "s": pa.array([{"inner": "a"}, {"inner": "b"}])}
    second = {"ID": pa.array([3, 4], pa.int64()), "s": pa.array([{"Inner": "c"}, {"Inner": "d"}])}
    TableBuilder(table_path).create(schema).commit(
        file_of(table_path, "0.parquet", first), file_of(table_path, "1.parquet", second)
    )
    return table_path


def test_names_of_other_cases_are_found(spark: SparkSession, other_case: str) -> None:
    rows = spark.read.format("delta").load(other_case).select("id", "s.inner").collect()
    assert sorted(map(tuple, rows)) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


@pytest.mark.usefixtures("sensitive")
def test_names_that_spark_would_not_find_are_an_error(spark: SparkSession, other_case: str) -> None:
    with pytest.raises(SessionError, match=r"return NULL for the column id .* calls it ID"):
        spark.read.format("delta").load(other_case).collect()
    with pytest.raises(SessionError, match=r"column inner .* calls it Inner"):
        scan_frame(spark, bayou.open(other_case).snapshot(), None, ["s"])
    with pytest.raises(SessionError, match="calls it ID"):
        bayou.DeltaTable.forPath(spark, other_case).delete("id = 1")


@pytest.mark.usefixtures("sensitive")
def test_a_case_sensitive_session_reads_files_with_the_names_of_the_table(spark: SparkSession, months: str) -> None:
    assert spark.read.format("delta").load(months).where("month = 3").count() == 9
    assert spark.read.format("delta").load(months).count() == 116


@pytest.mark.parametrize("statement", [True, False])
def test_a_session_that_becomes_case_sensitive_is_noticed(spark: SparkSession, other_case: str, *, statement: bool) -> None:
    followed = spark.read.format("delta").load(other_case)
    fixed = scan_frame(spark, bayou.open(other_case).snapshot())
    assert followed.count() == fixed.count() == 4
    if statement:
        spark.sql(f"SET {CASE} = true")
    else:
        spark.conf.set(CASE, "true")
    try:
        with pytest.raises(SessionError, match="calls it ID"):
            followed.collect()
        with pytest.raises(PySparkException, match=r"(?i)make it again"):
            fixed.where("id > 0").collect()
    finally:
        spark.conf.unset(CASE)
    assert followed.count() == 4


def test_settings_of_the_session_do_not_change_rows_that_are_rewritten(spark: SparkSession, table_path: str) -> None:
    """With this setting Spark shifts the times in files of other programs. A read shows that, and no commit keeps it."""
    times = pa.array([dt.datetime(2024, 1, day, tzinfo=dt.timezone.utc) for day in (1, 2)], pa.timestamp("us", "UTC"))
    file = Path(table_path, "x.parquet")
    file.parent.mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), "t": times}), file, use_deprecated_int96_timestamps=True)
    action = add("x.parquet", size=file.stat().st_size, stats={"numRecords": 2})
    TableBuilder(table_path).create({"id": "long", "t": "timestamp"}).commit(action)
    frame = spark.read.format("delta").load(table_path).selectExpr("id", "unix_seconds(t) AS t")
    before = dict(frame.collect())
    settings = {"spark.sql.parquet.int96TimestampConversion": "true", "spark.sql.session.timeZone": "America/Los_Angeles"}
    zone = spark.conf.get("spark.sql.session.timeZone")
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        assert dict(frame.collect()) != before
        bayou.DeltaTable.forPath(spark, table_path).update("id = 1", {"id": "10"})
        assert spark.conf.get("spark.sql.parquet.int96TimestampConversion") == "true"
    finally:
        spark.conf.unset("spark.sql.parquet.int96TimestampConversion")
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert dict(frame.collect()) == {10: before[1], 2: before[2]}
