# SPDX-License-Identifier: Apache-2.0
"""What stops a stream: rows that were deleted or updated, a table that was replaced, files and offsets that are broken."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812
from tests.support.operations.streams import error_class, finish, read, run, stream
from tests.support.tables.built import ids, numbers, numbers_table

from bayou import DeltaTable


@pytest.mark.smoke
def test_deletes_stop_a_stream_and_the_error_says_what_happened_and_what_to_do(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1, 2], [3])
    run(stream(spark, table_path), checkpoint, out)
    DeltaTable.forPath(spark, table_path).delete("id = 3")
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out)
    assert error_class(caught.value) == "DELTA_SOURCE_IGNORE_DELETE"
    assert all(text in str(caught.value) for text in ("DELETE", "version 2", "ignoreDeletes"))
    run(stream(spark, table_path, ignoreDeletes="true"), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3]


def test_updates_stop_a_stream_unless_the_reader_skips_them_or_takes_the_rows_again(spark, table_path, checkpoint, out, tmp_path):
    numbers_table(table_path, [1, 2], [3])
    run(stream(spark, table_path), checkpoint, out)
    other = str(tmp_path / "other")
    run(stream(spark, table_path), checkpoint + "2", other)
    DeltaTable.forPath(spark, table_path).update("id = 1", {"id": "10L"})
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out)
    assert error_class(caught.value) == "DELTA_SOURCE_TABLE_IGNORE_CHANGES"
    run(stream(spark, table_path, skipChangeCommits="true"), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2, 3]
    run(stream(spark, table_path, ignoreChanges="true"), checkpoint + "2", other)
    assert ids(read(spark, other)) == [1, 2, 2, 3, 10]


def test_a_table_that_was_replaced_stops_the_stream(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    run(stream(spark, table_path), checkpoint, out)
    (DeltaTable.replace(spark).location(table_path).addColumn("id", "BIGINT").execute())
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out)
    assert error_class(caught.value) == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"


def test_a_missing_data_file_stops_the_query_and_names_it(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1], [2])
    Path(table_path, "1.parquet").unlink()
    with pytest.raises(PySparkException, match=r"1\.parquet"):
        run(stream(spark, table_path), checkpoint, out)
    numbers(table_path, "1.parquet", [2])
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2]


def test_a_corrupt_offset_stops_the_query_with_a_clear_error(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    run(stream(spark, table_path), checkpoint, out)
    note = Path(checkpoint, "offsets", "0")
    lines = note.read_text().splitlines()
    note.write_text("\n".join([*lines[:2], lines[2].replace('"sourceVersion":1', '"sourceVersion":9')]))
    Path(checkpoint, "offsets", ".0.crc").unlink(missing_ok=True)
    spark.range(3, 4).write.format("delta").mode("append").save(table_path)
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out)
    assert error_class(caught.value) == "DELTA_INVALID_FORMAT_FROM_SOURCE_VERSION"


def test_an_older_dataframe_is_refused_when_the_schema_has_changed(spark, table_path, checkpoint, out):
    numbers_table(table_path, [1])
    older = stream(spark, table_path)
    DeltaTable.forPath(spark, table_path).addColumns("v INT")
    with pytest.raises(PySparkException, match="Make the DataFrame again"):
        run(older, checkpoint, out)
    run(stream(spark, table_path), checkpoint + "2", out)
    assert read(spark, out).columns == ["id", "v"]


def test_the_first_snapshot_cannot_go_on_in_another_order(spark, table_path, checkpoint, out):
    for hour in (3, 1, 2):
        rows = spark.createDataFrame([(f"2026-01-01 0{hour}:00:00",)], "at string").select(F.to_timestamp("at").alias("at"))
        rows.coalesce(1).write.format("delta").mode("append").save(table_path)

    def stop(batch, number):
        if number == 1:
            raise RuntimeError("stopped in the snapshot")

    ordered = stream(spark, table_path, withEventTimeOrder="true", maxFilesPerTrigger=1).withWatermark("at", "1 minute")
    with pytest.raises(PySparkException, match="stopped in the snapshot"):
        finish(ordered.writeStream.foreachBatch(stop).option("checkpointLocation", checkpoint).trigger(availableNow=True).start())
    with pytest.raises(PySparkException, match="rows would be lost"):
        run(stream(spark, table_path, maxFilesPerTrigger=1).withWatermark("at", "1 minute"), checkpoint, out)
