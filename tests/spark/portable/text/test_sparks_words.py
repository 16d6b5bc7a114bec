# SPDX-License-Identifier: Apache-2.0
"""The words of SQL text in Python are those of Spark's own lexer."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from tests.support.sources import FILES

from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations.parser import words_of
from bayou.spark.portable.text.tokens import words

_PIECES = re.findall(
    r"\S+",
    r"""
'a' 'it''s' 'a\'b' "x""y" r'a\' R"b" `a``b` ` ' " 12 1.5 1. .. .5 1e5 1e+5 1.5e-3 1.5F 1BD 1e3d 12L 3s 4y abc a1 1a _x é ñu ²
/* /*b*/ /*+ */ /*/ --c -- <=> <> != !> !< < > >> >>> array map< struct< array<array<int>> :: : a:b :p ? -> => | || |> & ^ ~ % @ @v1
s3://b/c-d.e?x=1&y#z%20 file:///tmp/x a1://b x'1F' X \ # ( ) [ ] , . ; * + - / = ==
SELECT 1.5x 2.3_ a.1 t.1a 1e 1e+ 12.e5 中文 😀x ⅷ
""",
)
_BETWEEN = ["", "", " ", "\n", "\t", "\r\n", "\u00a0", "\u2003", "\\\n"]


@pytest.fixture(scope="module")
def jvm(spark):
    return Jvm.of(spark)


def assert_same(jvm, text):
    """Assert that both lexers find the same words at the same places, and that the kinds are the same but for keywords."""
    ours, sparks = words(text), words_of(jvm, text)
    assert [(each.text, each.start, each.end) for each in ours] == [(each.text, each.start, each.end) for each in sparks], text
    for our, spark in zip(ours, sparks, strict=True):
        keyword = our.kind == "IDENTIFIER" and spark.text.isascii() and spark.is_name
        assert our.kind == spark.kind or keyword, (text, our, spark)
        assert (our.is_name, our.is_string) == (spark.is_name, spark.is_string), (text, our, spark)


def test_random_texts_have_the_same_words(jvm):
    chosen = random.Random(7)
    texts = ["".join(chosen.choice(_PIECES) + chosen.choice(_BETWEEN) for _ in range(chosen.randint(1, 40))) for _ in range(300)]
    for text in texts:
        assert_same(jvm, text)


def test_the_sources_have_the_same_words_and_so_have_their_statements(jvm):
    """Sources of Python are no SQL, but have strings, comments and signs in all combinations, and statements among them."""
    for file in FILES[::10]:
        assert_same(jvm, file.read_text().replace("$", ""))
    for file in Path(__file__).parents[3].joinpath("core/spark/sql/statements/fixtures").iterdir():
        for line in file.read_text().splitlines():
            assert_same(jvm, line.replace("$", ""))
