# SPDX-License-Identifier: Apache-2.0
"""A program that writes batches until it is killed: `batch_writer.py TABLE FIRST`; each batch of ten rows is written once.

It prints `ready` when the first batch begins, and each batch's number once it is committed.
"""

from __future__ import annotations

import sys

import bayou
from bayou.testing.session import local_session

ROWS = 10


def main(table: str, first: int) -> None:
    spark = bayou.enable(local_session({"spark.driver.memory": "512m"}))
    batch = first
    say("ready")
    while True:
        rows = spark.range(batch * ROWS, (batch + 1) * ROWS, numPartitions=2).selectExpr("id", "id % 2 part")
        bayou.write(rows, table, mode="append", partition_by=["part"], txn=("batches", batch), **{"delta.checkpointInterval": "3"})
        say(str(batch))
        batch += 1


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
