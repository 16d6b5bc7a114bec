# SPDX-License-Identifier: Apache-2.0
"""The facts of expressions. A test with a session compares them with Spark's parser."""

from __future__ import annotations

from tests.support.cases import in_one_test

from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import conjuncts, facts_of, parsed_text
from bayou.spark.text.parsed_expression import ParsedExpression


def facts(text):
    return facts_of(read_expression(text), text)


def test_columns_functions_and_what_is_forbidden_are_found():
    text = "abs(a.b) > c or transform(d, x -> x + e) is null or (select 1) > :p or f"
    columns = frozenset({("a", "b"), ("c",), ("d",), ("e",), ("f",)})
    forbidden = ("a subquery", "a parameter")
    assert parsed_text(text) == ParsedExpression(text, frozenset({"abs", "transform"}), columns, forbidden, has_lambda=True)


@in_one_test(
    ("text", "subquery", "window", "aggregate", "deterministic"),
    [
        ("a + 1", False, False, False, True),
        ("a in (select 1)", True, False, False, True),
        ("sum(a) over (order by b)", False, True, True, True),
        ("max(a)", False, False, True, True),
        ("rand() > 1", False, False, False, False),
        ("a < uuid()", False, False, False, False),
        ("system.builtin.random() > 1", False, False, False, False),
        ("current_date > a", False, False, False, True),
    ],
)
def test_the_kinds_of_expressions_are_told_apart(text, subquery, window, aggregate, deterministic):
    found = facts(text)
    assert (found.has_subquery, found.has_window, found.has_aggregate) == (subquery, window, aggregate)
    assert found.is_deterministic is deterministic


def test_conjuncts_are_those_at_any_depth():
    text = "a and (b and (c or d)) and not (e and f)"
    assert [text[each.start : each.end] for each in conjuncts(read_expression(text))] == ["a", "b", "c or d", "not (e and f)"]
