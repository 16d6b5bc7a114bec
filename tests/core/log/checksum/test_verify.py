# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from bayou.errors import ChecksumMismatchError
from bayou.log.checksum.verify import verify_checksum
from bayou.protocol.actions import file_names
from bayou.protocol.types.schema import parse_schema
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, add, metadata


def table():
    return TableBuilder(store=MemoryStore()).create(actions=[add("a"), add("b")])


def test_a_checksum_that_agrees_is_verified():
    assert table().checksum().log().verify_checksum() is True


def test_without_a_checksum_there_is_nothing_to_verify():
    assert table().log().verify_checksum() is False


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("numFiles", 3),
        ("tableSizeBytes", 5),
        ("protocol", {"minReaderVersion": 1, "minWriterVersion": 1}),
        ("metadata", metadata({"x": "long"})["metaData"]),
    ],
)
def test_a_checksum_that_disagrees_is_told_apart(field, value):
    snapshot = table().checksum(**{field: value}).log().snapshot()
    with pytest.raises(ChecksumMismatchError) as caught:
        verify_checksum(snapshot)
    assert list(caught.value.mismatches) == [field]
    assert caught.value.file == file_names.checksum_path(0)
    assert field in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"nonsense", b"[]", b"{}", b'{"numFiles":"3"}', b'{"protocol":3}', b"\xff\xfe"])
def test_an_unreadable_checksum_counts_as_absent(text):
    snapshot = table().write(file_names.checksum_path(0), text).log().snapshot()
    assert (snapshot.num_files, snapshot.size_bytes) == (2, 200)
    verify_checksum(snapshot)


def test_the_checksum_of_another_version_says_nothing():
    snapshot = table().checksum(numFiles=77).commit(add("c")).log().snapshot()
    assert snapshot.num_files == 3


def test_what_is_replayed_already_goes_before_the_checksum():
    snapshot = table().checksum(numFiles=77).log().snapshot()
    assert snapshot.files(["path"]).num_rows == 2
    assert snapshot.num_files == 2


def test_a_wrong_checksum_of_the_version_before_goes_into_no_checkpoint():
    """A snapshot may take the schema from a checksum; what is written anew comes from the log alone."""
    builder = table()
    builder.log().checkpoint()
    wrong = metadata({"x": "long"})["metaData"]
    log = builder.commit(add("c")).checksum(metadata=wrong).log()
    assert [each.name for each in log.snapshot().schema.fields] == ["x"]
    builder.commit(add("d"))
    replayed = log.update().read_source(lambda source: source.replayed_header())[1]
    assert [each.name for each in parse_schema(replayed.schema_string).fields] != ["x"]
    log.checkpoint()
    assert [each.name for each in builder.log().snapshot().schema.fields] != ["x"]
