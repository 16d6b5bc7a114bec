# SPDX-License-Identifier: Apache-2.0
"""What the source's keys say of the table: as predicates, since that is what files are skipped by."""

from __future__ import annotations

import pytest

from bayou.plan.predicates.predicate import And, Boolean, Column, Comparison, In, IsNull, Literal, Or, Unknown
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.dml.keys.key_conditions import Key, KeyValues, condition_of
from bayou.spark.expressions.predicates import by_logical_name, from_catalyst

SCHEMA = StructType(tuple(StructField(kind, kind) for kind in ("integer", "long", "string", "double", "date", "timestamp")))


def key(kind, column=None, *, null_safe=False):
    name = column or kind
    nodes = [{"class": "x.AttributeReference", "num-children": 0, "name": name, "dataType": name}]
    if kind != name:
        nodes.insert(0, {"class": "x.Cast", "num-children": 1, "dataType": kind})
    return Key(nodes, kind, null_safe, is_partition=False)


def predicate(key, values):
    text = condition_of(key, values)
    return None if text is None else from_catalyst([text], by_logical_name(SCHEMA))


def within(name, low, high, kind=None):
    return And(tuple(Comparison(op, Column((name,)), Literal(each, kind or name)) for op, each in ((">=", low), ("<=", high))))


@pytest.mark.parametrize(
    ("kind", "texts", "values"),
    [
        ("long", ("3", "7"), (3, 7)),
        ("string", ("a", "b"), ("a", "b")),
        ("date", ("1", "2"), (1, 2)),
        ("timestamp", ("1", "2"), (1, 2)),
    ],
)
def test_the_least_and_the_greatest_value_bound_the_column(kind, texts, values):
    assert predicate(key(kind), KeyValues(*texts, has_null=False)) == within(kind, *values)


def test_a_key_that_was_widened_for_the_comparison_bounds_the_narrower_column():
    assert predicate(key("long", "integer"), KeyValues("3", "7", has_null=False)) == within("integer", 3, 7, "long")


def test_a_key_whose_cast_changes_values_says_nothing():
    found = predicate(key("string", "long"), KeyValues("3", "7", has_null=False))
    assert found == And((Unknown(), Unknown()))


def test_few_values_are_told_one_by_one():
    found = predicate(key("long"), KeyValues("3", "7", False, ["3", "7"]))
    assert found == In(Column(("long",)), (Literal(3, "long"), Literal(7, "long")))


def test_null_matches_where_the_condition_says_so():
    only = KeyValues(None, None, has_null=True)
    assert predicate(key("long"), only) == Boolean(value=False)
    assert predicate(key("long", null_safe=True), only) == IsNull(Column(("long",)))
    both = predicate(key("long", null_safe=True), KeyValues("3", "7", has_null=True))
    assert both == Or((within("long", 3, 7), IsNull(Column(("long",)))))
    assert predicate(key("long"), KeyValues("3", "7", has_null=True)) == within("long", 3, 7)


def test_nan_bounds_nothing_from_above():
    found = predicate(key("double"), KeyValues("1.5", "NaN", has_null=False))
    assert found == Comparison(">=", Column(("double",)), Literal(1.5, "double"))
    assert predicate(key("double"), KeyValues("NaN", "NaN", has_null=False)) is None
    assert predicate(key("double"), KeyValues("1.5", "NaN", False, ["1.5", "NaN"])) == found


def test_types_whose_values_cannot_be_told_are_no_keys():
    assert [key(kind, "long").is_supported for kind in ("binary", "timestamp_ntz", "interval day")] == [False] * 3
    assert key("decimal(10,2)", "long").is_supported
