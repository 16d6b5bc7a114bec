# SPDX-License-Identifier: Apache-2.0
"""Each rule of skipping by comparisons, lists, prefixes and their combinations, one sentence a test."""

from __future__ import annotations

import pytest
from tests.core.plan.file_statistics import C, a_file, compare, in_list, keeps

from bayou.plan.predicates.predicate import (
    And,
    Boolean,
    Column,
    Comparison,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Or,
    StartsWith,
    Unknown,
)


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


def test_a_predicate_too_deep_to_follow_skips_nothing():
    predicate = compare("=", 100)
    for _ in range(100_000):
        predicate = Not(predicate)
    assert keeps(predicate, a_file(1, 2))
