# SPDX-License-Identifier: Apache-2.0
"""Random streams on random tables under both engines: the same rows in the same batches, or the same reason to stop."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from tests.interop.sampled import sampled
from tests.interop.stream_engines import kind_of
from tests.interop.stream_stories import FORGET, Story, forget

pytestmark = pytest.mark.oracle

ROUNDS = 3
EVOLVED = "DELTA_STREAMING_METADATA_EVOLUTION"
"""What a stream that follows the schema stops with each time that it changes: the query is to be started again."""


def run(engines, name, options, *, is_tracked):
    """Runs the query of one engine, again when it asks for that; what stopped it each time."""
    if is_tracked:
        options = {**options, "schemaTrackingLocation": str(engines.folder / f"checkpoint{name}" / "_schemas")}
    said = []
    while not said or (said[-1][0] == EVOLVED and len(said) < 10):
        error = engines.run(name, name=name, **options)
        said.append((kind_of(error), error))
    return said


def is_past(error, reached):
    """Whether delta-spark stopped at a schema of a batch that the run before has ended: it plans that batch again."""
    found = re.search(r"Detected schema change in version (\d+)", error or "")
    return found is not None and int(found.group(1)) < reached


@pytest.mark.parametrize("seed", sampled(range(200), 80))
def test_both_engines_emit_the_same_rows_in_the_same_batches_or_stop_for_the_same_reason(engines, seed):
    story = Story(seed)
    engines.sql(story.create, "insert into {table} select id, id % 3, 0 from range(0, 20, 1, 2)")
    options = story.options_on(engines.table)
    # Files that are left out count for delta-spark's limits, and its streams of changes stop before commits without files.
    without = ["batch"] if {"excludeRegex", "readChangeFeed"} & set(options) else []
    told = []
    for _ in range(ROUNDS):
        reached = engines.reached("bayou")
        for step in story.commits():
            told.append(step)
            if step == FORGET:
                forget(engines.table)
            else:
                engines.tried(step)
        said = {name: run(engines, name, options, is_tracked=story.is_tracked) for name in ("delta-spark", "bayou")}
        kinds = {name: [kind for kind, _ in each] for name, each in said.items()}
        if is_past(said["delta-spark"][0][1], reached):  # bayou goes on, to the end or to what stops it later
            break
        assert kinds["delta-spark"] == kinds["bayou"], (options, told, said)
        theirs, ours = (engines.rows(name, *without) for name in ("delta-spark", "bayou"))
        if kinds["bayou"][-1] is not None:
            assert not Counter(theirs) - Counter(ours), (options, told)  # before it stops, bayou reads what was committed before
            break
        assert theirs == ours, (options, told)
