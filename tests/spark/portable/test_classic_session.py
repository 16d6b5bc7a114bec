# SPDX-License-Identifier: Apache-2.0
"""A classic session of a Spark whose internals bayou does not know is served by the documented functions of PySpark."""

from __future__ import annotations

import gc
import logging
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

import bayou
from bayou.errors import InvalidOptionError, failed
from bayou.spark import backend
from bayou.spark.backend import backend_of, is_portable
from bayou.spark.enable import enable_documented
from bayou.spark.portable import client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def session(plain_spark: SparkSession) -> Iterator[SparkSession]:
    enable_documented(plain_spark, "the test says so")
    yield plain_spark
    backend._portable.discard(plain_spark.sparkContext)


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.collect())


def rows(session: SparkSession, path: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in bayou.read(session, path).collect())


def written(session: SparkSession, path: str, **properties: str) -> bayou.DeltaTable:
    builder = bayou.DeltaTable.create(session).location(path).addColumn("id", "long").addColumn("v", "string")
    for name, value in properties.items():
        builder = builder.property(f"delta.{name}", value)
    table = builder.execute()
    bayou.write(session.range(10).withColumn("v", F.concat(F.lit("v"), "id")), path, mode="append")
    return table


def test_it_uses_the_documented_functions(session: SparkSession) -> None:
    assert not backend_of(session).is_native


def test_a_table_is_written_and_read(session: SparkSession, table_path: str) -> None:
    frame = session.range(10).withColumn("p", F.col("id") % 2)
    bayou.write(frame, table_path, partition_by=["p"])
    bayou.write(frame.where("p = 1"), table_path, mode="append")
    read = bayou.read(session, table_path)
    assert ids(read) == sorted([*range(10), 1, 3, 5, 7, 9])
    assert read.where("p = 0").count() == 5
    assert bayou.read(session, table_path, version=0).count() == 10


@pytest.mark.parametrize("vectors", ["true", "false"])
@pytest.mark.every_way
def test_rows_are_changed(session: SparkSession, table_path: str, vectors: str) -> None:
    table = written(session, table_path, enableDeletionVectors=vectors)
    table.delete("id = 1")
    table.update("id = 2", {"v": "'two'"})
    source = session.createDataFrame([(3, "three"), (30, "thirty")], "id long, v string")
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    others = [(number, f"v{number}") for number in (0, 4, 5, 6, 7, 8, 9)]
    assert rows(session, table_path) == sorted([*others, (2, "two"), (3, "three"), (30, "thirty")])


def test_the_rows_of_a_source_are_let_go(session: SparkSession) -> None:
    source = session.range(3)
    rows = client.kept_rows(source)
    assert rows.storageLevel.useMemory
    del rows, source
    gc.collect()
    assert not session.range(3).storageLevel.useMemory


def test_a_merge_may_use_values_of_both_sides(session: SparkSession, table_path: str) -> None:
    table = written(session, table_path)
    source = session.createDataFrame([(3, "x"), (3, "y"), (4, "z")], "id long, v string")
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id and s.v > 'x'")
    merge.whenMatchedUpdate(set={"v": "concat(t.v, s.v)"}).whenNotMatchedBySourceDelete("t.id > 5").execute()
    assert rows(session, table_path) == [(0, "v0"), (1, "v1"), (2, "v2"), (3, "v3y"), (4, "v4z"), (5, "v5")]


def test_conditions_may_be_columns(session: SparkSession, table_path: str) -> None:
    table = written(session, table_path)
    table.delete(F.col("id") > 3)
    assert ids(table.toDF()) == [0, 1, 2, 3]


def test_constraints_hold(session: SparkSession, table_path: str) -> None:
    table = written(session, table_path)
    table.addConstraint("small", "id < 100")
    with pytest.raises(Exception, match="small"):
        bayou.write(session.range(100, 101).withColumn("v", F.lit("x")), table_path, mode="append")


def test_the_change_feed_is_read(session: SparkSession, table_path: str) -> None:
    table = written(session, table_path, enableChangeDataFeed="true")
    table.delete("id = 1")
    changes = table.changes(startingVersion=2).select("id", "_change_type").collect()
    assert [tuple(row) for row in changes] == [(1, "delete")]


def test_a_table_is_maintained(session: SparkSession, table_path: str) -> None:
    table = written(session, table_path)
    bayou.write(session.range(10, 20).withColumn("v", F.lit("x")), table_path, mode="append")
    table.optimize().executeCompaction()
    assert len(bayou.open(table_path).snapshot().files(["path"])) == 1
    table.restoreToVersion(1)
    assert ids(table.toDF()) == list(range(10))
    table.vacuum()


def test_a_spark_with_other_internals_is_served_so(
    plain_spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unknown(*_: object) -> None:
        raise failed("unknown-class", spark_version="9.0", names="org.apache.spark.Moved")

    monkeypatch.setattr("bayou.spark.native.enable.enable_classic", unknown)
    try:
        with caplog.at_level(logging.WARNING, "bayou"):
            assert bayou.enable(plain_spark) is plain_spark
        assert is_portable(plain_spark)
    finally:
        backend._portable.discard(plain_spark.sparkContext)
    assert "org.apache.spark.Moved" in caplog.text


def test_a_setting_asks_for_it(plain_spark: SparkSession) -> None:
    other = plain_spark.newSession()
    other.conf.set("spark.bayou.backend", "portable")
    try:
        assert is_portable(bayou.enable(other))
    finally:
        backend._portable.discard(plain_spark.sparkContext)
    other.conf.set("spark.bayou.backend", "other")
    with pytest.raises(InvalidOptionError, match=r"spark\.bayou\.backend"):
        bayou.enable(other)
