# SPDX-License-Identifier: Apache-2.0
"""What is read from a checkpoint alone is what the commits said, and what has expired is left out."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
import pytest
from tests.support.tables.checkpoints import (
    DAY,
    NOW,
    STATS,
    actions,
    builder,
    from_checkpoint_alone,
    hint,
    rewritten,
    rows,
    state,
    unordered,
    vector,
)

from bayou.errors import CorruptLogError, StorageError, UnsupportedFeatureError, UnsupportedProtocolError
from bayou.log.checkpoint import contents as checkpoint_contents
from bayou.log.checkpoint.last_checkpoint import json_checksum
from bayou.log.checkpoint.writer import write_checkpoint
from bayou.log.snapshot.replay import FileState
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.storage import LocalStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

# ---- the state ----


@pytest.mark.parametrize("options", [{}, {"part_size": 2}], ids=["classic", "multi-part"])
def test_a_checkpoint_holds_everything_that_the_commits_said(options):
    table = builder(
        {"txn": {"appId": "app", "version": 3, "lastUpdated": 5}},
        {"txn": {"appId": "plain", "version": 4}},
        {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": False}},
        {"domainMetadata": {"domain": "gone", "configuration": "{}", "removed": False}},
        add("p=a/1", partitionValues={"p": "a"}, stats=STATS, tags={"k": "v"}, baseRowId=9, defaultRowCommitVersion=1),
        add("p=a/2", partitionValues={"p": "a"}, deletionVector=vector(7), clusteringProvider="liquid"),
        add("p=b/3", partitionValues={"p": None}, size=12_345_678_901, modificationTime=5),
        schema={"id": "long", "p": "string"},
        partition_by=["p"],
        configuration={"k": "v"},
    )
    table.commit(
        remove(
            "p=a/2", deletionVector=vector(7), deletionTimestamp=NOW, size=3, extendedFileMetadata=True, partitionValues={"p": "a"}
        ),
        add("p=a/2", partitionValues={"p": "a"}, deletionVector=vector(8)),
        {"domainMetadata": {"domain": "gone", "configuration": "{}", "removed": True}},
    )
    before, after = rewritten(table, **options)
    if options:
        assert len(after.segment.files) > 1
    assert after.segment.checkpoint is not None
    arranged = unordered if options else dict
    assert arranged(state(after)) == arranged(state(before))
    assert before.tombstones().num_rows == 1


def test_the_files_keep_their_order_and_change_no_data():
    table = builder(add("c"), add("a"), add("b")).commit(remove("a", deletionTimestamp=NOW), add("a2"), add("0"))
    table.checkpoint().commit(add("z"), add("d", dataChange=True))
    before, after = rewritten(table)
    assert (
        after.files(["path"])["path"].to_pylist() == before.files(["path"])["path"].to_pylist() == ["c", "b", "a2", "0", "z", "d"]
    )
    assert set(after.files(["data_change"])["data_change"].to_pylist()) == {False}
    assert after.tombstones()["data_change"].to_pylist() == [False]


def test_an_empty_table_has_a_checkpoint_too():
    before, after = rewritten(builder())
    assert state(after) == state(before)
    assert after.num_files == 0


def test_what_a_checkpoint_says_of_itself_is_so():
    table = builder(add("a"), add("b", size=7)).commit(remove("a", deletionTimestamp=NOW))
    written = write_checkpoint(table.log().snapshot(), now_ms=NOW)
    path = file_names.checkpoint_path(1)
    assert (written.version, written.files, written.size, written.num_adds) == (1, (path,), 4, 1)
    assert written.size == len(rows(table, path))
    assert written.size_in_bytes == table.store.size(path)
    document = hint(table)
    assert document["checksum"] == json_checksum(document)
    told = (document["version"], document["size"], document["sizeInBytes"], document["numOfAddFiles"])
    assert told == (1, 4, written.size_in_bytes, 1)
    assert "parts" not in document


def test_writing_twice_does_no_harm():
    table = builder(add("a", stats=STATS)).commit(add("b"))
    log = table.log()
    first = write_checkpoint(log.snapshot(), now_ms=NOW)
    second = write_checkpoint(log.snapshot(), now_ms=NOW)
    assert (first.files, first.size) == (second.files, second.size)
    third = write_checkpoint(table.log().snapshot(), now_ms=NOW)
    assert (third.files, third.size) == (first.files, first.size)
    assert from_checkpoint_alone(table, third).num_files == 2


def test_a_checkpoint_of_an_older_version_leaves_the_later_hint():
    table = builder(add("a")).commit(add("b"))
    log = table.log()
    write_checkpoint(log.snapshot(1), now_ms=NOW)
    write_checkpoint(log.snapshot(0), now_ms=NOW)
    assert hint(table)["version"] == 1
    assert rows(table, file_names.checkpoint_path(0))


@pytest.mark.parametrize("broken", [b"", b"{", b'{"version":0}'])
def test_a_broken_or_older_hint_is_replaced(broken):
    table = builder(add("a")).commit(add("b")).write(file_names.LAST_CHECKPOINT, broken)
    write_checkpoint(table.log().snapshot(), now_ms=NOW)
    assert hint(table)["version"] == 1


def test_a_store_that_fails_is_told(monkeypatch):
    table = builder(add("a"))

    def fail(path, data):
        raise StorageError("full", file=path)

    monkeypatch.setattr(table.store, "put", fail)
    with pytest.raises(StorageError, match="full"):
        write_checkpoint(table.log().snapshot())


def test_files_that_went_missing_while_a_checkpoint_was_written_make_none(monkeypatch):
    table = builder(add("a"), add("b"))
    snapshot = table.log().snapshot()
    batches = FileState.batches
    monkeypatch.setattr(FileState, "batches", lambda state, rows: (each.slice(1) for each in batches(state, rows)))
    before = [each.path for each in table.store.list_from("_delta_log/")]
    with pytest.raises(CorruptLogError) as caught:
        write_checkpoint(snapshot, now_ms=NOW)
    assert caught.value.error_class == "DELTA_CHECKPOINT_SNAPSHOT_MISMATCH"
    assert [each.path for each in table.store.list_from("_delta_log/")] == before


def test_an_unreadable_base_checkpoint_is_passed_over():
    table = builder(add("a"), add("b")).commit(remove("a", deletionTimestamp=NOW)).checkpoint().commit(add("c"))
    table.write(file_names.checkpoint_path(1), b"PAR1 no more")
    before, after = rewritten(table)
    assert after.files(["path"])["path"].to_pylist() == before.files(["path"])["path"].to_pylist() == ["b", "c"]


def test_a_wrong_checksum_file_does_not_get_into_the_checkpoint():
    table = builder(add("a"), configuration={"right": "yes"}).checkpoint().commit(add("b"))
    table.checksum(metadata=metadata(configuration={"wrong": "yes"})["metaData"])
    assert table.log().snapshot().properties == {"wrong": "yes"}
    _, after = rewritten(table)
    assert after.properties == {"right": "yes"}


def test_many_files_become_many_row_groups(monkeypatch):
    monkeypatch.setattr(checkpoint_contents, "ROWS", 7)
    monkeypatch.setattr("bayou.log.checkpoint.parquet_file._SMALLEST_ROW_GROUP", 7)
    table = builder(*(add(f"f{number}", stats=STATS) for number in range(50)))
    table.commit(*(remove(f"f{number}", deletionTimestamp=NOW) for number in range(0, 50, 3)))
    before, after = rewritten(table)
    file = pq.ParquetFile(io.BytesIO(table.store.read(file_names.checkpoint_path(1))))
    assert file.metadata.num_row_groups > 5
    assert state(after) == state(before)
    table.commit(add("g"), *(remove(f"f{number}", deletionTimestamp=NOW) for number in (1, 2, 20, 49)))
    before, after = rewritten(table)
    assert state(after) == state(before)


# ---- what expires ----


def test_tombstones_expire_by_their_deletion_time():
    table = builder(*(add(name) for name in "abcde"))
    table.commit(
        remove("a", deletionTimestamp=NOW - 7 * DAY),
        remove("b", deletionTimestamp=NOW - 7 * DAY + 1),
        remove("c", deletionTimestamp=None),
        remove("d", deletionTimestamp=NOW + DAY),
    )
    _, after = rewritten(table)
    assert after.tombstones()["path"].to_pylist() == ["b", "d"]
    assert after.files(["path"])["path"].to_pylist() == ["e"]


def test_the_table_says_how_long_tombstones_are_kept():
    table = builder(add("a"), add("b"), configuration={"delta.deletedFileRetentionDuration": "interval 1 hours"})
    table.commit(remove("a", deletionTimestamp=NOW - 3_600_000), remove("b", deletionTimestamp=NOW - 3_599_999))
    assert rewritten(table)[1].tombstones()["path"].to_pylist() == ["b"]


def test_tombstones_of_the_base_checkpoint_expire_too():
    table = builder(add("a"), add("b")).commit(remove("a", deletionTimestamp=NOW - 8 * DAY), remove("b", deletionTimestamp=NOW))
    table.checkpoint().commit()
    assert rewritten(table)[1].tombstones()["path"].to_pylist() == ["b"]


def test_transactions_expire_where_the_table_says_so():
    transactions = [
        {"txn": {"appId": "old", "version": 1, "lastUpdated": NOW - DAY}},
        {"txn": {"appId": "young", "version": 2, "lastUpdated": NOW - DAY + 1}},
        {"txn": {"appId": "undated", "version": 3}},
    ]
    retention = {"delta.setTransactionRetentionDuration": "interval 1 days"}
    for configuration, expected in ((None, {"old", "young", "undated"}), (retention, {"young"})):
        table = builder(*transactions, configuration=configuration)
        write_checkpoint(table.log().snapshot(), now_ms=NOW)
        path = file_names.checkpoint_path(0)
        assert {each["appId"] for each in actions(table, path, "txn")} == expected


# ---- refusals ----


def test_a_table_with_unknown_writer_features_is_left_alone():
    table = builder(protocol=Protocol(1, 7, None, ("futureFeature", "appendOnly")))
    with pytest.raises(UnsupportedFeatureError, match="futureFeature") as caught:
        write_checkpoint(table.log().snapshot())
    assert caught.value.features == ("futureFeature",)
    with pytest.raises(UnsupportedProtocolError, match="writer version 8"):
        write_checkpoint(builder(protocol=Protocol(1, 8)).log().snapshot())


# ---- on a disk ----


def test_hadoop_s_checksums_of_replaced_files_are_gone(tmp_path):
    table = TableBuilder(tmp_path).create(actions=[add("a", stats=STATS)])
    assert isinstance(table.store, LocalStore)
    for name in ("00000000000000000000.checkpoint.parquet", "_last_checkpoint"):
        (tmp_path / "_delta_log" / f".{name}.crc").write_bytes(b"crc of another file")
    before, after = rewritten(table)
    assert state(after) == state(before)
    assert not [path.name for path in (tmp_path / "_delta_log").iterdir() if path.name.startswith(".")]
