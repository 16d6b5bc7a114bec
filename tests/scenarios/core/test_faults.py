# SPDX-License-Identifier: Apache-2.0
"""Whatever calls of the store fail: what a transaction reports is what the log holds."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.drawing import SLOW
from tests.support.operations.row_changes import Delete, RowTable

from bayou.errors import DeltaError, InvalidCommitError
from bayou.log.checksum.verify import verify_checksum
from bayou.log.commit import attempts
from bayou.log.commit.hooks import checkpoint
from bayou.log.commit.outcomes import CommitOutcome, Committed, Conflicted, Unchanged, Unknown
from bayou.log.commit.transaction import Action, Transaction
from bayou.log.delta_log import DeltaLog
from bayou.log.rows.deleted_rows import delete_rows
from bayou.log.rows.vector_writer import VectorFiles
from bayou.protocol.actions.actions import AddFile, Protocol, RemoveFile
from bayou.protocol.actions.file_names import commit_path
from bayou.protocol.deletion_vectors.descriptor import Bitmap
from bayou.storage import MemoryStore
from bayou.testing.faulty_store import Fault, FaultyStore
from bayou.testing.table_builder import TableBuilder, add

faults = st.builds(
    Fault,
    call=st.sampled_from([None, "put_if_absent", "put_if_absent", "read", "list_from", "size", "put", "open", "delete"]),
    path=st.sampled_from(["", r"/\d{20}\.json$", r"\.crc$", "checkpoint"]),
    kind=st.sampled_from(["before", "after"]),
    nth=st.integers(1, 12),
    times=st.sampled_from([1, 1, 2, 4, None]),
)


@dataclass(eq=False)
class Attempt:
    """A transaction, and what became of it: an outcome, an error that was raised, or nothing yet."""

    transaction: Transaction
    actions: list[Action]
    outcome: CommitOutcome | DeltaError | None = None


class Run:
    """Transactions that overlap, on a store that fails as planned."""

    def __init__(self, plan):
        self.store = FaultyStore(MemoryStore())
        self.builder = TableBuilder(store=self.store)
        self.builder.create(configuration={"delta.checkpointInterval": "3"}).commit(add("first", size=1))
        self.logs = [self.builder.log() for _ in range(3)]
        self.attempts = []
        for fault in plan:
            self.store.add(fault)

    def begin(self, number, kind):
        batch = ("app", number // 2) if kind == "batch" else None
        try:
            transaction = self.logs[number % 3].transaction("WRITE", txn=batch)
            actions = [AddFile(f"file{number}", {}, 1, 1, stats='{"numRecords":1}')]
            if kind == "replace":
                actions += [RemoveFile(path, size=1) for path in transaction.files(["path"])["path"].to_pylist()]
        except DeltaError:
            return
        self.attempts.append(Attempt(transaction, actions))

    def commit(self, choice):
        todo = [each for each in self.attempts if each.outcome is None]
        if todo:
            attempt = todo[choice % len(todo)]
            try:
                attempt.outcome = attempt.transaction.try_commit(attempt.actions)
            except DeltaError as error:
                attempt.outcome = error

    def check(self):
        names, live = self._logged()
        for attempt in self.attempts:
            times = names[attempt.transaction.txn_id]
            match attempt.outcome:
                case Committed(version):
                    assert (times, self._name_of(version)) == (1, attempt.transaction.txn_id)
                case Conflicted() | Unchanged() | DeltaError() | None:
                    assert times == 0, attempt.outcome
                case Unknown(error):
                    assert times <= 1
                    assert error.txn_id == attempt.transaction.txn_id
        self.store.reset()
        snapshot = self.builder.log().snapshot()
        assert sorted(snapshot.files(["path"])["path"].to_pylist()) == sorted(live)
        verify_checksum(snapshot)

    def _logged(self):
        """How often each commit is in the log by its unique name, and the live files, without bayou's reader."""
        names, live = Counter(), set()
        for actions in self._commits():
            for action in actions:
                names[action.get("commitInfo", {}).get("txnId")] += 1
                if "remove" in action:
                    live.remove(action["remove"]["path"])
                elif "add" in action:
                    assert action["add"]["path"] not in live
                    live.add(action["add"]["path"])
        return names, live

    def _commits(self):
        version = 0
        while True:
            try:
                yield [json.loads(line) for line in self.store.inner.read(commit_path(version)).splitlines()]
            except FileNotFoundError:
                return
            version += 1

    def _name_of(self, version):
        return json.loads(self.store.inner.read(commit_path(version)).splitlines()[0])["commitInfo"]["txnId"]


kinds = st.sampled_from(["append", "append", "batch", "replace"])
steps = st.lists(st.one_of(kinds, st.integers(0, 5)), min_size=4, max_size=24)


def run(plan, chosen):
    found = Run(plan)
    for number, step in enumerate(chosen):
        if isinstance(step, str):
            found.begin(number, step)
        else:
            found.commit(step)
    for _ in range(len(found.attempts)):
        found.commit(0)
    found.check()
    return found


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch):
    monkeypatch.setattr(attempts, "_LONGEST_PAUSE", 0.0)


@SLOW
@given(st.lists(faults, max_size=4), steps)
def test_what_is_reported_is_what_is_in_the_log(plan, chosen):
    run(plan, chosen)


@pytest.mark.soak
@settings(max_examples=20_000)
@given(st.lists(faults, max_size=8), steps)
def test_what_is_reported_is_what_is_in_the_log_in_a_long_run(plan, chosen):
    run(plan, chosen)


# What follows is what the random plans found, and what is like it.


def ready_to_append():
    found = Run([])
    found.begin(0, "append")
    return found


@pytest.mark.parametrize("call", ["list_from", "read"])
def test_a_commit_stands_though_the_store_fails_right_after_it(call):
    found = ready_to_append()

    def fail():
        found.store.add(Fault(call, times=None))

    found.store.add(Fault("put_if_absent", r"2\.json$", "hook_after", hook=fail))
    found.commit(0)
    assert found.attempts[0].outcome == Committed(2, 1)
    found.check()


@pytest.mark.parametrize(
    "theirs", [{"protocol": Protocol(3, 7, ("fromTheFuture",), ("fromTheFuture",)).to_json()}, {"add": {"path": 5}}]
)
def test_a_commit_stands_though_another_writer_made_the_log_unreadable_right_after_it(theirs):
    found = ready_to_append()
    found.builder.version = 2
    found.store.add(Fault("put_if_absent", r"2\.json$", "hook_after", hook=lambda: found.builder.commit(theirs)))
    found.commit(0)
    assert found.attempts[0].outcome == Committed(2, 1)


@pytest.mark.parametrize("slept_at", ["hook_after", "hook"], ids=["the commit was seen", "its name is free again"])
def test_a_put_without_an_answer_whose_version_is_cleaned_up_is_no_lost_one(slept_at):
    """Whoever takes it for lost deletes what the table holds: the next version's checkpoint names it."""
    found = RowTable()
    found.append([(key, 0) for key in range(6)])
    faulty, inner = FaultyStore(found.store), found.store
    log = DeltaLog(found.uri, faulty)
    transaction = log.transaction("DELETE")
    snapshot, version = log.snapshot(), log.version() + 1
    vectors = VectorFiles(faulty, found.uri, snapshot.properties)
    bitmaps, no_match = [Bitmap.from_positions([2])], SimpleNamespace(matches_added_rows=lambda *_: False)
    deleted = delete_rows(snapshot, faulty, snapshot.files(), bitmaps, vectors, deletion_timestamp=1, oracle=no_match)
    transaction.delete_rows(deleted)
    slept = []

    def sleep_through_a_cleanup():
        if slept:
            return
        slept.append(True)
        other = DeltaLog(found.uri, inner)
        with other.transaction("WRITE") as append:
            append.commit([found.new_file([(50, 0)])], new_files=True)
        checkpoint(other.snapshot())
        for number in range(other.version()):
            inner.delete(commit_path(number))

    faulty.add(Fault("put_if_absent", rf"{version:020d}\.json$", "after"))
    faulty.add(Fault("size", rf"{version:020d}\.json$", slept_at, hook=sleep_through_a_cleanup))
    assert isinstance(transaction.try_commit(new_files=True), Unknown)
    assert slept
    files = DeltaLog(found.uri, inner).snapshot().files().to_pylist()
    assert sorted(found.gone(file["deletion_vector"]) for file in files) == [[], [2]]


def test_vectors_of_a_commit_that_cannot_be_encoded_are_deleted():
    found = RowTable(features=("rowTracking", "domainMetadata"))
    found.append([(key, 0) for key in range(4)])
    transaction = found.log.transaction("DELETE")
    Delete(frozenset({1})).stage(transaction, found)
    transaction.stage(AddFile("without-numRecords", {}, 10, 1))
    with pytest.raises(InvalidCommitError):
        transaction.try_commit(new_files=True)
    assert (found.log.update().version, found.unused_vector_files()) == (1, set())
