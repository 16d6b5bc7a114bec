# SPDX-License-Identifier: Apache-2.0
"""The words of SQL text without a JVM. A test with a session compares them with those of Spark's lexer."""

from __future__ import annotations

import pytest
from tests.support.cases import in_one_test

from bayou.spark.portable.text.tokens import words


@in_one_test(
    ("text", "found"),
    [
        ("select a.`b``c` from t", ["select", "a", ".", "`b``c`", "from", "t"]),
        (r"""'a\'b' "c\"d" 'it''s' r'\' R"x" 'a' 'b'""", [r"'a\'b'", r'"c\"d"', "'it''s'", r"r'\'", 'R"x"', "'a'", "'b'"]),
        (
            "1 1.5 .5 2. 1e5 1.5E-3 7L 7s 7Y 1.5F 2d 3BD",
            ["1", "1.5", ".5", "2.", "1e5", "1.5E-3", "7L", "7s", "7Y", "1.5F", "2d", "3BD"],
        ),
        ("1.5x a.1 1a 2.3_", ["1", ".", "5x", "a", ".1", "1a", "2", ".", "3_"]),
        ("a -- b\nc -- d\\\n e\nf --", ["a", "c", "f"]),
        ("a /* b /* c */ d */ e /* + */ /*+ hint */", ["a", "e", "/*+", "hint", "*/"]),
        ("a <=> b <> c != d !> e >= f == g", ["a", "<=>", "b", "<>", "c", "!=", "d", "!>", "e", ">=", "f", "==", "g"]),
        ("a::int -> => || |> >> >>> :p ?", ["a", "::", "int", "->", "=>", "||", "|>", ">>", ">>>", ":", "p", "?"]),
        ("array<array<int>> a >> b", ["array", "<", "array", "<", "int", ">", ">", "a", ">>", "b"]),
        ("s3://b/c-d.e f://", ["s3", ":", "/", "/", "b", "/", "c", "-", "d", ".", "e", "f", ":", "/", "/"]),
        ("file:///a/b-c.d?x=1 f", ["file:///a/b-c.d?x=1", "f"]),
        ("é\u00a0ñ1 a²", ["é", "ñ1", "a", "²"]),
        ("t@v12", ["t", "@v", "12"]),
        ("as $$ select from t $$ x", ["as", "$$ select from t $$", "x"]),
        ("'not closed", ["'", "not", "closed"]),
        ("a /* not /* closed */", []),
        ("", []),
    ],
)
def test_a_text_is_split_into_words(text, found):
    assert [each.text for each in words(text)] == found


def test_each_word_knows_its_place():
    text = "select  `a` -- b\n, 'é'"
    assert [(each.start, each.end) for each in words(text)] == [(0, 6), (8, 11), (17, 18), (19, 22)]
    assert all(text[each.start : each.end] == each.text for each in words(text))


@pytest.mark.parametrize("text", ["(" * 30_000, "a " * 30_000, "/*" * 50_000, "'" * 100_001, "1" * 100_000, "$" * 5_000])
def test_long_texts_are_split_quickly(text):
    assert len(words(text)) <= len(text)
