# SPDX-License-Identifier: Apache-2.0
"""Processes that change rows of one table are killed at any moment: what is left is what their commits make, one by one."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from itertools import cycle

import pytest
from tests.scenarios.spark.writers.drawn_operations import attempt
from tests.scenarios.spark.writers.kills import KILLS, kill_all, start
from tests.scenarios.spark.writers.serial_model import TABLES, SerialModel


class Writers:
    """Writers of one table, each of which goes on with the first operation of which it did not tell.

    Attributes:
        model: the table.
        first: that operation's number, for each writer.
        told: the versions of the operations that were told to be in the log.
        outcomes: how often operations had which outcome.
    """

    def __init__(self, model, count):
        self.model = model
        self.first = [0] * count
        self.told = {}
        self.outcomes = Counter()

    def start(self):
        return [start("row_changer.py", self.model.path, self.model.seed, *each) for each in enumerate(self.first)]

    def note(self, writer, number, outcome, version):
        """What a writer told. What it had committed when it was killed before it told of it, it hears of the next time."""
        assert number == self.first[writer]
        self.first[writer] += 1
        self.outcomes[outcome] += 1
        known = self.model.committed.get((writer, number))
        assert outcome in ({"committed", "conflict", "empty"} if known is None else {"replayed"}), outcome
        if outcome in {"committed", "replayed"}:
            self.told[writer, number] = version if known is None else known

    def check(self):
        """The table is sound, and its log has what was told, and of each writer one operation at most that was not."""
        self.model.check()
        assert self.told.items() <= self.model.committed.items()
        assert self.model.committed.keys() - self.told.keys() <= set(enumerate(self.first))


def run(spark, path, properties, writers, kills, seed):
    """Kills the writers, each at a moment of its own, and starts them again; at last each goes on in this session."""
    generator, ways = random.Random(seed), cycle(KILLS)
    found = Writers(SerialModel(spark, path, seed, **properties, **{"delta.checkpointInterval": "5"}), writers)
    for _ in range(kills // writers):
        for writer, lines in enumerate(kill_all(found.start(), ways, generator, lines=6, seconds=0.8)):
            for line in lines:
                found.note(writer, *json.loads(line))
        found.check()
    for writer, first in enumerate(found.first):
        found.note(writer, first, *attempt(spark, path, seed, writer, first))
    found.check()
    return found.outcomes


def test_writers_that_are_killed_leave_what_their_commits_make_one_by_one(spark, table_path):
    outcomes = run(spark, table_path, TABLES["vectors and feed"], writers=2, kills=2, seed=5)
    assert outcomes["committed"] > 2


@pytest.mark.soak
@pytest.mark.timeout(3600)  # each of them starts a Spark
@pytest.mark.parametrize("properties", TABLES.values(), ids=TABLES)
def test_a_hundred_killed_writers_leave_what_their_commits_make_one_by_one(spark, table_path, properties):
    outcomes = run(spark, table_path, properties, writers=3, kills=36, seed=time.time_ns())
    assert outcomes["committed"] > outcomes["conflict"] > 0
