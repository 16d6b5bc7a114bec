# SPDX-License-Identifier: Apache-2.0
"""Row changes that rely on rows which another commit deletes, inserts or brings back: which of them conflict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.transactions.begun_row_changes import actions, begin, keys, run_all, table
from tests.core.transactions.row_operations import Append, Delete, Update, Upsert, looked_through

from bayou.errors import ConcurrentAppendException, ConcurrentDeleteReadException, InvalidCommitError
from bayou.log.commit.outcomes import Committed, Conflicted
from bayou.log.conflict import row_rebase
from bayou.log.rows.deleted_rows import Untold, delete_rows
from bayou.log.rows.vector_writer import VectorFiles
from bayou.protocol.deletion_vectors.descriptor import Bitmap


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
    transaction.delete_rows(third_row(found, reads=reads, holds=lambda *_: pytest.fail("asked")))
    found.append([(40, 0)])
    assert transaction.commit().version == 3


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
    transaction.delete_rows(third_row(found, holds=lambda *_: Untold("'x' is no number")))
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
