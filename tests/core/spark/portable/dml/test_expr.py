# SPDX-License-Identifier: Apache-2.0
"""What bayou knows of an expression of a Connect session without asking the server."""

from __future__ import annotations

import pytest

from bayou.plan.predicates.predicate import Unknown
from bayou.protocol.types.schema import StructField, StructType
from bayou.spark.portable.dml.expr import PortableExpr, Scope

SCHEMA = StructType((StructField("id", "long"), StructField("Part", "string"), StructField("s", "string")))
UNREADABLE = "id === 1"


def expr(text, name=()):
    return PortableExpr.of(text, Scope(SCHEMA, name, {}))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("id = 1", ["id = 1"]),
        ("id = 1 and (s = 'and' or s = 'b')  -- why", ["id = 1", "s = 'and' or s = 'b'"]),
        ("(id = 1 and part = 'x') and s is null", ["id = 1", "part = 'x'", "s is null"]),
        ("id = 1 or s = 'x' and id = 2", ["id = 1 or s = 'x' and id = 2"]),
        ("id between 1 and 2 and s = 'x'", ["id between 1 and 2", "s = 'x'"]),
        (UNREADABLE, [UNREADABLE]),
    ],
)
def test_conjuncts_are_parts_of_the_text(text, parts):
    assert [part.sql for part in expr(text).conjuncts] == parts


@pytest.mark.parametrize(
    ("text", "names"),
    [("t.id = 1 and PART = 'x'", {"id", "PART"}), ("s like 'a%'", {"s"}), ("1 = 1", set()), (UNREADABLE, set(SCHEMA.names))],
)
def test_names_are_those_of_the_columns(text, names):
    assert expr(text, ("t",)).names == names


@pytest.mark.parametrize(
    ("text", "is_steady"),
    [
        ("id + length(s) = 3", True),
        ("rand() < 0.5", False),
        ("mine(id)", False),
        ("now() > s", False),
        ("current_time > s", False),
        (UNREADABLE, False),
    ],
)
def test_only_known_functions_are_steady(text, is_steady):
    found = expr(text)
    assert (found.is_steady, found.needs_query, found.calls_foreign_code) == (is_steady, not is_steady, not is_steady)


@pytest.mark.parametrize(
    ("text", "has_subquery"),
    [("id in (select 1)", True), ("id in (1, 2)", False), ("s = 'select'", False), (f"{UNREADABLE} and x in (Select 1)", True)],
)
def test_subqueries_are_found(text, has_subquery):
    assert expr(text).has_subquery == has_subquery


def test_what_cannot_be_read_prunes_nothing():
    assert expr(UNREADABLE).predicate(SCHEMA) == Unknown()


@pytest.mark.parametrize(("text", "value"), [("true", True), ("FALSE", False), ("1 = 1", None), ("null", None)])
def test_literals_of_a_boolean_are_known(text, value):
    assert expr(text).literal is value
