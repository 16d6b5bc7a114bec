# SPDX-License-Identifier: Apache-2.0
"""What an operation made is deleted where nothing was committed, and only there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bayou.errors import ConcurrentModificationError, InvalidCommitError, StorageError
from bayou.log.commit.transaction import Committed, Transaction, Unchanged
from bayou.protocol.actions.actions import AddFile, SetTransaction
from bayou.spark.data_files.committing import commit_new_files
from bayou.spark.data_files.uncommitted_files import taking_back
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add, remove

LOG = r"0002\.json$"


class Made:
    """The files of one operation on a table of two versions; removes its file `a`, too."""

    def __init__(self, **options):
        self.builder = TableBuilder(store=FaultyStore(MemoryStore())).create().commit(add("a"))
        log = self.builder.log()
        self.transaction = Transaction(log, log.snapshot(), "WRITE", **options)
        self.there = True

    @property
    def store(self):
        return self.builder.store

    def take_back(self):
        assert self.there
        self.there = False

    def commit(self, *paths, head=(), written_head=(), **options):
        self.transaction.remove_files(self.transaction.files())
        files = [AddFile(path, {}, 1, 1) for path in paths or ("b",)]
        added = SimpleNamespace(actions=files, head=written_head, relative_paths=[file.path for file in files])
        return commit_new_files(self.transaction, added, {"numFiles": 1}, self.take_back, head=head, **options)


def test_files_that_were_committed_stay_and_were_synced_before():
    made = Made()
    assert made.commit() == Committed(2, 1)
    assert made.there
    calls = [call for call in made.store.trace if call[0] in ("sync", "put_if_absent")]
    assert [call[0] for call in calls[:2]] == ["sync", "put_if_absent"]
    assert calls[0][1] == "b"


def test_actions_that_came_of_the_writing_take_the_place_of_the_others():
    for written, expected in (((), {"given"}), ((SetTransaction("written", 1),), {"written"})):
        made = Made()
        made.commit(head=(SetTransaction("given", 1),), written_head=written)
        assert set(made.builder.log().snapshot().transactions) == expected


@pytest.mark.parametrize("spared", [False, True])
def test_files_of_a_commit_that_lost_are_taken_back_unless_they_are_spared(spared):
    made, asked = Made(), []
    made.builder.commit(remove("a"))

    def spares(error):
        asked.append(error)
        return spared

    with pytest.raises(ConcurrentModificationError) as caught:
        made.commit(spares=spares)
    assert (asked, made.there) == ([caught.value], spared)


def test_files_of_a_commit_that_is_refused_are_taken_back():
    made = Made()
    with pytest.raises(InvalidCommitError):
        made.commit("b", "b")
    assert not made.there
    assert made.store.count("put_if_absent", LOG) == 0


def test_files_of_a_batch_that_another_run_committed_are_taken_back():
    first = Made(txn=("load", 1))
    second = Transaction(first.transaction.log, first.transaction.snapshot, "WRITE", txn=("load", 1))
    second.remove_files(second.files())
    second.commit()
    assert first.commit() == Unchanged(2, "replayed")
    assert not first.there


def test_files_that_cannot_be_synced_are_taken_back_and_not_committed():
    made = Made()
    made.store.add(Fault("sync"))
    with pytest.raises(StorageError):
        made.commit()
    assert not made.there
    assert made.store.count("put_if_absent", LOG) == 0


@pytest.mark.parametrize("kind", ["before", "after"])
@pytest.mark.parametrize("error", [None, KeyboardInterrupt()], ids=["a failed store", "an interrupt"])
def test_files_stay_where_they_may_be_committed(kind, error):
    made = Made()
    made.store.add(Fault("put_if_absent", LOG, kind, times=None, error=error))
    made.store.add(Fault("read", LOG, times=None))
    with pytest.raises(StorageError if error is None else KeyboardInterrupt):
        made.commit()
    assert made.there


@pytest.mark.parametrize("error", [StorageError("broken"), ValueError(), KeyboardInterrupt()], ids=["store", "bug", "interrupt"])
def test_what_was_prepared_is_taken_back_after_any_error(error):
    taken = []
    with pytest.raises(type(error)) as caught, taking_back(lambda: taken.append(True)):
        raise error
    assert (caught.value, taken) == (error, [True])


def test_what_was_prepared_without_an_error_stays():
    with taking_back(lambda: pytest.fail("taken back")):
        pass
