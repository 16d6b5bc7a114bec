# SPDX-License-Identifier: Apache-2.0
"""What no commit may do to protocol and metadata: lose features, use those that are not listed, change the table's id."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.core.log.commit.refused_commits import FIRST, VECTORS, marked, refused, table
from tests.support.cases import in_one_test

from bayou.errors import InvalidCommitError, UnsupportedProtocolError
from bayou.log.commit.checks import check_staged
from bayou.log.conflict.state import TableState
from bayou.log.staging.staged import StagedActions
from bayou.protocol.actions.actions import AddFile, DomainMetadata, Protocol
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder


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
