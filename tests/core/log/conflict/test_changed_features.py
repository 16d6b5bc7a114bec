# SPDX-License-Identifier: Apache-2.0
"""Features that another commit turns on or off, and marks of identity columns that it moves, under a running transaction."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from tests.core.log.conflict.raced_tables import BLIND, SCHEMA, begin, theirs
from tests.support.cases import in_one_test

from bayou.errors import CorruptLogError, MetadataChangedException
from bayou.log.commit.transaction import Committed, Conflicted, Transaction
from bayou.protocol.actions.actions import AddFile, Metadata, Protocol
from bayou.protocol.actions.file_names import commit_path
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata


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


@in_one_test(
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
    with pytest.raises(CorruptLogError) as caught:
        transaction.commit([AddFile("new", {}, 1, 1)])
    assert (caught.value.error_class, caught.value.version) == ("DELTA_MISSING_COMMIT_TIMESTAMP", 1)
