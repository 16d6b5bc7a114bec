# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.tables.feed_actions import FEED

from bayou.errors import InvalidOptionError, InvalidTimestampError, TimestampOutOfRangeError, VersionNotFoundError
from bayou.log.changes.range import ChangeBounds
from bayou.protocol.actions import file_names
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, metadata

BASE = 1_700_000_000_000


def table(*ages, configuration=None):
    """A table whose commits have these file times, in ms after BASE."""
    builder = TableBuilder(store=MemoryStore()).create(configuration={**FEED, **(configuration or {})})
    for _ in ages[1:]:
        builder.commit()
    for version, age in enumerate(ages):
        builder.store.set_modification_time(file_names.commit_path(version), BASE + age)
    return builder


def at(milliseconds):
    return dt.datetime.fromtimestamp((BASE + milliseconds) / 1000, dt.timezone.utc)


def versions(builder, **bounds):
    feed = builder.log().change_feed(ChangeBounds(**bounds))
    return feed.start, feed.end


def refused(builder, error_class, error=InvalidOptionError, **bounds):
    with pytest.raises(error) as caught:
        versions(builder, **bounds)
    assert caught.value.getErrorClass() == error_class
    assert caught.value.table == builder.uri
    return caught.value


def test_a_range_without_an_end_ends_at_the_latest_version():
    assert versions(table(0, 1000, 2000), starting_version=1) == (1, 2)


def test_an_end_after_the_latest_version_means_the_latest():
    assert versions(table(0, 1000, 2000), starting_version=0, ending_version=99) == (0, 2)


def test_a_range_needs_a_start():
    assert refused(table(0), "DELTA_NO_START_FOR_CDC_READ", ending_version=0).sql_state == "42601"


@pytest.mark.parametrize(
    "bounds",
    [
        {"starting_version": 0, "starting_timestamp": "2024"},
        {"starting_version": 0, "ending_version": 0, "ending_timestamp": "2024"},
    ],
)
def test_a_side_is_given_once(bounds):
    assert refused(table(0), "DELTA_MULTIPLE_CDC_BOUNDARY", **bounds).sql_state == "42614"


@pytest.mark.parametrize("version", ["1", 1.0, True])
def test_a_version_is_an_integer(version):
    with pytest.raises(InvalidOptionError):
        versions(table(0, 1), starting_version=version)


def test_a_start_after_the_latest_version_is_refused_or_gives_no_rows():
    builder = table(0, 1000)
    error = refused(builder, "DELTA_CDC_START_VERSION_AFTER_LATEST", VersionNotFoundError, starting_version=2)
    assert (error.version, error.latest, error.sql_state) == (2, 1, "22003")
    feed = builder.log().change_feed(ChangeBounds(starting_version=2, allow_out_of_range=True))
    assert (feed.files.num_rows, feed.snapshot.version, feed.schema.names[-1]) == (0, 1, "_commit_timestamp")


def test_an_end_before_the_start_is_refused():
    error = refused(table(0, 1000, 2000), "DELTA_INVALID_CDC_RANGE", starting_version=2, ending_version=1)
    assert (error.start, error.end, error.sql_state) == (2, 1, "22003")


def test_a_start_whose_commit_is_gone_is_not_found():
    builder = table(0, 1000, 2000, 3000).checkpoint(version=2)
    for version in (0, 1, 2):
        builder.delete(file_names.commit_path(version))
    error = refused(builder, "DELTA_VERSION_NOT_FOUND", VersionNotFoundError, starting_version=2)
    assert (error.earliest, error.latest) == (3, 3)
    assert versions(builder, starting_version=3) == (3, 3)


def test_a_start_that_can_no_longer_be_recreated_is_not_found():
    builder = table(0, 1000, 2000, 3000).checkpoint(version=2).delete(file_names.commit_path(0))
    error = refused(builder, "DELTA_VERSION_NOT_FOUND", VersionNotFoundError, starting_version=1)
    assert error.earliest == 2


def test_a_negative_start_is_not_found():
    refused(table(0), "DELTA_VERSION_NOT_FOUND", VersionNotFoundError, starting_version=-1)


@pytest.mark.parametrize(("moment", "version"), [(-5, 0), (0, 0), (1, 1), (1000, 1), (1001, 2), (2000, 2)])
def test_a_starting_timestamp_means_the_earliest_commit_at_or_after_it(moment, version):
    assert versions(table(0, 1000, 2000), starting_timestamp=at(moment)) == (version, 2)


@pytest.mark.parametrize(("moment", "version"), [(0, 0), (999, 0), (1000, 1), (1999, 1), (2000, 2)])
def test_an_ending_timestamp_means_the_latest_commit_at_or_before_it(moment, version):
    assert versions(table(0, 1000, 2000), starting_version=0, ending_timestamp=at(moment)) == (0, version)


def test_two_timestamps_between_two_commits_give_no_rows():
    builder = table(0, 1000)
    assert versions(builder, starting_timestamp=at(10), ending_timestamp=at(20)) == (1, 0)


def test_timestamps_in_the_wrong_order_are_refused_even_between_two_commits():
    refused(table(0, 1000), "DELTA_INVALID_CDC_RANGE", starting_timestamp=at(20), ending_timestamp=at(10))


def test_a_version_after_an_ending_timestamp_is_refused_and_not_empty():
    refused(table(0, 1000), "DELTA_INVALID_CDC_RANGE", starting_version=1, ending_timestamp=at(20))


def test_timestamps_after_the_latest_commit_are_refused_unless_they_are_allowed():
    builder = table(0, 1000)
    late = {"error_class": "DELTA_TIMESTAMP_GREATER_THAN_COMMIT", "error": TimestampOutOfRangeError}
    refused(builder, **late, starting_timestamp=at(1001))
    refused(builder, **late, starting_version=0, ending_timestamp=at(1001))
    assert versions(builder, starting_timestamp=at(1001), allow_out_of_range=True) == (2, 1)
    assert versions(builder, starting_version=0, ending_timestamp=at(1001), allow_out_of_range=True) == (0, 1)


def test_an_ending_timestamp_before_the_first_commit_is_refused_always():
    bounds = {"starting_version": 0, "ending_timestamp": at(-1), "allow_out_of_range": True}
    refused(table(0), "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", TimestampOutOfRangeError, **bounds)


def test_texts_are_read_in_the_given_time_zone():
    builder = table(0, 1000)  # 2023-11-14 22:13:20 and :21 UTC
    assert versions(builder, starting_timestamp="2023-11-14 23:13:21", time_zone="Europe/Paris") == (1, 1)
    with pytest.raises(InvalidTimestampError):
        versions(builder, starting_timestamp="yesterday")


def test_in_commit_timestamps_count_as_the_times_of_commits():
    builder = table(0, 1000)
    since = {"delta.inCommitTimestampEnablementVersion": "2", "delta.inCommitTimestampEnablementTimestamp": str(BASE + 5000)}
    changed = metadata(configuration={**FEED, "delta.enableInCommitTimestamps": "true", **since})
    builder.commit(changed, info={"inCommitTimestamp": BASE + 5000}).commit(info={"inCommitTimestamp": BASE + 6000})
    found = [versions(builder, starting_timestamp=at(age))[0] for age in (1000, 1001, 5000, 5001, 6000)]
    assert found == [1, 2, 2, 3, 3]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(-2, 60))
def test_start_and_end_of_one_moment_leave_no_commit_out_and_take_none_twice(ages, moment):
    log = table(*ages).log()
    times = [each.timestamp - BASE for each in reversed(log.history())]
    if not times[0] <= moment <= times[-1]:
        return
    start = log.change_feed(ChangeBounds(starting_timestamp=at(moment))).start
    end = log.change_feed(ChangeBounds(starting_version=0, ending_timestamp=at(moment))).end
    assert start == min(version for version, time in enumerate(times) if time >= moment)
    assert end == max(version for version, time in enumerate(times) if time <= moment)
