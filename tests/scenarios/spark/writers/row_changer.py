# SPDX-License-Identifier: Apache-2.0
"""A program that runs drawn operations on a table until it is killed: `row_changer.py TABLE SEED WRITER FIRST`.

It prints `ready` when the first operation begins, and for each one its number, its outcome and the version, as JSON.
"""

from __future__ import annotations

import itertools
import json
import sys
import traceback

from tests.scenarios.spark.writers.drawn_operations import attempt

import bayou
from bayou.testing.session import local_session


def main(path: str, seed: int, writer: int, first: int) -> None:
    settings = {"spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "1"}
    spark = bayou.enable(local_session(settings, master="local[1]"))
    say("ready")
    for number in itertools.count(first):
        try:
            outcome, version = attempt(spark, path, seed, writer, number)
        except Exception:  # noqa: BLE001  (told to the test)
            outcome, version = traceback.format_exc(), -1
        say(json.dumps([number, outcome, version]))


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
