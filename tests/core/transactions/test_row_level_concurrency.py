# SPDX-License-Identifier: Apache-2.0
"""Commits that delete rows of the same files at the same time: those of other rows do not exclude one another."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.core.transactions.begun_row_changes import KEYS, QUICK, actions, begin, keys, run_all, table
from tests.core.transactions.row_operations import Compact, Delete, Update

from bayou.errors import ConcurrentDeleteDeleteException, ConcurrentDeleteReadException
from bayou.log.commit.outcomes import Committed, Conflicted
from bayou.log.conflict import row_rebase
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor


@QUICK
@given(st.permutations(range(12)), st.lists(st.integers(1, 4), min_size=2, max_size=3), st.sampled_from([Delete, Update]))
def test_changes_of_different_rows_all_succeed(order, sizes, kind):
    found = table(range(5), range(5, 12))
    parts = [frozenset(order[sum(sizes[:place]) : sum(sizes[: place + 1])]) for place in range(len(sizes))]
    outcomes = run_all(found, [kind(part) for part in parts])
    assert all(isinstance(each, Committed) for each in outcomes)
    expected = dict.fromkeys(range(12), 0)
    for part in parts:
        expected = kind(part).effect(expected)
    assert found.rows() == expected
    assert found.unused_vector_files() == set()


@QUICK
@given(KEYS, KEYS)
def test_two_deletes_conflict_just_where_they_share_a_row(one, other):
    found = table(range(12))
    first, second = run_all(found, [Delete(one), Delete(other)])
    assert isinstance(first, Committed)
    assert isinstance(second, Conflicted if one & other else Committed)
    assert found.rows() == Delete(one | other if not one & other else one).effect(dict.fromkeys(range(12), 0))


def test_a_row_in_both_is_named_with_its_file():
    found = table(range(20))
    _, second = run_all(found, [Delete(frozenset(range(3, 12))), Delete(frozenset(range(5, 19)))])
    error = second.error
    assert isinstance(error, ConcurrentDeleteDeleteException)
    assert error.files == ("part-0",)
    assert (error.rows, error.num_rows) == ((5, 6, 7, 8, 9), 7)
    assert error.conflicting_version == 2
    assert "5, 6, 7, 8, 9 and 2 more" in str(error)
    assert found.unused_vector_files() == set()


def test_all_files_with_shared_rows_are_named():
    found = table(range(3), range(3, 6), range(6, 9))
    _, second = run_all(found, [Delete(keys(0, 3, 7)), Delete(keys(0, 3, 8))])
    assert set(second.error.files) == {"part-0", "part-1"}
    assert second.error.num_files == 2


def test_the_second_vector_goes_on_top_of_the_first():
    found = table(range(6))
    run_all(found, [Delete(keys(1)), Delete(keys(4))])
    (removed,), (added,) = actions(found, 3, "remove"), actions(found, 3, "add")
    (won,) = actions(found, 2, "add")
    assert removed["deletionVector"] == won["deletionVector"]
    assert found.gone(vars_of(added["deletionVector"])) == [1, 4]
    assert json.loads(added["stats"])["tightBounds"] is False


def vars_of(document):
    descriptor = DeletionVectorDescriptor.from_json(document)
    return {name: getattr(descriptor, name) for name in DeletionVectorDescriptor.__slots__}


def test_a_union_that_covers_the_file_is_a_plain_remove():
    found = table(range(4))
    outcomes = run_all(found, [Delete(keys(0, 1)), Delete(keys(2, 3))])
    assert all(isinstance(each, Committed) for each in outcomes)
    assert actions(found, 3, "add") == []
    (removed,) = actions(found, 3, "remove")
    assert removed["deletionVector"]["cardinality"] == 2
    assert found.rows() == {}
    assert found.unused_vector_files() == set()


def test_the_history_counts_what_became_of_the_vectors():
    found = table(range(4))
    first, second = begin(Delete(keys(0, 1)), found), begin(Delete(keys(2)), found)
    first.commit()
    counted = {
        "numDeletedRows": 1,
        "numDeletionVectorsAdded": 1,
        "numDeletionVectorsRemoved": 0,
        "numTargetDeletionVectorsUpdated": 0,
    }
    outcome = second.commit(metrics={**counted, "executionTimeMs": 5})
    (info,) = actions(found, 3, "commitInfo")
    assert info["operationMetrics"] == {
        "numDeletedRows": "1",
        "numDeletionVectorsAdded": "1",
        "numDeletionVectorsRemoved": "1",
        "numTargetDeletionVectorsUpdated": "1",
        "executionTimeMs": "5",
    }
    assert {name: str(value) for name, value in outcome.metrics.items()} == info["operationMetrics"]


def test_a_commit_that_is_overtaken_again_and_again_goes_on_top_of_each():
    found = table(range(8))
    running = [begin(Delete(keys(each)), found) for each in range(8)]
    found.store.before_put = lambda: overtake(7)

    def overtake(place):
        if place > 1:
            found.store.before_put = lambda: overtake(place - 1)
        running[place].commit()

    outcome = running[0].commit()
    assert outcome.version == 9
    assert found.rows() == {}
    assert found.unused_vector_files() == set()


def test_only_the_files_that_others_changed_get_new_vectors():
    found = table(range(5), range(5, 10), range(10, 15))
    second = begin(Delete(keys(0, 5, 10)), found)
    before = {each.path: each.deletion_vector for each in second._rows.adds()}
    run_all(found, [Delete(keys(6))])
    second.commit()
    after = {each["path"]: DeletionVectorDescriptor.from_json(each["deletionVector"]) for each in actions(found, 4 + 1, "add")}
    assert {path for path in before if before[path] == after[path]} == {"part-0", "part-2"}


def test_a_file_that_was_compacted_is_not_the_same_any_more():
    found = table(range(4), range(4, 8))
    _, second = run_all(found, [Compact(keys(0, 4)), Delete(keys(3))])
    assert isinstance(second.error, ConcurrentDeleteReadException)
    assert second.error.files == ("part-0",)
    assert found.unused_vector_files() == set()


def test_a_file_that_was_looked_through_and_kept_may_be_compacted():
    found = table([0, 9], [4, 5])
    outcomes = run_all(found, [Compact(keys(0)), Delete(keys(4))])
    assert all(isinstance(each, Committed) for each in outcomes)


def test_a_file_that_another_commit_added_again_with_its_row_ids_is_the_same():
    found = table(range(4))
    second = begin(Delete(keys(1)), found)
    (live,) = row_rebase.live_files(found.log.snapshot().files())
    with found.log.transaction("ROW TRACKING BACKFILL") as backfill:
        backfill.commit([replace(live, data_change=False, tags={"a": "b"})])
    second.commit()
    assert found.rows() == dict.fromkeys([0, 2, 3], 0)
    assert actions(found, 3, "add")[0]["tags"] == {"a": "b"}


def test_row_ids_are_kept_and_new_rows_get_new_ones():
    found = table(range(4), features=("rowTracking", "domainMetadata"))
    first = actions(found, 1, "add")[0]
    run_all(found, [Update(keys(0)), Update(keys(1)), Delete(keys(2))])
    files = found.log.update().files(["path", "base_row_id", "default_row_commit_version"]).to_pylist()
    by_path = {each["path"]: (each["base_row_id"], each["default_row_commit_version"]) for each in files}
    assert by_path == {"part-0": (first["baseRowId"], 1), "part-1": (4, 2), "part-2": (5, 3)}
