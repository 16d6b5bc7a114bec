# SPDX-License-Identifier: Apache-2.0
"""WriteSerializable overlooks appends only while nothing that read them has been committed in between."""

from __future__ import annotations

import pytest

from bayou.errors import ConcurrentAppendException
from bayou.log.commit.transaction import Committed, Conflicted
from bayou.protocol.actions.actions import AddFile, RemoveFile
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add, remove

APPEND = {"operation": "WRITE", "isBlindAppend": True, "readVersion": 1}
INSERT_FROM_SELECT = {"operation": "WRITE", "isBlindAppend": False}


def table():
    builder = TableBuilder(store=FaultyStore(MemoryStore()))
    builder.create({"day": "string"}, partition_by=["day"], configuration={"delta.isolationLevel": "WriteSerializable"})
    return builder.commit(file("mon"), file("tue"))


def file(day, name="", **fields):
    return add(f"{day}{name}", partitionValues={"day": day}, **fields)


def rewrite_monday(builder):
    """An operation that is ready to commit, at version 1."""
    transaction = builder.log().transaction("UPDATE")
    transaction.files(where=[("day", "==", "mon")])
    transaction.stage(RemoveFile("mon"), AddFile("mon2", {"day": "mon"}, 1, 1))
    return transaction


def test_an_append_that_nothing_has_read_counts_as_added_afterwards():
    builder = table()
    transaction = rewrite_monday(builder)
    builder.commit(file("mon", "new"), info=APPEND).commit(file("mon", "newer"), info=APPEND)
    assert transaction.commit() == Committed(4, 2)


@pytest.mark.parametrize("read_version", [2, None])
def test_an_append_that_another_operation_may_have_read_does_not(read_version):
    builder = table()
    transaction = rewrite_monday(builder)
    builder.commit(file("mon", "new"), info=APPEND)
    builder.commit(file("wed"), info={**INSERT_FROM_SELECT, "readVersion": read_version})
    with pytest.raises(ConcurrentAppendException, match="version 2") as caught:
        transaction.commit()
    assert caught.value.conflicting_version == 3
    assert builder.log().version() == 3


def test_nor_does_one_that_is_read_while_the_operation_tries_to_commit():
    builder = table()
    transaction = rewrite_monday(builder)
    builder.commit(file("mon", "new"), info=APPEND)
    reader = {**INSERT_FROM_SELECT, "readVersion": 2}
    builder.store.add(Fault("put_if_absent", r"3\.json", "hook", hook=lambda: builder.commit(file("wed"), info=reader)))
    assert isinstance(transaction.try_commit(), Conflicted)


@pytest.mark.parametrize(
    ("actions", "info"),
    [
        ([file("wed")], {**INSERT_FROM_SELECT, "readVersion": 1}),
        ([file("wed")], {**APPEND, "readVersion": 2}),
        ([remove("tue", dataChange=False), file("tue", "2", dataChange=False)], {"operation": "OPTIMIZE", "readVersion": 2}),
    ],
    ids=["it had not seen the append", "it read nothing", "it changed no row"],
)
def test_a_commit_in_between_that_cannot_depend_on_the_append_is_no_matter(actions, info):
    builder = table()
    transaction = rewrite_monday(builder)
    builder.commit(file("mon", "new"), info=APPEND).commit(*actions, info=info)
    assert transaction.commit() == Committed(4, 2)


def test_an_append_elsewhere_may_be_read_by_anyone():
    builder = table()
    transaction = rewrite_monday(builder)
    builder.commit(file("wed"), info=APPEND)
    builder.commit(file("thu"), info={**INSERT_FROM_SELECT, "readVersion": 2})
    assert transaction.commit() == Committed(4, 2)


def test_a_file_of_which_its_writer_does_not_say_that_it_changes_no_row_counts():
    builder = TableBuilder(store=MemoryStore()).create().commit(add("a"))
    transaction = builder.log().transaction("UPDATE")
    transaction.files()
    builder.commit(add("theirs", dataChange=None), info={"operation": "WRITE"})
    assert isinstance(transaction.try_commit([RemoveFile("a")]), Conflicted)
