# SPDX-License-Identifier: Apache-2.0
"""Streams into Delta tables on a stock Spark Connect server."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors.exceptions.connect import SparkException
from pyspark.sql import functions as F  # noqa: N812

import bayou
from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.spark.portable.streams.package import batch_function, packed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

SECONDS = 120
TRIES = 3


class Arrivals:
    """A folder of Parquet files that a stream reads, one file a batch."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark = spark
        self.path = str(path)
        self.bring([(1, 10)])
        self.bring([(2, 20)])

    def bring(self, rows: list[Any]) -> None:
        self.spark.createDataFrame(rows, "id long, v long").coalesce(1).write.mode("append").parquet(self.path)

    def stream(self) -> DataFrame:
        return self.spark.readStream.schema("id long, v long").option("maxFilesPerTrigger", 1).parquet(self.path)


@pytest.fixture
def arrivals(spark: SparkSession, tmp_path: Path) -> Arrivals:
    return Arrivals(spark, tmp_path / "arrivals")


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    return str(tmp_path / "checkpoint")


def run(frame: DataFrame, checkpoint: str, path: str | None = None, mode: str = "append", **options: Any) -> Any:
    writer = frame.writeStream.format("delta").outputMode(mode).option("checkpointLocation", checkpoint)
    return finish(started(writer.options(**options).trigger(availableNow=True), path))


def started(writer: Any, target: str | None = None, method: str = "start") -> Any:
    """Start a query. A server gives its Python process ten seconds to start, which a busy machine may exceed."""
    for _ in range(TRIES):
        try:
            return getattr(writer, method)(target)
        except SparkException as error:
            if "failed to connect back" not in str(error):
                raise
    return getattr(writer, method)(target)


def finish(query: Any) -> Any:
    assert query.awaitTermination(SECONDS), query.status
    return query


def rows(spark: SparkSession, path: str) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, spark.read.format("delta").load(path).collect()))


def history(path: str) -> list[Any]:
    return list(reversed(bayou.open(path).history()))


def forget_last_commit(checkpoint: str) -> None:
    from tests.support.operations import streams

    streams.forget_last_commit(checkpoint)


def test_each_batch_is_one_commit_exactly_once(spark: SparkSession, arrivals: Arrivals, checkpoint: str, table_path: str) -> None:
    arrivals.bring([(3, 30)])
    query = run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(1, 10), (2, 20), (3, 30)]
    assert [entry.operation for entry in history(table_path)] == ["STREAMING UPDATE"] * 3
    assert [dict(entry.operation_parameters) for entry in history(table_path)] == [
        {"outputMode": "Append", "queryId": query.id, "epochId": str(number)} for number in range(3)
    ]
    assert bayou.open(table_path).snapshot().transactions[query.id].version == 2
    forget_last_commit(checkpoint)
    arrivals.bring([(4, 40)])
    run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(1, 10), (2, 20), (3, 30), (4, 40)]
    assert bayou.open(table_path).version() == 3


def test_a_relative_path_is_below_the_clients_working_folder(
    spark: SparkSession, arrivals: Arrivals, checkpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run(arrivals.stream(), checkpoint, "out")
    assert rows(spark, "out") == rows(spark, str(tmp_path / "out")) == [(1, 10), (2, 20)]


def test_complete_mode_replaces_all_rows(spark: SparkSession, arrivals: Arrivals, checkpoint: str, table_path: str) -> None:
    counts = arrivals.stream().groupBy((F.col("id") % 2).alias("odd")).count()
    run(counts, checkpoint, table_path, "complete")
    assert rows(spark, table_path) == [(0, 1), (1, 1)]
    assert [dict(each.operation_parameters)["outputMode"] for each in history(table_path)] == ["Complete"] * 2


def test_a_table_by_its_path_as_a_name_with_partitions_and_a_query_name(
    spark: SparkSession, arrivals: Arrivals, checkpoint: str, table_path: str
) -> None:
    writer = arrivals.stream().writeStream.format("delta").partitionBy("id").queryName("into_delta")
    writer = writer.option("checkpointLocation", checkpoint).option("userMetadata", "note").trigger(availableNow=True)
    query = finish(started(writer, f"delta.`{table_path}`", "toTable"))
    assert query.name == "into_delta"
    assert rows(spark, table_path) == [(1, 10), (2, 20)]
    assert bayou.open(table_path).snapshot().partition_columns == ("id",)
    assert {each.user_metadata for each in history(table_path)} == {"note"}


def test_an_error_of_a_batch_stops_the_query_and_writes_nothing(
    spark: SparkSession, arrivals: Arrivals, checkpoint: str, table_path: str
) -> None:
    bayou.write(spark.range(1), table_path)
    with pytest.raises(Exception, match="mergeSchema"):
        run(arrivals.stream(), checkpoint, table_path)
    assert rows(spark, table_path) == [(0,)]


def test_what_cannot_be_started_is_an_error_at_once(arrivals: Arrivals, checkpoint: str, table_path: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match="Update"):
        run(arrivals.stream(), checkpoint, table_path, "update")
    with pytest.raises(InvalidOptionError, match="checkpointLocation"):
        arrivals.stream().writeStream.format("delta").start(table_path)
    with pytest.raises(InvalidOptionError, match="path"):
        run(arrivals.stream(), checkpoint)
    with pytest.raises(InvalidOptionError, match="mergeSchema"):
        run(arrivals.stream(), checkpoint, table_path, mergeSchema="perhaps")


def test_the_function_brings_its_own_package(tmp_path: Path) -> None:
    from pyspark.serializers import CloudPickleSerializer

    facts = {"options": {"path": "/t"}, "partitions": [], "output_mode": "Append", "checkpoint": "/c"}
    function = tmp_path / "function"
    function.write_bytes(CloudPickleSerializer().dumps(batch_function(packed(), facts)))
    program = """
import pickle, sys
function = pickle.load(open(sys.argv[1], "rb"))
assert "bayou" not in sys.modules
try:
    function(None, 0)
except AttributeError as error:
    assert "sparkSession" in str(error), error
import bayou
import bayou.spark.portable.streams.batches as batches
assert type(bayou.__loader__).__name__ == type(batches.__loader__).__name__ == "Packed"
"""
    subprocess.run(
        [sys.executable, "-c", program, str(function)], check=True, env={**os.environ, "SPARK_CONNECT_MODE_ENABLED": "1"}
    )


def test_credentials_are_not_sent(
    arrivals: Arrivals, checkpoint: str, table_path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from pyspark.serializers import CloudPickleSerializer

    sent = []
    dumps = CloudPickleSerializer.dumps
    monkeypatch.setattr(CloudPickleSerializer, "dumps", lambda self, value: sent.append(dumps(self, value)) or sent[-1])
    run(arrivals.stream(), checkpoint, table_path, **{"fs.s3a.secret.key": "do-not-tell"})
    assert len(sent) == 1
    assert b"do-not-tell" not in sent[0]
    assert "fs.s3a.secret.key" in caplog.text
    assert "do-not-tell" not in caplog.text


def test_other_streams_are_the_servers(spark: SparkSession, arrivals: Arrivals, checkpoint: str, tmp_path: Path) -> None:
    writer = arrivals.stream().writeStream.format("parquet").option("checkpointLocation", checkpoint).trigger(availableNow=True)
    finish(writer.start(str(tmp_path / "parquet")))
    assert spark.read.parquet(str(tmp_path / "parquet")).count() == 2
