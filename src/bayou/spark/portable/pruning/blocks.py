# SPDX-License-Identifier: Apache-2.0
"""Find the conditions on the tables of a query in SQL: the WHERE of the block that has a table in its FROM, and those of its joins.

A block is what has one SELECT. What is not read with certainty, such as TABLESAMPLE or LATERAL VIEW, leaves its block without
conditions.

Source: `fromClause`, `relation`, `joinRelation` and `relationPrimary` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError
from bayou.spark.portable.pruning.certain import certain_parts, in_session
from bayou.spark.portable.pruning.conditions import Condition
from bayou.spark.portable.pruning.scopes import Scope
from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.queries import AFTER_TABLES, Part, QueryReader
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from bayou.protocol.types.schema import StructType
    from bayou.spark.text.words import Word

_AFTER_BLOCK: Final = frozenset(
    {"GROUP", "HAVING", "ORDER", "UNION", "EXCEPT", "MINUS", "INTERSECT", "WINDOW", "LIMIT", "OFFSET", "CLUSTER", "DISTRIBUTE"}
    | {"SORT", "QUALIFY", ")", "|>", ";", ""}
)
"""The words that may follow the FROM and the WHERE of a block; an empty one is the end."""
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


@dataclass(slots=True)
class BlockTable:
    """A table, or other rows, in the FROM of a block.

    Attributes:
        start: where its name begins in the text; None for other rows, and for a table with other names for its columns.
        alias: the name that may stand in front of its columns; None without one.
        conditions: the conditions that each of its rows satisfies, or that the query loses nothing by.
        hidden: the columns, in lower case, that a USING takes from another table.
        is_kept: whether the conditions that follow apply to its rows: no outer join has put NULLs in their place.
        is_alone: whether it is all that the FROM has.
    """

    start: int | None
    alias: str | None = None
    conditions: list[Part] = field(default_factory=list)
    hidden: set[str] = field(default_factory=set)
    is_kept: bool = True
    is_alone: bool = True


@dataclass(frozen=True, slots=True)
class TextConditions:
    """The conditions on a table in a SQL text. See `Conditions`.

    Attributes:
        table: the table in its block.
        alias: the name that the table has, also without an alias.
        filled: returns a part of the text with literals in place of parameters.
    """

    table: BlockTable
    alias: str | None
    filled: Callable[[int, int], str]

    def on(self, schema: StructType, settings: Callable[[], Mapping[str, str]]) -> list[Condition]:
        """Return the conditions. Those that bayou does not understand are left out."""
        scope = Scope.of(schema, self.alias, settings)
        if not self.table.is_alone:
            scope = scope.with_other_side(hidden=self.table.hidden)
        found = []
        for part in self.table.conditions:
            try:
                text = self.filled(part.start, part.end)
                parts, _ = certain_parts(in_session(partial(read_expression, text), settings))
            except (UnreadableTextError, DeltaError):
                continue
            found += [Condition(each, scope) for each in parts]
        return found


def blocks_in(text: str, words: Sequence[Word], places: Iterable[int]) -> dict[int, BlockTable]:
    """Return the tables of blocks, by where their names begin.

    Args:
        text: the text.
        words: its words.
        places: where the words FROM of its blocks begin.
    """
    found: dict[int, BlockTable] = {}
    for place in places:
        reader = _BlockReader(text, words, place)
        try:
            tables = reader.block()
        except (UnreadableTextError, RecursionError):
            continue
        found |= {each.start: each for each in tables if each.start is not None and each.conditions}
    return found


class _BlockReader(QueryReader):
    """A cursor that reads one FROM and the WHERE after it."""

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
            if self.subquery() is None:
                self.expect("(")
                found = self._tables()
                self.expect(")")
                return found
            return [self._aliased(None)]
        if self.next_is("VALUES"):
            self.fail("rows of values")
        table = self.table()
        return [self._aliased(None if table is None else table.start)]

    def _aliased(self, start: int | None) -> BlockTable:
        """Read the alias of a table, and return the table."""
        is_named = self.take("AS") or (self.is_name() and self.said() not in AFTER_TABLES)
        if not is_named:
            return BlockTable(start)
        alias = self.part()
        if not self.next_is("("):
            return BlockTable(start, alias)
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
