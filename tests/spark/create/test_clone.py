# SPDX-License-Identifier: Apache-2.0
"""CLONE on a session: what a clone reads, where it is, and what it does not share with its source."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from tests.support.observing import last, tracked

import bayou
from bayou import DeltaTable
from bayou.errors import (
    DataFileNotFoundError,
    InvalidOptionError,
    TableExistsError,
    UnsupportedFeatureError,
    VersionNotFoundError,
)

KINDS = pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])
VECTORS = {"delta.enableDeletionVectors": "true"}


@pytest.fixture
def source(spark, table_path):
    """Two versions of a table in a folder with a space and a percent sign, with deleted rows."""
    path = f"{table_path} 100%/ü"
    rows = spark.range(0, 20, 1, 2).selectExpr("id", "concat('v ', id % 2) as p", "named_struct('a', id) as s")
    rows.write.format("delta").partitionBy("p").options(**VECTORS).save(path)
    table = DeltaTable.forPath(spark, path)
    table.delete("id in (3, 4)")
    return table


def rows(table):
    return sorted(map(str, table.toDF().collect()))


@KINDS
@pytest.mark.parametrize(
    "properties",
    [{}, {"delta.enableRowTracking": "true"}, {"delta.columnMapping.mode": "name"}, {"delta.enableChangeDataFeed": "true"}],
    ids=["vectors", "row ids", "mapped", "feed"],
)
def test_a_clone_reads_the_same_and_goes_its_own_way(spark, table_path, shallow, properties):
    path = f"{table_path} 100%/ü"
    spark.range(0, 20, 1, 2).selectExpr("id", "concat('v ', id % 2) as p").write.format("delta").partitionBy("p").options(
        **VECTORS, **properties
    ).save(path)
    table = DeltaTable.forPath(spark, path)
    table.delete("id in (3, 4)")
    if properties.get("delta.columnMapping.mode"):
        table.renameColumn("id", "number")
    before = rows(table)
    clone = table.clone(f"{table_path}-clone ü", shallow)
    assert rows(clone) == before
    clone.delete("p = 'v 0'")
    clone.toDF().limit(1).write.format("delta").mode("append").save(f"{table_path}-clone ü")
    assert rows(table) == before
    assert len(rows(clone)) == 10
    assert [row["operation"] for row in clone.history().select("operation").collect()] == ["WRITE", "DELETE", "CLONE"]
    if "delta.enableRowTracking" in properties:
        ids = [row["_metadata"]["row_id"] for row in clone.toDF().select("_metadata").collect()]
        assert len(set(ids)) == len(ids) == 10
    if "delta.enableChangeDataFeed" in properties:
        assert clone.changes(1, 1).where("_change_type = 'delete'").count() == 9


@KINDS
def test_vacuum_of_a_clone_never_deletes_a_file_of_its_source(spark, source, table_path, shallow):
    clone = source.clone(f"{table_path}-clone", shallow)
    clone.delete("true")
    before = rows(source)
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    try:
        clone.vacuum(0)
    finally:  # a test that comes after this one relies on it
        spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")
    assert rows(source) == before
    assert not [each for each in Path(f"{table_path}-clone").rglob("*.parquet") if "_delta_log" not in each.parts]


def test_a_shallow_clone_whose_file_is_gone_names_the_source(spark, source, table_path):
    path = source._path
    clone = source.clone(f"{table_path}-clone", isShallow=True)
    for file in Path(path).rglob("*.parquet"):
        file.unlink()
    fresh = bayou.enable(spark.newSession())
    with pytest.raises(DataFileNotFoundError, match="shallow clone") as caught:
        fresh.read.format("delta").load(f"{table_path}-clone").collect()
    assert caught.value.table == bayou.open(path).table_uri
    assert clone.detail().first()["numFiles"] > 0


def test_versions_and_times(spark, source, table_path):
    assert len(rows(source.cloneAtVersion(0, f"{table_path}-first"))) == 20
    moment = source.history().first()["timestamp"]
    assert len(rows(source.cloneAtTimestamp(str(moment), f"{table_path}-now", isShallow=True))) == 18
    with pytest.raises(VersionNotFoundError):
        source.cloneAtVersion(7, f"{table_path}-none")
    assert not Path(f"{table_path}-none").exists()


@KINDS
def test_a_clone_with_a_name_is_in_the_catalog(spark, source, shallow):
    spark.sql("create table taken (id long) using delta")
    try:
        clone = source.clone("named_clone", shallow, properties={"mine": "x"})
        assert rows(clone) == rows(source)
        assert spark.table("named_clone").count() == 18
        assert DeltaTable.forName(spark, "named_clone").detail().first()["properties"]["mine"] == "x"
        with pytest.raises(TableExistsError):
            source.clone("named_clone", shallow)
        source.clone("taken", shallow, replace=True)
        assert spark.table("taken").count() == 18
        of_name = DeltaTable.forName(spark, "taken").clone("third", isShallow=True)
        assert dict(last(of_name._path).operation_parameters)["source"] == "spark_catalog.default.taken"
    finally:
        for name in ("named_clone", "taken", "third"):
            spark.sql(f"drop table if exists {name}")


def test_a_cached_frame_of_a_table_that_is_replaced_is_not_stale(spark, source, table_path):
    spark.range(5).write.format("delta").save(f"{table_path}-clone")
    cached = spark.read.format("delta").load(f"{table_path}-clone").cache()
    assert cached.count() == 5
    source.clone(f"{table_path}-clone", replace=True)
    assert spark.read.format("delta").load(f"{table_path}-clone").count() == 18


@pytest.mark.parametrize(
    ("target", "error", "error_class"),
    [
        ("delta.`relative/path`", InvalidOptionError, "DELTA_INVALID_CLONE_PATH"),
        ("no_such_schema.clone", AnalysisException, "SCHEMA_NOT_FOUND"),
    ],
)
def test_targets_that_are_none(spark, source, target, error, error_class):
    with pytest.raises(error, match=error_class):
        source.clone(target, isShallow=True)


def test_arguments_of_another_kind(source):
    for arguments in ((1,), ("x", "yes"), ("x", True, "no"), ("x", True, False, []), ("x", True, False, {"a": 1})):
        with pytest.raises(ValueError, match="needs to be"):
            source.clone(*arguments)
    with pytest.raises(ValueError, match="an int"):
        source.cloneAtVersion("1", "x")
    with pytest.raises(ValueError, match="a string"):
        source.cloneAtTimestamp(1, "x")


def test_a_shallow_clone_onto_rows_is_refused(spark, source, table_path):
    spark.range(5).write.format("delta").save(f"{table_path}-clone")
    with pytest.raises(UnsupportedFeatureError, match="DELTA_UNSUPPORTED_NON_EMPTY_CLONE"):
        source.clone(f"{table_path}-clone", isShallow=True, replace=True)
    assert spark.read.format("delta").load(f"{table_path}-clone").count() == 5


def test_row_ids_of_a_clone_are_stable(spark, table_path):
    spark.range(0, 10, 1, 1).write.format("delta").option("delta.enableRowTracking", "true").save(table_path)
    table = DeltaTable.forPath(spark, table_path)
    table.update("id = 3", {"id": "30"})
    clone = table.clone(f"{table_path}-clone")
    ids = tracked(f"{table_path}-clone")
    clone.update("id = 5", {"id": "50"})
    assert len(tracked(f"{table_path}-clone")) == len(ids) == 10
