# SPDX-License-Identifier: Apache-2.0
"""What no commit may do: name a file twice, or one that is none of the table's, and numbers that no reader holds."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow.compute as pc
import pytest
from tests.core.log.commit.refused_commits import FIRST, SECOND, VECTORS, marked, refused, table
from tests.support.cases import in_one_test

from bayou.errors import InvalidCommitError, InvalidOptionError, InvalidSchemaError, UnsupportedProtocolError
from bayou.log.commit.checks import check_staged
from bayou.log.conflict.state import TableState
from bayou.log.staging.staged import StagedActions
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.types.schema import FIELD_ID, PHYSICAL_NAME, StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add


def test_a_path_is_added_once_and_removed_once_whatever_its_vectors():
    builder = table(VECTORS)
    error = refused(builder, marked("n", FIRST), marked("./n", SECOND))
    assert error.getErrorClass() == "DELTA_DUPLICATE_ACTIONS_FOUND"
    assert {"add", "n."} <= set(error.message.split())
    error = refused(builder, RemoveFile("a"), RemoveFile("a", deletion_vector=FIRST))
    assert {"remove", "a."} <= set(error.message.split())
    with builder.log().transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files())
        with pytest.raises(InvalidCommitError, match=r"\bremove\b.* a\b"):
            transaction.commit([RemoveFile("a", deletion_vector=SECOND)])


@pytest.mark.parametrize(
    "path", ["../other/p.parquet", "_delta_log/x.parquet", "a/../../b", "%2E%2E/b", ".", "file:///memory/table/_delta_log/x"]
)
def test_a_path_that_is_no_data_files_is_refused(path):
    assert refused(table(), AddFile(path, {}, 1, 1)).getErrorClass() == "DELTA_INVALID_PATH"


@pytest.mark.parametrize("path", ["/elsewhere/p", "s3://bucket/p", "..a/b", "_delta_log_/x", "_change_data/x"])
def test_a_path_elsewhere_is_taken_for_shallow_clones_have_such(path):
    assert table().log().transaction("CLONE").commit([AddFile(path, {}, 1, 1)]).version == 2


@pytest.mark.parametrize("path", ["../other/p.parquet", "a/../../b", "%2E%2E/b"])
def test_a_file_that_the_log_names_outside_of_the_table_gets_vectors_and_row_ids(path):
    builder = table(VECTORS).commit(add(path))
    with builder.log().transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files().filter(pc.equal(transaction.files()["path"], path)))
        assert transaction.commit([marked(path, FIRST)]).version == 3
    given = replace(marked(path, FIRST), data_change=False, base_row_id=1)
    assert builder.log().transaction("ROW TRACKING BACKFILL").commit([given]).version == 4


@pytest.mark.parametrize("name", ["_change_type", "_COMMIT_version", "_commit_timestamp"])
def test_no_file_gets_into_a_table_whose_files_have_a_column_of_its_change_data_feed(name):
    kind = StructField("kind", "string", metadata={FIELD_ID: 2, PHYSICAL_NAME: name})
    schema = StructType((StructField("id", "long", metadata={FIELD_ID: 1, PHYSICAL_NAME: "id"}), kind))
    mapped = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    builder = TableBuilder(store=MemoryStore()).create(schema, configuration=mapped, protocol=Protocol(2, 5)).commit(add("a"))
    before = builder.log().snapshot().metadata
    fed = replace(before, configuration={**mapped, "delta.enableChangeDataFeed": "true"})
    with pytest.raises(InvalidSchemaError, match=f"kind.*{name}"):
        builder.log().transaction("SET TBLPROPERTIES").commit([fed])
    builder.commit({"metaData": fed.to_json()})
    for action in (AddFile("b", {}, 1, 1), RemoveFile("a")):
        with pytest.raises(InvalidSchemaError) as caught:
            builder.log().transaction("WRITE").commit([action])
        assert (caught.value.error_class, caught.value.columns) == ("RESERVED_CDC_COLUMNS_ON_WRITE", ("kind",))
    assert builder.log().transaction("SET TBLPROPERTIES").commit([before]).version == 3


LIMIT = 1 << 63


@in_one_test(
    "action",
    [
        AddFile("n", {}, LIMIT, 1),
        AddFile("n", {}, -1, 1),
        AddFile("n", {}, True, 1),
        AddFile("n", {}, 1.5, 1),
        AddFile("n", {}, 1, LIMIT),
        AddFile("n", {}, 1, -LIMIT - 1),
        AddFile("n", {}, 1, 1, base_row_id=LIMIT),
        AddFile("n", {}, 1, 1, default_row_commit_version=-1),
        RemoveFile("a", deletion_timestamp=LIMIT),
        RemoveFile("a", size=-1),
        RemoveFile("a", base_row_id=LIMIT),
        SetTransaction("app", LIMIT),
        SetTransaction("app", 1, last_updated=LIMIT),
        marked("n", replace(SECOND, offset=1 << 31)),
        marked("n", replace(SECOND, size_in_bytes=-1)),
        marked("n", replace(SECOND, cardinality=LIMIT)),
    ],
)
def test_a_number_that_the_log_does_not_hold_is_refused(action):
    assert refused(table(VECTORS), action).getErrorClass() == "NUMERIC_VALUE_OUT_OF_RANGE"


def test_the_greatest_numbers_are_committed_and_checkpointed():
    builder = table(VECTORS)
    file = AddFile("n", {}, LIMIT - 1, LIMIT - 1, base_row_id=LIMIT - 1, default_row_commit_version=0)
    builder.log().transaction("WRITE").commit([file, SetTransaction("app", LIMIT - 1, last_updated=-LIMIT)])
    builder.log().checkpoint()
    snapshot = builder.log().snapshot()
    assert max(snapshot.files(["size"])["size"].to_pylist()) == LIMIT - 1
    assert snapshot.transactions["app"].version == LIMIT - 1


def test_an_applications_version_beyond_the_log_is_refused_at_once():
    log = table().log()
    with pytest.raises(InvalidOptionError, match="txn"):
        log.transaction("WRITE", txn=("app", LIMIT))
    assert log.transaction("WRITE", txn=("app", LIMIT - 1)).commit([AddFile("n", {}, 1, 1)]).version == 2


@in_one_test(
    "protocol",
    [
        Protocol(3, 7),
        Protocol(3, 7, ("deletionVectors",)),
        Protocol(3, 7, None, ("deletionVectors",)),
        Protocol(3, 2, ("deletionVectors",)),
        Protocol(3, 2),
        Protocol(1, 7, None, ("deletionVectors", "appendOnly", "invariants")),
        Protocol(3, 7, ("deletionVectors",), ("appendOnly", "invariants")),
        Protocol(3, 7, (), ("deletionVectors", "appendOnly", "invariants")),
        Protocol(1, 7, (), ("appendOnly", "invariants")),
        Protocol(1, 2, None, ("appendOnly",)),
        Protocol(0, 2),
        Protocol(1, 0),
    ],
)
def test_a_protocol_that_no_table_can_have_is_refused(protocol):
    error = refused(table(), protocol)
    assert error.getErrorClass() == "DELTA_INVALID_PROTOCOL_VERSION"


def test_versions_of_the_protocol_that_are_not_known_are_refused():
    for protocol in (Protocol(4, 7, (), ()), Protocol(3, 8, (), ())):
        with pytest.raises((InvalidCommitError, UnsupportedProtocolError)):
            table().log().transaction("UPGRADE").commit([protocol])


@pytest.mark.parametrize(
    "protocol",
    [
        Protocol(1, 2),
        VECTORS,
        Protocol(3, 7, (), ("appendOnly", "invariants")),
        Protocol(2, 7, None, ("columnMapping", "appendOnly", "invariants")),
        Protocol(1, 7, None, ("appendOnly", "invariants")),
    ],
)
def test_a_protocol_with_as_many_features_is_taken(protocol):
    assert table().log().transaction("UPGRADE").commit([protocol]).version == 2


def test_a_feature_is_not_lost_but_by_dropping_it():
    builder = table(VECTORS)
    error = refused(builder, Protocol(1, 2))
    assert (error.getErrorClass(), error.features) == ("DELTA_INVALID_PROTOCOL_DOWNGRADE", ("deletionVectors",))
    snapshot = builder.log().snapshot()
    base = TableState(1, snapshot.protocol, snapshot.metadata)
    staged = StagedActions.of([Protocol(1, 2)], "t")
    check_staged(staged, base, "t", dropped_features=("deletionVectors",))
    with pytest.raises(InvalidCommitError, match="deletionVectors"):
        check_staged(staged, base, "t", dropped_features=("v2Checkpoint",))


def test_what_needs_a_feature_is_refused_without_it():
    builder = table()
    error = refused(builder, marked("n", FIRST))
    assert (error.getErrorClass(), error.features) == ("DELTA_ADDING_DELETION_VECTORS_DISALLOWED", ("deletionVectors",))
    error = refused(builder, DomainMetadata("mine", "{}"))
    assert (error.getErrorClass(), error.features) == ("DELTA_DOMAIN_METADATA_NOT_SUPPORTED", ("domainMetadata",))
    enabled = replace(builder.log().snapshot().metadata, configuration={"delta.enableInCommitTimestamps": "true"})
    error = refused(builder, enabled)
    assert (error.getErrorClass(), error.features) == ("DELTA_FEATURES_PROTOCOL_METADATA_MISMATCH", ("inCommitTimestamp",))


def test_the_feature_may_come_with_what_needs_it():
    builder = table()
    names = ("appendOnly", "deletionVectors", "domainMetadata", "inCommitTimestamp", "invariants")
    enabled = replace(builder.log().snapshot().metadata, configuration={"delta.enableInCommitTimestamps": "true"})
    actions = [Protocol(3, 7, ("deletionVectors",), names), enabled, DomainMetadata("mine", "{}"), marked("n", FIRST)]
    assert builder.log().transaction("UPGRADE").commit(actions).version == 2


def test_an_append_to_a_table_whose_protocol_another_engine_left_wanting_goes_on():
    builder = TableBuilder(store=MemoryStore()).create(configuration={"delta.checkpointPolicy": "v2"})
    assert builder.log().transaction("WRITE").commit([AddFile("n", {}, 1, 1, stats=json.dumps({"numRecords": 1}))]).version == 1


def drop(log, actions, **facts):
    """The commit that DROP FEATURE ends with, as far as it says what it does."""
    return log.transaction("DROP FEATURE", **facts).commit(actions)


def test_the_commit_that_says_which_features_it_drops_loses_these_and_no_others():
    builder = table(VECTORS)
    with pytest.raises(InvalidCommitError, match="deletionVectors"):
        drop(builder.log(), [Protocol(1, 2)])
    with pytest.raises(InvalidCommitError, match="deletionVectors"):
        drop(builder.log(), [Protocol(1, 2)], dropped_features=["v2Checkpoint"])
    assert drop(builder.log(), [Protocol(1, 2)], dropped_features=["deletionVectors"]).version == 2
    assert builder.log().snapshot().protocol == Protocol(1, 2)


@pytest.mark.parametrize("operation", ["REPLACE TABLE", "CREATE OR REPLACE TABLE", "WRITE"])
def test_only_a_commit_that_says_that_it_replaces_the_table_changes_its_id(operation):
    builder = table()
    other = replace(builder.log().snapshot().metadata, id="other")
    with pytest.raises(InvalidCommitError) as caught:
        builder.log().transaction(operation).commit([other])
    assert caught.value.getErrorClass() == "DELTA_METADATA_MISMATCH"
    assert builder.log().transaction(operation, replaces_table=True).commit([other]).version == 2
    assert builder.log().snapshot().metadata.id == "other"
