# SPDX-License-Identifier: Apache-2.0
"""A commit for an application and its version is made once, however often it is tried."""

from __future__ import annotations

import pytest
from tests.support.operations.transactions import FILE, begin, committed, table

from bayou.errors import ConcurrentTransactionException, InvalidOptionError
from bayou.log.commit.transaction import Committed, Unchanged
from bayou.protocol.actions.actions import AddFile


def test_a_commit_for_an_application_is_made_once():
    builder = table()
    assert begin(builder, txn=("job", 7)).commit([FILE]) == Committed(1, 1)
    assert committed(builder, 1)[1]["txn"]["version"] == 7
    for version in (7, 6):
        replay = begin(builder, txn=("job", version))
        assert replay.is_replay
        assert replay.commit([AddFile("again", {}, 1, 1)]) == Unchanged(1, "replayed")
    assert begin(builder, txn=("other", 7)).commit([AddFile("b", {}, 1, 1)]) == Committed(2, 1)
    assert begin(builder, txn=("job", 8)).commit([AddFile("c", {}, 1, 1)]) == Committed(3, 1)


def test_of_two_runs_of_one_batch_the_second_is_a_replay_though_both_began():
    builder = table()
    first, second = begin(builder, txn=("job", 7)), begin(builder, txn=("job", 7))
    assert first.commit([FILE]) == Committed(1, 1)
    assert second.commit([AddFile("again", {}, 1, 1)]) == Unchanged(1, "replayed")
    assert builder.log().version() == 1


def test_a_later_batch_that_overtook_nothing_conflicts():
    builder = table()
    older, newer = begin(builder, txn=("job", 6)), begin(builder, txn=("job", 7))
    older.commit([FILE])
    with pytest.raises(ConcurrentTransactionException):
        newer.commit([AddFile("c", {}, 1, 1)])


@pytest.mark.parametrize("txn", [("", 1), ("app", -1), ("app", "1"), ("app",), 5, ("app", True)])
def test_an_application_version_that_is_none_is_refused(txn):
    with pytest.raises(InvalidOptionError, match="txn"):
        begin(table(), txn=txn)
