# SPDX-License-Identifier: Apache-2.0
"""Expressions become trees, or UnreadableTextError. A test with a session compares them with Spark's parser."""

from __future__ import annotations

import contextlib
from decimal import Decimal

import pytest
from tests.core.spark.portable.text.expression_texts import READABLE, VALUES
from tests.support.cases import in_one_test

from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.tree import (
    Call,
    Case,
    Cast,
    Field,
    Item,
    Lambda,
    Literal,
    Name,
    Operation,
    Subquery,
    UnreadableTextError,
    VariantPath,
    all_nodes,
)

A, B, ONE = Name(("a",)), Name(("b",)), Literal(1, "integer")

TREES = {
    "a or b and not a = 1": Operation("or", (A, Operation("and", (B, Operation("not", (Operation("=", (A, ONE)),)))))),
    "a and b and 1": Operation("and", (A, B, ONE)),
    "- a * 1": Operation("*", (Operation("negative", (A,)), ONE)),
    "a + -1": Operation("+", (A, Literal(-1, "integer"))),
    "a not between 1 and b": Operation("not", (Operation("between", (A, ONE, B)),)),
    "a in (1, b)": Operation("in", (A, ONE, B)),
    "a in (select 1)": Operation("in", (A, Subquery("select 1", "list"))),
    "exists (select (1))": Subquery("select (1)", "exists"),
    "exists(a, b -> b)": Call(("exists",), (A, Lambda(("b",), B))),
    "((select 1) union select 2)": Subquery("(select 1) union select 2"),
    "a like 'x' escape '/'": Operation("like", (A, Literal("x", "string"), Literal("/", "string"))),
    "a::int": Cast(A, "int"),
    "try_cast(a as array<map<int, decimal(3, 1)>>)": Cast(A, "array<map<int, decimal(3, 1)>>", "try_cast"),
    "case a when 1 then b end": Case(A, ((ONE, B),), None),
    "a.`b c`[1].d": Field(Item(Name(("a", "b c")), ONE), "d"),
    "a:b[0].c": VariantPath(A, "b[0].c"),
    "date '2024-01-31'": Literal("2024-01-31", "date"),
    "x'1f0'": Literal(b"\x01\xf0", "binary"),
    "-1.50": Literal(Decimal("-1.50"), "decimal(3,2)"),
    "1e2": Literal(100.0, "double"),
    "9223372036854775808": Literal(Decimal(9223372036854775808), "decimal(19,0)"),
    "-128Y": Literal(-128, "byte"),
    "'it''s' ' \\n'": Literal("it's \n", "string"),
    "interval 1 day + a": Operation("+", (Literal("interval 1 day", "interval"), A)),
    "null is not null": Operation("not", (Operation("is null", (Literal(None, "void"),)),)),
}


@in_one_test(("text", "tree"), list(TREES.items()))
def test_a_text_becomes_a_tree(text, tree):
    assert read_expression(text) == tree


@in_one_test("text", READABLE + VALUES)
def test_each_node_knows_its_place(text):
    root = read_expression(text)
    assert (root.start, root.end) == (0, len(text))
    for node in all_nodes(root):
        assert 0 <= node.start < node.end <= len(text)
        if isinstance(node, Name):
            assert read_expression(text[node.start : node.end]) == node


@in_one_test(
    "text",
    [
        *("", "a b", "a +", "+", "a as b", "(a", "a)", "a, b", "(a as b)", "a = ", "select 1", "and a", "a between 1", "a in ()"),
        *("a is 1", "a not = 1", "a not", "f(a", "f(a b)", "a.", "a..b", "a.1", "case when a end", "cast(a)", "cast(a as)", "128Y"),
        *(
            "'not closed",
            "a /* not closed",
            "1 2",
            "foo 'x'",
            "interval 'x' parsec 1",
            "a[1",
            "f(x =>)",
            "a like",
            "$$a$$",
            "a @ b",
            "`a",
        ),
        *("9" * 39, r"'\ud800'", "a; b", "identifier('a').b.c d", "array<int>", "x -> ", "*,", "not", "::int", "a::array<int"),
    ],
)
def test_other_texts_are_not_read(text):
    with pytest.raises(UnreadableTextError):
        read_expression(text)


@pytest.mark.parametrize("text", ["(" * 10_000 + "a" + ")" * 10_000, "not " * 20_000 + "a", "- " * 5_000 + "a", "f(" * 3_000])
def test_a_deep_nesting_is_an_error_or_is_read(text):
    with contextlib.suppress(UnreadableTextError):
        read_expression(text)


def test_long_chains_are_read():
    assert len(read_expression(" or ".join(["a = 1"] * 5_000)).operands) == 5_000
    assert sum(1 for _ in all_nodes(read_expression(" + ".join(["a"] * 5_000)))) == 9_999


def test_the_dialect_decides_what_quotes_and_escapes_mean():
    assert read_expression('"a""b"', Dialect(double_quoted_names=True)) == Name(('a"b',))
    assert read_expression(r"'\n'", Dialect(escapes=False)) == Literal(r"\n", "string")
    assert read_expression("'a''b'", Dialect(doubled_quotes=False)) == Literal("ab", "string")
    assert read_expression("1e2", Dialect(decimal_exponents=True)).type == "decimal(3,0)"


def test_the_dialect_is_that_of_the_sessions_settings():
    assert Dialect.of({}) == Dialect()
    settings = {"spark.sql.ansi.doubleQuotedIdentifiers": "true", "spark.sql.parser.escapedStringLiterals": "true"}
    assert Dialect.of(settings) == Dialect(double_quoted_names=True, escapes=False)
    assert not Dialect.of({**settings, "spark.sql.ansi.enabled": "false"}).double_quoted_names
