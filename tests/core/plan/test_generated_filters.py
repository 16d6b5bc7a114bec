# SPDX-License-Identifier: Apache-2.0
"""Filters on generated partition columns never lose a row, and skip what they can."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bayou.plan.generated_filters import derived_filter, partition_rules
from bayou.plan.partition_values import to_arrow
from bayou.plan.predicate import (
    And,
    Boolean,
    Column,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
    Unknown,
)
from bayou.plan.skipping import may_match
from bayou.plan.statistics import FileStatistics
from bayou.plan.truncation import DATE_UNITS, TIMESTAMP_UNITS
from bayou.protocol.instants import MICROS_PER_DAY, parse_timestamp
from bayou.protocol.schema import StructField, StructType

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)
HOUR = 3_600_000_000

# Zones whose clocks were set back over midnight, by half an hour, by a day, and by none at all.
ZONES = ["UTC", "Europe/Paris", "America/St_Johns", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia", "America/Juneau"]
MOMENTS = [
    "2006-10-29 02:31:00",
    "2007-11-04 02:31:00",
    "2018-02-18 02:00:00",
    "2017-10-15 03:00:00",
    "2020-04-04 15:00:00",
    "2020-10-03 15:30:00",
    "2011-12-30 10:00:00",
    "1867-10-19 00:31:13",
    "2021-03-28 01:00:00",
    "2021-10-31 01:00:00",
    "1999-12-31 23:59:59",
    "0050-01-01 00:00:00",
    "9990-12-31 23:00:00",
]


def micros(text):
    return parse_timestamp(text)


NEAR = st.builds(int.__add__, st.sampled_from(list(map(micros, MOMENTS))), st.integers(-30 * HOUR, 30 * HOUR))
INSTANTS = st.one_of(NEAR, st.integers(micros("0050-01-01"), micros("9990-01-01")))
GAPS = st.one_of(
    st.sampled_from([0, 1, -1, HOUR, -HOUR]),
    st.integers(-3 * HOUR, 3 * HOUR),
    st.integers(-400 * MICROS_PER_DAY, 400 * MICROS_PER_DAY),
)
DATES = st.one_of(st.integers(-700_000, 2_900_000), st.integers(17_000, 20_000))
TEXTS = st.text("ab\x00é𝄞z\uffff", max_size=5)
OPERATORS = st.sampled_from(["=", "<=>", "<", "<=", ">", ">="])

COMPARE = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def truth(predicate, row):
    """SQL's truth of a predicate for a row of values by path."""
    match predicate:
        case And(children):
            found = [truth(child, row) for child in children]
            return False if False in found else None if None in found else True
        case Or(children):
            found = [truth(child, row) for child in children]
            return True if True in found else None if None in found else False
        case In(column, values):
            return truth(Or(tuple(Comparison("=", column, each) for each in values)), row)
        case _:
            return leaf_truth(predicate, row[predicate.column.path])


def leaf_truth(leaf, value):
    if isinstance(leaf, IsNull):
        return value is None
    if isinstance(leaf, StartsWith):
        return None if value is None else value.startswith(leaf.prefix)
    if leaf.op == "<=>":
        return value == leaf.literal.value
    return None if value is None or leaf.literal.value is None else COMPARE[leaf.op](value, leaf.literal.value)


def clock(instant, zone):
    return (EPOCH + instant * MICROSECOND).astimezone(ZoneInfo(zone))


def days(moment):
    return moment.toordinal() - EPOCH.toordinal()


def date_of(wall, unit):
    """Spark's trunc of a date."""
    plain = wall.replace(tzinfo=None)
    if unit == "week":
        return days(plain - timedelta(days=plain.weekday()))
    month = {"quarter": plain.month - (plain.month - 1) % 3}.get(unit, plain.month if unit in {"mon", "month", "mm"} else 1)
    return days(plain.replace(month=month, day=1))


CUT = {"microsecond": {}, "second": {"microsecond": 0}}
CUT["minute"] = CUT["second"] | {"second": 0}
CUT["hour"] = CUT["minute"] | {"minute": 0}
CUT["day"] = CUT["dd"] = CUT["hour"] | {"hour": 0}


def stamp_of(wall, unit):
    """Spark's date_trunc of a timestamp, as the wall clock that a partition's text shows."""
    if unit in DATE_UNITS:
        cut = (EPOCH + timedelta(days=date_of(wall, unit))).replace(tzinfo=wall.tzinfo)
    elif unit == "millisecond":
        cut = wall.replace(microsecond=wall.microsecond // 1000 * 1000)
    else:
        cut = wall.replace(**CUT[unit])
    # What a clock that is set forward never shows is moved on.
    return cut.astimezone(timezone.utc).astimezone(wall.tzinfo)


def text_of(wall):
    return wall.replace(tzinfo=None).isoformat(" ", "microseconds")


def generated(name, kind, expression):
    return StructField(name, kind, metadata={"delta.generationExpression": expression})


def rules_for(base_type, *columns):
    inner = StructType((StructField("ts", base_type, metadata={"delta.columnMapping.physicalName": "col-ts"}),))
    schema = StructType((StructField("base", base_type), StructField("S", inner), *(generated(*each) for each in columns)))
    return partition_rules(schema, [name for name, _, _ in columns])


PARTS = [
    ("y", "integer", "YEAR(base)"),
    ("m", "integer", "MONTH(base)"),
    ("d", "integer", "DAY(base)"),
    ("h", "integer", "HOUR(base)"),
]


def stamp_columns(unit, date_unit):
    """Partition columns over a timestamp, each with a function that computes its value from the clock."""
    return [
        (("dt", "date", "CAST(base AS DATE)"), days),
        (("f7", "string", "date_format(base, 'yyyy-MM')"), lambda wall: f"{wall:%Y}".zfill(4) + f"{wall:-%m}"),
        (("f10", "string", "date_format(base, 'yyyy-MM-dd')"), lambda wall: f"{wall:%Y}".zfill(4) + f"{wall:-%m-%d}"),
        (("f13", "string", "date_format(base, 'yyyy-MM-dd-HH')"), lambda wall: f"{wall:%Y}".zfill(4) + f"{wall:-%m-%d-%H}"),
        (("td", "date", f"trunc(base, '{date_unit}')"), lambda wall: date_of(wall, date_unit)),
        (("tt", "timestamp", f"date_trunc('{unit}', base)"), lambda wall: text_of(stamp_of(wall, unit))),
        (PARTS[0], lambda wall: wall.year),
        (PARTS[1], lambda wall: wall.month),
        (PARTS[2], lambda wall: wall.day),
        (PARTS[3], lambda wall: wall.hour),
    ]


def check_stamp(value, gap, op, unit, date_unit, *, writer, reader, zone):
    columns = stamp_columns(unit, date_unit)
    rules = rules_for("timestamp", *(column for column, _ in columns))
    assert {rule.partition.path[0] for rule in rules} == {"dt", "f7", "f10", "f13", "td", "tt", "y"}
    wall = clock(value, writer)
    row = {("base",): value} | {(column[0],): compute(wall) for column, compute in columns}
    row["tt",] = parse_timestamp(row["tt",], reader)
    predicate = Comparison(op, Column(("base",)), Literal(value + gap, "timestamp"))
    if truth(predicate, row):
        for rule in rules:
            assert truth(derived_filter(predicate, [rule], time_zone=zone), row) is True, rule


@given(
    INSTANTS, GAPS, OPERATORS, st.sampled_from(sorted(TIMESTAMP_UNITS)), st.sampled_from(sorted(DATE_UNITS)), st.sampled_from(ZONES)
)
# In Newfoundland clocks went from 00:01 back to 23:01 of the day before: a later time had the earlier date.
@example(micros("2006-10-29 02:30:30"), 60_000_000, "<=", "day", "month", "America/St_Johns")
@example(micros("2006-10-29 02:31:30"), -60_000_000, ">=", "day", "month", "America/St_Johns")
def test_no_timestamp_is_lost(value, gap, op, unit, date_unit, zone):
    check_stamp(value, gap, op, unit, date_unit, writer=zone, reader=zone, zone=zone)


@given(INSTANTS, GAPS, OPERATORS, st.sampled_from(sorted(TIMESTAMP_UNITS)), st.sampled_from(ZONES), st.sampled_from(ZONES))
def test_no_timestamp_is_lost_where_the_zone_of_the_writer_is_not_known(value, gap, op, unit, writer, reader):
    check_stamp(value, gap, op, unit, "month", writer=writer, reader=reader, zone=None)


@given(
    DATES,
    st.one_of(st.integers(-40, 40), st.integers(-100_000, 100_000)),
    OPERATORS,
    st.sampled_from(sorted(DATE_UNITS)),
    st.sampled_from(ZONES),
)
def test_no_date_is_lost(value, gap, op, unit, zone):
    columns = [
        ("dt", "date", "to_date(base)"),
        ("f7", "string", "date_format(CAST(base AS TIMESTAMP), 'yyyy-MM')"),
        ("td", "date", f"TRUNC(CAST(base AS DATE), '{unit.upper()}')"),
        ("tt", "timestamp", f"date_trunc('{unit}', base)"),
        *PARTS[:3],
    ]
    rules = rules_for("date", *columns)
    assert len(rules) == 5
    wall = EPOCH + timedelta(days=value)
    start = wall.replace(tzinfo=ZoneInfo(zone)).astimezone(timezone.utc).astimezone(ZoneInfo(zone))
    row = {("base",): value, ("dt",): value, ("td",): date_of(wall, unit), ("f7",): f"{wall:%Y}".zfill(4) + f"{wall:-%m}"}
    row |= {("tt",): parse_timestamp(text_of(stamp_of(start, unit)), zone)}
    row |= {("y",): wall.year, ("m",): wall.month, ("d",): wall.day}
    predicate = Comparison(op, Column(("base",)), Literal(value + gap, "date"))
    if truth(predicate, row):
        for rule in rules:
            for given_zone in (zone, None):
                assert truth(derived_filter(predicate, [rule], time_zone=given_zone), row) is not False, rule


def cut(text, position, length):
    """Spark's substring, by its definition: the characters whose places are in a range, counted from 1."""
    first = position if position > 0 else len(text) + position + 1 if position < 0 else 1
    return "".join(character for place, character in enumerate(text, 1) if first <= place < first + length)


@given(TEXTS, TEXTS, OPERATORS, st.integers(-6, 6), st.integers(-1, 7))
@example("abc", "abc", "=", -4, 3)
def test_no_string_is_lost(value, other, op, position, length):
    rules = rules_for("string", ("sub", "string", f"SUBSTRING(base, {position}, {length})"), ("same", "string", "base"))
    assert len(rules) == 2
    row = {("base",): value, ("sub",): cut(value, position, length) or None, ("same",): value or None}
    leaves = [Comparison(op, Column(("base",)), Literal(other, "string")), StartsWith(Column(("base",)), other)]
    for leaf in leaves:
        derived = derived_filter(leaf, rules, time_zone="UTC")
        assert not truth(leaf, row) or derived is None or truth(derived, row) is True


STAMP = [("dt", "date", "CAST(base AS DATE)")]


def stamp(text):
    return Literal(micros(text), "timestamp")


def leaf(op, value):
    return Comparison(op, Column(("base",)), value)


LEAVES = st.one_of(
    st.builds(leaf, OPERATORS, st.builds(Literal, st.integers(0, 5 * MICROS_PER_DAY), st.just("timestamp"))),
    st.just(leaf("=", Literal(None, "timestamp"))),
    st.just(leaf("<=>", Literal(None, "timestamp"))),
    st.just(IsNull(Column(("base",)))),
    st.lists(st.builds(Literal, st.integers(0, 5 * MICROS_PER_DAY) | st.none(), st.just("timestamp")), max_size=3).map(
        lambda values: In(Column(("base",)), tuple(values))
    ),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(*(st.lists(inner, max_size=3).map(lambda found, kind=kind: kind(tuple(found))) for kind in (And, Or))),
)


@given(TREES, st.none() | st.integers(0, 5 * MICROS_PER_DAY))
def test_no_row_is_lost_by_predicates_that_are_put_together(predicate, value):
    row = {("base",): value, ("dt",): None if value is None else value // MICROS_PER_DAY}
    derived = derived_filter(predicate, rules_for("timestamp", *STAMP), time_zone="UTC")
    assert not truth(predicate, row) or derived is None or truth(derived, row) is True


def kept(predicate, rules, column, values, time_zone="UTC"):
    derived = derived_filter(predicate, rules, time_zone=time_zone)
    return [value for value in values if truth(derived, {(column,): value}) is True]


@pytest.mark.parametrize(
    ("op", "expected"),
    [("=", [10]), ("<=>", [10]), ("<", [8, 9, 10]), ("<=", [8, 9, 10]), (">", [10, 11, 12]), (">=", [10, 11, 12])],
)
def test_a_filter_on_the_time_skips_days_and_keeps_the_day_at_the_boundary(op, expected):
    rules = rules_for("timestamp", *STAMP)
    predicate = leaf(op, stamp("1970-01-11 00:00:00"))
    assert kept(predicate, rules, "dt", [8, 9, 10, 11, 12]) == expected
    # The NULL partition stays: a text that is no date is NULL too.
    assert kept(predicate, rules, "dt", [None]) == [None]


def test_the_zone_decides_which_day_it_is():
    rules = rules_for("timestamp", *STAMP)
    predicate = leaf("=", stamp("1970-01-11 00:30:00"))
    assert kept(predicate, rules, "dt", [8, 9, 10, 11, 12], "America/New_York") == [9]
    assert kept(predicate, rules, "dt", [8, 9, 10, 11, 12], None) == [9, 10]
    assert derived_filter(predicate, rules, time_zone="No/Where") is None


def test_null_is_looked_for_in_the_null_partition():
    rules = rules_for("timestamp", *STAMP)
    for predicate in (IsNull(Column(("base",))), leaf("<=>", Literal(None, "timestamp"))):
        assert derived_filter(predicate, rules, time_zone="UTC") == IsNull(Column(("dt",)))


@pytest.mark.parametrize("unit", ["month", "MONTH", "mon", "mm"])
def test_a_truncated_timestamp_skips_other_months(unit):
    rules = rules_for("timestamp", ("tt", "timestamp", f"date_trunc('{unit}', base)"))
    months = [micros(f"2024-0{month}-01") for month in range(1, 6)]
    assert kept(leaf("=", stamp("2024-03-15 12:00:00")), rules, "tt", months) == [months[2]]
    assert kept(leaf("<", stamp("2024-03-15 12:00:00")), rules, "tt", months) == months[:3]
    assert kept(leaf(">", stamp("2024-03-15 12:00:00")), rules, "tt", months) == months[2:]


def test_year_month_and_day_are_one_order():
    rules = rules_for("timestamp", *PARTS)
    (rule,) = rules
    derived = derived_filter(
        And((leaf(">", stamp("2023-12-30 22:10:00")), leaf("<", stamp("2024-01-02 01:00:00")))), rules, time_zone="UTC"
    )

    def is_kept(*parts):
        return truth(derived, {(name,): part for name, part in zip("ymdh", parts, strict=True)}) is True

    assert is_kept(2023, 12, 30, 22)
    assert is_kept(2023, 12, 31, 0)
    assert is_kept(2024, 1, 2, 1)
    assert not is_kept(2023, 12, 30, 21)
    assert not is_kept(2024, 1, 2, 2)
    assert not is_kept(2024, 2, 1, 0)
    assert not is_kept(2022, 12, 31, 23)
    assert rule.base == ("base",)


@pytest.mark.parametrize(
    ("present", "used"),
    [("y", "y"), ("ym", "ym"), ("ymh", "ym"), ("yd", "y"), ("m", ""), ("mdh", ""), ("h", "")],
)
def test_parts_are_used_as_far_as_they_follow_the_year(present, used):
    rules = rules_for("timestamp", *(part for part in PARTS if part[0] in present))
    derived = derived_filter(leaf("=", stamp("2024-01-02 01:00:00")), rules, time_zone="UTC")
    found = set() if derived is None else {name for name in "ymdh" if f"('{name}',)" in repr(derived)}
    assert found == set(used)


def test_formatted_dates_after_the_year_9999_are_kept():
    rules = rules_for("timestamp", ("f", "string", "date_format(base, 'yyyy-MM')"))
    texts = ["2023-12", "2024-01", "2024-02", "+12345-01"]
    assert kept(leaf(">", stamp("2024-01-31")), rules, "f", texts) == texts[1:]
    assert kept(leaf("<", stamp("2024-01-31")), rules, "f", texts) == ["2023-12", "2024-01", "+12345-01"]
    assert derived_filter(leaf(">", stamp("10000-01-01")), rules, time_zone="UTC") is None


def test_a_nested_field_is_found_by_its_physical_path():
    rules = rules_for("timestamp", ("dt", "date", "date(`s`.TS)"))
    assert [rule.base for rule in rules] == [("S", "col-ts")]
    predicate = Comparison("=", Column(("S", "col-ts")), stamp("1970-01-11"))
    assert kept(predicate, rules, "dt", [9, 10, 11]) == [10]
    assert derived_filter(leaf("=", stamp("1970-01-11")), rules, time_zone="UTC") is None


def test_a_substring_cuts_the_constant_too():
    rules = rules_for("string", ("p", "string", "substring(base FROM 1 FOR 2)"))
    values = ["aa", "ab", "b", "ba", None]
    assert kept(leaf("=", Literal("abc", "string")), rules, "p", values) == ["ab", None]
    assert kept(leaf("<", Literal("abc", "string")), rules, "p", values) == ["aa", "ab", None]
    assert kept(StartsWith(Column(("base",)), "b"), rules, "p", values) == ["b", "ba", None]
    (other,) = rules_for("string", ("p", "string", "substr(base, 2)"))
    assert kept(leaf("=", Literal("abc", "string")), [other], "p", ["bc", "b"]) == ["bc"]
    assert derived_filter(leaf("<", Literal("abc", "string")), [other], time_zone="UTC") is None


@pytest.mark.parametrize(
    ("base_type", "column"),
    [
        ("timestamp", ("p", "date", "date_add(base, 1)")),
        ("timestamp", ("p", "integer", "YEAR(base) + 1")),
        ("timestamp", ("p", "string", "date_format(base, 'MM-yyyy')")),
        ("timestamp", ("p", "string", "date_format(base, 'y-MM')")),
        ("timestamp", ("p", "string", "CAST(base AS DATE)")),
        ("timestamp", ("p", "long", "YEAR(base)")),
        ("timestamp", ("p", "date", "to_date(base, 'yyyy')")),
        ("timestamp", ("p", "timestamp", "date_trunc('century', base)")),
        ("timestamp_ntz", ("p", "timestamp", "date_trunc('month', base)")),
        ("date", ("p", "string", "date_format(base, 'yyyy-MM-dd-HH')")),
        ("string", ("p", "date", "CAST(base AS DATE)")),
        ("string", ("p", "string", "substring(base, 1, length(base))")),
        ("string", ("p", "string", "upper(base)")),
        ("string", ("p", "string", "gone")),
        ("string collate UNICODE_CI", ("p", "string collate UNICODE_CI", "base")),
        ("long", ("p", "integer", "base")),
        ("long", ("p", "long", "(((")),
    ],
)
def test_what_is_not_understood_derives_nothing(base_type, column):
    rules = rules_for(base_type, column)
    assert rules == ()
    assert derived_filter(leaf("=", Literal(1, base_type)), rules, time_zone="UTC") is None


def test_only_partition_columns_have_rules():
    schema = StructType((StructField("base", "timestamp"), generated("dt", "date", "CAST(base AS DATE)")))
    assert partition_rules(schema, []) == ()
    assert len(partition_rules(schema, ["DT"])) == 1


@pytest.mark.parametrize(
    "predicate",
    [
        Unknown(),
        Boolean(None),
        IsNotNull(Column(("base",))),
        Not(leaf("=", stamp("2024-01-01"))),
        leaf("=", Literal(None, "timestamp")),
        leaf("=", Literal(3, "date")),
        Comparison("=", Column(("other",)), stamp("2024-01-01")),
        Or((leaf("=", stamp("2024-01-01")), Unknown())),
        In(Column(("base",)), tuple(Literal(value, "timestamp") for value in range(101))),
    ],
)
def test_what_says_nothing_about_the_partition_derives_nothing(predicate):
    assert derived_filter(predicate, rules_for("timestamp", *STAMP), time_zone="UTC") is None


def test_a_nested_timestamp_of_an_unknown_zone_is_not_compared_with_its_partition_text():
    rules = rules_for("timestamp", ("p", "timestamp", "base"))
    assert derived_filter(leaf("=", stamp("2024-01-01")), rules, time_zone=None) is None
    assert kept(leaf("<", stamp("2024-01-01")), rules, "p", [0, micros("2024-01-01")]) == [0]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (("p", "date", "CAST(base AS DATE)"), ["2024-03-14", "2024-03-15", "2024-03-16"]),
        (("p", "integer", "YEAR(base)"), ["2023", "2024", "2025"]),
        (("p", "string", "date_format(base, 'yyyy-MM')"), ["2024-02", "2024-03", "2024-04"]),
        (("p", "timestamp", "date_trunc('hour', base)"), ["2024-03-15 11:00:00", "2024-03-15 12:00:00", "2024-03-15 13:00:00"]),
        (("p", "date", "trunc(base, 'month')"), ["2024-02-01", "2024-03-01", "2024-04-01"]),
        (("p", "timestamp", "base"), ["2024-03-15 12:29:59", "2024-03-15 12:30:00", "2024-03-15 12:30:01"]),
    ],
)
def test_skipping_understands_what_is_derived(column, texts):
    derived = derived_filter(leaf("=", stamp("2024-03-15 12:30:00")), rules_for("timestamp", column), time_zone="UTC")
    values = to_arrow(pa.array([*texts, None]), column[1])
    statistics = FileStatistics(pa.nulls(4, pa.int64()), pa.repeat(pa.scalar(value=True), 4))
    assert may_match(derived, statistics, {("p",): values}).to_pylist() == [False, True, False, True]
