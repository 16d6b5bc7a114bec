# SPDX-License-Identifier: Apache-2.0
"""Streams over tables whose schema has changed: followed with a schema log, and stopped without one."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from tests.support.operations.streams import error_class, read, run, stream
from tests.support.tables.built import ids, numbers_table

from bayou import DeltaTable
from bayou.errors import SchemaChangedError


def test_files_with_widened_types_are_read_in_a_stream(spark, table_path, checkpoint, out):
    spark.sql(f"CREATE TABLE delta.`{table_path}` (id INT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
    spark.createDataFrame([(1,)], "id int").write.format("delta").mode("append").save(table_path)
    DeltaTable.forPath(spark, table_path).changeColumn("id", dataType="BIGINT")
    spark.createDataFrame([(1 << 40,)], "id long").write.format("delta").mode("append").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    assert ids(read(spark, out)) == [1, 1 << 40]


def test_a_stream_follows_a_renamed_column_with_schema_tracking(spark, table_path, tmp_path, out):
    checkpoint = str(tmp_path / "checkpoint")
    options = {"delta.columnMapping.mode": "name"}
    spark.createDataFrame([(1, 10)], "id long, v int").write.format("delta").options(**options).save(table_path)
    tracked = {"schemaTrackingLocation": f"{checkpoint}/_schemas"}
    run(stream(spark, table_path, **tracked), checkpoint, out, mergeSchema="true")
    DeltaTable.forPath(spark, table_path).renameColumn("v", "w")
    spark.createDataFrame([(2, 20)], "id long, w int").write.format("delta").mode("append").save(table_path)
    said = []
    for allowed in ({}, {}, {"allowSourceColumnRename": "always"}):
        try:
            run(stream(spark, table_path, **tracked, **allowed), checkpoint, out, mergeSchema="true")
        except PySparkException as error:
            said.append(error_class(error))
    assert said[0] == "DELTA_STREAMING_METADATA_EVOLUTION"
    assert said[1].startswith("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION")
    assert sorted(map(tuple, read(spark, out).select("id", "v", "w").collect())) == [(1, 10, None), (2, None, 20)]


@pytest.mark.parametrize("change", ["rename", "drop", "retype"])
def test_a_change_of_the_schema_between_two_runs_stops_the_second(spark, table_path, checkpoint, out, change):
    rows = spark.createDataFrame([(1, 10)], "id long, v int")
    rows.write.format("delta").option("delta.columnMapping.mode", "name").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    table = DeltaTable.forPath(spark, table_path)
    if change == "rename":
        table.renameColumn("v", "w")
    elif change == "drop":
        table.dropColumns("v")
    else:
        spark.sql("select 1L id, 'a' v").write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(table_path)
    with pytest.raises(PySparkException) as caught:
        run(stream(spark, table_path), checkpoint, out, mergeSchema="true")
    assert isinstance(caught.value, SchemaChangedError) or "SCHEMA" in error_class(caught.value)


def test_a_change_is_told_to_a_run_that_begins_to_follow_the_schema(spark, table_path, tmp_path, out):
    checkpoint = str(tmp_path / "checkpoint")
    rows = spark.createDataFrame([(1, 10)], "id long, v int")
    rows.write.format("delta").option("delta.columnMapping.mode", "name").save(table_path)
    run(stream(spark, table_path), checkpoint, out)
    DeltaTable.forPath(spark, table_path).renameColumn("v", "w")
    said = []
    for _ in range(3):
        with pytest.raises(PySparkException) as caught:
            run(stream(spark, table_path, schemaTrackingLocation=f"{checkpoint}/_schemas"), checkpoint, out, mergeSchema="true")
        said.append(error_class(caught.value))
    assert said[-1].startswith("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION")


def test_two_sources_of_a_query_need_a_schema_log_each(spark, table_path, tmp_path, out):
    checkpoint = tmp_path / "checkpoint"
    numbers_table(table_path, [1], [2])
    tracked = {"schemaTrackingLocation": str(checkpoint / "_schemas")}
    left = stream(spark, table_path, **tracked)
    with pytest.raises(PySparkException) as caught:
        run(left.join(stream(spark, table_path, **tracked), "id"), checkpoint, out)
    assert error_class(caught.value) == "DELTA_STREAMING_SCHEMA_LOCATION_CONFLICT"
    assert not (checkpoint / "_schemas").exists()
    run(left.join(stream(spark, table_path, **tracked, streamingSourceTrackingId="right"), "id"), checkpoint, out)
    assert ids(read(spark, out)) == [1, 2]
