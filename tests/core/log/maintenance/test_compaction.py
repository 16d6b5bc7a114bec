# SPDX-License-Identifier: Apache-2.0
"""Log compaction: a table reads the same through the compacted file as through the commits that it stands for."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.drawing import SLOW

from bayou.errors import CorruptLogError, InvalidOptionError, UnsupportedFeatureError, VersionNotFoundError
from bayou.log.maintenance.compaction import compact_log
from bayou.protocol.actions.actions import Protocol
from bayou.protocol.actions.file_names import commit_path, compacted_path
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata, remove


def builder():
    return TableBuilder(store=MemoryStore())


def txn(name, version):
    return {"txn": {"appId": name, "version": version}}


def domain(name, text, *, removed=False):
    return {"domainMetadata": {"domain": name, "configuration": text, "removed": removed}}


def vector(number):
    return {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": number, "sizeInBytes": 4, "cardinality": 1}


def content(table, start, end):
    data = table.store.read(compacted_path(start, end))
    assert data.endswith(b"\n")
    return [json.loads(line) for line in data.splitlines()]


def state(snapshot):
    files = snapshot.files().to_pylist()
    return (
        sorted(files, key=lambda row: (row["path"], repr(row["deletion_vector"]))),
        sorted(snapshot.tombstones().to_pylist(), key=lambda row: (row["path"], repr(row["deletion_vector"]))),
        snapshot.protocol,
        snapshot.metadata,
        dict(snapshot.transactions),
        dict(snapshot.domain_metadata),
        snapshot.timestamp,
    )


def through_commits(table):
    """The state of a copy of the table that has no compacted file."""
    copy = TableBuilder(store=MemoryStore())
    copy.store._files = {path: kept for path, kept in table.store._files.items() if "compacted" not in path}
    return state(copy.log().snapshot())


def test_the_file_holds_the_actions_that_count_and_no_provenance():
    table = builder().create().commit(add("f1"))
    table.commit(add("f2"), remove("f1")).commit(add("f3"), add("f4"), txn("x", 1), domain("d", "1"))
    table.commit(remove("f3"), txn("x", 2), domain("d", "", removed=True), {"cdc": {"path": "c", "size": 1}})
    assert compact_log(table.log(), 2, 4) == "_delta_log/00000000000000000002.00000000000000000004.compacted.json"
    assert content(table, 2, 4) == [
        txn("x", 2),
        domain("d", "", removed=True),
        add("f2"),
        add("f4"),
        remove("f1"),
        remove("f3"),
    ]
    snapshot = table.log().snapshot()
    assert [status.name for _, status in snapshot.segment.deltas][-1].endswith("compacted.json")
    assert state(snapshot) == through_commits(table)


def test_fields_that_nobody_knows_are_kept():
    strange = add("a", future={"x": [1]}, stats={"numRecords": 1})
    table = builder().create().commit(strange).commit(remove("b", stats="{}", tags={"k": "v"}))
    compact_log(table.log(), 1, 2)
    assert content(table, 1, 2) == [strange, remove("b", stats="{}", tags={"k": "v"})]


def test_protocol_and_metadata_are_the_last_ones():
    table = builder().create({"id": "long"}).commit({"protocol": Protocol(1, 4).to_json()}, metadata({"v": "string"}))
    compact_log(table.log(), 0, 1)
    assert content(table, 0, 1) == [{"protocol": Protocol(1, 4).to_json()}, metadata({"v": "string"})]


def test_a_file_that_is_there_already_stays():
    table = builder().create().commit(add("a")).commit(add("b"))
    table.write(compacted_path(1, 2), b"theirs")
    compact_log(table.log(), 1, 2)
    assert table.store.read(compacted_path(1, 2)) == b"theirs"


def test_the_commits_are_left_as_they_are():
    table = builder().create().commit(add("a")).commit(add("b"))
    before = dict(table.store._files)
    compact_log(table.log(), 0, 2)
    assert {path: kept for path, kept in table.store._files.items() if "compacted" not in path} == before


@pytest.mark.parametrize(("start", "end"), [(1, 1), (2, 1), ("0", "1"), (0.0, 1), (False, True), (None, 1)])
def test_what_is_no_range_is_refused(start, end):
    table = builder().create().commit(add("a"))
    with pytest.raises(InvalidOptionError):
        compact_log(table.log(), start, end)


@pytest.mark.parametrize(("start", "end", "missing"), [(1, 3, 3), (-1, 1, -1), (5, 6, 5)])
def test_a_range_that_the_log_does_not_hold_is_refused(start, end, missing):
    table = builder().create().commit(add("a")).commit(add("b"))
    with pytest.raises(VersionNotFoundError) as caught:
        compact_log(table.log(), start, end)
    assert caught.value.version == missing
    assert (caught.value.earliest, caught.value.latest) == (0, 2)
    assert not [path for path in table.store._files if "compacted" in path]


def test_a_range_whose_first_commits_were_cleaned_up_is_refused():
    table = builder().create().commit(add("a")).commit(add("b")).checkpoint().delete(commit_path(0)).delete(commit_path(1))
    with pytest.raises(VersionNotFoundError, match="cleaned up"):
        compact_log(table.log(), 1, 2)


def test_a_range_without_actions_is_refused():
    table = builder().create().commit().commit()
    with pytest.raises(InvalidOptionError, match=r"\b1\b.*\b2\b"):
        compact_log(table.log(), 1, 2)


def test_an_action_of_an_unknown_kind_is_not_lost():
    table = builder().create().commit({"future": {"x": 1}}).commit(add("a"))
    with pytest.raises(UnsupportedFeatureError, match="'future'") as caught:
        compact_log(table.log(), 1, 2)
    assert caught.value.version == 1


@pytest.mark.parametrize("text", [b"nonsense\n", b'{"add":{"size":1}}\n', b'{"txn":{"version":1}}\n'])
def test_a_commit_that_cannot_be_read_is_not_compacted(text):
    table = builder().create().commit(add("a")).commit(add("b")).checkpoint()
    table.write(commit_path(1), text)
    with pytest.raises(CorruptLogError) as caught:
        compact_log(table.log(), 0, 2)
    assert caught.value.file == commit_path(1)


PATHS = st.sampled_from(["a", "b", "c%20d", "./a", "/memory/table/b"])
FILES = st.tuples(st.booleans(), PATHS, st.sampled_from([None, 1, 2]), st.integers(0, 9))
OTHERS = st.one_of(
    st.builds(txn, st.sampled_from("xy"), st.integers(0, 9)),
    st.builds(domain, st.sampled_from("de"), st.text("z", max_size=2), removed=st.booleans()),
    st.builds(lambda writer: {"protocol": Protocol(1, writer).to_json()}, st.integers(2, 6)),
    st.builds(lambda name: metadata({name: "long"}), st.sampled_from("uvw")),
)
STEPS = st.lists(st.tuples(st.lists(FILES, max_size=4), st.lists(OTHERS, max_size=2)), min_size=2, max_size=6)


@SLOW
@given(STEPS, st.sampled_from([None, "classic", "v2-json"]), st.data())
def test_a_table_reads_the_same_through_a_compacted_file_for_any_log(steps, kind, data):
    table = builder().create()
    at = data.draw(st.integers(0, len(steps) - 2))
    for number, (files, others) in enumerate(steps):
        actions = []
        for is_add, path, offset, size in files:
            fields = {} if offset is None else {"deletionVector": vector(offset)}
            actions.append(add(path, size=size, **fields) if is_add else remove(path, size=size, **fields))
        table.commit(*actions, *others, txn("always", number))
        if kind and number == at:
            table.checkpoint(kind)
    start = data.draw(st.integers(at + 2, len(steps) - 1) if kind and at + 2 < len(steps) else st.integers(0, len(steps) - 1))
    end = data.draw(st.integers(start + 1, len(steps)))
    compact_log(table.log(), start, end)
    snapshot = table.log().snapshot()
    assert state(snapshot) == through_commits(table)
    covered = [version for version, status in snapshot.segment.deltas if "compacted" in status.name]
    assert covered == ([end] if not kind or start > at + 1 else [])
