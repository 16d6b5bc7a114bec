# SPDX-License-Identifier: Apache-2.0
"""The fields of a version checksum, which version has one, and how it gets into the log and is compared with a snapshot."""

from __future__ import annotations

import json

import pytest
from tests.core.log.checksum_commits import ENABLED, URI, VECTORS, after, domain, first, start, txn, vector

from bayou.errors import ChecksumMismatchError, StorageError
from bayou.log.checksum.writer import checksum_of, write_checksum
from bayou.log.snapshot.checksum_file import read_checksum
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.storage import FileStatus, MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove


def test_the_fields_come_in_the_order_in_which_delta_spark_writes_them():
    found = start(
        add("a", size=9000, deletionVector=vector(1, 12)), txn("x", 1), domain("d"), configuration=ENABLED, protocol=VECTORS
    )
    stamped = after(found, version=1, in_commit_timestamp=5)
    assert list(stamped) == [
        "txnId",
        "tableSizeBytes",
        "numFiles",
        "numDeletedRecordsOpt",
        "numDeletionVectorsOpt",
        "numMetadata",
        "numProtocol",
        "inCommitTimestampOpt",
        "setTransactions",
        "domainMetadata",
        "metadata",
        "protocol",
        "fileSizeHistogram",
        "deletedRecordCountsHistogramOpt",
        "allFiles",
    ]
    assert found["deletedRecordCountsHistogramOpt"] == {"deletedRecordCounts": [0, 0, 1, 0, 0, 0, 0, 0, 0, 0]}
    assert found["fileSizeHistogram"]["fileCounts"][:3] == [0, 1, 0]
    assert found["allFiles"][0]["dataChange"] is False


def test_a_version_without_files_has_an_empty_list_and_no_vectors_where_the_table_has_none():
    found = start()
    assert (found["numFiles"], found["tableSizeBytes"], found["allFiles"]) == (0, 0, [])
    assert found["setTransactions"] == found["domainMetadata"] == []
    assert not [name for name in found if "elet" in name]


@pytest.mark.parametrize(
    "previous", [None, {}, {"numFiles": 1}, {"numFiles": 1, "tableSizeBytes": 100}, {"protocol": 3}, {"fileSizeHistogram": 1}]
)
def test_after_a_version_without_a_checksum_that_says_enough_there_is_none(previous):
    assert after(previous, add("b")) is None


@pytest.mark.parametrize(
    "actions",
    [
        [remove("a")],
        [remove("a", size=1000)],
        [remove("a", size="100")],
        [remove("never", size=10)],
        [add("a")],
        [add("b", deletionVector={"storageType": "u", "pathOrInlineDv": "x"})],
        [add("b"), {"commitInfo": {"operation": "Manual Update"}}],
        [{"protocol": {"minReaderVersion": "x"}}],
    ],
    ids=["no size", "too large", "no number", "not live", "live already", "no cardinality", "any operation", "broken"],
)
def test_a_commit_that_says_too_little_has_no_checksum(actions):
    assert after(start(add("a"), add("z")), *actions) is None


def test_a_first_commit_without_metadata_has_no_checksum():
    assert after(None, add("a"), version=0) is None


def test_operations_that_restate_files_change_no_count():
    known = start(add("a", size=5))
    found = after(known, {"commitInfo": {"operation": "COMPUTE STATS"}}, add("a", size=5, stats={"numRecords": 3}))
    assert (found["numFiles"], found["tableSizeBytes"]) == (1, 5)
    assert found["fileSizeHistogram"] == known["fileSizeHistogram"]
    assert json.loads(found["allFiles"][0]["stats"]) == {"numRecords": 3}


def test_a_checksum_is_written_once_as_one_line():
    store = MemoryStore()
    document = start(add("a"))
    assert write_checksum(store, URI, 0, document) is True
    assert write_checksum(store, URI, 0, {}) is False
    data = store.read(file_names.checksum_path(0))
    assert data.endswith(b"}\n")
    assert data.count(b"\n") == 1
    assert read_checksum(store, FileStatus(file_names.checksum_path(0), 1, 1)).document == document


def test_a_store_that_fails_is_told_with_the_table_and_the_version():
    class Broken(MemoryStore):
        def put_if_absent(self, path, data):
            raise StorageError(f"no space for {len(data)} bytes", file=path)

    with pytest.raises(StorageError, match="no space for 3 bytes") as caught:
        write_checksum(Broken(), URI, 3, {})
    assert (caught.value.table, caught.value.version) == (URI, 3)


def test_the_checksum_of_a_snapshot_has_the_in_commit_timestamp():
    protocol = Protocol(1, 7, None, ("inCommitTimestamp",))
    table = TableBuilder(store=MemoryStore())
    configuration = {"delta.enableInCommitTimestamps": "true"}
    actions = first(configuration=configuration, protocol=protocol)
    table.commit(*actions, info={"inCommitTimestamp": 77})
    assert checksum_of(table.log().snapshot(), txn_id="x")["inCommitTimestampOpt"] == 77


def test_a_snapshot_from_a_checkpoint_without_statistics_in_json_lists_no_files():
    table = TableBuilder(store=MemoryStore()).create(
        configuration={"delta.checkpoint.writeStatsAsJson": "false"}, actions=[add("a")]
    )
    assert "allFiles" in checksum_of(table.log().snapshot())
    assert "allFiles" not in checksum_of(table.checkpoint().log().snapshot())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("numDeletedRecordsOpt", 5),
        ("numDeletionVectorsOpt", 5),
        ("setTransactions", []),
        ("setTransactions", [txn("x", 1)["txn"], txn("x", 1)["txn"]]),
        ("domainMetadata", [domain("other")["domainMetadata"]]),
        ("fileSizeHistogram", {"sortedBinBoundaries": [0, 50], "fileCounts": [1, 1], "totalBytes": [41, 99]}),
        ("deletedRecordCountsHistogramOpt", {"deletedRecordCounts": [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]}),
        ("allFiles", [add("a")["add"]]),
    ],
)
def test_a_checksum_that_disagrees_in_any_field_is_told(field, value):
    table = TableBuilder(store=MemoryStore())
    actions = [add("a"), add("b", size=40, deletionVector=vector(1, 3)), txn("x", 1), domain("d")]
    table.create(configuration=ENABLED, protocol=VECTORS, actions=actions)
    document = checksum_of(table.log().snapshot())
    path = file_names.checksum_path(0)
    assert table.write(path, json.dumps(document)).log().verify_checksum() is True
    with pytest.raises(ChecksumMismatchError) as caught:
        table.write(path, json.dumps({**document, field: value})).log().verify_checksum()
    assert list(caught.value.mismatches) == [field]
