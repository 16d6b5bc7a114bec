# SPDX-License-Identifier: Apache-2.0
"""Find the subqueries of expressions in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import Subquery, UnreadableTextError, all_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping


def queries_in(text: str, settings: Mapping[str, str]) -> list[Subquery]:
    """Return the outermost subqueries of an expression in SQL; none if bayou cannot read it."""
    try:
        tree = read_expression(text, Dialect.of(settings))
    except UnreadableTextError:
        return []
    return [each for each in all_nodes(tree) if isinstance(each, Subquery)]


def behind(with_clause: str, text: str, settings: Mapping[str, str]) -> str:
    """Return an expression in SQL each of whose subqueries begins with a WITH clause of the statement."""
    for query in sorted(queries_in(text, settings), key=lambda query: -query.start):
        start, end = text.index("(", query.start) + 1, query.end - 1
        text = f"{text[:start]}{query_behind(with_clause, text[start:end])}{text[end:]}"
    return text


def query_behind(with_clause: str | None, query: str) -> str:
    """Return a query that begins with a WITH clause of its statement, if there is one. It keeps a WITH clause of its own.

    Spark takes only one WITH clause in a row: the other one must be in parentheses.
    """
    if with_clause is None:
        return query
    found = words(query)
    own = bool(found) and found[0].text.upper() == "WITH"
    return f"{with_clause} (\n{query}\n)" if own else f"{with_clause} {query}"  # a comment may end the query
