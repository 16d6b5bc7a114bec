# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables.checkpoints import vector

from bayou.errors import CorruptLogError, InvalidOptionError
from bayou.log.actions.columns import ADD_SCHEMA
from bayou.protocol.actions.actions import Protocol
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove

KINDS = ["classic", "multipart", "v2-json", "v2-parquet"]


def builder():
    return TableBuilder(store=MemoryStore())


def live(snapshot):
    table = snapshot.files(["path", "deletion_vector"])
    rows = [(row["path"], (row["deletion_vector"] or {}).get("offset")) for row in table.to_pylist()]
    return sorted(rows, key=repr)


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_the_latest_action_on_a_file_wins(kind):
    table = builder().create(actions=[add("a"), add("b"), add("c")]).commit(remove("a"), add("d"))
    if kind:
        table.checkpoint(kind)
    table.commit(remove("b")).commit(add("a", size=7), remove("d")).commit(add("c", size=9))
    snapshot = table.log().snapshot()
    assert {row["path"]: row["size"] for row in snapshot.files(["path", "size"]).to_pylist()} == {"a": 7, "c": 9}
    assert (snapshot.num_files, snapshot.size_bytes) == (2, 16)
    assert sorted(snapshot.tombstones()["path"].to_pylist()) == ["b", "d"]


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_a_file_with_another_deletion_vector_is_another_logical_file(kind):
    table = builder().create(actions=[add("a"), add("b")])
    if kind:
        table.checkpoint(kind)
    table.commit(remove("a"), add("a", deletionVector=vector(1)))
    if kind:
        table.checkpoint(kind)
    table.commit(add("a", deletionVector=vector(2)), remove("a", deletionVector=vector(1)))
    assert live(table.log().snapshot()) == [("a", 2), ("b", None)]


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_a_remove_finds_its_add_under_any_spelling(kind):
    table = builder().create(
        actions=[add("day=10%3A00/a%20b"), add("c"), add("/memory/table/d"), add("file:///elsewhere/e"), add("x%25y")]
    )
    if kind:
        table.checkpoint(kind)
    table.commit(
        remove("file:/memory/table/day=10:00/a%20b"),
        remove("./c"),
        remove("d"),
        remove("/elsewhere/e"),
        remove("x%y"),
    )
    assert live(table.log().snapshot()) == []


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_transactions_and_domains_keep_their_latest(kind):
    def txn(name, version):
        return {"txn": {"appId": name, "version": version}}

    def domain(name, text, *, removed=False):
        return {"domainMetadata": {"domain": name, "configuration": text, "removed": removed}}

    table = builder().create(actions=[txn("a", 1), txn("b", 1), domain("d", "1"), domain("e", "1"), domain("f", "1")])
    if kind:
        table.checkpoint(kind)
    table.commit(txn("a", 2), domain("d", "2"), domain("e", "", removed=True))
    snapshot = table.log().snapshot()
    assert {name: each.version for name, each in snapshot.transactions.items()} == {"a": 2, "b": 1}
    assert {name: each.configuration for name, each in snapshot.domain_metadata.items()} == {"d": "2", "f": "1"}


def test_expired_transactions_are_forgotten():
    table = builder().create(
        configuration={"delta.setTransactionRetentionDuration": "interval 1 days"},
        actions=[
            {"txn": {"appId": "old", "version": 1, "lastUpdated": 1}},
            {"txn": {"appId": "undated", "version": 1}},
            {"txn": {"appId": "new", "version": 1, "lastUpdated": 99_999_999_999_999}},
        ],
    )
    assert set(table.log().snapshot().transactions) == {"new"}


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_protocol_and_metadata_are_the_latest(kind):
    table = builder().create({"id": "long"})
    if kind:
        table.checkpoint(kind)
    table.commit({"protocol": Protocol(1, 4).to_json()}).commit(metadata({"id": "long", "v": "string"}))
    snapshot = table.log().snapshot()
    assert snapshot.protocol == Protocol(1, 4)
    assert snapshot.schema.names == ("id", "v")
    assert table.log().snapshot(0).schema.names == ("id",)


def test_unknown_actions_fields_and_blank_lines_are_ignored():
    table = builder().create(actions=[{"future": {"x": 1}}, add("a", future={"y": 2}), {"add": None, "remove": None}])
    text = b'\n  \n{"commitInfo":{}}\n\r\n{"add":{"path":"b","size":1}}\r\n\n'
    table.write("_delta_log/00000000000000000001.json", text)
    assert live(table.log().snapshot()) == [("a", None), ("b", None)]


def test_a_stray_letter_after_an_action_is_tolerated_and_a_second_action_is_not():
    table = builder().create()
    table.write("_delta_log/00000000000000000001.json", b'{"add":{"path":"b","size":1}}x\n')
    assert live(table.log().snapshot()) == [("b", None)]
    table.write("_delta_log/00000000000000000002.json", b'{"add":{"path":"c","size":1}}{"add":{"path":"d","size":1}}\n')
    with pytest.raises(CorruptLogError, match="two JSON objects"):
        table.log().snapshot().files()


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_every_column_of_a_file_is_kept(kind):
    table = builder().create(
        {"id": "long", "p": "string", "q": "string"},
        partition_by=["p", "q"],
        actions=[
            add(
                "a",
                partitionValues={"p": "x", "q": None},
                size=12_345_678_901,
                modificationTime=5,
                dataChange=False,
                tags={"k": "v"},
                deletionVector=vector(3),
                baseRowId=9,
                defaultRowCommitVersion=4,
                clusteringProvider="liquid",
                stats={"numRecords": 5},
            ),
            add("b", partitionValues={"q": "", "p": "y"}),
        ],
    )
    if kind:
        table.checkpoint(kind)
    snapshot = table.log().snapshot()
    files = snapshot.files()
    assert files.schema == ADD_SCHEMA
    row = {name: column[0].as_py() for name, column in zip(files.column_names, files.columns, strict=True)}
    assert row == {
        "path": "a",
        "partition_values": [("p", "x"), ("q", None)],
        "size": 12_345_678_901,
        "modification_time": 5,
        "data_change": False,
        "stats": '{"numRecords": 5}',
        "tags": [("k", "v")],
        "deletion_vector": {
            "storage_type": "u",
            "path_or_inline_dv": "ab^-aqEH.-t@S}K{vb[*k^",
            "offset": 3,
            "size_in_bytes": 40,
            "cardinality": 6,
        },
        "base_row_id": 9,
        "default_row_commit_version": 4,
        "clustering_provider": "liquid",
    }
    assert {name: texts.to_pylist() for name, texts in snapshot.partition_texts().items()} == {
        "p": ["x", "y"],
        "q": [None, ""],
    }


def test_columns_come_in_the_order_asked_for():
    snapshot = builder().create(actions=[add("a")]).log().snapshot()
    assert snapshot.files(["size", "path"]).column_names == ["size", "path"]
    with pytest.raises(InvalidOptionError, match="'sizes'"):
        snapshot.files(["sizes"])


PATHS = st.sampled_from(["a", "b", "c%20d", "./a", "/memory/table/b"])
CANONICAL = {"a": "a", "./a": "a", "b": "b", "/memory/table/b": "b", "c%20d": "c d"}
OFFSETS = st.sampled_from([None, 1, 2])
STEPS = st.lists(st.lists(st.tuples(st.booleans(), PATHS, OFFSETS), max_size=4), max_size=8)


@given(STEPS, st.sampled_from([None, *KINDS]), st.integers(0, 8), st.booleans())
def test_replay_agrees_with_a_dictionary_for_any_log(steps, kind, checkpoint_at, incremental):
    table = builder().create()
    log = table.log()
    expected = {}
    for number, step in enumerate(steps):
        if incremental:
            log.update().num_files  # noqa: B018  (replays up to here, so that the next update builds on it)
        actions = []
        for is_add, path, offset in step:
            fields = {} if offset is None else {"deletionVector": vector(offset)}
            actions.append(add(path, **fields) if is_add else remove(path, **fields))
            key = (CANONICAL[path], offset)
            if is_add:
                expected[key] = path
            else:
                expected.pop(key, None)
        table.commit(*actions)
        if kind and number == checkpoint_at:
            table.checkpoint(kind)
    snapshot = log.update()
    assert live(snapshot) == sorted(((path, offset) for (_, offset), path in expected.items()), key=repr)
    assert snapshot.num_files == len(expected)
    assert live(table.log().snapshot()) == live(snapshot)
