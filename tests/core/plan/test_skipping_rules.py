# SPDX-License-Identifier: Apache-2.0
"""Each rule of skipping, one sentence a test."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest

from bayou.plan.partition_values import arrow_type
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
from bayou.plan.statistics import from_json

C = Column(("c",))
MILLISECOND = 1_000


def a_file(low=None, high=None, nulls=0, rows=10, **more) -> str:
    stats = {"numRecords": rows, "minValues": {"c": low}, "maxValues": {"c": high}, "nullCount": {"c": nulls}, **more}
    return json.dumps({name: value for name, value in stats.items() if value is not None})


def keeps(predicate, stats, data_type="integer") -> bool:
    known = from_json(pa.array([stats], pa.string()), {("c",): data_type, ("s", "x"): "integer"})
    return may_match(predicate, known, {}).to_pylist()[0]


def compare(op, value, data_type="integer"):
    return Comparison(op, C, Literal(value, data_type))


@pytest.mark.parametrize(
    ("op", "kept"),
    [
        ("=", [10, 15, 20]),
        ("<", [15, 20, 21]),
        ("<=", [10, 15, 20, 21]),
        (">", [9, 10, 15]),
        (">=", [9, 10, 15, 20]),
        ("<=>", [10, 15, 20]),
    ],
)
def test_a_comparison_keeps_the_files_whose_range_allows_it(op, kept):
    stats = a_file(10, 20)
    assert [value for value in (9, 10, 15, 20, 21) if keeps(compare(op, value), stats)] == kept


def test_unequal_drops_only_a_file_of_that_one_value():
    differs = Not(compare("=", 5))
    assert not keeps(differs, a_file(5, 5))
    assert keeps(differs, a_file(5, 6))
    assert keeps(differs, a_file(6, 6))


@pytest.mark.parametrize(("op", "flipped"), [("<", ">="), ("<=", ">"), (">", "<="), (">=", "<")])
def test_not_turns_a_comparison_around(op, flipped):
    for value in (9, 10, 11, 19, 20, 21):
        assert keeps(Not(compare(op, value)), a_file(10, 20)) == keeps(compare(flipped, value), a_file(10, 20))


def test_null_safe_equality_with_null_asks_for_nulls():
    assert keeps(compare("<=>", None), a_file(1, 2, nulls=1))
    assert not keeps(compare("<=>", None), a_file(1, 2, nulls=0))
    assert not keeps(Not(compare("<=>", None)), a_file(nulls=10))


def test_null_safe_inequality_keeps_files_with_nulls():
    assert keeps(Not(compare("<=>", 5)), a_file(5, 5, nulls=1))
    assert not keeps(Not(compare("<=>", 5)), a_file(5, 5, nulls=0))


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">="])
def test_a_comparison_with_null_matches_nothing(op):
    assert not keeps(compare(op, None), a_file(1, 2))
    assert not keeps(Not(compare(op, None)), a_file(1, 2))


def test_is_null_keeps_files_with_nulls_and_files_that_do_not_say():
    assert keeps(IsNull(C), a_file(1, 2, nulls=1))
    assert not keeps(IsNull(C), a_file(1, 2, nulls=0))
    assert keeps(IsNull(C), '{"numRecords":10}')


def test_is_not_null_drops_files_of_nulls_alone():
    assert not keeps(IsNotNull(C), a_file(nulls=10))
    assert keeps(IsNotNull(C), a_file(nulls=9))
    assert keeps(IsNotNull(C), '{"nullCount":{"c":10}}')
    assert not keeps(Not(IsNull(C)), a_file(nulls=10))


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">="])
def test_a_file_of_nulls_alone_satisfies_no_comparison(op):
    assert not keeps(compare(op, 5), a_file(nulls=10))
    assert not keeps(Not(compare(op, 5)), a_file(nulls=10))


def test_wide_null_counts_are_used_only_where_they_are_zero_or_all():
    assert not keeps(IsNull(C), a_file(1, 2, nulls=0, tightBounds=False))
    assert not keeps(IsNotNull(C), a_file(nulls=10, tightBounds=False))
    for nulls in (1, 9):
        assert keeps(IsNull(C), a_file(1, 2, nulls=nulls, tightBounds=False))
        assert keeps(IsNotNull(C), a_file(1, 2, nulls=nulls, tightBounds=False))


def in_list(*values, data_type="integer"):
    return In(C, tuple(Literal(value, data_type) for value in values))


def test_in_looks_at_each_value_where_they_are_few():
    assert not keeps(in_list(1, 100), a_file(10, 20))
    assert keeps(in_list(1, 15, 100), a_file(10, 20))


def test_in_looks_at_ranges_of_values_where_they_are_many():
    low, high = range(1000), range(5000, 6000)
    assert not keeps(in_list(*low, *high), a_file(2000, 3000))
    assert keeps(in_list(*low, *high), a_file(999, 999))
    assert keeps(in_list(*low, *high, None), a_file(5999, 7000))


def test_in_drops_nulls_from_the_list_and_an_empty_list_matches_nothing():
    assert not keeps(in_list(None), a_file(1, 2, nulls=1))
    assert not keeps(in_list(), a_file(1, 2))
    assert keeps(in_list(None, 1), a_file(1, 2))


def test_not_in_a_list_with_null_matches_nothing():
    assert not keeps(Not(in_list(7, None)), a_file(1, 2))
    assert keeps(Not(in_list(7)), a_file(1, 2))
    assert not keeps(Not(in_list(7, 8)), a_file(7, 7))


def test_not_in_an_empty_list_matches_null_too():
    assert keeps(Not(in_list()), a_file(nulls=10))


@pytest.mark.parametrize(
    ("prefix", "kept"),
    [("b", True), ("be", True), ("bz", False), ("c", True), ("ca", False), ("d", False), ("a", False)],
)
def test_a_prefix_is_compared_with_the_prefixes_of_the_bounds(prefix, kept):
    assert keeps(StartsWith(C, prefix), a_file("bb", "c" if prefix != "bz" else "bx"), "string") is kept


def test_not_a_prefix_drops_files_in_which_everything_has_it():
    assert not keeps(Not(StartsWith(C, "ab")), a_file("aba", "abz"), "string")
    assert keeps(Not(StartsWith(C, "ab")), a_file("aa", "abz"), "string")


def test_and_needs_both_sides_and_drops_the_side_that_is_not_understood():
    stats = a_file(10, 20)
    assert not keeps(And((compare(">", 5), compare("<", 5))), stats)
    assert not keeps(And((Unknown(), compare("<", 5))), stats)
    assert keeps(And((Unknown(), compare(">", 5))), stats)
    assert keeps(And(()), stats)


def test_or_drops_only_where_both_sides_are_understood():
    stats = a_file(10, 20)
    assert not keeps(Or((compare(">", 50), compare("<", 5))), stats)
    assert keeps(Or((Unknown(), compare("<", 5))), stats)
    assert not keeps(Or(()), stats)


def test_not_goes_through_and_and_or():
    stats = a_file(10, 20)
    assert not keeps(Not(Or((compare(">", 5), Unknown()))), stats)
    assert keeps(Not(And((compare(">", 5), Unknown()))), stats)
    assert keeps(Not(Unknown()), stats)


def test_constants_are_what_they_are():
    stats = a_file(10, 20)
    assert [keeps(Boolean(value), stats) for value in (True, False, None)] == [True, False, False]
    assert [keeps(Not(Boolean(value)), stats) for value in (True, False, None)] == [False, True, False]


@pytest.mark.parametrize("stats", [None, "", "{}", "oops", "[]", '{"numRecords":10}', '{"minValues":{"c":1}}'])
def test_a_file_without_statistics_is_kept(stats):
    assert keeps(compare("=", 5), stats)
    assert keeps(Not(compare("=", 5)), stats)


def test_one_known_bound_is_enough_to_drop():
    assert not keeps(compare("<", 10), '{"numRecords":1,"minValues":{"c":10}}')


def test_a_nested_column_is_found_by_its_path():
    stats = '{"numRecords":1,"minValues":{"s":{"x":1}},"maxValues":{"s":{"x":5}},"nullCount":{"s":{"x":0}}}'
    column = Column(("s", "x"))
    assert not keeps(Comparison("=", column, Literal(6, "integer")), stats)
    assert keeps(Comparison("=", column, Literal(5, "integer")), stats)
    assert not keeps(IsNull(column), stats)


def test_a_column_without_statistics_or_of_another_type_is_kept():
    assert keeps(Comparison("=", Column(("other",)), Literal(1, "integer")), a_file(10, 20))
    assert keeps(compare("=", "x", "string"), a_file(10, 20))
    assert keeps(compare("=", 5, "timestamp"), a_file("2020-01-01", "2020-01-01"), "date")


def test_the_maximum_of_a_timestamp_is_one_millisecond_later():
    stats = a_file("2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00.123Z")
    cut = 1_704_067_200_123_000
    assert keeps(compare("=", cut + 999, "timestamp"), stats, "timestamp")
    assert keeps(compare(">", cut, "timestamp"), stats, "timestamp")
    assert not keeps(compare(">", cut + MILLISECOND, "timestamp"), stats, "timestamp")


def test_the_last_millisecond_does_not_overflow():
    stats = a_file("2024-01-01T00:00:00.000Z", "+294247-01-10T04:00:54.775Z")
    assert keeps(compare("=", 2**63 - 1, "timestamp"), stats, "timestamp")


def test_a_timestamp_bound_without_a_zone_says_nothing():
    assert keeps(compare("=", 0, "timestamp"), a_file("2024-01-01T00:00:00", "2024-01-01T00:00:00"), "timestamp")


def test_a_float_maximum_may_hide_nan():
    stats = a_file(0.0, 1.0)
    for op in (">", ">="):
        assert keeps(compare(op, 5.0, "double"), stats, "double")
    assert keeps(compare("=", math.nan, "double"), stats, "double")
    assert keeps(Not(compare("<", 5.0, "double")), stats, "double")
    assert keeps(Not(compare("=", 1.0, "double")), a_file(1.0, 1.0), "double")
    assert keeps(Not(in_list(1.0, data_type="double")), a_file(1.0, 1.0), "double")


def test_equality_with_a_number_and_lower_bounds_of_floats_are_used():
    stats = a_file(0.5, 1.0)
    assert not keeps(compare("=", 5.0, "double"), stats, "double")
    assert not keeps(compare("<", 0.5, "double"), stats, "double")
    assert not keeps(in_list(2.0, 3.0, data_type="double"), stats, "double")
    assert not keeps(compare(">", math.nan, "double"), stats, "double")


def test_negative_zero_equals_zero():
    for zero, other in ((0.0, -0.0), (-0.0, 0.0)):
        assert keeps(compare("=", zero, "double"), a_file(other, other), "double")
        assert not keeps(compare("<", zero, "double"), a_file(other, other), "double")


def test_a_quoted_nan_costs_only_its_bound():
    stats = '{"numRecords":2,"minValues":{"c":1.0},"maxValues":{"c":"NaN"},"nullCount":{"c":0}}'
    assert not keeps(compare("<", 0.5, "double"), stats, "double")
    assert keeps(compare("=", 9.0, "double"), stats, "double")


def test_the_digits_of_a_float_mean_the_float():
    single = 0.10000000149011612
    assert keeps(compare("=", single, "float"), a_file(0.1, 0.1), "float")


def test_a_long_decimal_may_have_gone_through_a_double():
    written = '{"numRecords":1,"minValues":{"c":1.2345678901234567e+19},"maxValues":{"c":1.2345678901234567e+19}}'
    exact = Decimal("12345678901234567890.12")
    assert keeps(compare("=", exact, "decimal(38,2)"), written, "decimal(38,2)")
    assert not keeps(compare("=", exact + 10**6, "decimal(38,2)"), written, "decimal(38,2)")


def test_a_short_decimal_is_exact():
    stats = '{"numRecords":1,"minValues":{"c":1.50},"maxValues":{"c":2.50},"nullCount":{"c":0}}'
    assert not keeps(compare(">", Decimal("2.50"), "decimal(10,2)"), stats, "decimal(10,2)")
    assert keeps(compare(">=", Decimal("2.50"), "decimal(10,2)"), stats, "decimal(10,2)")


def test_a_constant_between_two_decimals_of_the_column_equals_none():
    stats = '{"numRecords":1,"minValues":{"c":1.50},"maxValues":{"c":2.50},"nullCount":{"c":0}}'
    between = Decimal("2.505")
    assert not keeps(compare("=", Decimal("2.005"), "decimal(10,3)"), stats, "decimal(10,2)")
    assert not keeps(compare(">", between, "decimal(10,3)"), stats, "decimal(10,2)")
    assert keeps(compare("<", Decimal("1.505"), "decimal(10,3)"), stats, "decimal(10,2)")
    assert not keeps(compare("<=", Decimal("1.495"), "decimal(10,3)"), stats, "decimal(10,2)")


def test_equal_bounds_of_a_long_string_prove_nothing():
    cut = "x" * 32
    assert keeps(Not(compare("=", cut, "string")), a_file(cut, cut), "string")
    assert not keeps(Not(compare("=", "x", "string")), a_file("x", "x"), "string")


def test_strings_are_ordered_by_their_bytes():
    assert keeps(compare("=", "\U0010ffff", "string"), a_file("\uffff", "\U0010ffff"), "string")
    assert not keeps(compare("<", "Z", "string"), a_file("a", "b"), "string")


def test_collated_strings_skip_nothing():
    collated = "string collate UTF8_LCASE"
    assert keeps(compare("=", "A", collated), a_file("a", "a"), "string")
    assert keeps(compare("=", "A", "string"), a_file("a", "a"), collated)


@pytest.mark.parametrize("data_type", ["boolean", "binary"])
def test_bounds_of_booleans_and_binary_are_not_used(data_type):
    value = True if data_type == "boolean" else b"x"
    assert keeps(compare("=", value, data_type), a_file("a", "b"), data_type)


def test_years_beyond_9999_are_ordinary():
    stats = a_file("+10000-01-01", "+10000-12-31")
    assert not keeps(compare("=", 2_932_896, "date"), stats, "date")
    assert keeps(compare("=", 2_932_897, "date"), stats, "date")


def partition_mask(predicate, values, data_type):
    known = from_json(pa.array([None] * len(values), pa.string()), {})
    return may_match(predicate, known, {("c",): pa.array(values, arrow_type(data_type))}).to_pylist()


def test_partition_columns_are_exact():
    assert partition_mask(compare("=", 2), [1, 2, None], "integer") == [False, True, False]
    assert partition_mask(Not(compare("=", 2)), [1, 2, None], "integer") == [True, False, False]
    assert partition_mask(IsNull(C), [1, None], "integer") == [False, True]
    assert partition_mask(compare("<=>", None), [1, None], "integer") == [False, True]
    assert partition_mask(Not(compare("<=>", 1)), [1, None], "integer") == [False, True]
    assert partition_mask(in_list(1, None), [1, 2, None], "integer") == [True, False, False]
    assert partition_mask(Not(in_list(1, None)), [1, 2, None], "integer") == [False, False, False]
    assert partition_mask(StartsWith(C, "a"), ["ab", "b", None], "string") == [True, False, False]
    assert partition_mask(compare("=", True, "boolean"), [True, False, None], "boolean") == [True, False, False]
    assert partition_mask(compare("<", b"b", "binary"), [b"a", b"b", None], "binary") == [True, False, False]


def test_nan_in_a_partition_column_exceeds_everything():
    values = [math.nan, math.inf, -0.0, None]
    assert partition_mask(compare(">", math.inf, "double"), values, "double") == [True, False, False, False]
    assert partition_mask(compare("=", math.nan, "double"), values, "double") == [True, False, False, False]
    assert partition_mask(compare("=", 0.0, "double"), values, "double") == [False, False, True, False]
    assert partition_mask(compare("<=", math.nan, "double"), values, "double") == [True, True, True, False]
    assert partition_mask(compare(">", 0.0, "float"), values, "float") == [True, True, False, False]


def test_a_partition_column_may_be_dictionary_encoded_or_chunked():
    known = from_json(pa.array([None] * 2, pa.string()), {})
    chunks = pa.chunked_array([pa.array(["a"]), pa.array(["b"])])
    for values in (chunks, chunks.combine_chunks().dictionary_encode()):
        mask = may_match(compare("=", "b", "string"), known, {("c",): values})
        assert mask.to_pylist() == [False, True]


def test_a_predicate_too_deep_to_follow_skips_nothing():
    predicate = compare("=", 100)
    for _ in range(100_000):
        predicate = Not(predicate)
    assert keeps(predicate, a_file(1, 2))
