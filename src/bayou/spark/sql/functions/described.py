# SPDX-License-Identifier: Apache-2.0
"""`(DESCRIBE HISTORY t)` and `(DESCRIBE DETAIL t)` as subqueries: each means a call of the function that has the same rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.protocol.types.sql_text import string_sql
from bayou.spark.jvm.core.session import active_session, java_session
from bayou.spark.jvm.relations.parser import substituted, words_of, wrong_place
from bayou.spark.sql.statements.reader import Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bayou.spark.jvm.relations.words import Word
    from bayou.spark.session.application import Application
    from bayou.spark.sql.statements.reader import TableReference

_MENTIONED: Final = re.compile(r"\bdesc(?:ribe)?\b.*?\b(?:history|detail)\b", re.IGNORECASE | re.DOTALL)
_FUNCTIONS: Final = {"HISTORY": "table_history", "DETAIL": "table_detail"}


@dataclass(frozen=True, slots=True)
class DescribedQuery:
    """A DESCRIBE between parentheses.

    Attributes:
        start: where it begins, behind the parenthesis.
        end: where it ends, before the parenthesis.
        call: the query that means the same.
    """

    start: int
    end: int
    call: str


def described_queries(text: str, words: Sequence[Word]) -> Iterator[DescribedQuery]:
    """The DESCRIBE HISTORY and DESCRIBE DETAIL of a text that stand between parentheses, from the left to the right.

    Raises:
        SqlSyntaxError: one begins like these, and goes on otherwise.
    """
    for place in range(len(words) - 3):
        opened, describe, kind, first = (each.text.upper() for each in words[place : place + 4])
        if opened != "(" or describe not in ("DESCRIBE", "DESC") or kind not in _FUNCTIONS or first == ")":
            continue
        reader = Reader(text, words[place + 3 :])
        table = _argument(reader.table())
        limit = f", {reader.integer()}" if kind == "HISTORY" and reader.take("LIMIT") else ""
        end = reader.position
        reader.expect(")")
        yield DescribedQuery(words[place + 1].start, end, f"SELECT * FROM {_FUNCTIONS[kind]}({table}{limit})")  # noqa: S608  (quoted)


def replaced(text: str, queries: Sequence[DescribedQuery]) -> str:
    """A text with the calls in the place of what is described."""
    parts, at = [], 0
    for query in queries:
        parts += [text[at : query.start], query.call]
        at = query.end
    return "".join([*parts, text[at:]])


def place_before(queries: Sequence[DescribedQuery], place: int) -> int:
    """Where a place of the replaced text is in the text itself; the begin of the DESCRIBE for a place inside of a call.

    Args:
        place: the place, counted from the begin of the text.
    """
    moved = 0
    for query in queries:
        start = query.start + moved
        if place < start:
            break
        if place < start + len(query.call):
            return query.start
        moved += len(query.call) - (query.end - query.start)
    return place - moved


class DescribedQueries:
    """Gives Spark's parser texts that it knows, for one application."""

    def __init__(self, application: Application) -> None:
        self._application = application

    def of_text(self, text: str) -> str | None:
        """The text that means the same as one that Spark's parser refused because of such a subquery; None if it has none.

        Raises:
            SqlSyntaxError: the text is wrong elsewhere.
        """
        if not _MENTIONED.search(text):
            return None
        jvm = self._application.jvm
        text = substituted(jvm, text)
        words = words_of(jvm, text)
        queries = list(described_queries(text, words))
        if not queries:
            return None
        found = replaced(text, queries)
        place = wrong_place(jvm, java_session(active_session(jvm)), found)
        if place is None:
            return found
        place = place_before(queries, place)
        raise Reader(text, [each for each in words if each.start >= place]).error()


def _argument(table: TableReference) -> str:
    """What a statement names its table by, as an argument of a function."""
    if table.name is not None:
        return string_sql(table.name)
    return table.path or table.computed or ""
