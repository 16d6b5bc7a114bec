# SPDX-License-Identifier: Apache-2.0
"""Many files removed at once: the same actions as one by one, whatever their texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import ConcurrentDeleteDeleteException, InvalidCommitError
from bayou.log.actions.columns import ADD_SCHEMA, actions_table
from bayou.log.checksum.verify import verify_checksum
from bayou.log.staging.removed_files import COLUMNS, RemovedFiles
from bayou.protocol.actions.actions import AddFile, RemoveFile
from bayou.protocol.actions.file_names import commit_path
from bayou.protocol.deletion_vectors.descriptor import DeletionVectorDescriptor
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, remove

TEXTS = st.text(max_size=8)
VECTORS = st.builds(
    DeletionVectorDescriptor,
    st.just("u"),
    TEXTS.filter(bool),
    st.none() | st.integers(0, 99),
    st.integers(1, 99),
    st.integers(1, 99),
)
FILES = st.builds(
    AddFile,
    path=TEXTS.filter(bool),
    partition_values=st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3),
    size=st.integers(0, 2**63 - 1),
    modification_time=st.just(1),
    tags=st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
    deletion_vector=st.none() | VECTORS,
    base_row_id=st.none() | st.integers(0, 2**62),
    default_row_commit_version=st.none() | st.integers(0, 2**40),
)


def as_object(file):
    return RemoveFile(
        file.path,
        7,
        data_change=False,
        extended_file_metadata=True,
        partition_values=file.partition_values,
        size=file.size,
        tags=file.tags,
        deletion_vector=file.deletion_vector,
        base_row_id=file.base_row_id,
        default_row_commit_version=file.default_row_commit_version,
    ).to_json()


@given(st.lists(FILES, max_size=6), st.integers(0, 3))
def test_the_text_of_many_is_that_of_each(files, start):
    table = actions_table([file.to_json() for file in files], ADD_SCHEMA).select(list(COLUMNS)).slice(start)
    removed = RemovedFiles(table, 7, data_change=False)
    lines = [json.loads(line) for piece in removed.lines() for line in piece.split(b"\n")]
    expected = [{"remove": as_object(file)} for file in files[start:]]
    assert lines == expected
    assert list(removed.documents()) == expected


def table():
    return TableBuilder(store=MemoryStore()).create().commit(add("a"), add("b c%20d"), add("e", size=5, tags={"k": "v"}))


def test_an_overwrite_removes_every_file_and_adds_its_own():
    builder = table()
    with builder.log().transaction("WRITE") as transaction:
        removed = transaction.remove_files(transaction.files())
        assert (len(removed), removed.size_bytes) == (3, 205)
        assert transaction.commit([AddFile("new", {}, 1, 1)]).version == 2
    snapshot = builder.log().snapshot()
    assert snapshot.files(["path"])["path"].to_pylist() == ["new"]
    assert sorted(snapshot.tombstones()["path"].to_pylist()) == ["a", "b c%20d", "e"]
    info = json.loads(builder.store.read(commit_path(2)).splitlines()[0])["commitInfo"]
    assert info["isBlindAppend"] is False
    assert verify_checksum(snapshot) is False  # the table before had none


def test_only_removing_is_a_commit_and_moves_the_checksum_on():
    builder = TableBuilder(store=MemoryStore())
    log = builder.log()
    log.create(StructType((StructField("id", "long"),)))
    log.transaction("WRITE").commit([AddFile("a", {}, 1, 1), AddFile("b", {}, 1, 1)])
    with log.transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files())
        assert transaction.commit().version == 2
    snapshot = builder.log().snapshot()
    assert snapshot.num_files == 0
    assert verify_checksum(snapshot) is True


def test_removing_nothing_is_no_commit():
    builder = TableBuilder(store=MemoryStore()).create()
    with builder.log().transaction("DELETE") as transaction:
        transaction.remove_files(transaction.files())
        assert transaction.commit().reason == "empty"


def test_a_file_that_two_remove_conflicts():
    builder = table()
    transaction = builder.log().transaction("DELETE")
    transaction.remove_files(transaction.snapshot.files())
    builder.commit(remove("b c%20d"))
    with pytest.raises(ConcurrentDeleteDeleteException) as caught:
        transaction.commit()
    assert caught.value.files == ("b c%20d",)


@pytest.mark.parametrize("actions", [[AddFile("a", {}, 1, 1)], [RemoveFile("./a")]])
def test_a_file_that_is_among_the_many_is_not_committed_again(actions):
    transaction = table().log().transaction("DELETE")
    transaction.remove_files(transaction.files())
    with pytest.raises(InvalidCommitError, match=r" a\b"):
        transaction.commit(actions)


def test_files_that_are_removed_twice_are_refused():
    transaction = table().log().transaction("DELETE")
    files = transaction.files()
    transaction.remove_files(files.take([0, 1, 0]))
    with pytest.raises(InvalidCommitError, match="twice"):
        transaction.remove_files(files)
    with pytest.raises(InvalidCommitError, match=r" a\b"):
        transaction.commit()
