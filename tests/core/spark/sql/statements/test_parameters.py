# SPDX-License-Identifier: Apache-2.0
"""Parameters in statements: where they stand, and the places of a text in which their values stand."""

from __future__ import annotations

import pytest
from tests.support.spark_words import words

from bayou.spark.sql.statements.parameters import FilledText, parameters_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("vacuum t retain :n hours", [":n"]),
        ("optimize identifier(:t) where p = :p", [":t", ":p"]),
        ("describe history ? limit ?", ["?", "?"]),
        ("vacuum :`a b` -- :c\n retain :n hours", [":a b", ":n"]),
        ("vacuum ':n' retain 5 hours", []),
        ("optimize t where v:price = 1", []),
        ("optimize t where f(v):price = 1 and a[0]:x = :y", [":y"]),
        ("optimize t where a::int = 1", []),
        ("vacuum t retain :", []),
    ],
)
def test_parameters_are_found(text, found):
    assert [each.text for each in parameters_in(words(text))] == found


def test_each_place_is_one_of_the_written_text():
    written = "vacuum :t retain :n hours dry run"
    parameters = parameters_in(words(written))
    filled = FilledText.of(written, parameters, ("'/a/long/path'", "5"))
    assert filled.text == "vacuum '/a/long/path' retain 5 hours dry run"
    for word in ("vacuum", "retain", "hours", "dry", "run"):
        assert filled.place(filled.text.index(word)) == written.index(word)
    assert filled.place(filled.text.index("long")) == written.index(":t")
    assert filled.place(filled.text.index("5")) == written.index(":n")
    assert filled.place(len(filled.text)) == len(written)
