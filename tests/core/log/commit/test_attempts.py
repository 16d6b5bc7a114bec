# SPDX-License-Identifier: Apache-2.0
"""Commits whose version another writer made first, and puts of which nobody knows whether they landed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.operations.transactions import FILE, SCHEMA, begin, committed, table

from bayou.errors import ConcurrentModificationError, StorageError
from bayou.log.commit.transaction import Committed, Transaction, Unknown
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add


def test_a_blind_append_goes_on_top_of_other_data_changes():
    builder = table()
    transaction = begin(builder)
    builder.commit(add("theirs")).commit(add("theirs2"))
    assert transaction.commit([FILE]) == Committed(3, 2)
    assert committed(builder, 3)[0]["commitInfo"]["readVersion"] == 0
    assert builder.log().snapshot().num_files == 3


def test_a_thousand_lost_versions_cost_one_listing_and_one_pass():
    builder = table(FaultyStore(MemoryStore()))
    transaction = begin(builder)
    for number in range(1000):
        builder.commit(add(f"theirs{number}"))
    builder.store.reset()
    assert transaction.commit([FILE]) == Committed(1001, 2)
    assert builder.store.count("put_if_absent", r"\d+\.json") == 2
    # One listing for the race, and one to see that the commit is listed.
    assert builder.store.count("list_from") == 2


def test_racing_appends_all_land_once(tmp_path):
    builder = TableBuilder(tmp_path).create()

    def append(number):
        log = builder.log()
        transaction = Transaction(log, log.snapshot(), "WRITE")
        return transaction.commit([AddFile(f"f{number}", {}, 1, 1)]).version

    with ThreadPoolExecutor(8) as pool:
        versions = list(pool.map(append, range(40)))
    assert sorted(versions) == list(range(1, 41))
    paths = builder.log().snapshot().files(["path"])["path"].to_pylist()
    assert sorted(paths) == sorted(f"f{number}" for number in range(40))


class FailingStore(MemoryStore):
    """Fails puts, before or after they are done."""

    def __init__(self, *, done, readable=True):
        super().__init__()
        self.failing = False
        self.done = done
        self.readable = readable

    def put_if_absent(self, path, data):
        if not self.failing:
            return super().put_if_absent(path, data)
        if self.done:
            super().put_if_absent(path, data)
        raise StorageError("the connection broke")

    def read(self, path):
        if self.failing and not self.readable:
            raise StorageError("the connection broke")
        return super().read(path)


def test_a_commit_that_landed_though_the_store_failed_is_found_by_its_name():
    builder = table(FailingStore(done=True))
    transaction = begin(builder)
    builder.store.failing = True
    assert transaction.commit([FILE]) == Committed(1, 1)


@pytest.mark.parametrize("done", [True, False])
def test_an_outcome_that_cannot_be_known_is_a_value_of_its_own(done):
    builder = table(FailingStore(done=done, readable=not done))
    transaction = begin(builder)
    builder.store.failing = True
    outcome = transaction.try_commit([FILE])
    assert isinstance(outcome, Unknown)
    assert outcome.error.outcome == "unknown"
    assert transaction.txn_id in str(outcome.error)


def test_a_put_that_failed_and_did_not_land_is_tried_again():
    builder = table(FaultyStore(MemoryStore()))
    transaction = begin(builder)
    builder.store.add(Fault("put_if_absent", r"0001\.json", "before"))
    assert transaction.commit([FILE]) == Committed(1, 1)
    assert builder.log().snapshot().num_files == 1


def test_a_failed_put_whose_version_another_writer_made_goes_on_top():
    builder = table(FaultyStore(MemoryStore()))
    transaction = begin(builder)

    def theirs(*_arguments):
        TableBuilder.commit(other, add("theirs"))

    other = TableBuilder(store=builder.store.inner)
    other.version = 0
    builder.store.add(Fault("put_if_absent", r"0001\.json", "hook", hook=theirs))
    builder.store.add(Fault("put_if_absent", r"0001\.json", "before"))
    assert transaction.commit([FILE]).version == 2
    assert builder.log().snapshot().num_files == 2


def test_a_commit_that_the_store_does_not_list_is_an_error_that_says_it_stands():
    builder = table(FaultyStore(MemoryStore()))
    transaction = begin(builder)
    listed = list(builder.store.list_from("_delta_log/"))
    builder.store.list_from = lambda path: iter([each for each in listed if each.path >= path])
    with pytest.raises(StorageError) as caught:
        transaction.commit([FILE])
    assert caught.value.getErrorClass() == "DELTA_INVALID_COMMITTED_VERSION"
    assert caught.value.outcome == "committed"


def test_a_first_commit_that_the_store_does_not_list_is_one_too():
    store = FaultyStore(MemoryStore())
    store.list_from = lambda _path: iter(())
    transaction = Transaction(TableBuilder(store=store).log(), None, "CREATE TABLE")
    with pytest.raises(StorageError) as caught:
        transaction.commit([Protocol(1, 2), Metadata("x", SCHEMA)])
    assert (caught.value.outcome, caught.value.version) == ("committed", 0)


def test_attempts_are_bounded():
    builder = table()
    transaction = begin(builder, max_attempts=1)
    builder.commit()
    with pytest.raises(ConcurrentModificationError) as caught:
        transaction.commit([FILE])
    assert caught.value.getErrorClass() == "DELTA_MAX_COMMIT_RETRIES_EXCEEDED"
