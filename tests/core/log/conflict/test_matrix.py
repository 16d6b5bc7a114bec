# SPDX-License-Identifier: Apache-2.0
"""The matrix of features 6.4: each operation after each commit that was faster, under every isolation level."""

from __future__ import annotations

from tests.core.log.conflict.raced_tables import (
    APPEND,
    DELETE,
    META,
    READ,
    WINNERS,
    alter,
    begin,
    delete_monday,
    file,
    insert,
    optimize_monday,
    table,
)
from tests.support.cases import in_one_test

from bayou.log.commit.transaction import Committed, Conflicted
from bayou.protocol.actions.actions import RemoveFile


def insert_from_itself(transaction):
    transaction.files(where=[("day", "==", "mon")])
    return [file("new")]


def overwrite(transaction):
    transaction.read_whole_table()
    return [RemoveFile("mon"), RemoveFile("tue"), RemoveFile("wed"), file("new")]


# Operation: what comes of it after each winner; a pair is (Serializable, WriteSerializable), None is a commit.
MATRIX = {
    insert: {"alter": META},
    insert_from_itself: {
        "insert": (APPEND, None),
        "update": APPEND,
        "delete of a file": READ,
        "alter": META,
    },
    delete_monday: {
        "insert": (APPEND, None),
        "update": APPEND,
        "delete of a file": READ,
        "optimize": DELETE,
        "alter": META,
    },
    overwrite: {
        "insert": (APPEND, None),
        "insert elsewhere": (APPEND, None),
        "transaction": (APPEND, None),
        "update": APPEND,
        "update elsewhere": APPEND,
        "delete of a file": READ,
        "optimize": DELETE,
        "alter": META,
    },
    optimize_monday: {"update": READ, "delete of a file": READ, "optimize": DELETE, "alter": META},
    alter: {"alter": META},
}


@in_one_test("operation", MATRIX)
@in_one_test("winner", WINNERS)
@in_one_test("isolation", ["Serializable", "WriteSerializable", "writeserializable", "SnapshotIsolation"])
def test_the_matrix(operation, winner, isolation):
    builder = table(isolation)
    transaction = begin(builder)
    actions = operation(transaction)
    theirs_, info = WINNERS[winner]
    builder.commit(*theirs_, info=info)
    outcome = transaction.try_commit(actions)
    expected = MATRIX[operation].get(winner)
    if isinstance(expected, tuple):
        expected = expected[isolation.lower() == "writeserializable"]
    if expected is None:
        assert outcome == Committed(3, 2)
        return
    assert isinstance(outcome, Conflicted)
    assert type(outcome.error) is expected
    assert (outcome.error.conflicting_version, outcome.error.conflicting_operation) == (2, info["operation"])
    assert builder.log().version() == 2
