# SPDX-License-Identifier: Apache-2.0
"""Logs with random damage: a repair keeps every commit and every version that can be read, and does what its plan says."""

from __future__ import annotations

import os
import random
import re

from tests.core.checks.damaged import damage_action, damage_bytes, names, table
from tests.support.cases import in_one_test

from bayou.errors import DeltaError
from bayou.log.delta_log import DeltaLog
from bayou.repairs.repair import REPAIRS
from bayou.repairs.run import repair_store

SEEDS = range(int(os.environ.get("REPAIRED_LOGS", "40")))
LAST = 2


def commits(builder):
    return {path: builder.store.read(path) for path in names(builder) if re.fullmatch(r"_delta_log/\d{20}\.json", path)}


def readable(builder):
    """The files of each version that can be read."""
    found = {}
    for version in range(LAST + 1):
        try:
            files = DeltaLog(builder.uri, builder.store).snapshot(version).files(["path", "deletion_vector"])
        except DeltaError:
            continue
        found[version] = {(row["path"], str(row["deletion_vector"])) for row in files.to_pylist()}
    return found


@in_one_test("seed", SEEDS)
def test_a_repair_keeps_commits_and_versions(seed):
    chance = random.Random(seed)
    builder = table(chance.choice((None, "classic", "multipart", "v2-json", "v2-parquet")))
    for _ in range(chance.randrange(1, 3)):
        damage_action(builder, chance)
    if chance.random() < 0.7:
        damage_bytes(builder, chance)
    before, versions = commits(builder), readable(builder)
    result = repair_store(builder.uri, builder.store, {})
    assert commits(builder) == before
    after = readable(builder)
    assert {version for version, files in versions.items() if not files <= after.get(version, set())} == set()
    assert all(step.done != bool(step.blocked) for step in result.steps)
    # A checkpoint of damaged commits cannot equal them.
    if not result.without_repair and all(step.done for step in result.steps):
        assert [each.rule for each in result.after.findings if each.rule in REPAIRS] == []
