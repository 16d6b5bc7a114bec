# SPDX-License-Identifier: Apache-2.0
"""DESCRIBE as a subquery: which text means the same, and where a place of it is in what was written."""

from __future__ import annotations

import pytest
from tests.support.cases import in_one_test
from tests.support.spark_words import words

from bayou.errors import SqlSyntaxError
from bayou.spark.native.sql.functions.described import described_queries, place_before, replaced


def changed(text):
    return replaced(text, list(described_queries(text, words(text))))


@in_one_test(
    ("text", "same"),
    [
        ("select * from (describe history t)", "select * from (SELECT * FROM table_history('t'))"),
        ("select * from ( DESC History a.`b c` LIMIT 3 ) h", "select * from ( SELECT * FROM table_history('a.`b c`', 3)) h"),
        ("select 1 in (desc detail '/a b')", "select 1 in (SELECT * FROM table_detail('/a b'))"),
        ("with h as (describe detail delta.`/p`) table h", "with h as (SELECT * FROM table_detail('delta.`/p`')) table h"),
        ("table (describe history identifier(:t || 'x'))", "table (SELECT * FROM table_history(:t || 'x'))"),
        (
            "((describe detail t)) union (desc history u)",
            "((SELECT * FROM table_detail('t'))) union (SELECT * FROM table_history('u'))",
        ),
        ("select * from (describe /* ) */ history -- (\n t)", "select * from (SELECT * FROM table_history('t'))"),
        ("(describe history `it's`)", "(SELECT * FROM table_history(decode(X'606974277360', 'UTF-8')))"),
        ("select * from (describe history)", "select * from (describe history)"),
        ("describe history t", "describe history t"),
        ("select '(describe history t)'", "select '(describe history t)'"),
        ("select (describe table t)", "select (describe table t)"),
    ],
)
def test_a_subquery_becomes_a_call_and_the_rest_stays(text, same):
    assert changed(text) == same


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("select * from (describe history t where x)", "where"),
        ("select * from (describe detail t limit 3)", "limit"),
        ("select * from (describe history t limit x)", "x)"),
    ],
)
def test_what_a_description_cannot_have_is_refused_where_it_stands(text, place):
    with pytest.raises(SqlSyntaxError) as caught:
        changed(text)
    assert caught.value.position == text.index(place)


def test_a_place_behind_a_call_is_the_one_that_was_written():
    text = "select (desc history t), 'x', (describe detail a.b) y"
    queries = list(described_queries(text, words(text)))
    same = replaced(text, queries)
    for part in ("select", "'x'", "y"):
        found = same.rindex(part) if part == "y" else same.index(part)
        assert text[place_before(queries, found) :].startswith(part)
    assert place_before(queries, same.index("table_history")) == text.index("desc history")
    assert place_before(queries, same.index("table_detail")) == text.index("describe detail")
    assert place_before(queries, len(same)) == len(text)
