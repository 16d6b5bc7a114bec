# SPDX-License-Identifier: Apache-2.0
"""Partition columns in data files, where the protocol or a property of the table asks for them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayou
from bayou import DeltaTable
from bayou.errors import ConstraintViolationError, UnsupportedFeatureError
from bayou.protocol.actions import paths

ASKING = {
    "the property of the feature": ("delta.enableMaterializePartitionColumnsFeature", "true"),
    "the feature": ("delta.feature.materializePartitionColumns", "supported"),
    "the property alone": ("delta.writePartitionColumnsToParquet", "true"),
}


def made(spark, path, *properties, columns="id bigint, p string, d date", partition_by=("p", "d")):
    builder = DeltaTable.create(spark).location(path).partitionedBy(*partition_by)
    for column in columns.split(", "):
        builder.addColumn(*column.split(" ", 1))
    for key, value in properties:
        builder.property(key, value)
    return builder.execute()


def append(frame, path, **options):
    frame.coalesce(1).write.format("delta").mode("append").options(**options).save(path)


def files(path):
    found = bayou.open(path).snapshot().files(["path", "partition_values"]).to_pylist()
    return [(dict(each["partition_values"]), pq.ParquetFile(Path(path, paths.decode(each["path"]))).read()) for each in found]


def rows(spark, path):
    return sorted(map(tuple, bayou.read(spark, path).collect()), key=str)


ROWS = "select * from values (1L, 'a', date'2020-01-02'), (2L, null, date'1900-01-01'), (3L, 'x/y', null) t(id, p, d)"


@pytest.mark.smoke
@pytest.mark.parametrize("asking", ASKING)
def test_files_hold_the_partition_columns_and_reads_take_the_logs_values(spark, table_path, asking):
    made(spark, table_path, ASKING[asking])
    append(spark.sql(ROWS), table_path)
    expected = sorted(map(tuple, spark.sql(ROWS).collect()), key=str)
    assert rows(spark, table_path) == expected
    held = [(each["id"], each["p"], each["d"]) for _, data in files(table_path) for each in data.to_pylist()]
    assert sorted(held, key=str) == expected
    assert {tuple(data.column_names) for _, data in files(table_path)} == {("id", "p", "d")}
    assert all(Path(table_path, folder).is_dir() for folder in ("p=a/d=2020-01-02", "p=x%2Fy"))
    assert bayou.read(spark, table_path).where("p = 'a' and d > '2000-01-01'").count() == 1
    (stats,) = {str(sorted(s["minValues"])) for s in statistics(table_path)}
    assert stats == "['id']"


def statistics(path):
    return [json.loads(text) for text in bayou.open(path).snapshot().files(["stats"])["stats"].to_pylist()]


def test_other_tables_have_them_in_the_log_alone(spark, table_path):
    made(spark, table_path, ("delta.writePartitionColumnsToParquet", "false"))
    append(spark.sql(ROWS), table_path)
    assert {tuple(data.column_names) for _, data in files(table_path)} == {("id",)}


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_are_held_under_their_physical_names(spark, table_path, mode):
    made(spark, table_path, ASKING["the feature"], ("delta.columnMapping.mode", mode))
    append(spark.sql(ROWS), table_path)
    schema = bayou.open(table_path).snapshot().schema
    assert {tuple(data.column_names) for _, data in files(table_path)} == {tuple(f.physical_name for f in schema.fields)}
    field = pq.read_schema(next(Path(table_path).rglob("*.parquet"))).field(schema.field("p").physical_name)
    assert field.metadata[b"PARQUET:field_id"] == str(schema.field("p").field_id).encode()
    assert len(rows(spark, table_path)) == 3


@pytest.mark.smoke
def test_optimized_writes_rewrites_and_change_files_hold_them_too(spark, table_path):
    properties = (ASKING["the feature"], ("delta.enableChangeDataFeed", "true"), ("delta.enableRowTracking", "true"))
    table = made(spark, table_path, *properties, columns="id bigint, t timestamp", partition_by=("t",))
    table.addConstraint("small", "id < 100")
    source = spark.sql("select id, timestamp'2024-10-27 01:30:00.123456' t from range(10)").repartition(3)
    source.write.format("delta").mode("append").option("optimizeWrite", "true").save(table_path)
    assert len(files(table_path)) == 1
    table.delete("id = 3")
    table.update("id = 4", {"id": "40L"})
    with pytest.raises(ConstraintViolationError):
        append(spark.sql("select 200L id, current_timestamp() t"), table_path)
    expected = sorted([*(set(range(10)) - {3, 4}), 40])
    assert sorted(row[0] for row in rows(spark, table_path)) == expected
    assert (
        sorted(each["id"] for _, data in files(table_path) for each in data.to_pylist() if each["t"].microsecond == 123456)
        == expected
    )
    changes = [pq.ParquetFile(file).read() for file in Path(table_path, "_change_data").rglob("*.parquet")]
    assert changes
    assert all("t" in each.column_names for each in changes)
    feed = bayou.read(spark, table_path, readChangeFeed="true", startingVersion=3)
    assert sorted((row.id, row._change_type) for row in feed.collect()) == [
        (3, "delete"),
        (4, "update_preimage"),
        (40, "update_postimage"),
    ]


def test_dynamic_overwrites_and_dropping_the_feature(spark, table_path):
    table = made(spark, table_path, ASKING["the property of the feature"])
    append(spark.sql(ROWS), table_path)
    new = spark.sql("select 9L id, 'a' p, date'2020-01-02' d")
    new.write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(table_path)
    assert sorted(row[0] for row in rows(spark, table_path)) == [2, 3, 9]
    table.dropFeatureSupport("materializePartitionColumns")
    assert bayou.open(table_path).snapshot().protocol.writer_features is None
    append(spark.sql(ROWS), table_path)
    assert {tuple(data.column_names) for _, data in files(table_path)} == {("id", "p", "d"), ("id",)}
    assert len(rows(spark, table_path)) == 6


@pytest.mark.parametrize("asking", ["the property of the feature", "the feature"])
def test_files_of_others_are_not_added_to_such_a_table(spark, table_path, asking):
    made(spark, table_path, ASKING[asking])
    with pytest.raises(UnsupportedFeatureError) as caught, bayou.open(table_path).transaction("WRITE") as transaction:
        transaction.add_files(["a.parquet"], {"a.parquet": {"p": "a", "d": "2020-01-01"}})
    assert caught.value.features == ("materializePartitionColumns",)


def test_files_that_hold_a_narrower_partition_column_are_written_again_before_type_widening_is_dropped(spark, table_path):
    properties = (ASKING["the feature"], ("delta.enableTypeWidening", "true"))
    table = made(spark, table_path, *properties, columns="id bigint, n int", partition_by=("n",))
    append(spark.sql("select 1L id, 7 n"), table_path)
    table.changeColumn("n", dataType="bigint")
    append(spark.sql("select 2L id, 8L n"), table_path)
    (wide,) = [file for file in Path(table_path).rglob("*.parquet") if pq.read_schema(file).field("n").type == pa.int64()]
    table.dropFeatureSupport("typeWidening")
    assert {data.schema.field("n").type for _, data in files(table_path)} == {pa.int64()}
    assert wide.name in {Path(each).name for each in bayou.open(table_path).snapshot().files(["path"])["path"].to_pylist()}
    assert rows(spark, table_path) == [(1, 7), (2, 8)]
