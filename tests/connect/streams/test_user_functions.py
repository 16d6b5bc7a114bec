# SPDX-License-Identifier: Apache-2.0
"""Functions of programs for `foreachBatch` on a stock Spark Connect server: Delta tables work in them without preparation."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors.exceptions.connect import SparkException
from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.connect import proto

import bayou
from bayou.spark.portable.streams.user_functions import enable_in_function

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SECONDS = 120
TRIES = 4


def run(rows: Any, function: Any, checkpoint: Path) -> None:
    writer = rows.writeStream.foreachBatch(function).option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    for attempt in range(TRIES):
        try:
            query = writer.start()
            break
        except SparkException as error:  # a server gives its Python process ten seconds to start
            if "failed to connect back" not in str(error) or attempt == TRIES - 1:
                raise
    assert query.awaitTermination(SECONDS), query.status


def test_a_function_reads_and_changes_tables(spark: SparkSession, tmp_path: Path) -> None:
    source, target, log = (str(tmp_path / name) for name in ("source", "target", "log"))
    for first in (1, 3):
        rows = spark.createDataFrame([(first, "new"), (first + 1, "new")], "id long, v string").coalesce(1)
        rows.write.format("delta").mode("append").save(source)
    spark.createDataFrame([(1, "old"), (9, "old")], "id long, v string").write.format("delta").save(target)

    def upsert(rows: Any, number: int) -> None:
        table = bayou.DeltaTable.forPath(spark, target)  # the program's session, as in programs for classic sessions
        merge = table.alias("t").merge(rows.alias("s"), "t.id = s.id", txn=("upserts", number))
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
        rows.sparkSession.sql(f"update delta.`{target}` set v = 'changed' where id = {number + 1}")
        known = rows.sparkSession.read.format("delta").load(target).count()
        rows.selectExpr(f"{number} as number", f"{known}L as known", "id").write.format("delta").mode("append").save(log)

    stream = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(source)
    run(stream, upsert, tmp_path / "checkpoint")
    found = sorted(map(tuple, spark.read.format("delta").load(target).collect()))
    assert found == [(1, "changed"), (2, "changed"), (3, "new"), (4, "new"), (9, "old")]
    found = sorted(map(tuple, spark.read.format("delta").load(log).collect()))
    assert found == [(0, 3, 1), (0, 3, 2), (1, 5, 3), (1, 5, 4)]


def test_an_error_of_the_function_is_the_error_of_the_query(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.format("delta").save(str(tmp_path / "table"))

    def fails(rows: Any, number: int) -> None:
        raise ValueError(f"batch {number} has {rows.count()} rows")

    with pytest.raises(Exception, match="ValueError: batch 0 has 1 rows") as caught:
        run(spark.readStream.format("delta").load(str(tmp_path / "table")), fails, tmp_path / "checkpoint")
    assert "could not be enabled" not in str(caught.value)


def sent(function: Any) -> proto.WriteStreamOperationStart:
    command = proto.WriteStreamOperationStart()
    command.foreach_batch.python_function.command = CloudPickleSerializer().dumps(function)
    enable_in_function(command)
    return command


def test_a_function_runs_without_bayou_and_its_error_says_why_bayou_is_missing(tmp_path: Path) -> None:
    def function(frame: Any, number: int) -> None:
        if number:
            raise KeyError(number)
        frame.append("ran")

    path = tmp_path / "function"
    path.write_bytes(sent(function).foreach_batch.python_function.command)
    program = """
import pickle, sys
function = pickle.load(open(sys.argv[1], "rb"))
assert "bayou" not in sys.modules
frame = []  # it has no session
function(frame, 0)
assert frame == ["ran"]
try:
    function(frame, 1)
except RuntimeError as error:
    assert type(error.__cause__) is KeyError
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "SPARK_CONNECT_MODE_ENABLED": "1"},
    )
    assert "bayou could not be enabled in the Python of the Spark Connect server" in done.stdout
    assert "AttributeError: 'list' object has no attribute 'sparkSession'" in done.stdout


def test_a_function_is_wrapped_once() -> None:
    command = sent(print)
    before = command.SerializeToString()
    enable_in_function(command)
    assert command.SerializeToString() == before
    other = proto.WriteStreamOperationStart(format="parquet")
    enable_in_function(other)
    assert other == proto.WriteStreamOperationStart(format="parquet")
