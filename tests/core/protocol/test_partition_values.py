# SPDX-License-Identifier: Apache-2.0
"""Partition values are read as Spark casts them, and written so that everybody reads them back."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayou.errors import SchemaMismatchError
from bayou.protocol import instants
from bayou.protocol.partition_values import decimal_type, is_string_type, parse, serialise, to_float32

QUICK = settings(deadline=None, max_examples=300, derandomize=True)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
INT64 = st.integers(-(2**63), 2**63 - 1)
ALL_TYPES = ["byte", "short", "integer", "long", "float", "double", "decimal(10,2)", "boolean", "date", "timestamp"]
ALL_TYPES += ["timestamp_ntz", "string", "binary", "varchar(5)", "void"]


def micros(*fields, zone="UTC"):
    moment = datetime(*fields, tzinfo=ZoneInfo(zone)).astimezone(timezone.utc)
    return (moment - EPOCH) // timedelta(microseconds=1)


@pytest.mark.parametrize("data_type", ALL_TYPES)
def test_nothing_and_the_empty_text_are_null_for_every_type(data_type):
    assert parse(None, data_type) is None
    assert parse("", data_type) is None


@pytest.mark.parametrize("data_type", [each for each in ALL_TYPES if not is_string_type(each) and each != "binary"])
@pytest.mark.parametrize("text", ["x", " ", "1-", "--1", "0x", "ü", "\x00", "__HIVE_DEFAULT_PARTITION__", "1 2", "\u0661"])
def test_what_cannot_be_cast_is_null(text, data_type):
    assert parse(text, data_type) is None


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        ("7", "integer", 7),
        (" 7 ", "integer", 7),
        ("\t\n7\x7f\x00", "integer", 7),
        ("+5", "byte", 5),
        ("-0", "long", 0),
        ("007", "short", 7),
        ("1.5", "integer", 1),
        ("-1.9", "integer", -1),
        ("1.", "integer", 1),
        (".9", "integer", 0),
        (".", "integer", 0),
        ("1.x", "integer", None),
        ("1e3", "integer", None),
        ("+", "integer", None),
        ("-", "integer", None),
        ("127", "byte", 127),
        ("128", "byte", None),
        ("-128", "byte", -128),
        ("32768", "short", None),
        ("2147483648", "integer", None),
        ("-9223372036854775808", "long", -(2**63)),
        ("9223372036854775808", "long", None),
        ("0" * 6_000 + "1", "long", 1),
        ("9" * 6_000, "long", None),
    ],
)
def test_integers_are_cast_as_spark_does(text, data_type, value):
    assert parse(text, data_type) == value


@pytest.mark.parametrize("text", ["t", "true", "TRUE", " y ", "yes", "1"])
def test_many_words_are_true(text):
    assert parse(text, "boolean") is True


@pytest.mark.parametrize("text", ["f", "False", "n", "no", "0"])
def test_many_words_are_false(text):
    assert parse(text, "boolean") is False


@pytest.mark.parametrize("text", ["2", "on", "truee", "1.0"])
def test_other_words_are_no_boolean(text):
    assert parse(text, "boolean") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        (" 1.5 ", 1.5),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("1d", 1.0),
        ("1F", 1.0),
        ("0x1p3", 8.0),
        ("-0x.8p1", -1.0),
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("inf", math.inf),
        ("+INF", math.inf),
        ("-Infinity", -math.inf),
        ("infinityd", None),
        ("1_000", None),
        ("1e", None),
        ("e1", None),
        (".", None),
        ("d", None),
        ("0x1", None),
        ("1dd", None),
    ],
)
def test_doubles_are_cast_as_spark_does(text, value):
    assert parse(text, "double") == value


@pytest.mark.parametrize("text", ["NaN", "nan", "NAN", "+NaN", "-NaN", " NaN "])
def test_nan_has_many_spellings(text):
    assert math.isnan(parse(text, "double"))
    assert math.isnan(parse(text, "float"))


def test_floats_are_rounded_to_32_bits():
    assert parse("0.1", "float") == 0.10000000149011612
    assert parse("1e39", "float") == math.inf
    assert str(parse("-0.0", "float")) == "-0.0"


@pytest.mark.parametrize(
    ("text", "data_type", "value"),
    [
        ("1.5", "decimal(10,2)", "1.50"),
        ("1.005", "decimal(10,2)", "1.01"),
        ("-1.005", "decimal(10,2)", "-1.01"),
        ("1.0049999", "decimal(10,2)", "1.00"),
        ("99999999.995", "decimal(10,2)", None),
        ("99999999.994", "decimal(10,2)", "99999999.99"),
        ("1e2", "decimal(10,2)", "100.00"),
        ("1E-2", "decimal(10,2)", "0.01"),
        ("1e-400", "decimal(10,2)", "0.00"),
        ("1e400", "decimal(10,2)", None),
        ("0e400", "decimal(10,2)", None),
        ("1e99999999999", "decimal(10,2)", None),
        (" 5 ", "decimal(10,0)", "5"),
        ("+5.", "decimal(10,0)", "5"),
        (".5", "decimal(10,0)", "1"),
        ("1e", "decimal(10,2)", None),
        ("1d", "decimal(10,2)", None),
        ("NaN", "decimal(10,2)", None),
        ("9" * 38, "decimal(38,0)", "9" * 38),
        ("-" + "9" * 28 + "." + "9" * 10, "decimal(38,10)", "-" + "9" * 28 + "." + "9" * 10),
        ("9" * 39, "decimal(38,0)", None),
        ("0." + "1" * 5_000, "decimal(3,2)", "0.11"),
        ("7", "decimal", "7"),
    ],
)
def test_decimals_are_cast_as_spark_does(text, data_type, value):
    found = parse(text, data_type)
    assert (None if found is None else str(found)) == value


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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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


def test_strings_and_binary_are_the_text_itself():
    for data_type in ("string", "char(3)", "varchar(10)", "string collate UNICODE"):
        assert parse(" ü ", data_type) == " ü "
    assert parse("ü\x01", "binary") == "ü\x01".encode()


@QUICK
@given(INT64)
def test_timestamps_are_written_as_utc_and_read_back_in_any_zone(value):
    text = serialise(value, "timestamp")
    assert text.endswith("Z")
    assert parse(text, "timestamp", time_zone="Asia/Kolkata") == value
    assert parse(serialise(value, "timestamp_ntz"), "timestamp_ntz") == value


@QUICK
@given(st.floats())
def test_doubles_are_read_back(value):
    found = parse(serialise(value, "double"), "double")
    assert str(found) == str(value)


@QUICK
@given(st.floats(width=32))
def test_floats_are_read_back(value):
    found = parse(serialise(value, "float"), "float")
    assert str(found) == str(value)


@QUICK
@given(st.integers(1 - 10**38, 10**38 - 1))
def test_decimals_are_read_back(unscaled):
    value = Decimal(f"{unscaled}e-10")
    assert parse(serialise(value, "decimal(38,10)"), "decimal(38,10)") == value


@QUICK
@given(st.text(min_size=1))
def test_strings_and_binary_are_read_back(value):
    assert parse(serialise(value, "string"), "string") == value
    assert parse(serialise(value.encode(), "binary"), "binary") == value.encode()


@pytest.mark.parametrize(
    ("value", "data_type", "text"),
    [
        (None, "integer", None),
        ("", "string", None),
        (b"", "binary", None),
        (7, "byte", "7"),
        (True, "boolean", "true"),
        (False, "boolean", "false"),
        (0, "date", "1970-01-01"),
        (0, "timestamp", "1970-01-01T00:00:00.000000Z"),
        (123_456, "timestamp", "1970-01-01T00:00:00.123456Z"),
        (-1, "timestamp_ntz", "1969-12-31 23:59:59.999999"),
        (Decimal("1E-7"), "decimal(10,8)", "0.00000010"),
        (Decimal(5), "decimal(10,2)", "5.00"),
        (1.0, "double", "1.0"),
        (100.0, "double", "100.0"),
        (1e7, "double", "1.0E7"),
        (0.001, "double", "0.001"),
        (1.25e-5, "double", "1.25E-5"),
        (-0.0, "double", "-0.0"),
        (math.nan, "double", "NaN"),
        (-math.inf, "float", "-Infinity"),
        (to_float32(0.1), "float", "0.1"),
        (to_float32(3.4028235e38), "float", "3.4028235E38"),
        ("ü", "varchar(3)", "ü"),
    ],
)
def test_values_are_written_as_spark_writes_them(value, data_type, text):
    assert serialise(value, data_type) == text


def test_binary_that_is_no_text_is_refused():
    with pytest.raises(SchemaMismatchError, match="UTF-8"):
        serialise(b"\xff", "binary")


def test_a_type_that_cannot_partition_is_refused():
    with pytest.raises(SchemaMismatchError, match="variant"):
        serialise(1, "variant")
    assert parse("1", "variant") is None


def test_types_are_recognised():
    assert decimal_type("decimal(10,2)") == (10, 2)
    assert decimal_type("decimal( 10 , 2 )") == (10, 2)
    assert decimal_type("double") is None
    assert is_string_type("CHAR(5)")
    assert not is_string_type("binary")


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
