# SPDX-License-Identifier: Apache-2.0
"""Find the clauses CLUSTER BY and INSERT ... REPLACE, which only newer Spark versions parse, and blank them out of statements.

Every Spark version parses the rest. `sql.older_parsers` adds the clause to the plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.spark.sql.statements.reader import TableReference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Self

    from bayou.spark.sql.statements.reader import Reader

_QUERIES: Final = ("SELECT", "VALUES", "WITH", "FROM", "TABLE", "MAP", "REDUCE")
"""The first words of a query."""
_QUOTED: Final = re.compile(r"`[^`]*`")


def without(text: str, places: Iterable[tuple[int, int]]) -> str:
    """Replace some ranges of a statement by blanks. Keep line breaks, so that the positions in Spark's errors remain correct."""
    for start, end in places:
        text = text[:start] + "".join(each if each == "\n" else " " for each in text[start:end]) + text[end:]
    return text


@dataclass(frozen=True, slots=True)
class ClusteredCreation:
    """`{CREATE [OR REPLACE] | REPLACE} TABLE ... CLUSTER BY (column, ...) [AS query]`.

    Attributes:
        columns: the columns of CLUSTER BY.
        place: where the clause begins and ends.
        provider: the format after USING; None without USING.
    """

    table: TableReference
    columns: tuple[str, ...]
    place: tuple[int, int]
    provider: str | None = None

    @classmethod
    def read(cls, reader: Reader) -> Self | None:
        """Parse a statement, or return None for any other statement and for one without CLUSTER BY."""
        begins = (("CREATE", "OR", "REPLACE", "TABLE"), ("CREATE", "TABLE"), ("REPLACE", "TABLE"))
        if not reader.has("CLUSTER") or not any(reader.take(*words) for words in begins):
            return None
        reader.take("IF", "NOT", "EXISTS")
        table, provider = reader.named_table(), None
        columns: tuple[str, ...] = ()
        place = (0, 0)
        while not reader.is_at_end and not any(map(reader.next_is, ("AS", *_QUERIES))):
            start = reader.position
            if reader.next_is("CLUSTER", "BY", "("):
                if columns:
                    raise reader.error("Found duplicate clauses: CLUSTER BY. Please, remove one of them", "DUPLICATE_CLAUSES")
                reader.expect("CLUSTER", "BY")
                columns, place = reader.names(), (start, reader.end_of_read)
            elif reader.take("USING"):
                provider = reader.name()
            else:
                reader.skip()
        return cls(table, columns, place, provider) if columns else None


@dataclass(frozen=True, slots=True)
class Query:
    """A possible query of an INSERT: a position at which it may begin.

    Attributes:
        start: the position.
        alias: the alias after a query in parentheses, or None.
        alias_place: where the alias begins and ends.
    """

    start: int
    alias: str | None = None
    alias_place: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class ReplacingStatement:
    """`[WITH ...] INSERT INTO table [AS alias] [BY NAME] REPLACE {USING (column, ...) | ON condition} query`.

    Attributes:
        place: where REPLACE begins, and where the columns of USING end or the condition of ON begins.
        queries: the possible queries. Only Spark's parser can decide where a condition ends and the query begins.
        columns: the columns of USING; None for ON.
        alias: the table's alias, or None.
        alias_place: where the alias begins and ends.
    """

    table: TableReference
    place: tuple[int, int]
    queries: tuple[Query, ...]
    columns: tuple[str, ...] | None = None
    alias: str | None = None
    alias_place: tuple[int, int] = (0, 0)

    @classmethod
    def read(cls, reader: Reader) -> Self | None:
        """Parse a statement, or return None for any other statement and for one without REPLACE USING or REPLACE ON."""
        if not reader.has("REPLACE"):
            return None
        if reader.take("WITH"):
            while not reader.is_at_end and not reader.next_is("INSERT"):
                reader.skip()
        if not reader.take("INSERT", "INTO"):
            return None
        reader.take("TABLE")
        table = reader.named_table()
        alias, alias_place = _alias(reader)
        start = reader.position
        if reader.take("REPLACE", "USING"):
            columns = _columns(reader)
            return cls(table, (start, reader.end_of_read), (_query(reader),), columns, alias, alias_place)
        if not reader.take("REPLACE", "ON"):
            return None
        return cls(table, (start, reader.position), _queries(reader), None, alias, alias_place)


def _alias(reader: Reader) -> tuple[str | None, tuple[int, int]]:
    """Parse the words between the table and REPLACE, and return the table's alias and its position."""
    alias, start, place = None, reader.position, (0, 0)
    reader.take("AS")
    if reader.next_is_name and not any(map(reader.next_is, ("BY", "REPLACE", "WITH"))):
        alias, place = reader.name(), (start, reader.end_of_read)
    reader.take("BY", "NAME")
    return alias, place


def _columns(reader: Reader) -> tuple[str, ...]:
    """Parse the columns of USING. Raise SqlSyntaxError if one is a field of a struct."""
    if not reader.next_is("("):
        raise reader.error()
    start, columns = reader.copied(), reader.names()
    if any("." in _QUOTED.sub("", each) for each in columns):
        raise start.error("REPLACE USING takes columns, and no fields of structs")
    return columns


def _queries(reader: Reader) -> tuple[Query, ...]:
    """Return every possible query after the condition of ON. Raise SqlSyntaxError without any."""
    queries: list[Query] = []
    reader.skip()
    while not reader.is_at_end:
        if any(map(reader.next_is, ("(", *_QUERIES))):
            queries.append(_query(reader.copied()))
        reader.skip()
    if not queries:
        raise reader.error()
    return tuple(queries)


def _query(reader: Reader) -> Query:
    """Return the query that starts at the cursor, with its alias if it is in parentheses and the alias ends the statement."""
    start = reader.position
    if not reader.next_is("("):
        return Query(start)
    reader.skip()
    place = reader.position
    reader.take("AS")
    if not reader.next_is_name:
        return Query(start)
    alias = reader.name()
    return Query(start, alias, (place, reader.end_of_read)) if reader.is_at_end else Query(start)
