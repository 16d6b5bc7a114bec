# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.errors import CorruptLogError, InvalidOptionError, InvalidTimestampError, TimestampOutOfRangeError
from bayou.log.segment.time_travel import format_timestamp, split_path, to_milliseconds
from bayou.protocol.actions import file_names
from bayou.storage import MemoryStore
from bayou.testing.table_builder import TableBuilder, metadata

BASE = 1_700_000_000_000


def table(*ages, configuration=None):
    """A table whose commits have these file times, in ms after BASE."""
    builder = TableBuilder(store=MemoryStore()).create(configuration=configuration)
    for _ in ages[1:]:
        builder.commit()
    for version, age in enumerate(ages):
        builder.store.set_modification_time(file_names.commit_path(version), BASE + age)
    return builder


def at(milliseconds):
    return dt.datetime.fromtimestamp((BASE + milliseconds) / 1000, dt.timezone.utc)


@pytest.mark.parametrize(("moment", "version"), [(0, 0), (999, 0), (1000, 1), (1500, 1), (2000, 2)])
def test_a_timestamp_means_the_latest_commit_at_or_before_it(moment, version):
    assert table(0, 1000, 2000).log().snapshot(timestamp=at(moment)).version == version


def test_file_times_that_go_back_are_moved_after_their_predecessor():
    log = table(1000, 500, 1001, 5000).log()
    assert [entry.timestamp - BASE for entry in log.history()] == [5000, 1002, 1001, 1000]
    assert log.version_at(at(1001)) == 1


def test_a_timestamp_before_the_first_commit_is_refused_with_the_range():
    with pytest.raises(TimestampOutOfRangeError) as caught:
        table(0, 1000).log().snapshot(timestamp=at(-1))
    error = caught.value
    assert error.getErrorClass() == "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION"
    assert (error.earliest, error.latest) == (BASE, BASE + 1000)
    assert (error.earliest_version, error.latest_version) == (0, 1)
    assert "2023-11-14 22:13:20.000 UTC to 2023-11-14 22:13:21.000 UTC" in str(error)


def test_a_timestamp_after_the_last_commit_is_refused_with_the_range():
    with pytest.raises(TimestampOutOfRangeError) as caught:
        table(0, 1000).log().snapshot(timestamp=at(1001))
    assert caught.value.getErrorClass() == "DELTA_TIMESTAMP_GREATER_THAN_COMMIT"
    assert caught.value.latest == BASE + 1000


def test_commits_that_can_no_longer_be_recreated_are_out_of_range():
    builder = table(0, 1000, 2000, 3000).checkpoint(version=2)
    builder.delete(file_names.commit_path(0))
    assert builder.log().version_at(at(2000)) == 2
    with pytest.raises(TimestampOutOfRangeError) as caught:
        builder.log().version_at(at(1000))
    assert caught.value.earliest_version == 2


ICT = {"delta.enableInCommitTimestamps": "true"}


def test_in_commit_timestamps_go_before_file_times():
    builder = TableBuilder(store=MemoryStore())
    builder.create(configuration=ICT).commit(info={"inCommitTimestamp": BASE + 50})
    text = builder.store.read(file_names.commit_path(0))
    builder.write(file_names.commit_path(0), text.replace(b'"timestamp"', b'"inCommitTimestamp":%d,"timestamp"' % BASE))
    log = builder.log()
    assert log.snapshot().timestamp == BASE + 50
    assert log.version_at(at(49)) == 0
    assert log.version_at(at(50)) == 1
    assert [entry.timestamp for entry in log.history()] == [BASE + 50, BASE]


def enabled_later():
    """Versions 0 and 1 by file time, versions 2 and 3 by in-commit timestamp."""
    builder = table(0, 1000)
    properties = {
        **ICT,
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(BASE + 5000),
    }
    builder.commit(metadata(configuration=properties), info={"inCommitTimestamp": BASE + 5000})
    return builder.commit(info={"inCommitTimestamp": BASE + 6000})


@pytest.mark.parametrize(("moment", "version"), [(0, 0), (1000, 1), (4999, 1), (5000, 2), (5999, 2), (6000, 3)])
def test_timestamps_are_found_on_both_sides_of_the_enablement(moment, version):
    assert enabled_later().log().version_at(at(moment)) == version


def test_history_shows_both_kinds_of_timestamps():
    assert [entry.timestamp - BASE for entry in enabled_later().log().history()] == [6000, 5000, 1000, 0]


def test_a_promised_timestamp_that_is_missing_is_an_error_with_version_and_file():
    builder = table(0, configuration=ICT)
    with pytest.raises(CorruptLogError) as caught:
        builder.log().snapshot().timestamp  # noqa: B018
    assert (caught.value.version, caught.value.file) == (0, file_names.commit_path(0))


def test_a_version_and_a_timestamp_exclude_each_other():
    with pytest.raises(InvalidOptionError) as caught:
        table(0).log().snapshot(0, at(0))
    assert caught.value.getErrorClass() == "DELTA_ONEOF_IN_TIMETRAVEL"


@pytest.mark.parametrize("version", ["1", 1.0, True])
def test_a_version_is_an_integer(version):
    with pytest.raises(InvalidOptionError):
        table(0, 1).log().snapshot(version)


@in_one_test(
    ("text", "expected"),
    [
        ("2026-01-02", "2026-01-02T00:00:00+00:00"),
        ("2026-1-2", "2026-01-02T00:00:00+00:00"),
        ("2026", "2026-01-01T00:00:00+00:00"),
        ("2026-05", "2026-05-01T00:00:00+00:00"),
        ("2026-01-02 03:04:05", "2026-01-02T03:04:05+00:00"),
        ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678"),
        ("2026-01-02 3:4", "2026-01-02T03:04:00+00:00"),
        ("2026-01-02 03:04:05.678901", "2026-01-02T03:04:05.678"),
        ("2026-01-02 03:04:05+02:00", "2026-01-02T01:04:05+00:00"),
        ("2026-01-02 03:04:05 -0130", "2026-01-02T04:34:05+00:00"),
        ("2026-01-02 03:04:05 UTC+2", "2026-01-02T01:04:05+00:00"),
        ("2026-07-02 03:04:05 Europe/Paris", "2026-07-02T01:04:05+00:00"),
        ("2026-07-02 03:04:05 PST", "2026-07-02T10:04:05+00:00"),
        ("2026-03-29 02:30:00 Europe/Paris", "2026-03-29T01:30:00+00:00"),
        (" 2026-01-02 ", "2026-01-02T00:00:00+00:00"),
    ],
)
def test_a_text_is_read_as_spark_casts_it(text, expected):
    assert to_milliseconds(text) == dt.datetime.fromisoformat(expected).timestamp() * 1000


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-13-01", "2026-02-30", "2026-01-02 25:00", "2026-01-02 03:04:05 Nowhere", "12:00", "@"],
)
def test_a_text_that_is_no_timestamp_is_refused(text):
    with pytest.raises(InvalidTimestampError) as caught:
        to_milliseconds(text)
    assert caught.value.getErrorClass() == "DELTA_TIMESTAMP_INVALID"


@pytest.mark.parametrize("value", [None, 5, 1.5, []])
def test_a_value_that_is_no_moment_is_refused(value):
    with pytest.raises(InvalidTimestampError):
        to_milliseconds(value)


def test_values_without_a_zone_use_the_zone_given():
    expected = to_milliseconds("2026-01-02 00:00:00+01:00")
    for value in ("2026-01-02", dt.datetime(2026, 1, 2), dt.date(2026, 1, 2)):  # noqa: DTZ001  (the point)
        assert to_milliseconds(value, "Europe/Paris") == expected
    assert to_milliseconds("2026-01-02", "+01:00") == expected
    assert to_milliseconds("2026-01-02", "ECT") == expected  # a short name of Java's


def test_a_zone_that_is_none_is_refused():
    for value in ("2026-01-02 00:00:00", dt.datetime(2026, 1, 2)):  # noqa: DTZ001  (the point)
        with pytest.raises(InvalidTimestampError, match="'Mars/Base'"):
            to_milliseconds(value, "Mars/Base")
    assert to_milliseconds("2026-01-02 00:00:00Z", "Mars/Base") == to_milliseconds("2026-01-02")


def test_a_wall_clock_that_shows_a_time_twice_says_which_it_means():
    first, second = (dt.datetime(2026, 10, 25, 2, 30, fold=fold) for fold in (0, 1))  # noqa: DTZ001  (the point)
    assert to_milliseconds(first, "Europe/Berlin") == to_milliseconds("2026-10-25 00:30:00Z")
    assert to_milliseconds(second, "Europe/Berlin") == to_milliseconds("2026-10-25 01:30:00Z")


def test_a_zone_in_the_value_goes_before_the_zone_given():
    value = dt.datetime(2026, 1, 2, tzinfo=dt.timezone.utc)
    assert to_milliseconds(value, "Europe/Paris") == to_milliseconds("2026-01-02 00:00:00Z")


@given(st.datetimes(timezones=st.just(dt.timezone.utc)))
def test_a_time_survives_its_text(moment):
    milliseconds = to_milliseconds(moment)
    assert to_milliseconds(format_timestamp(milliseconds)) == milliseconds


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/data/t@v12", ("/data/t", 12, None)),
        ("/data/t@V0", ("/data/t", 0, None)),
        ("/data/t@20260102030405678", ("/data/t", None, "2026-01-02T03:04:05.678")),
        ("/data/a@b@v1", ("/data/a@b", 1, None)),
    ],
)
def test_a_path_may_end_in_a_version_or_a_timestamp(path, expected):
    found = split_path(path)
    moment = found.timestamp.isoformat(timespec="milliseconds") if found.timestamp else None
    assert (found.path, found.version, moment) == expected


@pytest.mark.parametrize("path", ["/data/t", "/data/t@", "/data/t@v", "/data/t@12", "@v1", "/data/t@vx", "/data/@x/t"])
def test_other_paths_are_left_alone(path):
    assert split_path(path) is None


def test_digits_that_are_no_timestamp_are_refused():
    with pytest.raises(InvalidTimestampError):
        split_path("/data/t@20261302030405678")
