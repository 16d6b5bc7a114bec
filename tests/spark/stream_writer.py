# SPDX-License-Identifier: Apache-2.0
"""A program that appends to a table and streams it into another one until it is killed: `stream_writer.py FOLDER FIRST`.

It prints `ready` when the stream begins, and the number of each batch that the stream has ended.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bayou
from bayou.testing.session import local_session

ROWS = 10


def main(folder: Path, first: int) -> None:
    spark = bayou.enable(local_session({"spark.driver.memory": "512m"}))
    source, sink = str(folder / "source"), str(folder / "sink")
    batch = first
    append(spark, source, batch)
    query = stream(spark, source, sink, str(folder / "checkpoint"))
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
    main(Path(sys.argv[1]), int(sys.argv[2]))
