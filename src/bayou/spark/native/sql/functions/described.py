# SPDX-License-Identifier: Apache-2.0
"""Replace the subqueries `(DESCRIBE HISTORY t)` and `(DESCRIBE DETAIL t)` by calls of functions that return the same rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.protocol.types.sql_text import string_sql
from bayou.spark.jvm.core.session import active_session, java_session
from bayou.spark.jvm.relations.parser import substituted, words_of, wrong_place
from bayou.spark.native.session.jvm import jvm_of
from bayou.spark.sql.statements.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bayou.spark.session.application import Application
    from bayou.spark.sql.statements.reader import TableReference
    from bayou.spark.text.words import Word

_MENTIONED: Final = re.compile(r"\bdesc(?:ribe)?\b.*?\b(?:history|detail)\b", re.IGNORECASE | re.DOTALL)
_FUNCTIONS: Final = {"HISTORY": "table_history", "DETAIL": "table_detail"}


@dataclass(frozen=True, slots=True)
class DescribedQuery:
    """A DESCRIBE in parentheses.

    Attributes:
        start: where it begins, after the opening parenthesis.
        end: where it ends, before the closing parenthesis.
        call: the equivalent query.
    """

    start: int
    end: int
    call: str


def described_queries(text: str, words: Sequence[Word]) -> Iterator[DescribedQuery]:
    """Yield the DESCRIBE HISTORY and DESCRIBE DETAIL in parentheses, from left to right."""
    for place in range(len(words) - 3):
        parenthesis, describe, kind, first = (each.text.upper() for each in words[place : place + 4])
        if parenthesis != "(" or describe not in ("DESCRIBE", "DESC") or kind not in _FUNCTIONS or first == ")":
            continue
        reader = Reader(text, words[place + 3 :])
        table = _argument(reader.table())
        limit = f", {reader.integer()}" if kind == "HISTORY" and reader.take("LIMIT") else ""
        end = reader.position
        reader.expect(")")
        yield DescribedQuery(words[place + 1].start, end, f"SELECT * FROM {_FUNCTIONS[kind]}({table}{limit})")  # noqa: S608  (quoted)


def replaced(text: str, queries: Sequence[DescribedQuery]) -> str:
    """Return a statement with its DESCRIBE subqueries replaced by calls."""
    parts, at = [], 0
    for query in queries:
        parts += [text[at : query.start], query.call]
        at = query.end
    return "".join([*parts, text[at:]])


def place_before(queries: Sequence[DescribedQuery], place: int) -> int:
    """Map a position in the replaced statement to the original one. A position inside a call maps to the start of its DESCRIBE."""
    shift = 0
    for query in queries:
        start = query.start + shift
        if place < start:
            break
        if place < start + len(query.call):
            return query.start
        shift += len(query.call) - (query.end - query.start)
    return place - shift


class DescribedQueries:
    """Rewrites statements with DESCRIBE subqueries, which Spark's parser refuses, into statements that it parses."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def of_text(self, text: str) -> str | None:
        """Return a statement with its DESCRIBE subqueries replaced, or None if it has none.

        Raises:
            SqlSyntaxError: Spark's parser refuses the rewritten statement as well. The error shows the position in the user's text.
        """
        if not _MENTIONED.search(text):
            return None
        jvm = jvm_of(self._application)
        text = substituted(jvm, text)
        words = words_of(jvm, text)
        queries = list(described_queries(text, words))
        if not queries:
            return None
        rewritten = replaced(text, queries)
        place = wrong_place(jvm, java_session(active_session(jvm)), rewritten)
        if place is None:
            return rewritten
        place = place_before(queries, place)
        raise Reader(text, [each for each in words if each.start >= place]).error()


def _argument(table: TableReference) -> str:
    if table.name is not None:
        return string_sql(table.name)
    return table.path or table.computed or ""
