# SPDX-License-Identifier: Apache-2.0
"""There is one list of the words that statements begin by."""

from __future__ import annotations

from bayou.spark.sql.statements.beginnings import BEGINNINGS, as_lines
from bayou.spark.sql.statements.kinds import STATEMENTS


def test_each_statement_begins_as_the_list_says():
    for kind in STATEMENTS:
        assert kind.begins is BEGINNINGS[kind.__name__]


def test_beginnings_are_plain_words():
    for line in as_lines().split("\n"):
        words, _, mentioned = line.partition(" ... ")
        assert line.isupper()
        assert all(word.isalpha() for word in [*words.split(" "), *([mentioned] if mentioned else [])])
        assert len(words.split(" ")) <= 5  # bayou.Beginnings reads no more
