# SPDX-License-Identifier: Apache-2.0
"""What is read from a checkpoint alone is what the commits said, whatever kind it is of."""

from __future__ import annotations

import io
import json
import re
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.log.checkpoint_tables import (
    DAY,
    EVERYTHING,
    NOW,
    STATS,
    V2,
    V2_POLICY,
    actions,
    builder,
    from_checkpoint_alone,
    hint,
    hinted_type,
    rewritten,
    rows,
    spark_type,
    state,
    unordered,
    vector,
)

from bayou.errors import CorruptLogError, InvalidOptionError, StorageError, UnsupportedFeatureError, UnsupportedProtocolError
from bayou.log import checkpoint_contents
from bayou.log.checkpoint_writer import SIDECAR_ACTIONS, write_checkpoint
from bayou.log.last_checkpoint import json_checksum
from bayou.log.part_hash import part_of_others, parts_of
from bayou.log.replay import FileState
from bayou.protocol import file_names
from bayou.protocol.actions import Protocol
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
    monkeypatch.setattr("bayou.log.checkpoint_file._SMALLEST_ROW_GROUP", 7)
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


# ---- V2 ----


def test_a_v2_checkpoint_has_its_file_actions_in_sidecars():
    table = builder(*(add(f"f{number}", stats=STATS) for number in range(5)), protocol=V2, configuration=V2_POLICY)
    table.commit(remove("f0", deletionTimestamp=NOW), {"txn": {"appId": "a", "version": 1}})
    before = table.log().snapshot()
    written = write_checkpoint(before, now_ms=NOW, sidecar_actions=2)
    top, *sidecars = written.files
    assert re.fullmatch(r"_delta_log/0{19}1\.checkpoint\.[0-9a-f-]{36}\.json", top)
    assert all(re.fullmatch(rf"_delta_log/_sidecars/0{{19}}1\.checkpoint\.0{{9}}{number}\.[0-9a-f-]{{36}}\.parquet", path)
               for number, path in enumerate(sidecars, 1))  # fmt: skip
    lines = [json.loads(line) for line in table.store.read(top).splitlines()]
    assert [next(iter(line)) for line in lines] == ["checkpointMetadata", *["sidecar"] * 3, "protocol", "metaData", "txn"]
    assert [line["sidecar"] for line in lines[1:4]] == [
        {"path": path.rsplit("/", 1)[1], "sizeInBytes": table.store.size(path), "modificationTime": NOW} for path in sidecars
    ]
    assert [len(rows(table, path)) for path in sidecars] == [2, 2, 1]
    assert (written.size, written.num_adds) == (len(lines) + 5, 4)
    assert written.size_in_bytes == sum(table.store.size(path) for path in written.files)
    assert state(from_checkpoint_alone(table, written)) == state(before)


def test_the_hint_of_a_v2_checkpoint_is_complete():
    table = builder(add("a", stats=STATS), protocol=V2, configuration=V2_POLICY)
    written = write_checkpoint(table.log().snapshot(), now_ms=NOW)
    document = hint(table)
    told = document["v2Checkpoint"]
    lines = [json.loads(line) for line in table.store.read(written.files[0]).splitlines()]
    assert document["checksum"] == json_checksum(document)
    assert "checkpointSchema" not in document
    assert (told["path"], told["sizeInBytes"]) == (written.files[0].rsplit("/", 1)[1], table.store.size(written.files[0]))
    assert told["sidecarFiles"] == [lines[1]["sidecar"]]
    assert told["nonFileActions"] == [*lines[2:], lines[0]]
    tags = lines[0]["checkpointMetadata"]["tags"]
    assert (tags["sidecarNumActions"], tags["numOfAddFiles"]) == ("1", "1")
    assert tags["sidecarSizeInBytes"] == str(table.store.size(written.files[1]))
    file = pq.ParquetFile(io.BytesIO(table.store.read(written.files[1])))
    assert hinted_type(json.loads(tags["sidecarFileSchema"])) == spark_type(pa.struct(list(file.schema_arrow)))


def test_a_v2_checkpoint_without_files_has_no_sidecars():
    before, after = rewritten(builder(protocol=V2, configuration=V2_POLICY))
    assert len(after.segment.files) == 1
    assert state(after) == state(before)


@pytest.mark.parametrize(
    ("protocol", "configuration"), [(V2, None), (V2, {"delta.checkpointPolicy": "classic"}), (None, V2_POLICY)]
)
def test_a_checkpoint_is_classic_without_the_policy_or_without_the_feature(protocol, configuration):
    table = builder(add("a"), protocol=protocol, configuration=configuration)
    assert write_checkpoint(table.log().snapshot()).files == (file_names.checkpoint_path(0),)


def test_a_sidecar_holds_as_many_actions_as_delta_spark_s():
    assert SIDECAR_ACTIONS == 50_000


# ---- parts ----


def test_parts_are_a_hash_of_the_path():
    table = builder(*(add(f"f{number}") for number in range(20)), add("v", deletionVector=vector(1)))
    table.commit(*(remove(f"f{number}", deletionTimestamp=NOW) for number in range(5)))
    before = table.log().snapshot()
    written = write_checkpoint(before, now_ms=NOW, part_size=8)
    assert written.files == tuple(file_names.checkpoint_part_path(1, number, 3) for number in (1, 2, 3))
    assert (hint(table)["parts"], hint(table)["size"], written.num_adds) == (3, 23, 16)
    for part, path in enumerate(written.files):
        found = [*actions(table, path, "add"), *actions(table, path, "remove")]
        vectors = [each["deletionVector"] and "uab^-aqEH.-t@S}K{vb[*k^@1" for each in found]
        paths = pa.chunked_array([[each["path"] for each in found]])
        assert set(parts_of(paths, pa.chunked_array([vectors], pa.string()), 3).to_pylist()) == {part}
        assert len(actions(table, path, "protocol")) == (part == part_of_others(3))
    after = from_checkpoint_alone(table, written)
    assert sorted(after.files(["path"])["path"].to_pylist()) == sorted(before.files(["path"])["path"].to_pylist())


def test_parts_that_are_empty_are_written_too():
    table = builder(add("a"), add("b"))
    before = table.log().snapshot()
    written = write_checkpoint(before, part_size=1)
    assert len(written.files) == 2
    assert sorted(from_checkpoint_alone(table, written).files(["path"])["path"].to_pylist()) == ["a", "b"]


def test_one_part_is_a_classic_checkpoint():
    table = builder(add("a"), add("b"))
    assert write_checkpoint(table.log().snapshot(), part_size=2).files == (file_names.checkpoint_path(0),)
    assert "parts" not in hint(table)


def test_a_table_with_the_feature_v2checkpoint_gets_no_parts():
    table = builder(add("a"), protocol=V2)
    with pytest.raises(InvalidOptionError, match="v2Checkpoint"):
        write_checkpoint(table.log().snapshot(), part_size=10)
    assert [status.name for status in table.store.list_from("_delta_log/")] == ["00000000000000000000.json"]


@pytest.mark.parametrize("options", [{"part_size": 0}, {"sidecar_actions": 0}, {"part_size": -1}])
def test_sizes_are_positive(options):
    with pytest.raises(InvalidOptionError, match="positive"):
        write_checkpoint(builder().log().snapshot(), **options)


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


# ---- any log ----


PATHS_IN_LOG = st.sampled_from(["a", "b", "c%20d", "./a", "/memory/table/b"])
STEP = st.one_of(
    st.tuples(st.just("add"), PATHS_IN_LOG, st.sampled_from([None, 1, 2]), st.integers(0, 3)),
    st.tuples(st.just("remove"), PATHS_IN_LOG, st.sampled_from([None, 1, 2]), st.integers(0, 3)),
    st.tuples(st.just("txn"), st.sampled_from("xy"), st.none(), st.integers(0, 3)),
    st.tuples(st.just("domain"), st.sampled_from("xy"), st.booleans(), st.integers(0, 3)),
)
KINDS = st.sampled_from(["classic", "multi-part", "v2"])


def action(kind, name, detail, number):
    if kind == "txn":
        return {"txn": {"appId": name, "version": number}}
    if kind == "domain":
        return {"domainMetadata": {"domain": name, "configuration": str(number), "removed": detail}}
    fields = {} if detail is None else {"deletionVector": vector(detail)}
    if kind == "remove":
        return remove(name, deletionTimestamp=NOW, size=number, **fields)
    stats = [None, STATS, "oops", {**STATS, "tightBounds": False}][number]
    return add(name, stats=stats, size=number, partitionValues={"p": [None, "1", "", "x"][number]}, **fields)


@given(
    st.lists(st.lists(STEP, max_size=5), max_size=6),
    KINDS,
    st.one_of(st.none(), st.tuples(st.integers(0, 5), KINDS)),
    st.integers(1, 3),
)
def test_a_checkpoint_of_any_log_says_what_its_commits_say(steps, kind, base, size):
    # A table with V2 checkpoints has no parts.
    names = EVERYTHING if "v2" in {kind, base and base[1]} else EVERYTHING[:2]
    table = builder(schema={"id": "long", "p": "integer"}, partition_by=["p"], protocol=Protocol(3, 7, names, names))
    with mock.patch.object(checkpoint_contents, "ROWS", size):
        for number, step in enumerate(steps):
            table.commit(*(action(*each) for each in step))
            if base and number == base[0]:
                checkpoint(table, base[1], size)
        before = table.log().snapshot()
        expected = state(before)
        after = from_checkpoint_alone(table, checkpoint(table, kind, size))
    arranged = unordered if "multi-part" in {kind, base and base[1]} else dict
    assert arranged(state(after)) == arranged(expected)


def checkpoint(table, kind, size):
    snapshot = table.log().snapshot()
    with mock.patch("bayou.log.checkpoint_writer._wants_v2", return_value=kind == "v2"):
        has_parts = kind == "multi-part" and "v2Checkpoint" not in snapshot.protocol.writer_features
        return write_checkpoint(snapshot, now_ms=NOW, sidecar_actions=size, part_size=size if has_parts else None)
