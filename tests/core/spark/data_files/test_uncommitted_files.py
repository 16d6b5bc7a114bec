# SPDX-License-Identifier: Apache-2.0
"""The files that an operation wrote are deleted if its commit certainly is not in the log, and only then."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from bayou.errors import ConcurrentModificationError, InvalidCommitError, StorageError
from bayou.log.commit.transaction import Committed, Transaction, Unchanged
from bayou.protocol.actions.actions import AddFile, SetTransaction
from bayou.spark.data_files.uncommitted_files import UncommittedFiles
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add, remove

LOG = r"0002\.json$"


class Made:
    """The file `b` of one operation, whose folder is not that of its log: a table of two versions. It removes the file `a`."""

    def __init__(self, folder, **options):
        self.builder = TableBuilder(store=FaultyStore(MemoryStore())).create().commit(add("a"))
        self.file = folder / "b"
        self.file.touch()
        self.uncommitted = UncommittedFiles(str(folder), {})
        self.uncommitted.add(["b", "missing"])
        self.begin(**options)

    def begin(self, **options):
        log = self.builder.log()
        self.transaction = Transaction(log, log.snapshot(), "WRITE", **options)

    @property
    def store(self):
        return self.builder.store

    @property
    def there(self):
        return self.file.exists()

    def commit(self, *paths, head=(), written_head=()):
        self.transaction.remove_files(self.transaction.files())
        files = [AddFile(path, {}, 1, 1) for path in paths or ("b",)]
        added = SimpleNamespace(actions=files, head=written_head, relative_paths=[file.path for file in files])
        return self.uncommitted.commit(self.transaction, added, {"numFiles": 1}, head=head)

    def run(self, *paths, **options):
        with self.uncommitted:
            return self.commit(*paths, **options)


def test_files_that_were_committed_stay_and_were_synced_before(tmp_path):
    made = Made(tmp_path)
    assert made.run() == Committed(2, 1)
    assert made.there
    calls = [call for call in made.store.trace if call[0] in ("sync", "put_if_absent")]
    assert [call[0] for call in calls[:2]] == ["sync", "put_if_absent"]
    assert calls[0][1] == "b"


def test_files_stay_after_an_error_that_follows_their_commit(tmp_path):
    def fail(_version):
        raise ValueError("after the commit")

    made = Made(tmp_path, on_commit=fail)
    with pytest.raises(ValueError, match="after the commit"):
        made.run()
    assert made.there


@pytest.mark.parametrize("written", [False, True])
def test_actions_that_the_files_bring_replace_the_others(tmp_path, written):
    made = Made(tmp_path)
    made.run(head=(SetTransaction("given", 1),), written_head=(SetTransaction("written", 1),) if written else ())
    assert set(made.builder.log().snapshot().transactions) == {"written" if written else "given"}


def test_files_of_a_commit_that_conflicts_are_deleted(tmp_path):
    made = Made(tmp_path)
    made.builder.commit(remove("a"))
    with pytest.raises(ConcurrentModificationError):
        made.run()
    assert not made.there


def test_files_can_be_committed_by_another_transaction_after_a_conflict(tmp_path):
    made = Made(tmp_path)
    made.builder.commit(remove("a"), add("c"))
    with made.uncommitted:
        with pytest.raises(ConcurrentModificationError):
            made.commit()
        made.begin()
        assert made.there
        assert made.commit() == Committed(3, 1)
    assert made.there


def test_files_of_a_commit_that_is_refused_are_deleted(tmp_path):
    made = Made(tmp_path)
    with pytest.raises(InvalidCommitError):
        made.run("b", "b")
    assert not made.there
    assert made.store.count("put_if_absent", LOG) == 0


def test_files_of_a_batch_that_another_run_committed_are_deleted(tmp_path):
    first = Made(tmp_path, txn=("load", 1))
    second = Transaction(first.transaction.log, first.transaction.snapshot, "WRITE", txn=("load", 1))
    second.remove_files(second.files())
    second.commit()
    assert first.run() == Unchanged(2, "replayed")
    assert not first.there


def test_files_that_cannot_be_synced_are_deleted_and_not_committed(tmp_path):
    made = Made(tmp_path)
    made.store.add(Fault("sync"))
    with pytest.raises(StorageError):
        made.run()
    assert not made.there
    assert made.store.count("put_if_absent", LOG) == 0


def test_files_of_an_operation_that_is_interrupted_before_its_commit_are_deleted(tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    made = Made(tmp_path, before_commit=interrupt)
    with pytest.raises(KeyboardInterrupt):
        made.run()
    assert not made.there


@pytest.mark.parametrize("kind", ["before", "after"])
@pytest.mark.parametrize("error", [None, KeyboardInterrupt()], ids=["a failed store", "an interrupt"])
def test_files_stay_if_they_may_be_committed(tmp_path, kind, error):
    made = Made(tmp_path)
    made.store.add(Fault("put_if_absent", LOG, kind, times=None, error=error))
    made.store.add(Fault("read", LOG, times=None))
    with pytest.raises(StorageError if error is None else KeyboardInterrupt):
        made.run()
    assert made.there


@pytest.mark.parametrize("error", [StorageError("broken"), ValueError(), KeyboardInterrupt()], ids=["store", "bug", "interrupt"])
def test_files_are_deleted_after_any_error_before_the_commit(tmp_path, error):
    made = Made(tmp_path)
    with pytest.raises(type(error)) as caught, made.uncommitted:
        raise error
    assert caught.value is error
    assert not made.there


def test_files_that_are_not_committed_are_deleted_with_the_folders_of_their_job(tmp_path):
    made, cleared = Made(tmp_path), []
    made.uncommitted.add_folders(SimpleNamespace(clear=lambda: cleared.append(made.there)))
    with made.uncommitted:
        pass
    assert cleared == [False]


def test_files_that_the_commit_does_not_add_are_deleted_at_once(tmp_path):
    made = Made(tmp_path)
    made.uncommitted.delete(["b", "missing"])
    assert not made.there
