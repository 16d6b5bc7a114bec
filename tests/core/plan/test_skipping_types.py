# SPDX-License-Identifier: Apache-2.0
"""What skipping knows of the types of columns: moments, floats, decimals, strings, and partition columns."""

from __future__ import annotations

import math
from decimal import Decimal

import pyarrow as pa
import pytest
from tests.core.plan.file_statistics import C, a_file, compare, in_list, keeps

from bayou.plan.predicates.partition_values import arrow_type
from bayou.plan.predicates.predicate import Column, Comparison, IsNull, Literal, Not, StartsWith
from bayou.plan.skipping import may_match
from bayou.plan.statistics.columns import from_json

MILLISECOND = 1_000


def test_a_column_without_statistics_or_of_another_type_is_kept():
    assert keeps(Comparison("=", Column(("other",)), Literal(1, "integer")), a_file(10, 20))
    assert keeps(compare("=", "x", "string"), a_file(10, 20))
    assert keeps(compare("=", 5, "timestamp"), a_file("2020-01-01", "2020-01-01"), "date")


def test_a_long_list_skips_nothing_where_statistics_are_missing_or_of_another_type():
    many = range(1000)
    assert keeps(in_list(*many), '{"numRecords":10}')
    assert keeps(in_list(*map(str, many), data_type="string"), a_file(5000, 6000))


@pytest.mark.parametrize("predicate", [StartsWith(C, "b"), Not(StartsWith(C, "b"))], ids=["prefix", "no prefix"])
def test_a_prefix_skips_nothing_where_statistics_are_missing_or_no_strings(predicate):
    assert keeps(predicate, '{"numRecords":10}', "string")
    assert keeps(predicate, a_file("a", "a"), "binary")
    assert keeps(predicate, a_file(1, 1), "integer")


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


def test_a_constant_of_another_type_than_the_partition_column_skips_nothing():
    for predicate in (compare("=", "2", "string"), in_list("2", data_type="string"), StartsWith(C, "2")):
        assert partition_mask(predicate, [1, None], "integer") == [True, True]
        assert partition_mask(Not(predicate), [1, None], "integer") == [True, True]


def test_nan_in_a_partition_column_exceeds_everything():
    values = [math.nan, math.inf, -0.0, None]
    assert partition_mask(compare(">", math.inf, "double"), values, "double") == [True, False, False, False]
    assert partition_mask(compare("=", math.nan, "double"), values, "double") == [True, False, False, False]
    assert partition_mask(compare("=", 0.0, "double"), values, "double") == [False, False, True, False]
    assert partition_mask(compare(">=", math.nan, "double"), values, "double") == [True, False, False, False]
    assert partition_mask(compare(">", math.nan, "double"), values, "double") == [False, False, False, False]
    assert partition_mask(compare("<=", math.nan, "double"), values, "double") == [True, True, True, False]
    assert partition_mask(compare("<", math.nan, "double"), values, "double") == [False, True, True, False]
    assert partition_mask(compare(">", 0.0, "float"), values, "float") == [True, True, False, False]


def test_a_partition_column_may_be_dictionary_encoded_or_chunked():
    known = from_json(pa.array([None] * 2, pa.string()), {})
    chunks = pa.chunked_array([pa.array(["a"]), pa.array(["b"])])
    for values in (chunks, chunks.combine_chunks().dictionary_encode()):
        mask = may_match(compare("=", "b", "string"), known, {("c",): values})
        assert mask.to_pylist() == [False, True]
