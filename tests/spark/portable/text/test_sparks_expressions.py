# SPDX-License-Identifier: Apache-2.0
"""Expressions that Python reads are those that Spark's own parser reads."""

from __future__ import annotations

import random

from tests.core.spark.portable.text.expression_texts import READABLE, VALUES
from tests.support.cases import in_one_test

from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.parser import parsed, string_value
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.facts import parsed_text
from bayou.spark.portable.text.tree import Call, Case, Cast, Item, Lambda, Operation, all_nodes

_PARTS = frozenset(
    {"sortorder", "specifiedwindowframe", "unspecifiedframe", "windowspecdefinition", "currentrow", "currentrow$", ""}
)
"""Nodes of Spark's parser for parts of a call, which are not functions."""
_SYNTAX = frozenset({"timestampadd", "timestampdiff", "position", "trim", "ltrim", "rtrim", "extract"})
"""Functions that Spark's parser replaces by nodes without a function's name if they are called with a syntax of their own."""
_LEAVES = ["a", "b.c", "1", "-2", "'x'", "1.5", "date '2020-01-01'", "f(a)", "null", "true", "`d e`", "a[0]", "cast(a as int)"]
_BETWEEN = [
    *(
        "=",
        "==",
        "<>",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "<=>",
        "+",
        "-",
        "*",
        "/",
        "%",
        "div",
        "||",
        "&",
        "|",
        "^",
        "<<",
        ">>",
        "and",
        "or",
    ),
    *("and not", "or not", "- -", "+ ~", "= -", "is distinct from"),
]
_AFTER = [
    "is null",
    "is not null",
    "in (1, a)",
    "not in (1)",
    "like 'x'",
    "not rlike a",
    "between 1 and b",
    "is true",
    "::int",
    ".x",
    "[b]",
]


@in_one_test("text", READABLE)
def test_the_facts_are_those_of_sparks_parser(spark, text):
    ours, sparks = parsed_text(text), parsed(Jvm.of(spark), java_session(spark), text)
    named = sparks.functions - _PARTS
    assert named <= ours.functions <= named | _SYNTAX
    assert set(ours.forbidden) == set(sparks.forbidden)
    assert ours.has_lambda == sparks.has_lambda
    if any(isinstance(node, Lambda) for node in all_nodes(read_expression(text))):
        assert ours.columns >= sparks.columns
    else:
        assert ours.columns == sparks.columns


def test_the_values_of_strings_are_sparks(spark):
    for text in VALUES:
        assert read_expression(text).value == string_value(java_session(spark), text), text


def bracketed(node, text):  # noqa: PLR0911  (one return for each kind of node)
    """The text of a tree with parentheses around all its parts."""
    match node:
        case Operation(operator, operands):
            first, *others = (bracketed(each, text) for each in operands)
            match operator:
                case "not" | "negative" | "positive" | "~":
                    return f"({ {'negative': '-', 'positive': '+'}.get(operator, operator) } {first})"
                case "in":
                    return f"({first} in ({', '.join(others)}))"
                case "between":
                    return f"({first} between {others[0]} and {others[1]})"
                case "and" | "or":
                    return f"({f' {operator} '.join([first, *others])})"
                case _:
                    return f"({' '.join([first, operator, *others])})"
        case Item(child, key):
            return f"{bracketed(child, text)}[{bracketed(key, text)}]"
        case Cast(child, kind) if "::" in text[node.start : node.end]:
            return f"({bracketed(child, text)}::{kind})"
        case Case() | Call():
            return text[node.start : node.end]
        case _:
            return f"({text[node.start : node.end]})"


def shown(parser, text):
    """An expression as Spark reads it."""
    return parser.parseExpression(text).toString().replace("isnotnull(", "NOT isnull(")


def test_operators_bind_as_in_spark(spark):
    """Spark must read a text and the same text with parentheses, as our tree has them, in the same way."""
    parser = java_session(spark).sessionState().sqlParser()
    chosen, read = random.Random(5), 0
    for _ in range(400):
        parts = []
        for _ in range(chosen.randint(2, 7)):
            after = chosen.choice(_AFTER) if chosen.random() < 0.3 else ""
            parts += [chosen.choice(_LEAVES) + ("" if after[:1] in (":", ".", "[", "") else " ") + after, chosen.choice(_BETWEEN)]
        text = ("not " if chosen.random() < 0.2 else "") + " ".join(parts[:-1])
        try:
            tree = read_expression(text)
        except ValueError:
            continue
        read += 1
        assert shown(parser, bracketed(tree, text)) == shown(parser, text), text
    assert read > 100
