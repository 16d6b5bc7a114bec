# SPDX-License-Identifier: Apache-2.0
"""Options of readers and writers: what they have works, anything else is told once and passed over."""

from __future__ import annotations

import datetime as dt
import logging

import pyarrow.parquet as pq
import pytest
from tests.support.tables.built import ids, numbers_table

import bayou
from bayou.spark.session import given_options

NONE_OF_WRITERS = {
    "writePartitionColumns": "true",
    "parquetOutputTimestampType": "INT96",
    "datetimeRebaseMode": "LEGACY",
    "int96RebaseMode": "LEGACY",
    "spark.sql.parquet.compression.codec": "gzip",
    "inferSchema": "true",
}


@pytest.fixture
def told(caplog, monkeypatch):
    """What the process's log says of options, beginning with none."""
    monkeypatch.setattr(given_options, "_warned", set())
    caplog.set_level(logging.WARNING, "bayou")
    return lambda: [record.getMessage() for record in caplog.records if "is unknown" in record.getMessage()]


def test_an_option_that_means_nothing_is_told_once(spark, table_path, told):
    for name in ("mergeScema", "MERGESCEMA", "checkpointLocation", "delta.x", "fs.s3a.x", "parquet.block.size"):
        given_options.report_unknown([name, "path", "txnAppId"], "/t")
    assert told() == ["the write option 'mergeScema' is unknown and is ignored (table: /t); did you mean mergeSchema?"]
    spark.range(1).write.format("delta").option("myOption", "1").save(table_path)
    assert "'myoption'" in told()[-1].lower()
    assert ids(bayou.read(spark, table_path)) == [0]


@pytest.mark.parametrize("name", NONE_OF_WRITERS)
def test_options_of_other_sources_are_told_and_change_nothing(spark, table_path, told, name):
    rows = spark.sql("select 1L id, date'1500-01-02' d, timestamp'2026-01-02 03:04:05' t")
    writer = rows.write.format("delta").partitionBy("id").option(name, NONE_OF_WRITERS[name])
    writer.save(table_path)
    writer.mode("append").save(table_path)
    assert len(told()) == 1
    assert name.lower() in told()[0].lower()
    files = bayou.open(table_path).snapshot().files()
    written = pq.read_metadata(f"{table_path}/{files['path'][0].as_py()}").row_group(0)
    assert [written.column(place).path_in_schema for place in range(written.num_columns)] == ["d", "t"]
    assert written.column(0).statistics.min == dt.date(1500, 1, 2)
    assert written.column(1).physical_type == "INT64"
    assert written.column(0).compression == "SNAPPY"


def test_options_of_the_parquet_writer_reach_it(spark, table_path, told):
    spark.range(1).write.format("delta").options(compression="gzip", **{"parquet.enable.dictionary": "false"}).save(table_path)
    (path,) = bayou.open(table_path).snapshot().files()["path"].to_pylist()
    column = pq.read_metadata(f"{table_path}/{path}").row_group(0).column(0)
    assert (column.compression, column.has_dictionary_page) == ("GZIP", False)
    assert not told()


@pytest.mark.parametrize("way", ["format", "bayou.read"])
def test_an_option_of_a_read_that_means_nothing_is_told_once(spark, table_path, told, way):
    numbers_table(table_path, [1, 2])
    given = {"versionAsOff": "0", "mergeSchema": "true", "maxFilesPerTrigger": "1", "fs.x": "1"}
    for _ in range(2):
        if way == "format":
            assert ids(spark.read.format("delta").options(**given).load(table_path)) == [1, 2]
        else:
            assert ids(bayou.read(spark, table_path, **given)) == [1, 2]
    assert len(told()) == 1
    assert "versionasof" in told()[0].lower()


def test_reads_by_name_and_by_path_tell_of_no_option(spark, table_path, told):
    numbers_table(table_path, [1, 2])
    spark.sql(f"create table by_name using delta location '{table_path}'")
    try:
        spark.table("by_name").collect()
        spark.sql("insert into by_name values (3)")
        spark.sql(f"select * from delta.`{table_path}`").collect()
        bayou.DeltaTable.forPath(spark, table_path).toDF().collect()
        spark.range(1).write.format("delta").mode("append").saveAsTable("by_name")
        spark.read.format("delta").option("readChangeFeed", "false").load(table_path).collect()
    finally:
        spark.sql("drop table by_name")
    assert not told()
