# SPDX-License-Identifier: Apache-2.0
"""Queries as a whole: triggers, options that say where a stream begins, and what becomes of a query that was stopped."""

from __future__ import annotations

from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from tests.support.operations.streams import SECONDS, batches, error_class, finish, read, run, stream
from tests.support.tables.built import ids, numbers_table

from bayou import DeltaTable
from bayou.log.delta_log import open_log


def writer(frame, checkpoint):
    return frame.writeStream.format("delta").option("checkpointLocation", checkpoint)


def test_the_trigger_once_reads_all_there_is_as_one_batch(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2], [3])
    query = finish(writer(stream(spark, table_path, maxFilesPerTrigger=1), checkpoint).trigger(once=True).start(out))
    assert batches(query) == [3]


def test_a_stream_without_micro_batches_is_refused_by_name(spark, table_path, checkpoint):
    numbers_table(table_path, [1])
    rows = stream(spark, table_path).writeStream.format("console").option("checkpointLocation", checkpoint)
    with pytest.raises((PySparkException, Py4JJavaError), match=r"(?is)delta.*continuous|continuous.*delta"):
        finish(rows.trigger(continuous="1 second").start())


def test_the_real_time_mode_is_refused_by_name(spark, table_path, checkpoint):
    numbers_table(table_path, [1])
    rows = stream(spark, table_path).writeStream.format("console").option("checkpointLocation", checkpoint).outputMode("update")
    try:
        rows = rows.trigger(realTime="5 minutes")
    except TypeError:
        pytest.skip("this Spark has no real-time mode")
    with pytest.raises((PySparkException, Py4JJavaError), match=r"(?i)real.?time"):
        finish(rows.start())


def test_a_stream_begins_at_a_time(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    spark.range(2, 3).write.format("delta").mode("append").save(table_path)
    run(stream(spark, table_path, startingTimestamp="2000-01-01"), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2]
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path, startingTimestamp="2999-01-01"), checkpoint + "2", out)
    assert error_class(caught.value) == "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"


@pytest.mark.parametrize("damage", ["another version", "half a text", "a commit that is gone"])
def test_a_damaged_query_stops_and_goes_on_when_it_is_mended(spark, table_path, checkpoint, out, damage):
    numbers_table(table_path, [1])
    run(stream(spark, table_path), checkpoint, out)
    read_until = open_log(table_path).version()
    for number in (3, 4):
        spark.range(number, number + 1).coalesce(1).write.format("delta").mode("append").save(table_path)
    note = Path(checkpoint, "offsets", "0")
    gone = Path(table_path, "_delta_log", f"{read_until + 1:020d}.json")
    broken = gone if damage == "a commit that is gone" else note
    whole = broken.read_bytes()
    if broken == note:
        Path(checkpoint, "offsets", ".0.crc").unlink(missing_ok=True)
        changed = whole.replace(b'"sourceVersion":1', b'"sourceVersion":9') if damage == "another version" else whole[:-20]
        assert changed != whole
        note.write_bytes(changed)
    else:
        broken.unlink()
    kept = {each.name for each in Path(checkpoint, "offsets").iterdir() if each.name.isdigit()}
    with pytest.raises(PySparkException, match=r"(?i)delta|offset|version"):
        run(stream(spark, table_path), checkpoint, out)
    assert {each.name for each in Path(checkpoint, "commits").iterdir() if each.name.isdigit()} <= kept
    assert ids(read(spark, out)) == [1]
    broken.write_bytes(whole)
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 3, 4]


def test_a_missing_commit_is_passed_over_only_where_data_may_be_lost(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    run(stream(spark, table_path), checkpoint, out)
    read_until = open_log(table_path).version()
    for number in (3, 4):
        spark.range(number, number + 1).coalesce(1).write.format("delta").mode("append").save(table_path)
    open_log(table_path).checkpoint()
    for version in range(read_until + 2):
        Path(table_path, "_delta_log", f"{version:020d}.json").unlink()
    with pytest.raises(PySparkException, match="failOnDataLoss"):
        run(stream(spark, table_path), checkpoint, out)
    run(stream(spark, table_path, failOnDataLoss="false"), checkpoint, out)
    assert ids(read(spark, out)) == [1, 4]


def test_a_column_that_comes_while_a_query_runs_stops_it_and_the_next_run_reads_it(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    query = writer(stream(spark, table_path), checkpoint).option("mergeSchema", "true").trigger(processingTime="50 milliseconds")
    query = query.start(out)
    query.processAllAvailable()
    DeltaTable.forPath(spark, table_path).addColumns("v INT")
    spark.sql("select 2L id, 20 v").write.format("delta").mode("append").save(table_path)
    with pytest.raises(PySparkException) as caught:
        query.awaitTermination(SECONDS)
    assert error_class(caught.value).startswith("DELTA_SCHEMA_CHANGED")
    run(stream(spark, table_path), checkpoint, out, mergeSchema="true")
    assert sorted(map(tuple, read(spark, out).collect())) == [(1, None), (2, 20)]


def test_a_schema_that_is_not_the_tables_is_refused(spark, table_path):
    numbers_table(table_path, [1])
    with pytest.raises(PySparkException) as caught:
        spark.readStream.format("delta").schema("id STRING, other INT").load(table_path)
    assert error_class(caught.value) == "DELTA_READ_SOURCE_SCHEMA_CONFLICT"
