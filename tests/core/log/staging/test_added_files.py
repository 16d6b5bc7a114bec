# SPDX-License-Identifier: Apache-2.0
"""Many files added at once: the same actions, checks, row ids and checksums as for files that are staged one by one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayou.errors import InvalidCommitError
from bayou.log.actions.columns import ADD_SCHEMA, actions_table
from bayou.log.actions.keys import hadoop_uris
from bayou.log.checksum.verify import verify_checksum
from bayou.log.commit.outcomes import Unchanged
from bayou.log.staging.added_files import AddedFiles
from bayou.protocol.actions.actions import AddFile, Protocol, RemoveFile
from bayou.protocol.actions.paths import hadoop_uri, to_uri
from bayou.protocol.types.schema import StructField, StructType
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add

TEXTS = st.text(max_size=8)
FILES = st.builds(
    AddFile,
    path=TEXTS.filter(bool),
    partition_values=st.dictionaries(TEXTS, st.none() | TEXTS, max_size=3),
    size=st.integers(0, 2**63 - 1),
    modification_time=st.integers(-(2**63), 2**63 - 1),
    data_change=st.booleans(),
    stats=st.none() | TEXTS | st.just('{"numRecords":3,"minValues":{"a":"\\"\\u0007\\\\"}}'),
    tags=st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
    base_row_id=st.none() | st.integers(0, 2**62),
    default_row_commit_version=st.none() | st.integers(0, 2**40),
    clustering_provider=st.none() | TEXTS,
)
PATHS = ["a/b=1/c.parquet", "file:/x/\u00fc", "/abs", "s3a://b/k", "a%20b", "../x", "./a", "a//b"]
SCHEMA = StructType((StructField("id", "long"),))
TRACKING = Protocol(1, 7, None, ("rowTracking", "domainMetadata"))


def added(*files):
    return AddedFiles.of(actions_table([each.to_json() for each in files], ADD_SCHEMA))


@given(st.lists(FILES, max_size=6), st.integers(0, 3))
def test_the_text_of_many_is_that_of_each(files, start):
    many = AddedFiles(added(*files).files.slice(start))
    lines = [json.loads(line) for piece in many.lines() for line in piece.split(b"\n")]
    expected = [{"add": file.to_json()} for file in files[start:]]
    assert lines == expected
    assert list(many.documents()) == expected


@given(st.lists(FILES, max_size=6))
def test_facts_of_many_are_those_of_each(files):
    many = added(*files)
    assert len(many) == len(files)
    assert many.changes_data == any(each.data_change for each in files)
    assert many.moves_rows_without_ids == any(not each.data_change and each.base_row_id is None for each in files)
    assert {frozenset(each.items()) for each in many.partition_values} == {
        frozenset(each.partition_values.items()) for each in files
    }


@given(
    st.lists(
        TEXTS | st.sampled_from(["a/b=1/c.parquet", "file:/x/ü", "/abs", "s3a://b/k", "a%20b", "../x", "./a", "a//b"]), max_size=6
    )
)
def test_the_uris_of_many_are_those_of_each(paths):
    column = added(*(AddFile(each or "x", {}, 1, 1) for each in paths)).files["path"]
    for table in ("file:///t/my table", "s3://bucket/t%20x", "/plain"):
        assert hadoop_uris(column, table).to_pylist() == [hadoop_uri(to_uri(each or "x", table)) for each in paths]


def table(**arguments):
    return TableBuilder(store=MemoryStore()).create(**arguments).commit(add("a"), add("b c%20d", size=5))


def committed(builder, many, *actions, **arguments):
    with builder.log().transaction("WRITE") as transaction:
        transaction.add_again(many)
        return transaction.commit(actions, **arguments)


def test_a_commit_adds_them_beside_others():
    builder = table()
    assert committed(builder, added(AddFile("c", {}, 3, 1, stats='{"numRecords":1}')), AddFile("d", {}, 4, 1)).version == 2
    snapshot = builder.log().snapshot()
    assert sorted(snapshot.files(["path"])["path"].to_pylist()) == ["a", "b c%20d", "c", "d"]
    assert isinstance(committed(builder, added()), Unchanged)


@pytest.mark.parametrize(
    ("files", "actions", "text"),
    [
        ([AddFile("c", {}, 1, 1), AddFile("c", {}, 2, 1)], [], "the action add more than once for c"),
        ([AddFile("c d", {}, 1, 1), AddFile("c%20d", {}, 2, 1)], [], "the action add more than once for c d"),
        ([AddFile("c", {}, 1, 1)], [AddFile("./c", {}, 1, 1)], "the action add more than once for c"),
        ([AddFile("a", {}, 1, 1)], [RemoveFile("a", 1)], "the action add and remove more than once for a"),
        ([AddFile("_delta_log/c", {}, 1, 1)], [], "not the path of a data file"),
        ([AddFile("../c", {}, 1, 1)], [], "not the path of a data file"),
        ([AddFile("c", {"day": "1"}, 1, 1)], [], "partition values for day"),
        ([AddFile("c", {}, -1, 1)], [], "size of 'the files' is -1"),
        ([AddFile("c", {}, 1, 1, base_row_id=-1)], [], "baseRowId of 'the files' is -1"),
    ],
)
def test_what_no_commit_may_do_is_refused(files, actions, text):
    builder = table()
    with pytest.raises(InvalidCommitError) as caught:
        committed(builder, added(*files), *actions)
    assert text in str(caught.value)
    assert builder.log().snapshot().version == 1


def test_a_file_cannot_be_removed_as_one_of_many_and_added_so():
    builder = table()
    with builder.log().transaction("WRITE") as transaction:
        transaction.remove_files(transaction.files())
        transaction.add_again(added(AddFile("a", {}, 1, 1)))
        with pytest.raises(InvalidCommitError, match="add and remove more than once for a"):
            transaction.commit()


def test_files_are_given_once():
    with table().log().transaction("WRITE") as transaction:
        transaction.add_again(added(AddFile("c", {}, 1, 1)))
        with pytest.raises(InvalidCommitError, match="add_again was called twice"):
            transaction.add_again(added(AddFile("d", {}, 1, 1)))


def test_absolute_paths_may_lie_anywhere():
    builder = table()
    committed(builder, added(AddFile("file:/elsewhere/c", {}, 1, 1), AddFile("/d", {}, 1, 1)))
    assert builder.log().snapshot().num_files == 4


@pytest.mark.parametrize("values", [[{"day": "1"}, {"day": None}], [{"day": ""}]])
def test_partition_values_are_those_of_the_table(values):
    schema = StructType((StructField("day", "string"), StructField("id", "long")))
    builder = TableBuilder(store=MemoryStore()).create(schema, partition_by=["day"])
    committed(builder, added(*(AddFile(f"f{number}", each, 1, 1) for number, each in enumerate(values))))
    assert builder.log().snapshot().num_files == len(values)
    with pytest.raises(InvalidCommitError, match="partition values for"):
        committed(builder, added(AddFile("g", {}, 1, 1)))


def test_row_ids_follow_those_of_the_files_beside_them():
    builder = TableBuilder(store=MemoryStore())
    builder.create(protocol=TRACKING)
    rows = '{"numRecords":%d}'
    many = added(AddFile("b", {}, 1, 1, stats=rows % 3), AddFile("c", {}, 1, 1, stats=rows % 4))
    committed(builder, many, AddFile("a", {}, 1, 1, stats=rows % 2))
    files = builder.log().snapshot().files(["path", "base_row_id"]).to_pylist()
    assert {each["path"]: each["base_row_id"] for each in files} == {"a": 0, "b": 2, "c": 5}
    committed(builder, added(AddFile("d", {}, 1, 1, stats=rows % 1)))
    files = builder.log().snapshot().files(["path", "base_row_id"]).to_pylist()
    assert {each["path"]: each["base_row_id"] for each in files}["d"] == 9


@pytest.mark.parametrize("count", [3, 51, 120])
@pytest.mark.parametrize("new_files", [True, False])
def test_the_checksum_follows_whether_files_are_listed_or_counted(count, new_files):
    builder = TableBuilder(store=MemoryStore())
    log = builder.log()
    log.create(SCHEMA)
    for first in ("a", "b"):
        with log.transaction("WRITE") as transaction:
            transaction.add_again(added(*(AddFile(f"{first}{number}", {}, number, 1) for number in range(count))))
            transaction.commit(new_files=new_files)
    snapshot = builder.log().snapshot()
    assert (snapshot.num_files, snapshot.size_bytes) == (2 * count, count * (count - 1))
    # Without a list of files, only the writer knows that the second commit adds no file again.
    assert verify_checksum(snapshot) is (new_files or count == 3)


def test_the_checksum_follows_an_overwrite_of_many():
    builder = TableBuilder(store=MemoryStore())
    log = builder.log()
    log.create(SCHEMA)
    log.transaction("WRITE").commit([AddFile(f"a{number}", {}, number, 1) for number in range(60)], new_files=True)
    with log.transaction("WRITE") as transaction:
        transaction.remove_files(transaction.files().slice(1))
        transaction.add_again(added(*(AddFile(f"b{number}", {}, 7, 1) for number in range(70))))
        transaction.commit(new_files=True)
    snapshot = builder.log().snapshot()
    assert (snapshot.num_files, snapshot.size_bytes) == (71, 490)
    assert verify_checksum(snapshot) is True
