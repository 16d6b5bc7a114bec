# SPDX-License-Identifier: Apache-2.0
"""Threads of one session change rows of one table: what is left is what their commits make, one by one, and no other file."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.scenarios.spark.writers.drawn_operations import Append, attempt, drawn
from tests.scenarios.spark.writers.serial_model import TABLES, SerialModel
from tests.support.observing import actions, parquet_files

from bayou.protocol.actions.paths import decode
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor


def run(spark, path, properties, threads, operations, seed):
    """Each thread runs its operations; returns how often which outcome was."""
    model = SerialModel(spark, path, seed, **properties)

    def change(writer):
        return {(writer, number): attempt(spark, path, seed, writer, number) for number in range(operations)}

    with ThreadPoolExecutor(threads) as pool:
        outcomes = {name: outcome for found in pool.map(change, range(threads)) for name, outcome in found.items()}
    model.check()
    assert model.committed == {name: version for name, (outcome, version) in outcomes.items() if outcome == "committed"}
    assert {outcomes[name][0] for name in outcomes if isinstance(drawn(seed, *name), Append)} == {"committed"}
    assert left_behind(path, model.version) == set()
    return Counter(outcome for outcome, _ in outcomes.values())


def left_behind(path, version):
    """Files of data, of changes and of deletion vectors that no commit names: those of operations that lost."""
    named = set()
    for kind, each in ((kind, each) for kind in ("add", "cdc") for each in range(version + 1)):
        for action in actions(path, kind, each):
            named.add(decode(action["path"]))
            if "deletionVector" in action:
                named.add(DeletionVectorDescriptor.from_json(action["deletionVector"]).relative_path)
    vectors = {str(file.relative_to(path)) for file in Path(path).rglob("*.bin")}
    return (parquet_files(path) | vectors) - named


def test_threads_that_change_rows_leave_what_their_commits_make_one_by_one(spark, table_path):
    outcomes = run(spark, table_path, TABLES["vectors and feed"], threads=4, operations=8, seed=11)
    assert outcomes["committed"] > 8
    assert outcomes["conflict"] > 0


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("properties", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("threads", [4, 8])
def test_threads_that_change_rows_for_long_leave_what_their_commits_make_one_by_one(spark, table_path, properties, threads):
    outcomes = run(spark, table_path, properties, threads, operations=600 // threads, seed=time.time_ns())
    assert outcomes["committed"] > outcomes["empty"]
    assert outcomes["conflict"] > 0
