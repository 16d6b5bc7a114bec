# SPDX-License-Identifier: Apache-2.0
"""On a cluster, executors are JVMs that never see the adapters: whatever reaches a task must do without them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.processes import ask


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """What bayou did on `local-cluster`, by the name of the function in local_cluster.py."""
    return ask(str(Path(__file__).with_name("local_cluster.py")), str(tmp_path_factory.mktemp("cluster")))


def test_tasks_ran_in_other_processes_to_which_nothing_was_shipped(cluster):
    found = cluster["processes"]
    assert found["executors"]
    assert found["driver"] not in found["executors"]
    assert found["jars"] == 0


def test_a_partitioned_table_is_written_by_executors_and_read_back(cluster):
    found = cluster["partitioned"]
    assert (found["count"], found["sum"], found["as written"]) == (1000, 499_500, True)
    assert found["filter"] == len([i for i in range(991, 1000) if i % 3 == 2 and i % 2 == 1])
    assert list(found["sql"].values()) == [900, 6]
    assert found["history"] == [1, 0]


def test_tables_are_joined_on_executors(cluster):
    found = cluster["partitioned"]
    matching = len([i for i in range(1000) if i % 7 == 3 and i % 3 == 2])
    assert (found["broadcast join"], found["shuffled join"]) == (matching, matching)


@pytest.mark.parametrize("form", ["flat", "sparse"])
def test_deletion_vectors_are_applied_on_executors(cluster, form):
    live = [-1, *(i for i in range(10_010) if i not in (0, 4096, 9999, 10_003, 10_009))]
    assert cluster["vectors"][form] == {
        "count": len(live),
        "sum": sum(live),
        "y": [i for i in live if i >= 10_000],
        "near": [-1, 1, 4095, 4097, 9998],
        "joined with itself": len([i for i in live if i > 9990]),
    }


@pytest.mark.parametrize("mode", ["name", "id"])
def test_renamed_columns_are_read_on_executors(cluster, mode):
    assert cluster["mapped"][mode] == {"rows": [[1, 10, "x"], [3, 30, "x"]], "filter": [3], "join": 2}


@pytest.mark.parametrize("vectors", ["false", "true"], ids=["files", "vectors"])
def test_rows_are_deleted_updated_and_merged_on_executors_and_the_feed_tells_of_it(cluster, vectors):
    gone = {each for each in range(1000) if each < 10 or (each % 3 == 2 and each < 100)}
    values = {each: -each if each % 100 == 50 else each for each in range(1000) if each not in gone}
    updated = sum(value < 0 for value in values.values())
    values |= {each: each * 10 for each in range(900, 1100)}
    found = cluster["changed"][vectors]
    assert found["counts"] == [len(gone), updated, 100, 100]
    assert found["rows"] == [[key, value] for key, value in sorted(values.items())]
    assert found["feed"] == [
        [1, "delete", len(gone)],
        [2, "update_postimage", updated],
        [2, "update_preimage", updated],
        [3, "insert", 100],
        [3, "update_postimage", 100],
        [3, "update_preimage", 100],
    ]
    assert found["source was kept"]


def test_a_cached_table_follows_a_write_on_executors(cluster):
    assert cluster["cached"] == [[1, 2, 3], [1, 2, 3, 4]]


def test_files_are_compacted_on_executors(cluster):
    assert cluster["compacted"] == [2, [each for each in range(30) if each not in (3, 14)]]
