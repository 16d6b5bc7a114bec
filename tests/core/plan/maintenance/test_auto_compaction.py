# SPDX-License-Identifier: Apache-2.0
"""Which partitions auto compaction compacts."""

from __future__ import annotations

import pyarrow as pa
import pytest

from bayou.plan.maintenance.auto_compaction import LEAST_FILES, TARGET, AutoCompactionRules, plan_auto_compaction
from bayou.plan.maintenance.compaction import FileFacts

RULES = AutoCompactionRules.of(100, None, 3)


def plan(*files, rules=RULES):
    """Files as (partition, size, added, compacted)."""
    partitions, sizes, added, compacted = zip(*files, strict=True)
    count = len(files)
    facts = FileFacts(
        pa.array([f"f{number}" for number in range(count)]),
        pa.array(sizes, pa.int64()),
        pa.array(partitions, pa.int64()),
        pa.array([10] * count, pa.int64()),
        pa.nulls(count, pa.int64()),
        pa.nulls(count, pa.int64()),
        pa.array(compacted, pa.bool_()),
    )
    return plan_auto_compaction(facts, pa.array(added, pa.bool_()), rules)


def rewritten(found):
    return [
        path
        for path, number in zip(found.files["path"].to_pylist(), found.files["bin"].to_pylist(), strict=True)
        if number is not None
    ]


def new(partition=0, size=10):
    return (partition, size, True, False)


def old(partition=0, size=10):
    return (partition, size, False, False)


def test_a_partition_is_compacted_from_the_least_number_of_small_files_on():
    assert rewritten(plan(old(), new())) == []
    assert rewritten(plan(old(), old(), new())) == ["f0", "f1", "f2"]


def test_only_partitions_that_the_commit_added_to_are_compacted():
    assert rewritten(plan(*[old(1)] * 5, *[old(2)] * 2, new(2))) == ["f5", "f6", "f7"]


def test_large_files_neither_count_nor_are_rewritten():
    assert rewritten(plan(old(size=50), old(), new())) == []
    assert rewritten(plan(old(size=50), old(), old(), new())) == ["f1", "f2", "f3"]


def test_a_file_that_was_compacted_does_not_count_and_may_join():
    compacted = (0, 10, False, True)
    assert rewritten(plan(compacted, compacted, old(), new())) == []
    assert rewritten(plan(compacted, old(), old(), new())) == ["f0", "f1", "f2", "f3"]


def test_each_run_needs_as_many_new_files_again():
    """The numbers of delta#4045: with compacted files counted, each write would compact."""
    files, written, total = [], 0, 0
    for _ in range(60):
        files = [(0, size, False, compacted) for _, size, _, compacted in files] + [new(size=1)]
        total += 1
        found = plan(*files, rules=AutoCompactionRules.of(1000, None, 10))
        chosen = set(rewritten(found))
        if chosen:
            size = sum(each[1] for number, each in enumerate(files) if f"f{number}" in chosen)
            files = [each for number, each in enumerate(files) if f"f{number}" not in chosen] + [(0, size, False, True)]
            written += 1
            total += size
    assert written == 6
    assert total <= 4 * 60


def test_the_partitions_with_the_most_small_files_come_first():
    files = [*[old(1)] * 3, *[old(2)] * 8, *[old(3)] * 5, new(1), new(2), new(3)]
    rules = AutoCompactionRules(RULES.sizes, 3, most_partitions=2)
    found = plan(*files, rules=rules)
    assert {files[int(path[1:])][0] for path in rewritten(found)} == {2, 3}


def test_a_bin_has_no_more_than_the_target():
    found = plan(*[old(size=40)] * 7, new(size=40))
    sizes = {}
    for number in found.files["bin"].to_pylist():
        sizes[number] = sizes.get(number, 0) + 40
    assert set(sizes.values()) == {80}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [((None, None, None), (TARGET, TARGET // 2, LEAST_FILES)), ((1000, None, 7), (1000, 500, 7)), ((1000, 10, 0), (1000, 10, 0))],
)
def test_settings(given, wanted):
    rules = AutoCompactionRules.of(*given)
    assert (rules.sizes.target, rules.sizes.small, rules.least_files) == wanted
