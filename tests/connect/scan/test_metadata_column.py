# SPDX-License-Identifier: Apache-2.0
"""`_metadata` of a table on Spark Connect: what Spark's own knows, and the row ids and times that it does not know."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)
from tests.support.tables.built import file_of

import bayou
from bayou import DeltaTable
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.types.schema import StructField, StructType
from bayou.testing.table_builder import TableBuilder

IDS = ("row_id", "base_row_id", "default_row_commit_version", "row_commit_version")


@pytest.fixture
def tracked(spark, table_path):
    """Rows with the ids 0 to 4, in the order of the column id; the last one was changed by version 2."""
    table = DeltaTable.create(spark).location(table_path).addColumn("id", "BIGINT").addColumn("v", "STRING")
    table.property("delta.enableRowTracking", "true").execute()
    bayou.write(spark.range(5).coalesce(1).selectExpr("id", "'a' as v"), table_path, mode="append")
    DeltaTable.forPath(spark, table_path).update("id = 4", {"v": "'b'"})
    return spark.read.format("delta").load(table_path)


def test_rows_have_their_ids_and_versions(spark, tracked, table_path):
    found = tracked.select("id", *(f"_metadata.{name}" for name in IDS)).orderBy("id").collect()
    assert [(row.id, row.row_id, row.row_commit_version) for row in found] == [(n, n, 1) for n in range(4)] + [(4, 4, 2)]
    assert {name for row in found for name in row.asDict()} == {"id", *IDS}
    text = (
        f"select t.id, t._metadata.row_id as r, count(*) over () from delta.`{table_path}` t where _metadata.row_commit_version = 2"
    )
    assert [tuple(row) for row in spark.sql(text).collect()] == [(4, 4, 1)]


def test_the_column_is_not_seen(tracked):
    assert tracked.where("_metadata.row_id = 3").columns == ["id", "v"]
    assert tracked.where("_metadata.row_id = 3").collect() == [(3, "a")]
    assert tracked.select("*", "_metadata.row_id").columns == ["id", "v", "row_id"]
    assert tracked.withColumn("r", F.col("_metadata.row_id")).where("r > 2").orderBy("r").columns == ["id", "v", "r"]
    assert tracked.alias("t").where("t._metadata.row_id > 2").groupBy("_metadata.row_commit_version").count().count() == 2
    joined = tracked.where("_metadata.row_id = 3").alias("a").join(tracked.where("_metadata.row_id > 0").alias("b"), "v")
    assert joined.columns == ["v", "id", "id"]
    assert joined.count() == 3
    assert tracked.where("_metadata.row_id = 3").distinct().count() == 1


def test_files_have_the_times_of_the_log(tracked, table_path):
    row = tracked.select("_metadata").first()[0].asDict()
    assert row.keys() == {
        *("file_path", "file_name", "file_size", "file_block_start", "file_block_length", "file_modification_time", "row_index"),
        *IDS,
    }
    times = bayou.open(table_path).snapshot().files(["modification_time"])["modification_time"].to_pylist()
    found = {time.replace(tzinfo=dt.timezone.utc) for (time,) in tracked.select("_metadata.file_modification_time").collect()}
    assert {round(time.timestamp() * 1000) for time in found} == set(times)


def test_a_table_without_row_ids_has_none(spark, table_path):
    bayou.write(spark.range(3), table_path)
    frame = spark.read.format("delta").load(table_path)
    assert frame.select("_metadata.file_name", "_metadata.row_index").distinct().count() == 3
    with pytest.raises(Exception, match="row_id"):
        frame.select("_metadata.row_id").collect()


def test_widened_types_do_not_matter(spark, table_path):
    changes = [{"fromType": "byte", "toType": "decimal(5,1)"}]
    schema = StructType((StructField("n", "decimal(5,1)", metadata={"delta.typeChanges": changes}),))
    protocol = Protocol(3, 7, frozenset({"typeWidening"}), frozenset({"typeWidening"}))
    TableBuilder(table_path).create(schema, protocol=protocol).commit(
        file_of(table_path, "old.parquet", {"n": pa.array([1, 2], pa.int8())}),
        file_of(table_path, "new.parquet", {"n": pa.array([Decimal("3.5")], pa.decimal128(5, 1))}),
    )
    frame = spark.read.format("delta").load(table_path)
    found = frame.select("n", "_metadata.file_name", "_metadata.row_index").orderBy("n").collect()
    assert [tuple(row) for row in found] == [
        (Decimal(1), "old.parquet", 0),
        (Decimal(2), "old.parquet", 1),
        (Decimal("3.5"), "new.parquet", 0),
    ]
    assert frame.where("_metadata.file_name = 'new.parquet'").columns == ["n"]


def test_a_tables_own_column_of_the_name_stays(spark, table_path):
    TableBuilder(table_path).create({"id": "long", "_metadata": "string"}).commit(
        file_of(table_path, "a.parquet", {"id": [1, 2], "_metadata": ["a", "b"]})
    )
    frame = spark.read.format("delta").load(table_path)
    assert frame.where("_metadata = 'b'").collect() == [(2, "b")]
