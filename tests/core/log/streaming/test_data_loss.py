# SPDX-License-Identifier: Apache-2.0
"""Commits that are gone, and tables that are not the one that the stream has read."""

from __future__ import annotations

import pytest
from tests.core.log.streaming.streams import drain, next_batch, place, source_of, table

from bayou.errors import StreamingSourceError, TableNotFoundError, VersionNotFoundError
from bayou.protocol.actions import file_names
from bayou.testing.table_builder import TableBuilder, add, metadata


def with_commits(*names):
    builder = table()
    for name in names:
        builder.commit(add(name))
    return builder


def offset(source, version):
    text = '{"sourceVersion":1,"reservoirId":"%s","reservoirVersion":%d,"index":-1,"isStartingVersion":false}'
    return source.parse_offset(text % (source.table_id, version))


def cleaned(*versions):
    builder = with_commits("a", "b", "c", "d").checkpoint()
    for version in versions:
        builder.delete(file_names.commit_path(version))
    return builder


def test_missing_commits_stop_the_stream():
    source = source_of(cleaned(0, 1, 2))
    with pytest.raises(VersionNotFoundError) as raised:
        next_batch(source, offset(source, 1))
    assert raised.value.error_class == "DELTA_MISSING_FILES_UNEXPECTED_VERSION"
    assert (raised.value.version, raised.value.earliest) == (1, 3)
    assert "delta.logRetentionDuration" in raised.value.next_step
    assert "failOnDataLoss" in raised.value.next_step


def test_missing_commits_are_passed_over_where_data_loss_is_accepted():
    source = source_of(cleaned(0, 1, 2), failOnDataLoss=False)
    end, found = next_batch(source, offset(source, 1))
    assert (found, place(end)) == (["c", "d"], (5, -100, False))


def test_a_gap_is_found_when_it_is_reached():
    source = source_of(cleaned(3))
    end, found = next_batch(source, offset(source, 1))
    assert (found, place(end)) == (["a", "b"], (3, -100, False))
    with pytest.raises(VersionNotFoundError):
        next_batch(source, end)


def test_a_batch_whose_commits_are_gone_is_not_read_as_if_they_were_empty():
    builder = with_commits("a", "b", "c")
    source = source_of(builder)
    start, end = offset(source, 1), offset(source, 4)
    assert source.batch(start, end).files.num_rows == 3
    builder.checkpoint().delete(file_names.commit_path(3))
    with pytest.raises(VersionNotFoundError):
        source_of(builder).batch(start, end)
    assert source_of(builder, failOnDataLoss=False).batch(start, end).files.num_rows == 2


class Vanishing:
    """A store that lists a commit and does not have it any more."""

    def __init__(self, store, path):
        self._store, self._path = store, path

    def __getattr__(self, name):
        return getattr(self._store, name)

    def read(self, path):
        if path == self._path:
            raise FileNotFoundError(path)
        return self._store.read(path)


def test_a_commit_that_is_cleaned_up_between_the_listing_and_the_reading_is_missing():
    builder = with_commits("a", "b", "c", "d").checkpoint()
    gone = TableBuilder(store=Vanishing(builder.store, file_names.commit_path(2)))
    source = source_of(gone)
    end, found = next_batch(source, offset(source, 1))
    assert found == ["a"]
    with pytest.raises(VersionNotFoundError, match="starts at 3"):
        next_batch(source, end)
    tolerant = source_of(gone, failOnDataLoss=False)
    assert next_batch(tolerant, offset(tolerant, 1))[1] == ["a", "c", "d"]


def replace_table(builder, commits):
    """Delete the table, and make another one at its place."""
    for version in range(builder.version + 1):
        builder.delete(file_names.commit_path(version))
    builder.version = -1
    another = metadata()
    another["metaData"]["id"] = "another"
    builder.commit({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, another)
    for number in range(commits):
        builder.commit(add(f"new-{number}", size=999))


@pytest.mark.parametrize("commits", [0, 1, 2, 5])
def test_a_table_that_was_replaced_stops_the_stream_however_long_the_new_one_is(commits):
    builder = with_commits("a", "b")
    source = source_of(builder)
    _, at = drain(source)
    replace_table(builder, commits)
    with pytest.raises(StreamingSourceError) as raised:
        next_batch(source, at)
    assert raised.value.error_class == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"


def test_an_offset_of_a_table_that_was_replaced_is_refused_at_a_restart():
    builder = with_commits("a", "b")
    _, at = drain(source_of(builder))
    replace_table(builder, 5)
    with pytest.raises(StreamingSourceError) as raised:
        source_of(builder).parse_offset(at.to_json())
    assert raised.value.error_class == "DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE"


def test_a_table_that_is_gone_stops_the_stream():
    builder = with_commits("a")
    source = source_of(builder)
    _, at = drain(source)
    for version in range(2):
        builder.delete(file_names.commit_path(version))
    with pytest.raises(TableNotFoundError):
        next_batch(source, at)


def test_a_log_that_ends_before_what_was_read_stops_the_stream():
    builder = with_commits("a", "b", "c")
    source = source_of(builder)
    _, at = drain(source)
    builder.delete(file_names.commit_path(3)).delete(file_names.commit_path(2))
    for stream in (source, source_of(builder)):
        with pytest.raises(StreamingSourceError, match=r"\b3\b.*\b1\b") as raised:
            next_batch(stream, at)
        assert raised.value.error_class == "DELTA_STREAMING_TRAILING_COMMIT_MISSING"


def test_a_cleanup_behind_the_stream_does_not_stop_it():
    builder = with_commits("a", "b")
    source = source_of(builder)
    _, at = drain(source)
    builder.commit(add("c")).checkpoint()
    for version in range(3):
        builder.delete(file_names.commit_path(version))
    assert next_batch(source, at)[1] == ["c"]
