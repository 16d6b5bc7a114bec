# SPDX-License-Identifier: Apache-2.0
"""What filters on generated partition columns skip, and where they derive nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.core.plan.generated.generated_partitions import (
    BASE,
    PARTS,
    STAMP,
    date_format,
    date_trunc,
    leaf,
    micros,
    rules_for,
    stamp,
    substring,
    to_date,
    to_timestamp,
    trunc,
    truth,
)
from tests.support.cases import in_one_test

from bayou.plan.generated.expressions import Call, Constant, Reference
from bayou.plan.generated.filters import derived_filter
from bayou.plan.predicates.partition_values import to_arrow
from bayou.plan.predicates.predicate import (
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
from bayou.plan.statistics.columns import FileStatistics


def kept(predicate, rules, column, values):
    derived = derived_filter(predicate, rules)
    return [value for value in values if truth(derived, {(column,): value}) is True]


@pytest.mark.parametrize(
    ("op", "expected"),
    [("=", [10]), ("<=>", [10]), ("<", [8, 9, 10]), ("<=", [8, 9, 10]), (">", [10, 11, 12]), (">=", [10, 11, 12])],
)
def test_a_filter_on_the_time_skips_days_and_keeps_the_day_at_the_boundary(op, expected):
    rules = rules_for("timestamp_ntz", *STAMP)
    predicate = leaf(op, stamp("1970-01-11 00:00:00", "timestamp_ntz"))
    assert kept(predicate, rules, "dt", [8, 9, 10, 11, 12]) == expected
    # The NULL partition stays: a text that is no date is NULL too.
    assert kept(predicate, rules, "dt", [None]) == [None]


@pytest.mark.parametrize(
    ("op", "expected"),
    [("=", [9, 10, 11]), ("<=>", [9, 10, 11]), ("<", [8, 9, 10, 11]), ("<=", [8, 9, 10, 11]), (">", [9, 10, 11, 12])],
)
def test_an_instant_is_on_another_day_in_another_zone(op, expected):
    predicate = leaf(op, stamp("1970-01-11 12:00:00"))
    assert kept(predicate, rules_for("timestamp", *STAMP), "dt", [8, 9, 10, 11, 12]) == expected


def test_null_is_looked_for_in_the_null_partition():
    rules = rules_for("timestamp", *STAMP)
    for predicate in (IsNull(Column(("base",))), leaf("<=>", Literal(None, "timestamp"))):
        assert derived_filter(predicate, rules) == IsNull(Column(("dt",)))


@pytest.mark.parametrize("unit", ["month", "MONTH", "mon", "mm"])
def test_a_truncated_timestamp_skips_other_months(unit):
    rules = rules_for("timestamp", ("tt", "timestamp", date_trunc(unit)))
    months = [micros(f"2024-0{month}-01") for month in range(1, 6)]
    assert kept(leaf("=", stamp("2024-03-15 12:00:00")), rules, "tt", months) == [months[2]]
    assert kept(leaf("<", stamp("2024-03-15 12:00:00")), rules, "tt", months) == months[:3]
    assert kept(leaf(">", stamp("2024-03-15 12:00:00")), rules, "tt", months) == months[2:]


def test_year_month_and_day_are_one_order():
    rules = rules_for("timestamp", *PARTS)
    (rule,) = rules
    derived = derived_filter(And((leaf(">", stamp("2023-12-31 16:10:00")), leaf("<", stamp("2024-01-01 07:00:00")))), rules)

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
    derived = derived_filter(leaf("=", stamp("2024-01-15 12:00:00")), rules)
    found = set() if derived is None else {name for name in "ymdh" if f"('{name}',)" in repr(derived)}
    assert found == set(used)


def test_formatted_dates_after_the_year_9999_are_kept():
    rules = rules_for("timestamp", ("f", "string", date_format("yyyy-MM")))
    texts = ["2023-12", "2024-01", "2024-02", "+12345-01"]
    assert kept(leaf(">", stamp("2024-01-15")), rules, "f", texts) == texts[1:]
    assert kept(leaf("<", stamp("2024-01-15")), rules, "f", texts) == ["2023-12", "2024-01", "+12345-01"]
    assert derived_filter(leaf(">", stamp("10000-01-02")), rules) is None


def test_a_nested_field_is_found_by_its_physical_path():
    rules = rules_for("timestamp", ("dt", "date", to_date(Reference(("s", "TS")))))
    assert [rule.base for rule in rules] == [("S", "col-ts")]
    predicate = Comparison("=", Column(("S", "col-ts")), stamp("1970-01-11 12:00:00"))
    assert kept(predicate, rules, "dt", [8, 9, 10, 11, 12]) == [9, 10, 11]
    assert derived_filter(leaf("=", stamp("1970-01-11")), rules) is None


def test_a_substring_cuts_the_constant_too():
    rules = rules_for("string", ("p", "string", substring(1, 2)))
    values = ["aa", "ab", "b", "ba", None]
    assert kept(leaf("=", Literal("abc", "string")), rules, "p", values) == ["ab", None]
    assert kept(leaf("<", Literal("abc", "string")), rules, "p", values) == ["aa", "ab", None]
    assert kept(StartsWith(Column(("base",)), "b"), rules, "p", values) == ["b", "ba", None]
    (other,) = rules_for("string", ("p", "string", substring(2, 2**31 - 1)))
    assert kept(leaf("=", Literal("abc", "string")), [other], "p", ["bc", "b"]) == ["bc"]
    assert derived_filter(leaf("<", Literal("abc", "string")), [other]) is None


@in_one_test(
    ("base_type", "column"),
    [
        ("timestamp", ("p", "date", Call("DateAdd", (to_date(), Constant(1))))),
        ("timestamp", ("p", "integer", Call("Add", (Call("Year", (to_date(),)), Constant(1))))),
        ("timestamp", ("p", "string", date_format("MM-yyyy"))),
        ("timestamp", ("p", "string", date_format("y-MM"))),
        ("timestamp", ("p", "string", Call("DateFormatClass", (BASE, Reference(("p",)))))),
        ("timestamp", ("p", "string", to_date())),
        ("timestamp", ("p", "long", Call("Year", (to_date(),)))),
        ("timestamp", ("p", "date", trunc(None))),
        ("timestamp", ("p", "timestamp", date_trunc("century"))),
        ("timestamp_ntz", ("p", "timestamp", date_trunc("month", to_timestamp()))),
        ("date", ("p", "string", date_format("yyyy-MM-dd-HH", to_timestamp()))),
        ("date", ("p", "integer", Call("Hour", (to_timestamp(),)))),
        ("string", ("p", "date", to_date())),
        ("string", ("p", "string", Call("Substring", (BASE, Constant(1), Call("Length", (BASE,)))))),
        ("string", ("p", "string", Call("Upper", (BASE,)))),
        ("string", ("p", "string", Reference(("gone",)))),
        ("string", ("p", "string", Constant("a"))),
        ("string collate UNICODE_CI", ("p", "string collate UNICODE_CI", BASE)),
        ("long", ("p", "integer", BASE)),
    ],
)
def test_what_is_not_understood_derives_nothing(base_type, column):
    rules = rules_for(base_type, column)
    assert rules == ()
    assert derived_filter(leaf("=", Literal(1, base_type)), rules) is None


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
    assert derived_filter(predicate, rules_for("timestamp", *STAMP)) is None


def test_a_nested_timestamp_is_not_compared_with_its_partition_text():
    rules = rules_for("timestamp", ("p", "timestamp", BASE))
    assert derived_filter(leaf("=", stamp("2024-01-01")), rules) is None
    assert derived_filter(IsNull(Column(("base",))), rules) == IsNull(Column(("p",)))


def test_a_nested_field_that_is_a_partition_column_is_compared_as_it_is():
    rules = rules_for("date", ("p", "date", BASE))
    assert kept(leaf("<", Literal(10, "date")), rules, "p", [9, 10, None]) == [9, None]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (("p", "date", to_date()), ["2024-03-13", "2024-03-15", "2024-03-17"]),
        (("p", "integer", Call("Year", (to_date(),))), ["2023", "2024", "2025"]),
        (("p", "string", date_format("yyyy-MM")), ["2024-02", "2024-03", "2024-04"]),
        (("p", "timestamp", date_trunc("hour")), ["2024-03-13 23:00:00", "2024-03-15 12:00:00", "2024-03-17 01:00:00"]),
        (("p", "date", trunc("month")), ["2024-02-01", "2024-03-01", "2024-04-01"]),
    ],
)
def test_skipping_understands_what_is_derived(column, texts):
    derived = derived_filter(leaf("=", stamp("2024-03-15 12:30:00")), rules_for("timestamp", column))
    values = to_arrow(pa.array([*texts, None]), column[1])
    statistics = FileStatistics(pa.nulls(4, pa.int64()), pa.repeat(pa.scalar(value=True), 4))
    assert may_match(derived, statistics, {("p",): values}).to_pylist() == [False, True, False, True]
