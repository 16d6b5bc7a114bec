# SPDX-License-Identifier: Apache-2.0
"""The part of the demo with streams: late flights arrive as files, and a small table is kept up to date with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from screen import console, show, show_rows, step

import bayou

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS = 4


def streams(spark: SparkSession, raw: str, root: str) -> None:
    """Files of late flights are appended to a table by one stream; another merges their sums into a second table."""
    late, sums, arrivals = (f"{root}/{name}" for name in ("late", "sums", "arrivals"))
    flights = spark.read.parquet(raw).where("month = 1 AND dep_delay > 60").select("day", "carrier", "dep_delay")
    show(
        'spark.readStream.parquet(arrivals).writeStream.format("delta").start(late)\n'
        'spark.readStream.format("delta").load(late).writeStream.foreachBatch(merge_into_sums).start()'
    )
    bayou.DeltaTable.create(spark).location(sums).addColumn("carrier", "STRING").addColumn("flights", "BIGINT").execute()
    with step(f"{DAYS} days of late flights arrive, one file each"):
        for day in range(1, DAYS + 1):
            flights.where(flights.day == day).coalesce(1).write.mode("append").parquet(arrivals)
            append(spark, arrivals, late, f"{root}/late-checkpoint")
            keep_sums(spark, late, sums, f"{root}/sums-checkpoint")
    for table, number in ((late, "operationParameters.epochId AS batch"), (sums, "operationMetrics.numSourceRows AS merged")):
        history = bayou.DeltaTable.forPath(spark, table).history()
        show_rows(history.selectExpr("version", "operation", number, "operationMetrics.numOutputRows AS rows"))
    show_rows(spark.read.format("delta").load(sums).orderBy("flights", ascending=False).limit(3))
    rows, expected = spark.read.format("delta").load(late).count(), flights.where(f"day <= {DAYS}").count()
    console.print(f"  {rows} rows of {expected}: each row once\n", highlight=False)


def append(spark: SparkSession, arrivals: str, late: str, checkpoint: str) -> None:
    """Appends the files that are new."""
    rows = spark.readStream.schema("day INT, carrier STRING, dep_delay INT").parquet(arrivals)
    writer = rows.writeStream.format("delta").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start(late).awaitTermination()


def keep_sums(spark: SparkSession, late: str, sums: str, checkpoint: str) -> None:
    """Merges the rows that are new into the table of sums, each batch once."""

    def merge(batch: DataFrame, number: int) -> None:
        counted = batch.groupBy("carrier").count().withColumnRenamed("count", "flights")
        table = bayou.DeltaTable.forPath(batch.sparkSession, sums).alias("t")
        merging = table.merge(counted.alias("s"), "t.carrier = s.carrier", txn=("sums", number))
        merging.whenMatchedUpdate(set={"flights": "t.flights + s.flights"}).whenNotMatchedInsertAll().execute()

    rows = spark.readStream.format("delta").load(late)
    writer = rows.writeStream.foreachBatch(merge).option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()
