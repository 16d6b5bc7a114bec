# SPDX-License-Identifier: Apache-2.0
"""Writers that slept through a cleanup: the name of their version is free again, and the table is elsewhere."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from bayou.errors import ConcurrentWriteException, StorageError, VersionNotFoundError
from bayou.log.commit.transaction import Committed, Conflicted, Transaction, Unknown
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.protocol.actions.file_names import commit_path
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, metadata

SCHEMA = metadata()["metaData"]["schemaString"]
RETENTION = {"delta.logRetentionDuration": "interval 1 days"}
LONG_AGO = int(time.time() * 1000) - 3 * 86_400_000


def file(name):
    return AddFile(name, {}, 10, 1, stats='{"numRecords":1}')


def table():
    return TableBuilder(store=FaultyStore(MemoryStore())).create(configuration=RETENTION)


def move_on(builder, versions, log=None):
    log = log or builder.log()
    for _ in range(versions):
        log.transaction("WRITE").commit([file(f"f{log.version() + 1}")])


def clean_up(builder):
    """The log grows old, and is cut at its newest checkpoint; what stays is one second apart."""
    for place, status in enumerate(list(builder.store.inner.list_from("_delta_log/"))):
        builder.store.inner.set_modification_time(status.path, LONG_AGO + 1000 * place)
    return builder.log().clean_up().first_kept


def live(builder):
    return builder.log().snapshot().files(["path"])["path"].to_pylist()


@pytest.mark.parametrize("read_version", [-1, 0, 3, 18])
def test_a_writer_that_slept_through_a_cleanup_conflicts_and_leaves_nothing(read_version):
    builder = table()
    move_on(builder, max(read_version, 0))
    if read_version < 0:
        late = Transaction(builder.log(), None, "CREATE TABLE")
        actions = [Protocol(1, 2), Metadata("mine", SCHEMA), file("late")]
    else:
        late, actions = builder.log().transaction("WRITE"), [file("late")]
    move_on(builder, 24 - max(read_version, 0))
    assert clean_up(builder) == 20
    before = [status.name for status in builder.store.inner.list_from("_delta_log/")]
    outcome = late.try_commit(actions)
    assert isinstance(outcome, Conflicted)
    assert isinstance(outcome.error, ConcurrentWriteException)
    assert (outcome.error.version, outcome.error.conflicting_version, outcome.error.files) == (24, None, ())
    assert [status.name for status in builder.store.inner.list_from("_delta_log/")] == before
    assert "late" not in live(builder)


@pytest.mark.parametrize("read_version", [19, 20])
def test_a_writer_whose_next_version_is_still_there_goes_on_top(read_version):
    builder = table()
    move_on(builder, read_version)
    late = builder.log().transaction("WRITE")
    move_on(builder, 24 - read_version)
    assert clean_up(builder) == 20
    assert late.commit([file("late")]) == Committed(25, 2)
    assert "late" in live(builder)


def test_a_version_of_which_only_the_checkpoint_is_left_conflicts():
    builder = table()
    move_on(builder, 9)
    late = builder.log().transaction("WRITE")
    move_on(builder, 1)
    lost = Fault("put_if_absent", r"0010\.json", "hook_after", hook=lambda: builder.store.inner.delete(commit_path(10)))
    builder.store.add(lost)
    outcome = late.try_commit([file("late")])
    assert isinstance(outcome, Conflicted)
    assert type(outcome.error) is ConcurrentWriteException


def test_a_version_that_the_process_has_seen_is_not_put_at_all():
    builder = table()
    log = builder.log()
    late = log.transaction("WRITE")
    move_on(builder, 24, log)
    clean_up(builder)
    log.update()
    builder.store.reset()
    assert isinstance(late.try_commit([file("late")]), Conflicted)
    assert not builder.store.count("put_if_absent", r"0001\.json")


@pytest.mark.parametrize("is_lost", [False, True], ids=["answered", "without an answer"])
def test_a_cleanup_between_the_last_listing_and_the_put_is_noticed(is_lost):
    """No listing before the put can know of it: the process may be suspended, or the put slow."""
    builder = table()
    late = builder.log().transaction("WRITE")

    def meanwhile():
        move_on(builder, 24)
        assert clean_up(builder) == 20

    if is_lost:
        builder.store.add(Fault("put_if_absent", r"0001\.json", "after"))
    builder.store.add(Fault("put_if_absent", r"0001\.json", "hook", hook=meanwhile))
    outcome = late.try_commit([file("late")])
    assert isinstance(outcome, Unknown if is_lost else Conflicted)
    assert "late" not in live(builder)


def test_a_late_commit_that_another_cleanup_deleted_leaves_the_outcome_open():
    builder = table()
    late = builder.log().transaction("WRITE")
    move_on(builder, 24)
    clean_up(builder)
    gone = Fault("put_if_absent", r"0001\.json", "hook_after", hook=lambda: builder.store.inner.delete(commit_path(1)))
    builder.store.add(gone)
    outcome = late.try_commit([file("late")])
    assert isinstance(outcome, Unknown)
    assert isinstance(outcome.error, StorageError)


def test_only_the_writers_own_commit_is_deleted():
    builder = table()
    late = builder.log().transaction("WRITE")
    move_on(builder, 24)
    clean_up(builder)
    theirs = b'{"commitInfo":{"txnId":"theirs"}}\n'
    builder.store.add(
        Fault("put_if_absent", r"0001\.json", "hook_after", hook=lambda: builder.store.inner.put(commit_path(1), theirs))
    )
    assert isinstance(late.try_commit([file("late")]), Conflicted)
    assert builder.store.read(commit_path(1)) == theirs


def test_a_commit_that_others_overtook_with_a_checkpoint_stands():
    builder = table()
    log = builder.log()
    move_on(builder, 5, log)
    builder.store.add(Fault("put_if_absent", r"0006\.json", "hook_after", hook=lambda: move_on(builder, 20)))
    assert log.transaction("WRITE").commit([file("mine")]) == Committed(6, 1)
    assert "mine" in live(builder)


def test_a_commit_costs_no_further_listing():
    builder = table()
    log = builder.log()
    move_on(builder, 3, log)
    transaction = log.transaction("WRITE")
    builder.store.reset()
    transaction.commit([file("mine")])
    assert builder.store.count("list_from") == 1
    assert builder.store.count("put_if_absent") == 1


@pytest.mark.parametrize("version", [1, 19])
def test_a_late_commit_of_a_writer_that_died_moves_no_time_and_is_no_history(version):
    builder = table()
    move_on(builder, 24)
    clean_up(builder)
    times = {entry.version: entry.timestamp for entry in builder.log().history()}
    builder.store.inner.put(commit_path(version), b'{"commitInfo":{"operation":"WRITE"}}\n')
    log = builder.log()
    assert {entry.version: entry.timestamp for entry in log.history()} == times
    assert min(times) == 20
    assert log.version_at(dt.datetime.fromtimestamp(times[22] / 1000, dt.timezone.utc)) == 22
    with pytest.raises(VersionNotFoundError):
        log.snapshot(version=version)
