# SPDX-License-Identifier: Apache-2.0
"""The fields of a version checksum, which version has one, and how it gets into the log and is compared with a snapshot.

The deleted rows and the sizes of files that a version checksum counts.
The files, transactions and domains that a version checksum lists, and when they are too many or too long for it.
"""

from __future__ import annotations

import json
from bisect import bisect_right

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.checksum.checksum_commits import ENABLED, URI, VECTORS, after, domain, first, start, txn, vector

from bayou.errors import ChecksumMismatchError, StorageError
from bayou.log.checksum.writer import checksum_of, write_checksum
from bayou.log.snapshot.checksum_file import read_checksum
from bayou.log.snapshot.file_size_histogram import (
    DEFAULT_BOUNDARIES,
    DELETED_RECORD_BOUNDARIES,
    FileSizeHistogram,
    deleted_record_counts,
)
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.storage import FileStatus, MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove


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


@pytest.mark.parametrize(
    ("protocol", "configuration", "counted"),
    [(VECTORS, ENABLED, True), (VECTORS, {}, False), (None, ENABLED, False), (None, {}, False)],
)
def test_deletion_vectors_are_counted_where_the_table_may_get_some(protocol, configuration, counted):
    assert ("numDeletionVectorsOpt" in start(protocol=protocol, configuration=configuration)) is counted


def test_deletion_vectors_are_counted_from_the_commit_on_that_brings_the_feature():
    known = start(add("a"), add("b"))
    enabled = after(known, {"protocol": VECTORS.to_json()}, metadata(configuration=ENABLED))
    assert enabled["numDeletionVectorsOpt"] == 0
    found = after(enabled, remove("a", size=100), add("a", deletionVector=vector(1, 1)), version=2)
    assert (found["numDeletionVectorsOpt"], found["numDeletedRecordsOpt"]) == (1, 1)
    assert found["deletedRecordCountsHistogramOpt"]["deletedRecordCounts"][:2] == [1, 1]
    disabled = after(found, metadata(configuration={}), version=3)
    assert disabled["numDeletionVectorsOpt"] == 1


def test_deletion_vectors_of_a_table_that_may_have_some_already_are_not_guessed():
    known = start(add("a"), protocol=VECTORS)
    assert "numDeletionVectorsOpt" not in after(known, metadata(configuration=ENABLED))


def test_a_histogram_under_its_older_name_and_with_other_bins_is_continued():
    known = start()
    histogram = {"sortedBinBoundaries": [0, 50], "fileCounts": [1, 0], "totalBytes": [20, 0]}
    known = {**known, "histogramOpt": histogram, "numFiles": 1, "tableSizeBytes": 20}
    del known["fileSizeHistogram"], known["allFiles"]
    found = after(known, add("b", size=60), remove("a", size=20))
    assert found["fileSizeHistogram"] == {"sortedBinBoundaries": [0, 50], "fileCounts": [0, 1], "totalBytes": [0, 60]}
    assert "histogramOpt" not in found
    without = {name: value for name, value in known.items() if name != "histogramOpt"}
    assert "fileSizeHistogram" not in after(without, add("b"))


SIZES = st.integers(0, 2**41) | st.sampled_from([edge + step for edge in DEFAULT_BOUNDARIES for step in (-1, 0, 1)][1:])


@given(st.lists(SIZES, max_size=20))
def test_a_histogram_puts_each_file_into_the_bin_that_begins_at_or_before_its_size(sizes):
    counts, totals = [0] * len(DEFAULT_BOUNDARIES), [0] * len(DEFAULT_BOUNDARIES)
    for size in sizes:
        place = bisect_right(DEFAULT_BOUNDARIES, size) - 1
        counts[place] += 1
        totals[place] += size
    found = FileSizeHistogram.of(pa.chunked_array([sizes[:3], sizes[3:]], pa.int64()))
    assert (list(found.file_counts), list(found.total_bytes)) == (counts, totals)
    assert FileSizeHistogram.from_json(json.loads(json.dumps(found.to_json()))) == found
    assert found.changed(pa.array([], pa.int64()), pa.array(sizes, pa.int64())) == FileSizeHistogram.of(pa.array([], pa.int64()))


def test_deleted_records_are_counted_by_the_power_of_ten():
    edges = [0, 1, 9, 10, 99, 100, 10_000_000, 2_147_483_646, 2_147_483_647, 2**62]
    assert deleted_record_counts(pa.array(edges)) == (1, 2, 2, 1, 0, 0, 0, 0, 2, 2)
    assert len(DELETED_RECORD_BOUNDARIES) == 10


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        {"sortedBinBoundaries": [0], "fileCounts": [1], "totalBytes": []},
        {"sortedBinBoundaries": [1], "fileCounts": [1], "totalBytes": [1]},
        {"sortedBinBoundaries": [0, 0], "fileCounts": [1, 1], "totalBytes": [1, 1]},
        {"sortedBinBoundaries": [0], "fileCounts": [True], "totalBytes": [1]},
        {"sortedBinBoundaries": [0], "fileCounts": ["1"], "totalBytes": [1]},
    ],
)
def test_what_is_no_histogram_is_refused(document):
    with pytest.raises(ValueError, match="histogram"):
        FileSizeHistogram.from_json(document)


def test_the_file_list_follows_the_files_under_any_spelling():
    known = start(add("day=1%3A0/a"), add("b"))
    found = after(known, remove("file:/memory/table/day=1:0/a", size=100), add("c", tags={"k": "v"}))
    assert [file["path"] for file in found["allFiles"]] == ["b", "c"]
    assert found["allFiles"][1]["tags"] == {"k": "v"}


def test_more_files_than_fifty_are_not_listed_until_none_are_left():
    few = start(*(add(str(number)) for number in range(50)))
    many = after(few, add("50"))
    assert (len(few["allFiles"]), "allFiles" in many, many["numFiles"]) == (50, False, 51)
    fewer = after(many, remove("50", size=100), version=2)
    assert "allFiles" not in fewer
    none = after(fewer, *(remove(str(number), size=100) for number in range(50)), version=3)
    assert none["allFiles"] == []


@pytest.mark.parametrize(
    "configuration",
    [
        {"delta.dataSkippingNumIndexedCols": "33"},
        {"delta.checkpoint.writeStatsAsJson": "false", "delta.checkpoint.writeStatsAsStruct": "false"},
    ],
)
def test_files_are_not_listed_where_their_statistics_are_long_or_lost(configuration):
    assert "allFiles" not in start(add("a"), configuration=configuration)


@pytest.mark.parametrize(
    ("name", "action", "value", "most"), [("setTransactions", txn, 1, 100), ("domainMetadata", domain, "x", 10)]
)
def test_lists_that_are_too_long_are_left_out(name, action, value, most):
    known = start(*(action(str(number), value) for number in range(most)))
    assert len(known[name]) == most
    longer = after(known, action("more", value))
    assert name not in longer
    assert name not in after(longer, version=2)


def test_transactions_and_domains_keep_their_latest():
    known = start(txn("a", 1), txn("b", 1), domain("d", "1"), domain("e", "1"))
    found = after(known, txn("a", 2), domain("d", "2"), domain("e", removed=True))
    assert {each["appId"]: each["version"] for each in found["setTransactions"]} == {"a": 2, "b": 1}
    assert [each["configuration"] for each in found["domainMetadata"]] == ["2"]


def test_transactions_that_expire_are_left_out():
    expiring = metadata(configuration={"delta.setTransactionRetentionDuration": "interval 1 days"})
    assert "setTransactions" not in after(start(txn("a", 1)), expiring)


@pytest.mark.parametrize("path", ["/elsewhere/a", "s3://bucket/a"])
def test_a_list_of_files_elsewhere_holds_only_full_uris(path):
    snapshot = TableBuilder(store=MemoryStore()).create(actions=[add(path)]).log().snapshot()
    assert ("allFiles" in checksum_of(snapshot)) is path.startswith("s3:")
