# SPDX-License-Identifier: Apache-2.0
"""A program that appends to a table and streams it into another one until it is killed: `stream_writer.py FOLDER NUMBER FIRST`.

The source and the checkpoint are in `FOLDER/NUMBER`, the table that it streams into is `FOLDER/sink`. It prints `ready` when
the stream begins, and the number of each batch that the stream has ended.
"""

from __future__ import annotations

import sys

import bayou
from bayou.testing.session import local_session

ROWS = 10


def main(folder: str, number: str, first: int) -> None:
    spark = bayou.enable(local_session({"spark.driver.memory": "512m"}))
    source = f"{folder}/{number}/source"
    batch = first
    append(spark, source, batch)
    query = stream(spark, source, f"{folder}/sink", f"{folder}/{number}/checkpoint")
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


def stream(spark, source, sink, checkpoint):
    rows = spark.readStream.format("delta").option("maxFilesPerTrigger", 1).load(source)
    writer = rows.writeStream.format("delta").option("checkpointLocation", checkpoint)
    return writer.trigger(processingTime="0 seconds").start(sink)


def append(spark, source, batch):
    rows = spark.range(batch * ROWS, (batch + 1) * ROWS, numPartitions=2)
    bayou.write(rows, source, mode="append", txn=("batches", batch), **{"delta.checkpointInterval": "5"})


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
