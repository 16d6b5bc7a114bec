# SPDX-License-Identifier: Apache-2.0
"""The queries of a statement begin with its WITH clause, also if they have one of their own."""

from __future__ import annotations

import pytest

from bayou.spark.portable.text.subqueries import behind, query_behind

QUERIES = {
    "SELECT 1": "WITH a SELECT 1",
    "WITH b AS (SELECT 2) SELECT 1 -- c": "WITH a (\nWITH b AS (SELECT 2) SELECT 1 -- c\n)",
    "/* c */ with b AS (SELECT 2) SELECT 1": "WITH a (\n/* c */ with b AS (SELECT 2) SELECT 1\n)",
    "(WITH b AS (SELECT 2) SELECT 1)": "WITH a (WITH b AS (SELECT 2) SELECT 1)",
}
EXPRESSIONS = {
    "x IN (SELECT 1) AND y": "x IN (WITH a SELECT 1) AND y",
    "(x) IN (WITH b AS (SELECT 2) SELECT 1)": "(x) IN (WITH a (\nWITH b AS (SELECT 2) SELECT 1\n))",
    "EXISTS (WITH b AS (SELECT 2) SELECT 1) OR x = (SELECT 3)": (
        "EXISTS (WITH a (\nWITH b AS (SELECT 2) SELECT 1\n)) OR x = (WITH a SELECT 3)"
    ),
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_query(query):
    assert query_behind("WITH a", query) == QUERIES[query]
    assert query_behind(None, query) == query


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_the_queries_in_an_expression(text):
    assert behind("WITH a", text, {}) == EXPRESSIONS[text]
