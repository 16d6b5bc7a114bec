# SPDX-License-Identifier: Apache-2.0
"""Operations with streams, and those that need the drop-in for delta-spark: these come last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.smoke.operations import Place, equal, operation

import bayou

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TWO = ((1, "a"), (2, "b"))


def _run(frame: DataFrame, target: str, checkpoint: str, **options: str) -> None:
    writer = frame.writeStream.format("delta").option("checkpointLocation", checkpoint).options(**options)
    query = writer.trigger(availableNow=True).start(target)
    if not query.awaitTermination(60):
        query.stop()
        raise AssertionError("the stream did not end within a minute")


@operation
def a_stream_reads_and_writes(on: Place) -> None:
    source, target, checkpoint = on.saved(*TWO), on.path(), on.path()
    for expected in (TWO, (*TWO, (3, "c"))):
        _run(on.spark.readStream.format("delta").load(source), target, checkpoint)
        on.expect(target, *expected)
        if expected == TWO:
            on.rows((3, "c")).write.format("delta").mode("append").save(source)


@operation
def a_stream_grows_a_schema(on: Place) -> None:
    target = on.saved(*TWO)
    wider = on.path()
    on.rows((3, "c", 1), schema="id int, v string, n int").write.format("delta").save(wider)
    _run(on.spark.readStream.format("delta").load(wider), target, on.path(), mergeSchema="true")
    on.expect(target, *((*row, None) for row in TWO), (3, "c", 1))


@operation
def a_stream_reads_changes(on: Place) -> None:
    name = on.named(*TWO, properties=" tblproperties ('delta.enableChangeDataFeed' = 'true')")
    on.sql(f"delete from {name} where id = 1")
    changes = on.spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 1).table(name)
    target = on.path()
    _run(changes.selectExpr("id", "v", "_change_type as kind"), target, on.path())
    on.expect(target, (1, "a", "insert"), (2, "b", "insert"), (1, "a", "delete"))


@operation
def a_stream_goes_to_a_table_by_name(on: Place) -> None:
    source, name = on.saved(*TWO), on.name()
    frame = on.spark.readStream.format("delta").load(source)
    writer = frame.writeStream.format("delta").option("checkpointLocation", on.path()).trigger(availableNow=True)
    writer.toTable(name).awaitTermination(60)
    on.expect(name, *TWO)


@operation
def a_stream_runs_a_function_for_each_batch(on: Place) -> None:
    source, target, spark = on.saved(*TWO), on.saved((1, "old")), on.spark

    def upsert(rows: DataFrame, number: int) -> None:
        table = bayou.DeltaTable.forPath(spark, target)
        merge = table.alias("t").merge(rows.alias("s"), "t.id = s.id")
        merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

    frame = on.spark.readStream.format("delta").load(source)
    writer = frame.writeStream.foreachBatch(upsert).option("checkpointLocation", on.path()).trigger(availableNow=True)
    writer.start().awaitTermination(60)
    on.expect(target, *TWO)


@operation
def programs_for_delta_spark_run(on: Place) -> None:
    bayou.install_as_delta()
    from delta.tables import DeltaTable

    path = on.saved(*TWO)
    table = DeltaTable.forPath(on.spark, path)
    table.delete("id = 1")
    on.expect(path, (2, "b"))
    equal(on.sql(f"describe history delta.`{path}`").select("version", "operation"), [(1, "DELETE"), (0, "WRITE")])
