# SPDX-License-Identifier: Apache-2.0
"""What no commit may do: one file live twice, features that the protocol does not have, numbers that no reader holds."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bayou.errors import InvalidCommitError, InvalidOptionError, UnsupportedProtocolError
from bayou.log.commit_checks import check_staged
from bayou.log.conflict import TableState
from bayou.log.outcomes import Committed
from bayou.log.staged import StagedActions
from bayou.protocol.actions import AddFile, DomainMetadata, Protocol, RemoveFile, SetTransaction
from bayou.protocol.deletion_vector import DeletionVectorDescriptor
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

FIRST = DeletionVectorDescriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", None, 40, 6)
SECOND = DeletionVectorDescriptor("u", "ab^-aqEH.-t@S}K{vb[*k^", 10, 2, 1)
VECTORS = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "appendOnly", "invariants"))
LOOSE = '{"numRecords":10,"tightBounds":false}'


def table(protocol=None, *, vector=None):
    builder = TableBuilder(store=MemoryStore()).create(protocol=protocol)
    fields = {} if vector is None else {"deletionVector": vector.to_json()}
    return builder.commit(add("a", stats=LOOSE, **fields), add("b", stats=LOOSE))


def marked(path, vector):
    return AddFile(path, {}, 1, 1, stats=LOOSE, deletion_vector=vector)


def refused(builder, *actions):
    before = builder.log().version()
    with pytest.raises(InvalidCommitError) as caught:
        builder.log().transaction("WRITE").commit(actions)
    assert builder.log().version() == before
    return caught.value


def live(builder):
    files = builder.log().snapshot().files(["path", "deletion_vector"])
    return {row["path"]: row["deletion_vector"] and row["deletion_vector"]["cardinality"] for row in files.to_pylist()}


def test_a_path_is_added_once_and_removed_once_whatever_its_vectors():
    builder = table(VECTORS)
    error = refused(builder, marked("n", FIRST), marked("./n", SECOND))
    assert error.getErrorClass() == "DELTA_DUPLICATE_ACTIONS_FOUND"
    assert "action add more than once for n" in error.message
    assert "remove more than once" in refused(builder, RemoveFile("a"), RemoveFile("a", deletion_vector=FIRST)).message
    with builder.log().transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files())
        with pytest.raises(InvalidCommitError, match="remove more than once for a"):
            transaction.commit([RemoveFile("a", deletion_vector=SECOND)])


def test_a_file_may_change_its_vector_by_a_remove_and_an_add():
    builder = table(VECTORS, vector=FIRST)
    assert builder.log().transaction("DELETE").commit([RemoveFile("a", deletion_vector=FIRST), marked("a", SECOND)]).version == 2
    with builder.log().transaction("DELETE") as transaction:
        files = transaction.files()
        transaction.remove_files(files.filter(pa.compute.equal(files["path"], "a")))
        assert transaction.commit([marked("a", FIRST)]).version == 3
    assert live(builder) == {"a": 6, "b": None}


def test_a_file_that_stays_live_with_another_vector_is_not_added():
    builder = table(VECTORS, vector=FIRST)
    error = refused(builder, marked("a", SECOND))
    assert error.file == "a"
    assert FIRST.unique_id in error.message
    assert error.getErrorClass() == "DELTA_DUPLICATE_ACTIONS_FOUND"
    # New statistics of a file are one action more for the same file, not a second file.
    statistics = AddFile("a", {}, 1, 1, data_change=False, stats='{"numRecords":10}')
    assert "without a deletion vector" in refused(builder, statistics).message
    assert builder.log().transaction("COMPUTE STATS").commit([replace(marked("a", FIRST), data_change=False)]) == Committed(2, 1)
    assert live(builder) == {"a": 6, "b": None}


def test_a_remove_that_names_another_vector_than_the_file_has_is_refused():
    builder = table(VECTORS, vector=FIRST)
    for wrong in (RemoveFile("a"), RemoveFile("./a", deletion_vector=SECOND), RemoveFile("b", deletion_vector=FIRST)):
        error = refused(builder, wrong)
        assert error.getErrorClass() == "DELTA_FILE_TO_OVERWRITE_NOT_FOUND"
        assert "remove_files" in error.next_step
    # What is not live is nobody's business here.
    assert builder.log().transaction("DELETE").commit([RemoveFile("a", deletion_vector=FIRST), RemoveFile("gone")]).version == 2
    assert live(builder) == {"b": None}


def test_the_documented_way_to_delete_files_removes_those_with_vectors():
    builder = table(VECTORS, vector=FIRST)
    with builder.log().transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files())
        transaction.commit()
    assert live(builder) == {}


@pytest.fixture
def marked_table(tmp_path):
    builder = TableBuilder(tmp_path).create({"x": "long"}, protocol=VECTORS, configuration={"delta.enableDeletionVectors": "true"})
    pq.write_table(pa.table({"x": list(range(10))}), tmp_path / "p.parquet")
    builder.log().append(["p.parquet"])
    changed = [RemoveFile("p.parquet"), marked("p.parquet", FIRST)]
    builder.log().transaction("DELETE").commit(changed)
    return builder


def test_a_loader_that_runs_again_does_not_bring_deleted_rows_back(marked_table):
    with pytest.raises(InvalidCommitError, match="has it already with the deletion vector"):
        marked_table.log().append(["p.parquet"])
    assert live(marked_table) == {"p.parquet": 6}


def test_deleted_rows_come_back_where_the_file_is_removed_in_the_same_commit(marked_table):
    with marked_table.log().transaction("RESTORE") as transaction:
        transaction.add_files(["p.parquet"])
        transaction.remove_files(transaction.files())
        transaction.commit()
    assert live(marked_table) == {"p.parquet": None}


def test_a_file_is_appended_again_where_it_has_no_vector(tmp_path):
    builder = TableBuilder(tmp_path).create({"x": "long"}, protocol=VECTORS)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "p.parquet")
    builder.log().append(["p.parquet"])
    assert builder.log().append(["p.parquet"]).version == 2
    assert live(builder) == {"p.parquet": None}


def test_an_append_of_new_files_reads_no_list_of_files(tmp_path):
    for protocol in (None, VECTORS):
        builder = TableBuilder(tmp_path / str(protocol is None)).create({"x": "long"}, protocol=protocol).checkpoint()
        transaction = builder.log().transaction("WRITE")
        transaction.commit([AddFile("new", {}, 1, 1)])
        assert not transaction.snapshot.source.has_state
    pq.write_table(pa.table({"x": [1]}), tmp_path / "True" / "p.parquet")
    transaction = TableBuilder(tmp_path / "True").log().transaction("WRITE")
    transaction.add_files(["p.parquet"])
    transaction.commit()
    assert not transaction.snapshot.source.has_state


@pytest.mark.parametrize(
    "path", ["../other/p.parquet", "_delta_log/x.parquet", "a/../../b", "%2E%2E/b", ".", "file:///memory/table/_delta_log/x"]
)
def test_a_path_that_is_no_data_files_is_refused(path):
    assert refused(table(), AddFile(path, {}, 1, 1)).getErrorClass() == "DELTA_INVALID_PATH"


@pytest.mark.parametrize("path", ["/elsewhere/p", "s3://bucket/p", "..a/b", "_delta_log_/x", "_change_data/x"])
def test_a_path_elsewhere_is_taken_for_shallow_clones_have_such(path):
    assert table().log().transaction("CLONE").commit([AddFile(path, {}, 1, 1)]).version == 2


LIMIT = 1 << 63


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
    with pytest.raises(InvalidCommitError, match="takes away deletionVectors"):
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
