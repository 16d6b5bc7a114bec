# SPDX-License-Identifier: Apache-2.0
"""The conflict rules, one by one and as the matrix of features 6.4 under every isolation level."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from bayou.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    CorruptLogError,
    MetadataChangedException,
    ProtocolChangedException,
)
from bayou.log.transaction import Committed, Conflicted, Transaction
from bayou.protocol.actions import AddFile, DomainMetadata, Metadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.file_names import commit_path
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

SCHEMA = {"id": "long", "day": "string"}


def stats(low, high, rows=10):
    return json.dumps({"numRecords": rows, "minValues": {"id": low}, "maxValues": {"id": high}, "nullCount": {"id": 0}})


def file(path, day="mon", low=0, high=9, **fields):
    return AddFile(path, {"day": day}, 1, 1, stats=stats(low, high), **fields)


def theirs(path, day="mon", low=0, high=9, **fields):
    return add(path, partitionValues={"day": day}, stats=stats(low, high), **fields)


def table(isolation="Serializable"):
    builder = TableBuilder(store=MemoryStore())
    builder.create(SCHEMA, partition_by=["day"], configuration={"delta.isolationLevel": isolation})
    return builder.commit(theirs("mon"), theirs("tue", "tue", 10, 19), theirs("wed", "wed", 20, 29))


def begin(builder, operation="TEST"):
    log = builder.log()
    return Transaction(log, log.snapshot(), operation)


def delete_monday(transaction):
    """A DELETE of one day, which rewrites its file."""
    transaction.files(where=[("day", "==", "mon")])
    return [RemoveFile("mon"), file("mon2")]


def delete_by_id(transaction):
    """A DELETE by a data column, which rewrites the file that may hold such a row."""
    transaction.files(where=[("id", "<", 5)])
    return [RemoveFile("mon"), file("mon2")]


def insert(transaction):
    return [file("new")]


def insert_from_itself(transaction):
    transaction.files(where=[("day", "==", "mon")])
    return [file("new")]


def overwrite(transaction):
    transaction.read_whole_table()
    return [RemoveFile("mon"), RemoveFile("tue"), RemoveFile("wed"), file("new")]


def optimize_monday(transaction):
    transaction.files(where=[("day", "==", "mon")])
    return [RemoveFile("mon", data_change=False), file("mon2", data_change=False)]


def alter(transaction):
    return [replace(transaction.snapshot.metadata, configuration={"note": "x"})]


BLIND = {"operation": "WRITE", "isBlindAppend": True}
UPDATE = {"operation": "UPDATE", "isBlindAppend": False}
WINNERS = {
    "insert": ([theirs("w1")], BLIND),
    "insert elsewhere": ([theirs("w1", "sun")], BLIND),
    "update": ([remove("mon"), theirs("w1")], UPDATE),
    "update elsewhere": ([remove("tue"), theirs("w1", "tue")], UPDATE),
    "delete of a file": ([remove("mon")], UPDATE),
    "optimize": ([remove("mon", dataChange=False), theirs("w1", dataChange=False)], {"operation": "OPTIMIZE"}),
    "alter": ([metadata(SCHEMA, partition_by=["day"], configuration={"note": "theirs"})], {"operation": "SET TBLPROPERTIES"}),
    "upgrade": ([{"protocol": Protocol(1, 7, None, ("domainMetadata", "appendOnly", "invariants")).to_json()}], UPDATE),
    "transaction": ([theirs("w1", "sun"), {"txn": {"appId": "theirs", "version": 1}}], BLIND),
}
APPEND, READ, DELETE = ConcurrentAppendException, ConcurrentDeleteReadException, ConcurrentDeleteDeleteException
META = MetadataChangedException

# Operation: what comes of it after each winner; a pair is (Serializable, WriteSerializable), None is a commit.
MATRIX = {
    insert: {"alter": META},
    insert_from_itself: {
        "insert": (APPEND, None),
        "update": APPEND,
        "delete of a file": READ,
        "optimize": READ,
        "alter": META,
    },
    delete_monday: {
        "insert": (APPEND, None),
        "update": APPEND,
        "delete of a file": READ,
        "optimize": READ,
        "alter": META,
    },
    overwrite: {
        "insert": (APPEND, None),
        "insert elsewhere": (APPEND, None),
        "transaction": (APPEND, None),
        "update": APPEND,
        "update elsewhere": APPEND,
        "delete of a file": READ,
        "optimize": READ,
        "alter": META,
    },
    optimize_monday: {"update": READ, "delete of a file": READ, "optimize": READ, "alter": META},
    alter: {"alter": META},
}


@pytest.mark.parametrize("isolation", ["Serializable", "WriteSerializable", "writeserializable", "SnapshotIsolation"])
@pytest.mark.parametrize("winner", WINNERS)
@pytest.mark.parametrize("operation", MATRIX, ids=lambda each: each.__name__)
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


@pytest.mark.parametrize(
    ("low", "high", "conflicts"), [(0, 4, True), (4, 100, True), (5, 100, False), (-5, -1, True), (None, None, True)]
)
def test_added_files_that_cannot_hold_a_row_of_the_filter_do_not_conflict(low, high, conflicts):
    builder = table()
    transaction = begin(builder)
    actions = delete_by_id(transaction)
    added = add("w1", partitionValues={"day": "sun"}, stats=None if low is None else stats(low, high))
    builder.commit(added, info=UPDATE)
    outcome = transaction.try_commit(actions)
    assert isinstance(outcome, Conflicted) is conflicts


def test_a_file_without_a_matching_row_in_its_statistics_conflicts_where_they_are_wide():
    builder = table()
    transaction = begin(builder)
    transaction.files(where=[("id", "==", 3)])
    wide = {"numRecords": 10, "minValues": {}, "maxValues": {}, "nullCount": {"id": 0}, "tightBounds": False}
    builder.commit(add("w1", partitionValues={"day": "sun"}, stats=wide), info=UPDATE)
    assert isinstance(transaction.try_commit([file("new")]), Conflicted)


def test_a_row_of_nulls_conflicts_with_a_filter_for_null():
    builder = table()
    transaction = begin(builder)
    transaction.files(where=[("id", "is null")])
    nulls = {"numRecords": 1, "nullCount": {"id": 1}}
    builder.commit(add("w1", partitionValues={"day": "sun"}, stats=nulls), info=UPDATE)
    assert isinstance(transaction.try_commit([file("new")]), Conflicted)


def test_the_error_names_the_winner_and_the_files():
    builder = table()
    transaction = begin(builder, "DELETE")
    actions = delete_monday(transaction)
    builder.commit(theirs("elsewhere", "sun"), info=BLIND)
    builder.commit(
        *(theirs(f"f{n}") for n in range(7)),
        theirs("other", "sun"),
        info={**BLIND, "operation": "MERGE", "timestamp": 1_700_000_000_000},
    )
    builder.commit(theirs("later"), info=BLIND)
    with pytest.raises(ConcurrentAppendException) as caught:
        transaction.commit(actions)
    error = caught.value
    assert (error.version, error.conflicting_version, error.conflicting_operation) == (3, 3, "MERGE")
    assert error.conflicting_timestamp == 1_700_000_000_000
    assert error.conflicting_commit["operation"] == "MERGE"
    assert (error.files, error.num_files) == (tuple(f"f{n}" for n in range(5)), 7)
    assert error.getErrorClass() == "DELTA_CONCURRENT_APPEND.WITH_PARTITION_HINT"
    assert error.getSqlState() == "2D521"
    assert "MERGE of 2023-11-14" in str(error)
    assert "f4 and 2 more" in str(error)
    assert "Run the operation again" in str(error)


def test_of_several_winners_the_first_is_named_whatever_its_rule():
    for first, expected in (("delete of a file", READ), ("alter", META)):
        builder = table()
        transaction = begin(builder)
        actions = delete_monday(transaction)
        second = "alter" if first != "alter" else "delete of a file"
        for winner in ("insert elsewhere", first, second):
            actions_of_winner, info = WINNERS[winner]
            builder.commit(*actions_of_winner, info=info)
        with pytest.raises(expected) as caught:
            transaction.commit(actions)
        assert caught.value.conflicting_version == 3


def test_removing_a_file_that_another_commit_removed_conflicts_though_nothing_was_read():
    builder = table()
    transaction = begin(builder)
    builder.commit(remove("mon"), info=UPDATE)
    with pytest.raises(ConcurrentDeleteDeleteException) as caught:
        transaction.commit([RemoveFile("./mon")])
    assert caught.value.files == ("mon",)


def test_two_vectors_on_one_file_conflict_by_its_path():
    builder = table()
    transaction = begin(builder)
    actions = delete_monday(transaction)
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    builder.commit(remove("mon"), theirs("mon", deletionVector=vector, dataChange=False), info=UPDATE)
    with pytest.raises(ConcurrentDeleteReadException):
        transaction.commit(actions)


def test_a_domain_that_both_set_conflicts_and_another_does_not():
    protocol = Protocol(1, 7, None, ("domainMetadata", "appendOnly", "invariants"))
    for domain, conflicts in (("d", True), ("e", False)):
        builder = TableBuilder(store=MemoryStore()).create(SCHEMA, protocol=protocol)
        transaction = begin(builder)
        builder.commit({"domainMetadata": {"domain": "d", "configuration": "", "removed": False}})
        outcome = transaction.try_commit([DomainMetadata(domain, "x")])
        assert isinstance(outcome, Conflicted) is conflicts
        if conflicts:
            assert type(outcome.error) is ConcurrentTransactionException


def test_an_application_that_was_looked_up_conflicts_with_its_own_commit():
    for app_id, conflicts in (("theirs", True), ("other", False)):
        builder = table()
        transaction = begin(builder)
        assert transaction.application_version(app_id) is None
        builder.commit({"txn": {"appId": "theirs", "version": 1}})
        outcome = transaction.try_commit([file("new"), SetTransaction("mine", 1)])
        assert isinstance(outcome, Conflicted) is conflicts


def test_a_protocol_that_this_writer_does_not_know_conflicts():
    builder = table()
    transaction = begin(builder)
    builder.commit({"protocol": Protocol(3, 7, ("unheardOf",), ("appendOnly", "invariants", "unheardOf")).to_json()})
    with pytest.raises(ProtocolChangedException, match="unheardOf") as caught:
        transaction.commit([file("new")])
    assert caught.value.conflicting_version == 2


def test_a_dropped_feature_conflicts():
    builder = TableBuilder(store=MemoryStore()).create(protocol=Protocol(3, 7, ("deletionVectors",), ("deletionVectors",)))
    transaction = begin(builder)
    builder.commit({"protocol": Protocol(1, 7, None, ()).to_json()})
    with pytest.raises(ProtocolChangedException, match="dropped the table feature deletionVectors"):
        transaction.commit([AddFile("new", {}, 1, 1)])


def test_two_changes_of_the_protocol_conflict():
    builder = table()
    transaction = begin(builder)
    builder.commit({"protocol": Protocol(1, 7, None, ("domainMetadata", "appendOnly", "invariants")).to_json()})
    with pytest.raises(ProtocolChangedException):
        transaction.commit([Protocol(1, 7, None, ("inCommitTimestamp", "appendOnly", "invariants"))])


@pytest.mark.parametrize(("key", "value"), [("delta.enableDeletionVectors", "true"), ("delta.checkpointPolicy", "v2")])
def test_a_feature_that_another_commit_turns_on_does_not_stop_a_running_one(key, value):
    builder = TableBuilder(store=MemoryStore()).create(SCHEMA)
    transaction, alteration = begin(builder), begin(builder)
    altered = alter(alteration)
    builder.commit(metadata(SCHEMA, configuration={key: value}), info={"operation": "SET TBLPROPERTIES"})
    assert transaction.commit([AddFile("new", {}, 1, 1)]).version == 2
    with pytest.raises(MetadataChangedException):
        alteration.commit(altered)


def test_in_commit_timestamps_that_another_commit_turns_on_are_obeyed():
    builder = TableBuilder(store=MemoryStore()).create(SCHEMA)
    transaction, other = begin(builder), begin(builder)
    enabled = replace(other.snapshot.metadata, configuration={"delta.enableInCommitTimestamps": "true"})
    other.commit([Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp")), enabled])
    transaction.commit([AddFile("new", {}, 1, 1)])
    first, second = (entry.raw["inCommitTimestamp"] for entry in builder.log().history(2))
    assert first > second


VECTORS = {"delta.enableDeletionVectors": "true"}
POLICY = {"delta.checkpointPolicy": "v2"}
STAMPS = {"delta.enableInCommitTimestamps": "true"}
SINCE = {**STAMPS, "delta.inCommitTimestampEnablementVersion": "1", "delta.inCommitTimestampEnablementTimestamp": "5"}
PREVIEW = {f"{key}-preview": value for key, value in SINCE.items()}
ALL = Protocol(3, 7, ("deletionVectors", "v2Checkpoint"), ("deletionVectors", "v2Checkpoint", "inCommitTimestamp"))


@pytest.mark.parametrize(
    ("before", "after", "conflicts"),
    [
        ({}, VECTORS, False),
        ({"delta.enableDeletionVectors": "false"}, VECTORS, False),
        ({}, {"Delta.EnableDeletionVectors": "TRUE"}, False),
        (VECTORS, {"delta.enableDeletionVectors": "false"}, True),
        (VECTORS, {}, True),
        ({}, {"delta.enableDeletionVectors": "false"}, True),
        ({}, POLICY, False),
        ({"delta.checkpointPolicy": "classic"}, POLICY, False),
        (POLICY, {"delta.checkpointPolicy": "classic"}, True),
        (POLICY, {}, True),
        ({}, SINCE, False),
        ({}, PREVIEW, False),
        (STAMPS, {}, True),
        (STAMPS, {"delta.enableInCommitTimestamps": "false"}, True),
        (SINCE, STAMPS, True),
        (SINCE, {**SINCE, "delta.inCommitTimestampEnablementVersion": "0"}, True),
        (STAMPS, SINCE, True),
        (VECTORS, {**VECTORS, **POLICY}, False),
        ({}, {**VECTORS, "delta.appendOnly": "true"}, True),
    ],
    ids=str,
)
def test_features_may_be_turned_on_under_a_running_commit_and_not_off(before, after, conflicts):
    builder = TableBuilder(store=MemoryStore()).create(SCHEMA, protocol=ALL, configuration=before)
    text = builder.store.read(commit_path(0)).replace(b'"timestamp"', b'"inCommitTimestamp":3,"timestamp"')
    builder.store.put(commit_path(0), text)
    transaction = begin(builder)
    builder.commit(metadata(SCHEMA, configuration=after), info={"operation": "SET TBLPROPERTIES", "inCommitTimestamp": 5})
    outcome = transaction.try_commit([AddFile("new", {}, 1, 1)])
    assert isinstance(outcome, Conflicted) is conflicts
    if conflicts:
        assert type(outcome.error) is MetadataChangedException
        assert "property" in outcome.error.message


def identity(mark, name="key"):
    details = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": True}
    if mark is not None:
        details["delta.identity.highWaterMark"] = mark
    fields = [{"name": each, "type": "long", "nullable": True, "metadata": {}} for each in ("id", name)]
    fields[1]["metadata"] = details
    return json.dumps({"type": "struct", "fields": fields})


def identity_table(mark):
    protocol = Protocol(1, 7, None, ("identityColumns", "appendOnly", "invariants"))
    builder = TableBuilder(store=MemoryStore()).create(protocol=protocol)
    return builder.commit({"metaData": replace_schema(builder, identity(mark))})


def replace_schema(builder, schema):
    return replace(builder.log().snapshot().metadata, schema_string=schema).to_json()


@pytest.mark.parametrize("before", [None, 7])
def test_a_commit_without_metadata_goes_on_top_of_one_that_only_moves_identity_marks(before):
    builder = identity_table(before)
    transaction = begin(builder)
    builder.commit({"metaData": replace_schema(builder, identity(20))}, theirs("w1"), info=BLIND)
    builder.commit({"metaData": replace_schema(builder, identity(30))}, theirs("w2"), info=BLIND)
    assert transaction.commit([AddFile("new", {}, 1, 1)]) == Committed(4, 2)
    assert builder.log().snapshot().metadata.schema_string == identity(30)


def test_the_marks_of_identity_columns_excuse_no_other_change():
    builder = identity_table(7)
    for changed in (identity(20, "renamed"), identity(20).replace('"step": 1', '"step": 2')):
        transaction = begin(builder)
        builder.commit({"metaData": replace_schema(builder, changed)}, info=BLIND)
        with pytest.raises(MetadataChangedException):
            transaction.commit([AddFile("new", {}, 1, 1)])


@pytest.mark.parametrize("mine", [identity(25), identity(7)], ids=["generated numbers", "changes something else"])
def test_a_commit_with_metadata_of_its_own_conflicts_with_moved_identity_marks(mine):
    builder = identity_table(7)
    transaction = begin(builder)
    builder.commit({"metaData": replace_schema(builder, identity(20))}, theirs("w1"), info=BLIND)
    own = replace(transaction.snapshot.metadata, schema_string=mine, description="mine")
    outcome = transaction.try_commit([own, AddFile("new", {}, 1, 1)])
    assert isinstance(outcome, Conflicted)
    assert type(outcome.error) is MetadataChangedException
    assert ("identity" in outcome.error.message) is (mine == identity(25))


def test_enabling_in_commit_timestamps_never_goes_back_in_time_after_a_lost_race():
    builder = TableBuilder(store=MemoryStore()).create(SCHEMA)
    builder.commit(add("a"))
    transaction = begin(builder, "SET TBLPROPERTIES")
    ahead = int(time.time() * 1000) + 60_000
    builder.commit(add("b")).commit(add("c"))
    builder.store.set_modification_time(commit_path(2), ahead)
    enabled = replace(transaction.snapshot.metadata, configuration=STAMPS)
    transaction.commit([Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp")), enabled])
    times = [entry.timestamp for entry in builder.log().history()][::-1]
    assert times[2:] == [ahead, ahead + 1, ahead + 2]
    assert times == sorted(set(times))


def test_a_winner_without_the_timestamp_that_the_table_promises_is_refused():
    builder = TableBuilder(store=MemoryStore())
    Transaction(builder.log(), None, "CREATE TABLE").commit(
        [
            Protocol(1, 7, None, ("appendOnly", "invariants", "inCommitTimestamp")),
            Metadata("x", metadata(SCHEMA)["metaData"]["schemaString"], configuration=STAMPS),
        ]
    )
    transaction = begin(builder)
    builder.store.put(commit_path(1), b'{"commitInfo":{"timestamp":1,"operation":"WRITE"}}\n')
    with pytest.raises(CorruptLogError, match="a commit has none") as caught:
        transaction.commit([AddFile("new", {}, 1, 1)])
    assert caught.value.version == 1


def test_a_changed_type_or_column_conflicts_whatever_else_changed():
    builder = TableBuilder(store=MemoryStore()).create(SCHEMA)
    transaction = begin(builder)
    builder.commit(metadata({"id": "long"}, configuration={"delta.enableDeletionVectors": "true"}))
    with pytest.raises(MetadataChangedException):
        transaction.commit([AddFile("new", {}, 1, 1)])


@pytest.mark.parametrize(
    ("actions", "level"),
    [
        (insert, "Serializable"),
        (optimize_monday, "SnapshotIsolation"),
        (delete_monday, "Serializable"),
        (alter, "Serializable"),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
def test_the_log_says_at_which_level_and_whether_blindly(actions, level):
    builder = table()
    transaction = begin(builder)
    transaction.commit(actions(transaction))
    info = builder.log().history(1)[0]
    assert info.isolation_level == level
    assert info.is_blind_append is (actions in (insert, alter))
