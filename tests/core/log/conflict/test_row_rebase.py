# SPDX-License-Identifier: Apache-2.0
"""Commits that delete rows of the same files at the same time: those of other rows do not exclude one another.

Row changes that rely on rows which another commit deletes, inserts or brings back: which of them conflict.
"""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.drawing import SLOW
from tests.support.operations.row_changes import (
    KEYS,
    Append,
    Compact,
    Delete,
    Update,
    Upsert,
    actions,
    begin,
    keys,
    looked_through,
    run_all,
    table,
)

from bayou.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    InvalidCommitError,
)
from bayou.log.commit.outcomes import Committed, Conflicted, Unchanged
from bayou.log.conflict import row_rebase
from bayou.log.rows.deleted_rows import NotEvaluated, delete_rows
from bayou.log.rows.vector_writer import VectorFiles
from bayou.protocol.deletion_vectors.descriptor import Bitmap, DeletionVectorDescriptor


@SLOW
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


@SLOW
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
    _, second = run_all(found, [Compact(keys(0, 4), tells=False), Delete(keys(3))])
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


def test_two_upserts_of_the_same_new_key_conflict():
    found = table(range(4))
    _, second = run_all(found, [Upsert(keys(2, 7)), Upsert(keys(0, 7))])
    assert isinstance(second.error, ConcurrentAppendException)
    assert second.error.files == ("part-1",)
    assert found.rows()[7] == 1


def test_upserts_of_different_keys_both_succeed():
    found = table(range(4))
    outcomes = run_all(found, [Upsert(keys(2, 7)), Upsert(keys(0, 8)), Upsert(keys(9))])
    assert all(isinstance(each, Committed) for each in outcomes)
    assert sorted(found.rows()) == [0, 1, 2, 3, 7, 8, 9]


def test_a_row_that_a_merge_relies_on_may_not_be_deleted():
    found = table(range(4))
    _, second = run_all(found, [Delete(keys(3)), Upsert(keys(2, 3))])
    assert isinstance(second.error, ConcurrentDeleteReadException)
    assert second.error.rows == (3,)
    assert found.rows() == dict.fromkeys(range(3), 0)


def test_a_row_that_was_moved_into_the_condition_is_noticed_and_one_that_was_not_is_not():
    found = table(range(4))
    outcomes = run_all(found, [Update(keys(1)), Update(keys(2, 3)), Delete(keys(2))])
    assert [type(each) for each in outcomes] == [Committed, Committed, Conflicted]


def test_statistics_answer_where_they_can():
    found = table(range(4))
    transaction = found.log.transaction("DELETE")
    _, reads = looked_through(found.log.snapshot(), [("key", "<=", 2)])
    transaction.delete_rows(third_row(found, reads=reads, oracle=oracle(lambda: pytest.fail("asked"))))
    found.append([(40, 0)])
    assert transaction.commit().version == 3


def oracle(answer):
    """An oracle that gives one answer for all added rows."""
    return SimpleNamespace(matches_added_rows=lambda *_: answer())


def third_row(table, **options):
    snapshot = table.log.snapshot()
    vectors = VectorFiles(table.store, table.uri, snapshot.properties)
    rows = [Bitmap.from_positions([2])]
    return delete_rows(snapshot, table.store, snapshot.files(), rows, vectors, deletion_timestamp=1, **options)


def test_what_nobody_can_tell_is_a_conflict():
    found = table(range(4))
    transaction = found.log.transaction("DELETE")
    transaction.delete_rows(third_row(found))
    found.append([(40, 0)])
    assert isinstance(transaction.try_commit().error, ConcurrentAppendException)
    assert found.unused_vector_files() == set()


def test_rows_that_a_condition_fails_on_are_a_conflict_that_says_why():
    found = table(range(4))
    transaction = found.log.transaction("DELETE")
    transaction.delete_rows(third_row(found, oracle=oracle(lambda: NotEvaluated("'x' is no number"))))
    found.append([(40, 0)])
    error = transaction.try_commit().error
    assert isinstance(error, ConcurrentAppendException)
    assert "'x' is no number" in str(error)
    assert error.files == ("part-1",)
    assert found.unused_vector_files() == set()


def test_rows_are_deleted_once_and_of_the_version_that_was_read():
    found = table(range(4))
    rows = third_row(found)
    found.append([(40, 0)])
    with found.log.transaction("DELETE") as transaction, pytest.raises(InvalidCommitError):
        transaction.delete_rows(rows)
    rows.discard()
    found = table(range(4))
    with found.log.transaction("DELETE") as transaction:
        transaction.delete_rows(third_row(found))
        with pytest.raises(InvalidCommitError):
            transaction.delete_rows(third_row(found))


def test_an_insert_after_a_look_at_the_table_is_no_blind_append():
    found = table(range(4))
    run_all(found, [Upsert(keys(7))])
    assert [each["isBlindAppend"] for each in actions(found, 2, "commitInfo")] == [False]
    assert actions(found, 2, "remove") == []


def test_other_reads_of_the_table_are_as_strict_as_ever():
    found = table(range(4))
    second = begin(Delete(keys(2)), found)
    second.files(where=[("key", "==", 3)])
    run_all(found, [Delete(keys(0))])
    assert isinstance(second.try_commit(), Conflicted)


def bring_back(found, files):
    """Another commit gives the files of an earlier version, with the vectors that they had then."""
    with found.log.transaction("RESTORE") as restore:
        restore.remove_files(restore.files())
        restore.commit([replace(each, data_change=True) for each in row_rebase.live_files(files)])


def test_rows_that_were_brought_back_are_looked_at():
    found = table(range(4))
    run_all(found, [Delete(keys(1, 2))])
    first = found.log.snapshot(1).files()
    second = begin(Delete(keys(1, 3)), found)
    bring_back(found, first)
    outcome = second.try_commit()
    assert isinstance(outcome.error, ConcurrentAppendException)
    assert sorted(found.rows()) == [0, 1, 2, 3]


def test_rows_that_stayed_are_not_looked_at_where_others_were_brought_back():
    found = table(range(4))
    run_all(found, [Delete(keys(1, 2))])
    before = found.log.snapshot(1).files()
    second = begin(Delete(keys(0, 3)), found)
    bring_back(found, before)
    assert second.try_commit().version == 4
    assert sorted(found.rows()) == [1, 2]


def test_a_blind_append_may_come_after_a_write_serializable_delete():
    found = table(range(4), isolation="WriteSerializable")
    outcomes = run_all(found, [Append(keys(7)), Delete(keys(1, 7))])
    assert all(isinstance(each, Committed) for each in outcomes)
    assert sorted(found.rows()) == [0, 2, 3, 7]


@SLOW
@given(
    st.lists(KEYS, min_size=1, max_size=3),
    st.lists(st.tuples(st.sampled_from([Delete, Update]), KEYS), min_size=1, max_size=3),
    KEYS,
)
def test_changes_follow_their_rows_into_the_files_of_a_compaction(before, changes, compacted):
    """Rows that were deleted before the compaction, the changes begun before it, more compactions in between."""
    found = table(range(4), range(4, 8), range(8, 12))
    for each in before:
        run_all(found, [Delete(each)])
    expected = before_all = found.rows()
    running = [begin(kind(part), found) for kind, part in changes]
    taken = set()
    for (kind, part), change in zip(changes, running, strict=True):
        run_all(found, [Compact(compacted)])
        outcome = change.try_commit(new_files=True)
        lost = part & taken & before_all.keys()
        assert isinstance(outcome, Conflicted if lost else Committed if part & before_all.keys() else (Committed, Unchanged))
        if not isinstance(outcome, Conflicted):
            taken |= part
            expected = kind(part).effect(expected)
    assert found.rows() == expected
    assert found.unused_vector_files() == set()


@pytest.mark.parametrize("tells", [True, False], ids=["told", "not told"])
def test_a_change_cannot_follow_rows_of_which_nobody_says_where_they_went(tells):
    found = table(range(4), range(4, 8))
    _, second = run_all(found, [Compact(keys(1), tells), Delete(keys(1, 5))])
    assert isinstance(second, Committed if tells else Conflicted)
    if isinstance(second, Conflicted):
        assert isinstance(second.error, ConcurrentDeleteReadException)
        assert second.error.rows_only_moved is True
    assert found.rows() == dict.fromkeys((0, 2, 3, 4, 6, 7) if tells else range(8), 0)


def test_a_conflict_with_a_commit_that_changed_rows_says_so():
    found = table(range(4))
    _, second = run_all(found, [Delete(keys(0, 1, 2, 3)), Delete(keys(1))])
    assert second.error.rows_only_moved is False


def test_a_vector_of_a_moved_row_is_on_the_new_file():
    found = table(range(4), range(4, 8))
    run_all(found, [Delete(keys(0))])
    outcomes = run_all(found, [Compact(keys(1, 5)), Delete(keys(2, 6))])
    assert all(isinstance(each, Committed) for each in outcomes)
    version = outcomes[1].version
    (removed,), (added,) = actions(found, version, "remove"), actions(found, version, "add")
    assert removed["path"] == added["path"] == actions(found, version - 1, "add")[0]["path"]
    assert "deletionVector" not in removed
    assert found.gone(vars_of(added["deletionVector"])) == [2, 5]  # the file with a vector was added last, and is read last
