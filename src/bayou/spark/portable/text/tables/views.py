# SPDX-License-Identifier: Apache-2.0
"""Read the statements that keep a query under a name for a session: CREATE TEMPORARY VIEW, and CACHE TABLE with a query.

Source: `createView` and `cacheTable` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bayou.spark.portable.text.queries import Part
from bayou.spark.portable.text.tables.reader import TableReader
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.spark.portable.text.literals import Dialect


@dataclass(frozen=True, slots=True)
class TemporaryView:
    """A query, or a table by its path, under a name.

    Attributes:
        name: the view's name.
        query: the query; for a table, its columns and their types, or an empty text.
        columns: the names of its columns with their comments; none to keep those of the query.
        replaces: whether it may replace a view.
        is_global: whether other sessions see it.
        caches: whether the server keeps its rows, from the first query that reads them on if it is lazy.
        level: the name of the storage level.
        reads_delta: whether it reads a Delta table by path.
        options: the options of the reader of a table; None for a query.
    """

    name: str
    query: Part
    columns: tuple[tuple[str, str | None], ...] = ()
    replaces: bool = False
    is_global: bool = False
    caches: bool = False
    is_lazy: bool = False
    level: str | None = None
    reads_delta: bool = False
    options: Mapping[str, str] | None = field(default=None, repr=False)


def temporary_view(text: str, dialect: Dialect | None = None) -> TemporaryView | None:
    """Return the parts of a statement; None for any other statement, and for one that bayou cannot read."""
    try:
        reader = _Reader(text, dialect)
        while reader.words and reader.words[-1].text == ";":
            reader.words.pop()
        found = reader.view()
        if found is not None:
            reader.end()
    except (UnreadableTextError, RecursionError):
        return None
    return found


class _Reader(TableReader):
    """A cursor over one of these statements."""

    def view(self) -> TemporaryView | None:
        """Read the statement; None if it is another one."""
        if self.take("CACHE", "TABLE"):
            return self._cached(is_lazy=False)
        if self.take("CACHE", "LAZY", "TABLE"):
            return self._cached(is_lazy=True)
        if not self.take("CREATE"):
            return None
        replaces = self.take("OR", "REPLACE")
        is_global = self.take("GLOBAL")
        if not self.take_one("TEMPORARY", "TEMP") or not self.take("VIEW"):
            return None
        parts = self.parts()
        if len(parts) > 1:
            self.fail("a temporary view in a database")
        at, begin = self.at, self.position
        if self.next_is("("):
            self.skip_brackets()
        types = self.part_of(begin) if self.at > at else Part("", begin, begin)
        if self.take("USING"):
            return self._of_table(TemporaryView(parts[0], types, replaces=replaces, is_global=is_global, reads_delta=True))
        self.at = at
        columns = self._columns() if self.next_is("(") else ()
        self.comment()
        if self.take("TBLPROPERTIES"):
            self.properties()
        self.expect("AS")
        query = self.rest()
        return TemporaryView(parts[0], query, columns, replaces, is_global, reads_delta=self._reads_delta())

    def _of_table(self, view: TemporaryView) -> TemporaryView | None:
        if self.part().lower() != "delta":
            return None
        return replace(view, options=self.properties() if self.take("OPTIONS") else {})

    def _cached(self, *, is_lazy: bool) -> TemporaryView | None:
        parts = self.parts()
        options = {key.lower(): value for key, value in (self.properties() if self.take("OPTIONS") else {}).items()}
        if self.is_at_end or len(parts) > 1:
            return None
        self.take("AS")
        query, level = self.rest(), options.get("storagelevel")
        return TemporaryView(parts[0], query, caches=True, is_lazy=is_lazy, level=level, reads_delta=self._reads_delta())

    def _columns(self) -> tuple[tuple[str, str | None], ...]:
        self.expect("(")
        found = [(self.part(), self.comment())]
        while self.take(","):
            found.append((self.part(), self.comment()))
        self.expect(")")
        return tuple(found)

    def _reads_delta(self) -> bool:
        return any(table.path is not None for table in self.tables)
