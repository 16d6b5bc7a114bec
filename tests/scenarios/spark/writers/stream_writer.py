# SPDX-License-Identifier: Apache-2.0
"""A program that appends to a table and streams it into another one until it is killed.

`stream_writer.py FOLDER NUMBER FIRST SINK`: the source and the checkpoint are in `FOLDER/NUMBER`, the table that it streams into is
`FOLDER/SINK`. Where that is the source itself, the stream writes each row again in two further generations. It prints `ready` when
the stream begins, and the number of each batch that the stream has ended.
"""

from __future__ import annotations

import sys

import bayou
from bayou.testing.session import local_session

ROWS = 10
GENERATION = 1_000_000_000
"""By how much the ids of one generation of rows are above those of the one before."""
GENERATIONS = 3
# A stream that reads the table it writes into may count its commits before the appends beside it only at this level.
PROPERTIES = {"delta.checkpointInterval": "5", "delta.isolationLevel": "WriteSerializable"}


def main(folder: str, number: str, first: int, sink: str) -> None:
    spark = bayou.enable(local_session({"spark.driver.memory": "512m"}))
    source = f"{folder}/{number}/source"
    batch = first
    append(spark, source, batch)
    query = stream(spark, source, f"{folder}/{sink}", f"{folder}/{number}/checkpoint")
    say("ready")
    told = -1
    while query.isActive:
        batch += 1
        append(spark, source, batch)
        progress = query.lastProgress
        if progress is not None and progress["batchId"] > told and progress["numInputRows"]:
            told = progress["batchId"]
            say(str(told))
    say(f"stopped {query.exception()}")


def rows_of(spark, source, sink, **options):
    """The rows of a source that a stream writes into a sink."""
    rows = spark.readStream.format("delta").options(**options).load(source)
    if source != sink:
        return rows
    return rows.where(f"id < {(GENERATIONS - 1) * GENERATION}").selectExpr(f"id + {GENERATION} as id")


def stream(spark, source, sink, checkpoint):
    rows = rows_of(spark, source, sink, maxFilesPerTrigger=1)
    writer = rows.writeStream.format("delta").option("checkpointLocation", checkpoint)
    return writer.trigger(processingTime="0 seconds").start(sink)


def append(spark, source, batch):
    rows = spark.range(batch * ROWS, (batch + 1) * ROWS, numPartitions=2)
    bayou.write(rows, source, mode="append", txn=("batches", batch), **PROPERTIES)


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
