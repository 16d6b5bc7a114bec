# SPDX-License-Identifier: Apache-2.0
"""Reads of tables on Spark Connect by the DataFrame API."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructType

import bayou
from bayou.errors import InvalidOptionError, SchemaMismatchError, TableNotFoundError, VersionNotFoundError


@pytest.fixture
def path(spark, tmp_path):
    path = str(tmp_path / "table")
    bayou.write(spark.range(10).selectExpr("id", "id % 2 as p", "cast(id as string) as s"), path, partition_by=["p"])
    bayou.write(spark.range(10, 12).selectExpr("id", "id % 2 as p", "cast(id as string) as s"), path, mode="append")
    return path


def ids(frame):
    return sorted(row.id for row in frame.collect())


def test_a_table_is_read_by_its_path(spark, path):
    assert ids(bayou.read(spark, path)) == list(range(12))
    assert ids(spark.read.format("delta").load(path)) == list(range(12))
    assert ids(spark.read.table(f"delta.`{path}`")) == list(range(12))
    assert spark.read.format("delta").load(path).columns == ["id", "p", "s"]


def test_an_older_version_is_read(spark, path):
    assert ids(bayou.read(spark, path, version=0)) == list(range(10))
    assert ids(spark.read.format("delta").option("versionAsOf", 0).load(path)) == list(range(10))
    assert ids(spark.read.format("delta").load(f"{path}@v0")) == list(range(10))


def test_a_frame_without_a_version_follows_the_table(spark, path):
    frame = spark.read.format("delta").load(path)
    assert frame.count() == 12
    bayou.write(spark.range(20, 21).selectExpr("id", "id % 2 as p", "cast(id as string) as s"), path, mode="append")
    assert frame.count() == 13
    assert ids(frame.where("p = 0 and id > 8")) == [10, 20]


def test_columns_filters_joins_and_views(spark, path):
    frame = spark.read.format("delta").load(path)
    assert ids(frame.where(frame.id > 9).select(frame["id"])) == [10, 11]
    joined = frame.alias("a").join(frame.alias("b"), "id").where("a.p = 1")
    assert joined.count() == 6
    frame.createOrReplaceTempView("connect_reads")
    assert spark.sql("select count(*) as n from connect_reads where p = 1").collect()[0].n == 6
    spark.catalog.dropTempView("connect_reads")


def test_filters_leave_out_files_by_their_statistics(spark, path):
    frame = spark.read.format("delta").load(path)
    assert ids(frame.where("id >= 10")) == [10, 11]
    chosen = frame.where(frame.id >= 10).where("p = 0")
    assert len(chosen.inputFiles()) < len(frame.inputFiles())
    assert ids(chosen) == [10]
    assert ids(frame.alias("t").where("t.id = 3 or t.id = 11")) == [3, 11]


def test_what_cannot_be_read_is_an_error_of_bayou(spark, path, tmp_path):
    with pytest.raises(TableNotFoundError):
        bayou.read(spark, str(tmp_path / "nothing"))
    with pytest.raises(TableNotFoundError):
        spark.read.format("delta").load(str(tmp_path / "nothing")).count()
    with pytest.raises(VersionNotFoundError):
        bayou.read(spark, path, version=7)


def test_several_paths_are_an_error(spark, path):
    with pytest.raises(InvalidOptionError, match="2 paths"):
        spark.read.format("delta").load([path, path]).count()


@pytest.mark.parametrize("schema", ["id long", "s string, id long", StructType().add("id", "long")])
def test_a_schema_that_fits_the_table_is_accepted(spark, path, schema):
    assert spark.read.schema(schema).format("delta").load(path).count() == bayou.read(spark, path).count()


def test_a_schema_that_does_not_fit_the_table_is_an_error(spark, path):
    with pytest.raises(SchemaMismatchError, match="column id has another type; column x is gone"):
        spark.read.schema("id string, x int").format("delta").load(path).count()
