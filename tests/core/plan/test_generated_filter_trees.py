# SPDX-License-Identifier: Apache-2.0
"""Filters of several parts on a generated partition column never lose a row, however they are put together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.core.plan.generated_partitions import OPERATORS, STAMP, leaf, rules_for, truth

from bayou.plan.generated.filters import derived_filter
from bayou.plan.predicates.predicate import And, Column, In, IsNull, Literal, Or
from bayou.protocol.types.instants import MICROS_PER_DAY

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
