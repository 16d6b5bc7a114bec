# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from bayou.errors import ConcurrentModificationError, StorageError, UnsupportedFeatureError
from bayou.log.transaction import Committed, Conflicted, Transaction, Unknown
from bayou.protocol import file_names
from bayou.protocol.actions import AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.storage import LocalStore, MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata

FILE = AddFile("mine", {}, 5, 5)
SCHEMA = metadata()["metaData"]["schemaString"]


def table(store=None):
    return TableBuilder(store=store or MemoryStore()).create()


def begin(builder, **options):
    log = builder.log()
    return Transaction(log, log.snapshot(), "WRITE", {"mode": "Append", "partitionBy": []}, **options)


def committed(builder, version):
    return [json.loads(line) for line in builder.store.read(file_names.commit_path(version)).splitlines()]


def test_a_commit_is_the_next_version_with_its_provenance_first():
    builder = table()
    transaction = begin(builder, engine_info="test", user_metadata="note", clock=lambda: 1_700_000_000.5)
    outcome = transaction.commit([FILE], is_blind_append=True, metrics={"numFiles": 1})
    assert outcome == Committed(1, 1)
    first, second = committed(builder, 1)
    assert first == {
        "commitInfo": {
            "timestamp": 1_700_000_000_500,
            "operation": "WRITE",
            "operationParameters": {"mode": "Append", "partitionBy": "[]"},
            "readVersion": 0,
            "isolationLevel": "Serializable",
            "isBlindAppend": True,
            "operationMetrics": {"numFiles": "1"},
            "userMetadata": "note",
            "engineInfo": "test",
            "txnId": transaction.txn_id,
        }
    }
    assert next(iter(first["commitInfo"])) == "timestamp"
    assert second == {"add": FILE.to_json()}
    assert builder.log().snapshot().files(["path"])["path"].to_pylist() == ["mine"]


def test_the_first_commit_creates_the_table(tmp_path):
    builder = TableBuilder(tmp_path / "new" / "table")
    transaction = Transaction(builder.log(), None, "CREATE TABLE")
    assert transaction.commit([Protocol(1, 2), Metadata("x", SCHEMA), FILE]).version == 0
    assert "readVersion" not in committed(builder, 0)[0]["commitInfo"]
    assert builder.log().snapshot().num_files == 1


def test_the_first_commit_needs_protocol_and_metadata():
    transaction = Transaction(TableBuilder(store=MemoryStore()).log(), None, "WRITE")
    with pytest.raises(ConcurrentModificationError) as caught:
        transaction.commit([FILE])
    assert caught.value.getErrorClass() == "DELTA_METADATA_ABSENT"


def test_of_two_creators_one_loses():
    builder = TableBuilder(store=MemoryStore())
    transaction = Transaction(builder.log(), None, "CREATE TABLE")
    builder.create()
    with pytest.raises(ConcurrentModificationError) as caught:
        transaction.commit([Protocol(1, 2), Metadata("x", SCHEMA)])
    assert caught.value.conflicting_version == 0


def test_a_blind_append_goes_on_top_of_other_data_changes():
    builder = table()
    transaction = begin(builder)
    builder.commit(add("theirs")).commit(add("theirs2"))
    assert transaction.commit([FILE], is_blind_append=True) == Committed(3, 3)
    assert committed(builder, 3)[0]["commitInfo"]["readVersion"] == 0
    assert builder.log().snapshot().num_files == 3


@pytest.mark.parametrize(
    ("winner", "actions", "error_class"),
    [
        (metadata({"x": "long"}), [FILE], "DELTA_METADATA_CHANGED"),
        ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, [FILE], "DELTA_PROTOCOL_CHANGED"),
        (
            {"txn": {"appId": "app", "version": 2}},
            [FILE, SetTransaction("app", 1)],
            "DELTA_CONCURRENT_TRANSACTION",
        ),
        (
            {"domainMetadata": {"domain": "d", "configuration": "", "removed": False}},
            [FILE, DomainMetadata("d", "x")],
            "DELTA_CONCURRENT_TRANSACTION",
        ),
    ],
)
def test_a_blind_append_yields_to_what_changes_the_rules(winner, actions, error_class):
    builder = table()
    transaction = begin(builder)
    builder.commit(add("theirs")).commit(winner, info={"operation": "ALTER"})
    outcome = transaction.try_commit(actions, is_blind_append=True)
    assert isinstance(outcome, Conflicted)
    error = outcome.error
    assert error.getErrorClass() == error_class
    assert (error.conflicting_version, error.conflicting_operation) == (2, "ALTER")
    assert "ALTER, version 2" in str(error)
    assert builder.log().version() == 2


def test_an_operation_that_read_the_table_yields_to_any_commit():
    builder = table()
    transaction = begin(builder)
    builder.commit(add("theirs"))
    with pytest.raises(ConcurrentModificationError) as caught:
        transaction.commit([FILE, RemoveFile("x")])
    assert caught.value.getErrorClass() == "DELTA_CONCURRENT_WRITE"
    assert caught.value.conflicting_version == 1


def test_racing_appends_all_land_once(tmp_path):
    builder = TableBuilder(tmp_path).create()

    def append(number):
        log = builder.log()
        transaction = Transaction(log, log.snapshot(), "WRITE")
        return transaction.commit([AddFile(f"f{number}", {}, 1, 1)], is_blind_append=True).version

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
    assert transaction.commit([FILE], is_blind_append=True) == Committed(1, 1)


@pytest.mark.parametrize("done", [True, False])
def test_an_outcome_that_cannot_be_known_is_a_value_of_its_own(done):
    builder = table(FailingStore(done=done, readable=not done))
    transaction = begin(builder)
    builder.store.failing = True
    outcome = transaction.try_commit([FILE], is_blind_append=True)
    assert isinstance(outcome, Unknown)
    assert outcome.error.outcome == "unknown"
    assert transaction.txn_id in str(outcome.error)
    with pytest.raises(StorageError):
        transaction.commit([FILE], is_blind_append=True)


def test_a_table_with_rules_is_refused_before_anything_is_written():
    builder = TableBuilder(store=MemoryStore()).create(configuration={"delta.appendOnly": "true"})
    with pytest.raises(UnsupportedFeatureError, match="appendOnly"):
        begin(builder)


def test_actions_that_bring_rules_are_refused():
    builder = table()
    with pytest.raises(UnsupportedFeatureError, match="appendOnly"):
        begin(builder).commit([Metadata("x", SCHEMA, configuration={"delta.appendOnly": "true"})])
    assert builder.log().version() == 0


def test_attempts_are_bounded():
    builder = table()
    transaction = begin(builder, max_attempts=2)
    builder.commit().commit()
    with pytest.raises(ConcurrentModificationError) as caught:
        transaction.commit([FILE], is_blind_append=True)
    assert caught.value.getErrorClass() == "DELTA_MAX_COMMIT_RETRIES_EXCEEDED"


def test_a_name_that_is_no_ascii_is_written_as_it_is(tmp_path):
    builder = TableBuilder(store=LocalStore(tmp_path)).create()
    begin(builder).commit([AddFile("ü", {"p": "\n"}, 1, 1)], is_blind_append=True)
    assert "ü".encode() in builder.store.read(file_names.commit_path(1))
    assert builder.log().snapshot().files(["partition_values"])[0][0].as_py() == [("p", "\n")]
