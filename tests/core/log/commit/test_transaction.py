# SPDX-License-Identifier: Apache-2.0
"""A transaction makes the next version of a table, once, and refuses what no commit can hold before anything is written."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.core.log.commit.refused_commits import VECTORS
from tests.support.operations.transactions import FILE, SCHEMA, begin, committed, table

from bayou.errors import (
    AppendOnlyError,
    ConcurrentModificationError,
    InvalidCommitError,
    InvalidOptionError,
    TransactionStateError,
    UnsupportedFeatureError,
)
from bayou.log.commit.transaction import Committed, Transaction, Unchanged
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.storage import LocalStore, MemoryStore
from bayou.testing.table_builder import TableBuilder, add


def test_a_commit_is_the_next_version_with_its_provenance_first():
    builder = table()
    transaction = begin(builder, engine_info="test", user_metadata="note", clock=lambda: 1_700_000_000.5)
    outcome = transaction.commit([FILE], metrics={"numFiles": 1})
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
    with pytest.raises(InvalidCommitError) as caught:
        transaction.commit([FILE])
    assert caught.value.getErrorClass() == "DELTA_METADATA_ABSENT"


def test_of_two_creators_one_loses():
    builder = TableBuilder(store=MemoryStore())
    transaction = Transaction(builder.log(), None, "CREATE TABLE")
    builder.create()
    with pytest.raises(ConcurrentModificationError) as caught:
        transaction.commit([Protocol(1, 2), Metadata("x", SCHEMA)])
    assert caught.value.conflicting_version == 0


@pytest.mark.parametrize("options", [{"user_metadata": "\ud800"}, {"engine_info": "a\udcffb"}, {"txn": ("\udfff", 1)}], ids=str)
def test_a_text_that_is_no_unicode_is_refused_before_anything_is_written(options):
    builder = table()
    with pytest.raises(InvalidOptionError, match="Unicode"):
        begin(builder, **options).commit([FILE])
    assert builder.log().version() == 0


def test_a_table_with_rules_is_refused_before_anything_is_written():
    builder = TableBuilder(store=MemoryStore()).create(configuration={"delta.enableIcebergCompatV2": "true"})
    with pytest.raises(UnsupportedFeatureError, match="IcebergCompatV2"):
        begin(builder)


def test_actions_that_bring_rules_are_refused():
    builder = table()
    changed = replace(builder.log().snapshot().metadata, configuration={"delta.enableIcebergCompatV2": "true"})
    with pytest.raises(UnsupportedFeatureError, match="IcebergCompatV2"):
        begin(builder).commit([changed])
    assert builder.log().version() == 0


def test_a_transaction_commits_once():
    builder = table()
    transaction = begin(builder)
    transaction.commit([FILE])
    assert transaction.may_be_in_log
    with pytest.raises(TransactionStateError, match="committed"):
        transaction.commit([AddFile("more", {}, 1, 1)])


def test_a_transaction_that_failed_or_was_left_refuses_reuse():
    builder = table()
    failed = begin(builder)
    with pytest.raises(InvalidCommitError):
        failed.commit([FILE, FILE])
    with pytest.raises(TransactionStateError, match="failed"):
        failed.commit([FILE])
    assert not failed.may_be_in_log
    with builder.log().transaction() as left:
        pass
    with pytest.raises(TransactionStateError, match="left"):
        left.stage(FILE)
    assert not left.may_be_in_log
    with pytest.raises(ZeroDivisionError), builder.log().transaction() as broken:
        broken.commit([AddFile(str(1 // 0), {}, 1, 1)])
    with pytest.raises(TransactionStateError, match="failed"):
        broken.files()
    assert builder.log().version() == 0


def test_staged_actions_are_committed_with_the_others():
    builder = table()
    with builder.log().transaction("WRITE") as transaction:
        transaction.stage(FILE)
        assert transaction.commit([AddFile("more", {}, 1, 1)]).version == 1
    assert sorted(builder.log().snapshot().files(["path"])["path"].to_pylist()) == ["mine", "more"]


def test_an_empty_commit_makes_no_version():
    builder = table()
    assert begin(builder).commit() == Unchanged(0, "empty")
    assert begin(builder).commit([AddFile("empty", {}, 5, 5, stats='{"numRecords": 0}')]) == Unchanged(0, "empty")
    assert builder.log().version() == 0


def test_a_table_that_only_takes_appends_refuses_removals():
    builder = TableBuilder(store=MemoryStore()).create(configuration={"delta.appendOnly": "true"}).commit(add("a"))
    assert begin(builder).commit([FILE]).version == 2
    with pytest.raises(AppendOnlyError) as caught:
        begin(builder).commit([RemoveFile("a")])
    assert caught.value.getErrorClass() == "DELTA_CANNOT_MODIFY_APPEND_ONLY"
    # Moving rows about is no removal.
    assert begin(builder).commit([RemoveFile("a", data_change=False), AddFile("b", {}, 1, 1, data_change=False)]).version == 3


VECTOR = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 40, 6)


@pytest.mark.parametrize(
    ("actions", "error_class"),
    [
        ([FILE, FILE], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([FILE, RemoveFile("mine")], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([AddFile("a%20b", {}, 1, 1), AddFile("./a b", {}, 1, 1)], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([SetTransaction("a", 1), SetTransaction("a", 2)], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([DomainMetadata("a", "1"), DomainMetadata("a", "2")], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([Protocol(1, 2), Protocol(1, 2)], "DELTA_DUPLICATE_ACTIONS_FOUND"),
        ([AddFile("a", {"p": "1"}, 1, 1)], "DELTA_INVALID_PARTITIONING_SCHEMA"),
        ([AddFile("a", {}, 1, 1, deletion_vector=VECTOR)], "DELTA_DELETION_VECTOR_MISSING_NUM_RECORDS"),
        (
            [AddFile("a", {}, 1, 1, deletion_vector=VECTOR, stats='{"numRecords":9}')],
            "DELTA_ADDING_DELETION_VECTORS_WITH_TIGHT_BOUNDS_DISALLOWED",
        ),
        ([Metadata("another id", SCHEMA)], "DELTA_METADATA_MISMATCH"),
    ],
)
def test_a_commit_that_contradicts_itself_or_the_table_is_refused(actions, error_class):
    builder = table(protocol=VECTORS)
    with pytest.raises(InvalidCommitError) as caught:
        begin(builder).commit(actions)
    assert caught.value.getErrorClass() == error_class
    assert builder.log().version() == 0


def test_one_file_may_leave_and_come_back_with_a_deletion_vector():
    builder = table(protocol=VECTORS).commit(add("a"))
    marked = AddFile("a", {}, 1, 1, deletion_vector=VECTOR, stats='{"numRecords":9,"tightBounds":false}')
    assert begin(builder).commit([RemoveFile("a"), marked]).version == 2
    assert builder.log().snapshot().files(["deletion_vector"])[0][0].as_py()["cardinality"] == 6


def test_parameters_are_plain_values_or_json_text():
    builder = table()
    transaction = begin(builder)
    given = {"mode": "ü", "flag": True, "number": 3, "none": None, "list": ["ü", "b"], "map": {"a": "b"}}
    transaction.describe(given)
    transaction.commit([FILE])
    shown = {**given, "list": '["ü","b"]', "map": '{"a":"b"}'}
    assert committed(builder, 1)[0]["commitInfo"]["operationParameters"] == shown


def test_a_version_may_be_empty_where_that_is_asked_for():
    builder = table()
    assert begin(builder).commit() == Unchanged(0, "empty")
    assert begin(builder).commit(may_be_empty=True) == Committed(1, 1)
    (only,) = committed(builder, 1)
    assert only["commitInfo"]["isolationLevel"] == "SnapshotIsolation"


def test_a_name_that_is_no_ascii_is_written_as_it_is(tmp_path):
    builder = TableBuilder(store=LocalStore(tmp_path)).create({"p": "string", "x": "long"}, partition_by=["p"])
    begin(builder).commit([AddFile("ü", {"p": "\n"}, 1, 1)])
    assert "ü".encode() in builder.store.read(file_names.commit_path(1))
    assert builder.log().snapshot().files(["partition_values"])[0][0].as_py() == [("p", "\n")]
