# SPDX-License-Identifier: Apache-2.0
"""A program that appends rows to a table and compacts it until it is killed: `optimizer.py TABLE FIRST`.

It prints `ready` before the first append, and the number of each append that was committed. An append has ten rows.
"""

from __future__ import annotations

import itertools
import sys

from tests.scenarios.spark.writers.row_changer import say

import bayou
from bayou.testing.session import local_session


def main(path: str, first: int) -> None:
    settings = {"spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "1"}
    spark = bayou.enable(local_session(settings, master="local[1]"))
    say("ready")
    for number in itertools.count(first):
        bayou.write(spark.range(10 * number, 10 * number + 10, numPartitions=3), path, mode="append")
        say(str(number))
        bayou.DeltaTable.forPath(spark, path).optimize().executeCompaction()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
