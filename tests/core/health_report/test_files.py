# SPDX-License-Identifier: Apache-2.0
"""The estimates of what OPTIMIZE and REORG would rewrite, against their plans."""

from __future__ import annotations

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from bayou.health_report.files import rewrite_estimate
from bayou.plan.maintenance.compaction import FileFacts, SizeRules, by_size, plan_compaction


@pytest.mark.parametrize("seed", range(30))
def test_the_estimate_is_near_the_plan(seed):
    rng = random.Random(seed)
    count = 200
    sizes = pa.array([int(rng.lognormvariate(3, 1.5)) + 1 for _ in range(count)], pa.int64())
    deleted = pa.array([rng.choice([None, None, None, 1, 30]) for _ in range(count)], pa.int64())
    facts = FileFacts(
        paths=pa.array([str(number) for number in range(count)]),
        sizes=sizes,
        partitions=pa.array([rng.randrange(9) for _ in range(count)], pa.int64()),
        rows=pa.array([100] * count, pa.int64()),
        deleted=deleted,
        targets=pa.nulls(count, pa.int64()),
        compacted=pa.array([rng.random() < 0.1 for _ in range(count)]),
    )
    rules = SizeRules.of(pc.sum(sizes).as_py(), target=100)
    candidates, alone, _ = by_size(facts, rules)
    with_vector = pc.is_valid(deleted)
    plan, purged = plan_compaction(facts, rules), plan_compaction(facts, rules, purged=with_vector)
    found = rewrite_estimate(facts, rules.target, candidates, alone)
    assert found.files == pytest.approx(plan.num_files, rel=0.1)
    assert found.bytes == pytest.approx(plan.num_bytes, rel=0.1)
    assert found.new_files == pytest.approx(plan.num_bins, rel=0.35)
    purge = rewrite_estimate(facts, rules.target, with_vector, with_vector)
    assert (purge.files, purge.bytes) == (purged.num_files, purged.num_bytes)
    assert purge.new_files == pytest.approx(purged.num_bins, rel=0.35)
