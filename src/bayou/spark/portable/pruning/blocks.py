# SPDX-License-Identifier: Apache-2.0
"""Find the conditions on the tables of a query in SQL: the WHERE of the block that has a table in its FROM, and those of its joins.

A block is what has one SELECT. What is not read with certainty, such as TABLESAMPLE or LATERAL VIEW, leaves its block without
conditions. The rows of a block may be a table of another one: of a subquery, or of a WITH clause that is used once. Its conditions
then apply to the rows below, if the inner block only selects columns.

Source: `fromClause`, `relation`, `joinRelation` and `relationPrimary` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bayou.spark.portable.text.queries import AFTER_TABLES, Part, QueryReader
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bayou.spark.text.words import Word

_AFTER_BLOCK: Final = frozenset(
    {"GROUP", "HAVING", "ORDER", "UNION", "EXCEPT", "MINUS", "INTERSECT", "WINDOW", "LIMIT", "OFFSET", "CLUSTER", "DISTRIBUTE"}
    | {"SORT", "QUALIFY", ")", "|>", ";", ""}
)
"""The words that may follow the FROM and the WHERE of a block; an empty one is the end."""
_ENDS: Final = frozenset({")", ";", ""})
"""Those of these words after which the rows of a block are those of its query."""
_BEFORE_ITEMS: Final = frozenset({"DISTINCT", "ALL", "TRANSFORM", "MAP", "REDUCE", "/*+"})
"""Words behind SELECT that do not begin a column."""
_KINDS: Final = {
    ("JOIN",): "inner",
    ("INNER", "JOIN"): "inner",
    ("CROSS", "JOIN"): "inner",
    ("LEFT", "JOIN"): "left",
    ("LEFT", "OUTER", "JOIN"): "left",
    ("RIGHT", "JOIN"): "right",
    ("RIGHT", "OUTER", "JOIN"): "right",
    ("FULL", "JOIN"): "full",
    ("FULL", "OUTER", "JOIN"): "full",
    ("LEFT", "SEMI", "JOIN"): "semi",
    ("SEMI", "JOIN"): "semi",
    ("LEFT", "ANTI", "JOIN"): "anti",
    ("ANTI", "JOIN"): "anti",
}
_KEEPS_LEFT: Final = ("inner", "left", "semi", "anti")
_KEEPS_RIGHT: Final = ("inner", "right")
_MEETS_LEFT: Final = ("inner", "right", "semi")
_MEETS_RIGHT: Final = ("inner", "left", "semi", "anti")
"""The joins whose result lacks all rows of a side that do not satisfy the condition of the join, or does not depend on them."""


@dataclass(slots=True, eq=False)
class Block:
    """What has one SELECT.

    Attributes:
        items: what it selects; None if it may do more than to select columns of the rows that its conditions leave.
        outer: the table of another block that has its rows; None without one, and if several tables have them.
        is_top: whether its rows are those of the whole text.
    """

    items: list[Part] | None = None
    outer: BlockTable | None = None
    is_top: bool = False


@dataclass(slots=True, eq=False)
class BlockTable:
    """A table, or other rows, in the FROM of a block.

    Attributes:
        start: where its name begins in the text; None for other rows, and for a table with other names for its columns.
        alias: the name that may stand in front of its columns; None without one.
        query: where the query begins whose rows it has; None for a table.
        block: the block.
        conditions: the conditions that each of its rows satisfies, or that the query loses nothing by.
        hidden: the columns, in lower case, that a USING takes from another table.
        is_kept: whether the conditions that follow apply to its rows: no outer join has put NULLs in their place.
        is_alone: whether it is all that the FROM has.
    """

    start: int | None
    alias: str | None = None
    query: int | None = None
    block: Block = field(default_factory=Block)
    conditions: list[Part] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    is_kept: bool = True
    is_alone: bool = True


def blocks_in(text: str, words: Sequence[Word], query: QueryReader) -> dict[int, BlockTable]:
    """Return the tables of blocks, by where their names begin.

    Args:
        text: the text.
        words: its words.
        query: the query in the text, after it was read.
    """
    blocks: dict[int, tuple[Block, list[BlockTable]]] = {}
    for place in query.blocks:
        reader = _BlockReader(text, words, place)
        try:
            tables = reader.block()
        except (UnreadableTextError, RecursionError):
            continue
        block = Block()
        for each in tables:
            each.block = block
        blocks[place] = block, tables
        if reader.said() in _ENDS:
            selects = [select for select, after in query.selections.values() if after == place]
            block.items = _items(text, words, selects[0], place) if selects else None
    found = [each for _, tables in blocks.values() for each in tables]
    _link(query, {place: block for place, (block, _) in blocks.items()}, found)
    return {each.start: each for each in found if each.start is not None}


def _link(query: QueryReader, blocks: dict[int, Block], tables: Sequence[BlockTable]) -> None:
    """Take note of which tables the rows of blocks are."""
    outer = {each.query: each for each in tables if each.query is not None}
    by_start = {each.start: each for each in tables}
    names, used = [name for name, _ in query.definitions], list(query.uses.values())
    for name, begin in query.definitions:
        if names.count(name) == 1 and used.count(name) == 1:
            table = by_start.get(next(start for start, each in query.uses.items() if each == name))
            if table is not None and begin is not None:
                table.alias = table.alias or name
                outer[begin] = table
    first = query.words[0].start if query.words else None
    for begin, (_, place) in query.selections.items():
        block = blocks.get(place)
        if block is not None:
            block.outer, block.is_top = outer.get(begin), begin == first


def _items(text: str, words: Sequence[Word], select: int, place: int) -> list[Part] | None:
    """Return what a block selects between its SELECT and its FROM; None if bayou cannot read it."""
    try:
        return _BlockReader(text, words, select).items(place)
    except (UnreadableTextError, RecursionError):
        return None


class _BlockReader(QueryReader):
    """A cursor that reads what one block selects, or one FROM and the WHERE after it."""

    def __init__(self, text: str, words: Sequence[Word], place: int) -> None:
        super().__init__(text)
        self.words = list(words)
        self.at = next(number for number, word in enumerate(words) if word.start == place)

    def block(self) -> list[BlockTable]:
        """Read the FROM and the WHERE, and return the tables."""
        self.expect("FROM")
        found = self._tables()
        if self.take("WHERE"):
            condition = self._condition()
            _meet(found, condition)
        if self.said() not in _AFTER_BLOCK:
            self.fail()
        for each in found:
            each.is_alone = len(found) == 1
        return found

    def items(self, end: int) -> list[Part]:
        """Read the SELECT and what it selects, up to a place."""
        self.expect("SELECT")
        if self.said() in _BEFORE_ITEMS:
            self.fail("more than a selection")
        # Otherwise FROM could be an alias.
        self.words = [word for word in self.words if word.start < end]
        found = []
        while True:
            start = self.position
            self.maybe_named()
            found.append(self.part_of(start))
            if not self.take(","):
                break
        self.end()
        return found

    def _tables(self) -> list[BlockTable]:
        """Read relations with commas between them."""
        found = self._relation()
        while self.take(","):
            found += self._relation()
        return found

    def _relation(self) -> list[BlockTable]:
        """Read a relation with what is joined to it."""
        left = self._primary()
        while (kind := self._join()) is not None:
            right = self._primary()
            if self.take("ON"):
                condition = self._condition()
                _meet(left if kind in _MEETS_LEFT else [], condition)
                _meet(right if kind in _MEETS_RIGHT else [], condition)
            elif self.take("USING"):
                names = {name.lower() for name in self.listed_names()}
                for each in left if kind == "right" else right:
                    each.hidden |= names
            for each in left:
                each.is_kept = each.is_kept and kind in _KEEPS_LEFT
            for each in right:
                each.is_kept = each.is_kept and kind in _KEEPS_RIGHT
            left += right
        return left

    def _join(self) -> str | None:
        for said, kind in _KINDS.items():
            if self.take(*said):
                return kind
        return None

    def _primary(self) -> list[BlockTable]:
        """Read a table, a query, a function, or relations in parentheses."""
        self.take("LATERAL")
        if self.next_is("("):
            inner = self.peek(1)
            if self.subquery() is None:
                self.expect("(")
                found = self._tables()
                self.expect(")")
                return found
            return [self._aliased(None, None if inner is None else inner.start)]
        if self.next_is("VALUES"):
            self.fail("rows of values")
        table = self.table()
        return [self._aliased(None if table is None else table.start)]

    def _aliased(self, start: int | None, query: int | None = None) -> BlockTable:
        """Read the alias of a table, and return the table."""
        is_named = self.take("AS") or (self.is_name() and self.said() not in AFTER_TABLES)
        if not is_named:
            return BlockTable(start, query=query)
        alias = self.part()
        if not self.next_is("("):
            return BlockTable(start, alias, query)
        self.skip_brackets()
        return BlockTable(None, alias)

    def _condition(self) -> Part:
        start = self.position
        self.expression()
        return self.part_of(start)


def _meet(tables: Iterable[BlockTable], condition: Part) -> None:
    for each in tables:
        if each.is_kept:
            each.conditions.append(condition)
