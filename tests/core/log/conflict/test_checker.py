# SPDX-License-Identifier: Apache-2.0
"""The conflict rules one by one: which commits exclude each other, and what the error says."""

from __future__ import annotations

import pytest
from tests.core.log.conflict.raced_tables import (
    BLIND,
    META,
    READ,
    SCHEMA,
    UPDATE,
    WINNERS,
    alter,
    begin,
    delete_monday,
    file,
    insert,
    optimize_monday,
    stats,
    table,
    theirs,
)

from bayou.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    MetadataChangedException,
    ProtocolChangedException,
)
from bayou.log.commit.transaction import Conflicted
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Protocol, RemoveFile, SetTransaction
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove


def delete_by_id(transaction):
    """A DELETE by a data column, which rewrites the file that may hold such a row."""
    transaction.files(where=[("id", "<", 5)])
    return [RemoveFile("mon"), file("mon2")]


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
    assert error.next_step


@pytest.mark.parametrize(("partition_by", "hint"), [(["day"], "WITH_PARTITION_HINT"), ([], "WITHOUT_HINT")])
def test_the_error_class_says_whether_partitions_could_help(partition_by, hint):
    builder = TableBuilder(store=MemoryStore()).create(SCHEMA, partition_by=partition_by)
    transaction = begin(builder)
    transaction.files()
    values = dict.fromkeys(partition_by, "mon")
    builder.commit(add("w1", partitionValues=values), info=UPDATE)
    with pytest.raises(ConcurrentAppendException) as caught:
        transaction.commit([AddFile("new", values, 1, 1)])
    assert caught.value.error_class == f"DELTA_CONCURRENT_APPEND.{hint}"


def test_the_error_says_no_more_than_the_winner_says_of_itself():
    """The protocol lets a writer leave out what it did and when, and a changed property concerns no file."""
    builder = table()
    transaction = begin(builder, "DELETE")
    actions = delete_monday(transaction)
    builder.commit(
        metadata(SCHEMA, partition_by=["day"], configuration={"delta.isolationLevel": "Serializable", "note": "x"}),
        info={"operation": None, "timestamp": None},
    )
    with pytest.raises(MetadataChangedException) as caught:
        transaction.commit(actions)
    error = caught.value
    assert error.message == "DELETE was not committed: version 2, a concurrent operation, changed the table's property note."
    assert (error.conflicting_operation, error.conflicting_timestamp) == (None, None)
    assert (error.files, error.num_files) == ((), 0)


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
    with pytest.raises(ProtocolChangedException, match="deletionVectors"):
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
