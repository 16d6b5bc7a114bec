# SPDX-License-Identifier: Apache-2.0
"""Where a stream begins that names a start, and how one ends that reads what is there."""

from __future__ import annotations

import pytest
from tests.core.log.streaming.streams import ONE, drain, next_batch, paths, place, source_of, table

from bayou.errors import InvalidTimestampError, TimestampOutOfRangeError, UnsupportedProtocolError, VersionNotFoundError
from bayou.log.changes.range import OUT_OF_RANGE_CONF
from bayou.log.streaming.request.limits import ReadLimits
from bayou.protocol.actions import file_names
from bayou.protocol.actions.actions import Protocol
from bayou.testing.table_builder import add, remove

ALLOWED = {OUT_OF_RANGE_CONF: "true"}


def four_commits():
    """A table whose commits are a second apart, from 2026-01-01 on."""
    builder = table().commit(add("a")).commit(add("b")).commit(add("c"))
    for version in range(4):
        builder.store.set_modification_time(file_names.commit_path(version), 1_767_225_600_000 + version * 1000)
    return builder


def read(source):
    return [path for batch in drain(source)[0] for path in batch]


@pytest.mark.parametrize(("version", "found"), [(0, ["a", "b", "c"]), (2, ["b", "c"]), (3, ["c"])])
def test_a_starting_version_is_read_itself_and_the_snapshot_is_not(version, found):
    assert read(source_of(four_commits(), startingVersion=version)) == found


def test_what_was_removed_since_is_read_from_a_starting_version_on():
    builder = four_commits().commit(remove("b"))
    assert read(source_of(builder, startingVersion=1, ignoreDeletes=True)) == ["a", "b", "c"]


def test_a_starting_version_after_the_latest_one_is_refused():
    with pytest.raises(VersionNotFoundError) as caught:
        next_batch(source_of(four_commits(), startingVersion=4))
    assert caught.value.version == 4


def test_a_starting_version_after_the_latest_one_is_waited_for_where_that_is_allowed():
    builder = four_commits()
    source = source_of(builder, ALLOWED, startingVersion=5)
    assert next_batch(source) == (None, [])
    builder.commit(add("d"))
    assert next_batch(source) == (None, [])
    builder.commit(add("e"))
    assert next_batch(source)[1] == ["e"]


def test_a_starting_version_that_was_cleaned_up_is_refused_unless_data_loss_is_accepted():
    builder = four_commits().checkpoint()
    builder.delete(file_names.commit_path(0)).delete(file_names.commit_path(1))
    with pytest.raises(VersionNotFoundError):
        next_batch(source_of(builder, startingVersion=1))
    assert read(source_of(builder, startingVersion=1, failOnDataLoss=False)) == ["b", "c"]


def test_a_starting_version_is_enough_though_the_log_that_led_to_it_is_gone():
    builder = four_commits().checkpoint().delete(file_names.commit_path(0))
    assert read(source_of(builder, startingVersion=1)) == ["a", "b", "c"]


def test_a_starting_version_that_needs_a_newer_reader_is_refused():
    builder = (
        table().commit({"protocol": Protocol(99, 99).to_json()}).commit(add("a")).commit({"protocol": Protocol(1, 2).to_json()})
    )
    source = source_of(builder, startingVersion=2)
    with pytest.raises(UnsupportedProtocolError):
        next_batch(source)


def test_the_latest_version_as_a_start_is_found_once():
    builder = four_commits()
    source = source_of(builder, startingVersion="latest")
    end, found = next_batch(source)
    assert (place(end), found) == ((4, -100, False), [])
    builder.commit(add("d"))
    assert next_batch(source, end)[1] == ["d"]
    assert paths(source_of(builder, startingVersion="latest").batch(None, end)) == []


@pytest.mark.parametrize(
    ("moment", "found"),
    [
        ("2020-01-01", ["a", "b", "c"]),
        ("2026-01-01 00:00:02", ["b", "c"]),
        ("2026-01-01 00:00:01.001", ["b", "c"]),
        ("2026-01-01T01:00:03+01:00", ["c"]),
    ],
)
def test_a_starting_timestamp_begins_with_the_first_commit_that_is_not_before_it(moment, found):
    assert read(source_of(four_commits(), startingTimestamp=moment)) == found


def test_a_starting_timestamp_is_read_in_the_sessions_zone():
    from bayou.log.streaming.request.options import StreamOptions
    from bayou.log.streaming.source import StreamingSource

    builder = four_commits()
    log = builder.log()
    options = StreamOptions.from_options({"startingTimestamp": "2026-01-01 01:00:02"}, "/t")
    assert read(StreamingSource(log, log.snapshot(), options, time_zone="Europe/Berlin")) == ["b", "c"]


def test_a_starting_timestamp_after_the_latest_commit_is_refused():
    with pytest.raises(TimestampOutOfRangeError) as raised:
        next_batch(source_of(four_commits(), startingTimestamp="2026-01-02"))
    assert raised.value.error_class == "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"


def test_a_starting_timestamp_after_the_latest_commit_means_what_comes_where_that_is_allowed():
    builder = four_commits()
    source = source_of(builder, ALLOWED, startingTimestamp="2026-01-02")
    assert next_batch(source) == (None, [])
    builder.commit(add("d"))
    assert next_batch(source)[1] == ["d"]


def test_a_starting_timestamp_has_to_be_one():
    with pytest.raises(InvalidTimestampError):
        next_batch(source_of(four_commits(), startingTimestamp="soon"))


def test_a_start_counts_no_more_once_there_is_an_offset():
    builder = four_commits()
    end, _ = next_batch(source_of(builder), None, ReadLimits(2))
    assert [batch for (batch,) in drain(source_of(builder, startingVersion=0), end, ONE)[0]] == ["c"]


def test_the_first_batch_from_a_starting_version_is_the_same_again_after_a_restart():
    builder = four_commits()
    end, found = next_batch(source_of(builder, startingVersion=1), None, ReadLimits(2))
    builder.commit(add("d"))
    assert paths(source_of(builder, startingVersion=1).batch(None, end)) == found == ["a", "b"]


def test_a_fixed_end_is_what_is_committed_when_the_first_offset_is_asked_for():
    builder = four_commits()
    source = source_of(builder)
    source.fix_end()
    end, found = next_batch(source, None, ONE)
    builder.commit(add("d"))
    batches, end = drain(source, end, ONE)
    assert [found, *batches] == [["a"], ["b"], ["c"]]
    assert place(end) == (4, -100, False)
    assert source.latest_offset(end, ONE) == end
    assert next_batch(source_of(builder), end)[1] == ["d"]


def test_a_fixed_end_takes_in_commits_after_the_first_snapshot():
    builder = four_commits()
    source = source_of(builder)
    builder.commit(add("d"))
    source.fix_end()
    end, found = next_batch(source)
    assert found == ["a", "b", "c", "d"]
    builder.commit(add("e"))
    assert source.latest_offset(end, source.limits) == end


def test_a_fixed_end_where_nothing_is_new_is_the_start():
    builder = four_commits()
    at = drain(source_of(builder))[1]
    source = source_of(builder)
    source.fix_end()
    assert source.latest_offset(at, ONE) == at
    builder.commit(add("d"))
    assert source.latest_offset(at, ONE) == at
