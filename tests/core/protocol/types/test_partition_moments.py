# SPDX-License-Identifier: Apache-2.0
"""Partition values that are dates or timestamps are read as Spark casts them."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test
from tests.support.drawing import QUICK

from bayou.protocol.types import instants
from bayou.protocol.types.partition_values import parse, serialise

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def micros(*fields, zone="UTC"):
    moment = datetime(*fields, tzinfo=ZoneInfo(zone)).astimezone(timezone.utc)
    return (moment - EPOCH) // timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-02-29", (2024, 2, 29)),
        ("2024-2-9", (2024, 2, 9)),
        ("2024-2", (2024, 2, 1)),
        ("2024", (2024, 1, 1)),
        (" 2024-01-02 ", (2024, 1, 2)),
        ("+2024-01-02", (2024, 1, 2)),
        ("2024-01-02T", (2024, 1, 2)),
        ("2024-01-02Tanything", (2024, 1, 2)),
        ("2024-01-02 anything", (2024, 1, 2)),
        ("0001-01-01", (1, 1, 1)),
    ],
)
def test_dates_are_cast_as_spark_does(text, value):
    assert parse(text, "date") == (date(*value) - date(1970, 1, 1)).days


@in_one_test(
    "text",
    ["2023-02-29", "2024-13-01", "2024-00-01", "2024-01-32", "24-01-01", "2024-", "2024T", "2024-01x", "2024/01/02",
     "12345678-01-01", "2024-001-01", "2024-01-02x", "9999999-01-01"],
)  # fmt: skip
def test_what_is_no_date_is_null(text):
    assert parse(text, "date") is None


def test_dates_go_beyond_the_years_of_python():
    assert parse("10000-01-01", "date") == 2_932_897
    assert parse("0000-01-01", "date") == -719_528
    assert parse("-0001-01-01", "date") == -719_893
    assert parse("5881580-07-11", "date") == 2**31 - 1
    assert parse("5881580-07-12", "date") is None


@QUICK
@given(st.integers(-(2**31), 2**31 - 1))
def test_days_become_a_date_and_days_again(days):
    assert instants.days_from_civil(*instants.civil_from_days(days)) == days
    assert parse(serialise(days, "date"), "date") == days


@QUICK
@given(st.dates())
def test_the_calendar_is_that_of_python_where_python_has_one(day):
    days = day.toordinal() - date(1970, 1, 1).toordinal()
    assert instants.civil_from_days(days) == (day.year, day.month, day.day)
    assert instants.format_date(days) == day.isoformat()


@in_one_test(
    ("text", "value"),
    [
        ("1970-01-01T00:00:00.123456Z", 123_456),
        ("1970-01-01 00:00:00.123456", 123_456),
        ("1970-01-01 00:00:00.1", 100_000),
        ("1970-01-01 00:00:00.1234567", 123_456),
        ("1970-01-01 00:00:00.", 0),
        ("1970-01-01 00:00:00", 0),
        ("1970-1-1 0:0:0", 0),
        ("1970-01-01 01:02", 3_720_000_000),
        ("1970-01-01T01", 3_600_000_000),
        ("1970-01-02", 86_400_000_000),
        ("1970", 0),
        ("1970-01-01 00:00:00 UTC", 0),
        ("1970-01-01 00:00:00+01:00", -3_600_000_000),
        ("1970-01-01 00:00:00-1:00", 3_600_000_000),
        ("1970-01-01 00:00:00+0130", -5_400_000_000),
        ("1970-01-01 00:00:00+01:30:15", -5_415_000_000),
        ("1970-01-01 00:00:00+1", -3_600_000_000),
        ("1970-01-01 00:00:00UTC+1", -3_600_000_000),
        ("1970-01-01 00:00:00 GMT-01:00", 3_600_000_000),
        ("1970-01-01 00:00:00 Europe/Paris", -3_600_000_000),
        ("1970-01-01 00:00:00PST", 28_800_000_000),
        ("1970-01-01 00:00:00 EST", 18_000_000_000),
    ],
)
def test_timestamps_are_cast_as_spark_does(text, value):
    assert parse(text, "timestamp") == value


@in_one_test(
    "text",
    ["1970-01-01T", "1970-01-01 24:00:00", "1970-01-01 00:60:00", "1970-01-01 00:00:60", "1970-01-01 000:00:00",
     "1970-01-01 00:00Z", "1970-01-01Z", "1970-02-30 00:00:00", "1970-01-01 00:00:00+19:00", "1970-01-01 00:00:00+123",
     "1970-01-01 00:00:00 Nowhere/City", "1970-01-01 00:00:00 z", "1970-01-01 00:00:00..5", "1234567-01-01 00:00:00",
     "1970-01-01 00:00:00 ../etc/passwd", "1970-01-01 00:00:00 America", "1970-01-01 00:00:00 \x7fZ",
     "1970-01-01 00:00:00+01:60", "12:00:00", "T12:00:00"],
)  # fmt: skip
def test_what_is_no_timestamp_is_null(text):
    assert parse(text, "timestamp") is None


def test_a_timestamp_without_a_zone_is_in_the_zone_given():
    text = "2024-07-01 12:00:00"
    assert parse(text, "timestamp") == micros(2024, 7, 1, 12)
    assert parse(text, "timestamp", time_zone="Europe/Paris") == micros(2024, 7, 1, 10)
    assert parse(f"{text}Z", "timestamp", time_zone="Europe/Paris") == micros(2024, 7, 1, 12)


def test_both_hours_of_a_fall_back_and_none_of_a_spring_forward_are_read_as_java_does():
    zone = "Europe/Paris"
    assert parse("2024-10-27 02:30:00", "timestamp", time_zone=zone) == micros(2024, 10, 27, 0, 30)
    assert parse("2024-10-27 02:30:00+01:00", "timestamp", time_zone=zone) == micros(2024, 10, 27, 1, 30)
    assert parse("2024-03-31 02:30:00", "timestamp", time_zone=zone) == micros(2024, 3, 31, 1, 30)


def test_zones_hold_in_every_year():
    summer = micros(2024, 7, 1, zone="Europe/Paris") - micros(2024, 7, 1)
    for year in ("12024", "100024"):
        text = f"{year}-07-01 00:00:00"
        assert parse(f"{text} Europe/Paris", "timestamp") - parse(text, "timestamp") == summer
    before = parse("-0100-01-01 00:00:00 Europe/Paris", "timestamp") - parse("-0100-01-01 00:00:00", "timestamp")
    assert before == -561_000_000  # local mean time, 9 minutes and 21 seconds ahead
    assert parse("9999-12-31 23:59:59 America/New_York", "timestamp") == micros(9999, 12, 31, 23, 59, 59) + 18_000 * 10**6


def test_timestamps_end_where_a_long_does():
    assert parse("294247-01-10T04:00:54.775807Z", "timestamp") == 2**63 - 1
    assert parse("294247-01-10T04:00:54.775808Z", "timestamp") is None
    assert parse("-290308-12-21T19:59:05.224192Z", "timestamp") == -(2**63)
    assert parse("-290308-12-21T19:59:05.224191Z", "timestamp") is None


def test_a_wall_clock_ignores_its_zone_and_checks_it():
    assert parse("1970-01-01 01:00:00+05:00", "timestamp_ntz") == 3_600_000_000
    assert parse("1970-01-01 01:00:00 Nowhere", "timestamp_ntz") is None
    assert parse("1970-01-01", "timestamp_ntz") == 0


def spark_fields(text):  # noqa: C901  (one loop, as Spark has it)
    """Spark's `parseTimestampString`, state by state: the fields and the zone, or None."""

    def is_valid(segment, digits):
        if segment == 6:
            return True
        if segment == 0:
            return 4 <= digits <= 6
        return digits <= 2 if segment == 7 else 0 < digits <= 2

    text = text.strip(instants.TRIMMED)
    segments, zone = [1, 1, 1, 0, 0, 0, 0, 0, 0], None
    i = value = digits = j = fraction = 0
    sign = 1
    if not text:
        return None
    if text[0] in "+-":
        sign, j = (-1 if text[0] == "-" else 1), 1
    while j < len(text):
        b = text[j]
        if "0" <= b <= "9":
            fraction += i == 6
            if i != 6 or digits < 6:
                value = value * 10 + int(b)
            digits += 1
            j += 1
            continue
        if i < 2:
            ends = b == "-"
        elif i == 2:
            ends = b in " T"
        elif i < 5:
            ends = b == ":"
        else:
            ends = True
        if not ends or i > 6 or not is_valid(i, digits):
            return None
        segments[i], value, digits = value, 0, 0
        if i in (5, 6) and not (b == "." and i == 5):
            zone, j, i = text[j:], len(text) - 1, 6
        i += 1
        j += 1
    if not is_valid(i, digits):
        return None
    segments[i] = value
    segments[6] *= 10 ** max(0, 6 - fraction)
    return sign * segments[0], *segments[1:7], None if zone is None else zone.strip()


PIECES = st.sampled_from(["2024", "0001", "12", "1", "02", "-", "-", ":", ":", " ", "T", ".", "+", "Z", "UTC", "123456789"])
SHAPED = st.from_regex(
    r"[+-]?[0-9]{4,6}-[0-9]{1,2}-[0-9]{1,2}[ T][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]{0,9})?(Z| UTC)?", fullmatch=True
)


@QUICK
@given(st.lists(PIECES, max_size=14).map("".join) | SHAPED)
def test_the_grammar_of_timestamps_is_that_of_sparks_state_machine(text):
    fields = spark_fields(text)
    if fields is None or fields[-1] not in (None, "Z", "UTC"):
        expected = None
    else:
        year, month, day, hour, minute, second, fraction, _ = fields
        days = instants.days_from_civil(year, month, day)
        is_clock = hour < 24 and minute < 60 and second < 60
        seconds = (hour * 60 + minute) * 60 + second
        expected = None if days is None or not is_clock else (days * 86_400 + seconds) * 10**6 + fraction
    if fields is None or fields[-1] in (None, "Z", "UTC"):
        in_range = expected is not None and -(2**63) <= expected < 2**63
        assert parse(text, "timestamp") == (expected if in_range else None)
