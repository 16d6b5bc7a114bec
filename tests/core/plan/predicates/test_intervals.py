# SPDX-License-Identifier: Apache-2.0
"""Between which numbers a column lies, where a predicate is true."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st
from tests.support.cases import in_one_test

from bayou.plan.predicates.intervals import EVERYTHING, NOTHING, Interval, interval_of
from bayou.plan.predicates.predicate import And, Boolean, Column, Comparison, In, IsNotNull, Literal, Not, Or, Unknown

VERSION = Column(("version",))
OTHER = Column(("other",))


def compare(op, value, column=VERSION, kind="long"):
    return Comparison(op, column, Literal(value, kind))


@in_one_test(
    ("predicate", "interval"),
    [
        (compare("=", 3), Interval(3, 3)),
        (compare("<=>", 3), Interval(3, 3)),
        (compare("<", 3), Interval(None, 2)),
        (compare("<=", 3), Interval(None, 3)),
        (compare(">", 3), Interval(4)),
        (compare(">=", 3), Interval(3)),
        (compare("=", None), NOTHING),
        (compare("<=>", None), EVERYTHING),
        (compare("=", 3, OTHER), EVERYTHING),
        (compare(">", 2.5, kind="double"), EVERYTHING),
        (In(VERSION, tuple(Literal(each, "long") for each in (7, None, 3))), Interval(3, 7)),
        (In(VERSION, (Literal(None, "long"),)), NOTHING),
        (In(OTHER, (Literal(1, "long"),)), EVERYTHING),
        (And(()), EVERYTHING),
        (And((compare(">=", 2), Unknown(), compare("<", 9), IsNotNull(VERSION))), Interval(2, 8)),
        (And((compare(">", 5), compare("<", 5))), Interval(6, 4)),
        (Or((compare("=", 2), compare("=", 9))), Interval(2, 9)),
        (Or((compare("=", 2), Unknown())), EVERYTHING),
        (Or((Boolean(value=False), compare("=", 2))), Interval(2, 2)),
        (Or(()), NOTHING),
        (Not(compare("=", 3)), EVERYTHING),
        (Boolean(value=True), EVERYTHING),
        (Boolean(value=None), NOTHING),
    ],
)
def test_an_interval_is_what_the_comparisons_leave(predicate, interval):
    assert interval_of(predicate, ("version",)) == interval


COMPARISONS = st.builds(compare, st.sampled_from(["=", "<", "<=", ">", ">=", "<=>"]), st.integers(-5, 5))
PREDICATES = st.recursive(
    COMPARISONS,
    lambda inner: st.lists(inner, min_size=1, max_size=3).flatmap(lambda c: st.sampled_from([And(tuple(c)), Or(tuple(c))])),
)
TESTS = {
    "=": int.__eq__,
    "<=>": int.__eq__,
    "<": int.__lt__,
    "<=": int.__le__,
    ">": int.__gt__,
    ">=": int.__ge__,
}


def is_true(predicate, value):
    match predicate:
        case And(children):
            return reduce(lambda all_, each: all_ and is_true(each, value), children, True)
        case Or(children):
            return any(is_true(each, value) for each in children)
    return TESTS[predicate.op](value, predicate.literal.value)


@given(PREDICATES, st.integers(-7, 7))
def test_no_value_that_a_predicate_keeps_is_outside(predicate, value):
    found = interval_of(predicate, ("version",))
    inside = (found.first is None or found.first <= value) and (found.last is None or value <= found.last)
    assert inside or not is_true(predicate, value)
