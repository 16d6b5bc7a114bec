# SPDX-License-Identifier: Apache-2.0
"""Find the tables that a query in SQL reads, with their places in the text, so that others can be put in their place.

Source: `query`, `relation` and `relationPrimary` in Spark's grammar `SqlBaseParser.g4`. Only as much of a query is read as it takes
to distinguish tables from other names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from typing import Literal as OneOf

from bayou.spark.portable.text.cursor import KEYWORDS
from bayou.spark.portable.text.expressions import ExpressionReader
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bayou.spark.portable.text.literals import Dialect

_ENDS_OF_FROM: Final = frozenset(
    {"WHERE", "GROUP", "HAVING", "ORDER", "SELECT", "UNION", "EXCEPT", "MINUS", "INTERSECT", "WINDOW", "LIMIT", "OFFSET"}
    | {"CLUSTER", "DISTRIBUTE", "SORT", "|>"}
)
"""Words after which commas do not separate tables."""
_WITH_BY: Final = frozenset({"GROUP", "ORDER", "CLUSTER", "DISTRIBUTE", "SORT"})
"""Words of these that are followed by BY."""
_BEFORE_COLUMNS: Final = frozenset(
    {"SELECT", "DISTINCT", ",", "AS", "=", "+", "-", "/", "<", ">", "AND", "OR", "NOT", "WHERE", "ON", "BY"}
)
"""Words after which FROM is a column of that name."""
_AFTER_COLUMN: Final = frozenset({"FROM", ",", ".", ")", "AS", "=", "<", ">", "+", "-", "*", "/", "IS", "IN", "AND", "OR", ""})
"""Words after a column, and hardly after NOT."""
_BEFORE_NAME: Final = frozenset({"SELECT", "DISTINCT", "AS", ","})
_SIGNS: Final = frozenset({"=", "==", "<=>", "<>", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "[", "::"})
"""Operators with which no table begins."""
_SET_OPERATORS: Final = frozenset({"UNION", "EXCEPT", "MINUS", "INTERSECT"})
AFTER_TABLES: Final = frozenset(
    {"ANTI", "CLUSTER", "CROSS", "DISTRIBUTE", "EXCEPT", "FULL", "GROUP", "HAVING", "INNER", "INTERSECT", "JOIN", "LATERAL"}
    | {"LEFT", "LIMIT", "MINUS", "NATURAL", "OFFSET", "ON", "ORDER", "PIVOT", "QUALIFY", "RIGHT", "SEMI", "SET", "SORT"}
    | {"TABLESAMPLE", "UNION", "UNPIVOT", "USING", "WHEN", "WHERE", "WINDOW"}
)
"""The words that may follow a table without an alias."""
_STATEMENTS: Final = frozenset({"INSERT", "DELETE", "UPDATE", "MERGE"})


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text, with its place."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TimeTravel:
    """The clause of a table that names a version or a time.

    Attributes:
        kind: what it names.
        value: the version as it is written, or the expression of the time.
    """

    kind: OneOf["version", "timestamp"]
    value: Part


@dataclass(frozen=True, slots=True)
class TableReference:
    """A table in a statement.

    Attributes:
        parts: the parts of its name without quotes; none if the name is computed.
        start: where the name begins.
        end: where the name, its clause of time travel and its options end. The alias comes after that.
        travel: the clause of time travel; None without one.
        options: the text in the parentheses of WITH (...); None without one.
        computed: the expression in IDENTIFIER(...); None for a name.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    travel: TimeTravel | None = None
    options: Part | None = None
    computed: Part | None = None

    @property
    def path(self) -> str | None:
        """The path in a name such as delta.`/path`, which a version or a time may end; None for other names."""
        return path_of(self.parts)


def path_of(parts: tuple[str, ...]) -> str | None:
    """Return the path in the parts of a name such as delta.`/path`; None for a name of the catalog.

    A name without `/` is that of a table in the database `delta`.
    """
    parts = parts[1:] if parts[:1] and parts[0].lower() == "spark_catalog" else parts
    is_path = len(parts) == len(("delta", "path")) and parts[0].lower() == "delta" and "/" in parts[1]
    return parts[1] if is_path else None


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call of a function after FROM or JOIN.

    Attributes:
        name: its name in lower case.
        arguments: what is in its parentheses.
        start: where the name begins.
        end: where the parentheses end.
    """

    name: str
    arguments: Part
    start: int
    end: int


def tables_in(
    text: str,
    *,
    place: tuple[int, int] | None = None,
    is_query: bool = True,
    without: Iterable[str] = (),
    dialect: Dialect | None = None,
) -> list[TableReference]:
    """Return the tables that a query, or the subqueries in an expression, read, in the order of the text.

    A name that a WITH clause defines is not a table where it is known. A temporary view looks like a table.

    Args:
        text: a string that contains the query.
        place: where the query begins and ends in the text; None for the whole text. Places in the result refer to the whole text.
        is_query: whether the place has a query; otherwise it consists of expressions.
        without: names that are not tables, such as those that an outer WITH clause defines.
        dialect: the settings that decide what the text means; None for Spark's defaults.

    Raises:
        UnreadableTextError: it is not certain which names are tables.
    """
    scan = read_query(text, place=place, is_query=is_query, without=without, dialect=dialect)
    return sorted(scan.tables, key=lambda table: table.start)


def read_query(
    text: str,
    *,
    place: tuple[int, int] | None = None,
    is_query: bool = True,
    without: Iterable[str] = (),
    dialect: Dialect | None = None,
) -> QueryReader:
    """Read a query, or the subqueries in an expression: see `tables_in`. The result has the tables and the calls of functions."""
    scan = QueryReader(text, dialect)
    start, end = place or (0, len(text))
    scan.words = [word for word in scan.words if start <= word.start and word.end <= end]
    while scan.words and scan.words[-1].text == ";":
        scan.words.pop()
    names = frozenset(name.lower() for name in without)
    try:
        scan.query(names) if is_query else scan.expressions(names)
    except RecursionError:
        raise UnreadableTextError("a query that is nested too deeply") from None
    scan.end()
    return scan


class QueryReader(ExpressionReader):
    """A cursor that reads queries, and collects the tables and the functions in place of tables in them."""

    tables: list[TableReference]
    calls: list[FunctionCall]
    blocks: list[int]
    """Where the words FROM begin that follow a SELECT, and belong to it."""
    selections: dict[int, tuple[int, int]]
    """Of queries that begin with SELECT, maybe behind a WITH clause: where its SELECT and the next FROM are, by where it begins."""
    definitions: list[tuple[str, int | None]]
    """The names that WITH clauses define, in lower case, and where their queries begin; None if the rows have other columns."""
    uses: dict[int, str]
    """The names of WITH clauses that stand for tables, in lower case, by where they begin."""

    def __init__(self, text: str, dialect: Dialect | None = None) -> None:
        """Start at the first word."""
        super().__init__(text, dialect)
        self.tables = []
        self.calls = []
        self.blocks = []
        self.selections = {}
        self.definitions = []
        self.uses = {}

    def part_of(self, start: int) -> Part:
        """Return the part of the text from a place to the end of the last word that was read."""
        return Part(self.text[start : self.end_of_read], start, self.end_of_read)

    def query(self, known: frozenset[str]) -> None:
        """Read a query up to the parenthesis that closes it, or to the end.

        Args:
            known: the names that WITH clauses define, in lower case.
        """
        begin = self.position
        known = self.with_clause(known)
        select = self.position if self.next_is("SELECT") else None
        is_first, in_from, has_arguments = True, False, self.next_is("TABLE")
        follows_select = False
        while not self.is_at_end and not self.next_is(")"):
            said = "" if self.said(-1) == "." or self._names_column() else self.said()
            if said == "SELECT":
                self._column_after_select()
            if (said in _STATEMENTS and is_first) or (said == "INSERT" and self.said(1) in ("INTO", "OVERWRITE")):
                self.fail("a statement in place of a query")
            follows_select = follows_select or said == "SELECT"
            begins = is_first or self._follows_set_operator() or (has_arguments and self.said(-1) == ",")
            if said == "TABLE" and begins and (self._names_table() or (has_arguments and self.said(1) == "(")):
                self._table(known)
            elif (said == "FROM" and not self._is_distinct_from()) or (said == "JOIN" and not is_first):
                if not is_first and self._is_column():
                    self.fail("a column with the name of a keyword")
                if said == "FROM" and follows_select and not self._follows_set_operator():
                    self.blocks.append(self.position)
                    if select is not None:
                        self.selections.setdefault(begin, (select, self.position))
                self.at += 1
                self.relation(known)
                in_from = said == "FROM" or in_from
            elif in_from and said == ",":
                self.at += 1
                self.relation(known)
            else:
                in_from = in_from and not self._ends_from(said)
                self._any(known)
            is_first = False

    def _column_after_select(self) -> None:
        """Pass over SELECT if the next word is a keyword that names a column."""
        if self.said(1) in KEYWORDS and not self._is_expression(1):
            if not self._names_column(1):
                self.fail("a column with the name of a keyword")
            self.at += 1

    def expressions(self, known: frozenset[str]) -> None:
        """Read expressions up to the parenthesis that closes them, or to the end."""
        while not self.is_at_end and not self.next_is(")"):
            is_argument = self.said(-1) in ("(", ",", "=>") and self.next_is("TABLE")
            if is_argument and (self._names_table() or self.said(1) == "("):
                self._table(known)
            else:
                self._any(known)

    def with_clause(self, known: frozenset[str]) -> frozenset[str]:
        """Read a WITH clause if it comes next, and return the known names with those that it defines."""
        if not self.next_is("WITH"):
            return known
        self.at += 1
        is_recursive = self.said(1) not in ("AS", "(") and self.take("RECURSIVE")
        while True:
            name, has_columns = self.part().lower(), False
            if self.next_is("("):
                at = self.at
                self.skip_brackets()
                has_columns = self.next_is("AS") or self.next_is("(") or self.next_is("MAX")
                if not has_columns:
                    self.at = at  # the query itself, without AS
            if self.take("MAX", "RECURSION", "LEVEL"):
                self.next_word()
            self.take("AS")
            self.expect("(")
            self.definitions.append((name, None if is_recursive or has_columns else self.position))
            self.query(known | {name} if is_recursive else known)
            self.expect(")")
            known |= {name}
            if not self.take(","):
                return known

    def relation(self, known: frozenset[str]) -> None:
        """Read a table, a query or a function after FROM, JOIN or a comma, without what may follow it."""
        self.take("LATERAL")
        if self.next_is("("):
            if self._opens_query():
                self.expect("(")
                self.query(known)
            else:
                self.expect("(")
                self.relation(known)
                self._joined(known)
            self.expect(")")
        elif self.next_is("VALUES") and self.said(1) not in (".", ",", ")"):
            self.at += 1
            if self.is_name():
                self.fail("a row of a name, or a table with the name of a keyword")
            start = self.at
            self.listed()
            self._again(start, known)
        elif self.next_is("STREAM") and (self.is_name(1) or self.said(1) == "("):
            self.fail("a stream in a query")
        else:
            self.table(known)

    def table(self, known: frozenset[str] = frozenset(), *, may_call: bool = True) -> TableReference | None:
        """Read the name of a table with its clauses. Return None for a known name and for a function.

        Args:
            known: the names that WITH clauses define, in lower case.
            may_call: whether a name before a parenthesis is a function.
        """
        start = self.position
        if self.take("IDENTIFIER", "("):
            begin = self.position
            self.expressions(known)
            computed = self.part_of(begin)
            self.expect(")")
            return self._referenced((), start, known, computed)
        if self.said() in KEYWORDS:
            self.fail("a table with the name of a keyword")
        parts = self.parts()
        if may_call and self.next_is("("):
            begin = self.position
            self._group(known)
            arguments = Part(self.text[begin + 1 : self.end_of_read - 1], begin + 1, self.end_of_read - 1)
            self.calls.append(FunctionCall(".".join(parts).lower(), arguments, start, self.end_of_read))
            return None
        if len(parts) == 1 and parts[0].lower() in known:
            self.uses[start] = parts[0].lower()
            return None
        return self._referenced(parts, start, known)

    def _referenced(
        self, parts: tuple[str, ...], start: int, known: frozenset[str], computed: Part | None = None
    ) -> TableReference:
        travel, options = self._travel(known), None
        if self.next_is("WITH", "("):
            self.at += 1
            begin = self.position
            self.skip_brackets()
            options = Part(self.text[begin + 1 : self.end_of_read - 1], begin + 1, self.end_of_read - 1)
        if self.next_is("CHANGES") and self.said(1) in ("FROM", "(", "BETWEEN", "SINCE"):
            self.fail("the changes of a table in a query")
        found = TableReference(parts, start, self.end_of_read, travel, options, computed)
        self.tables.append(found)
        return found

    def _travel(self, known: frozenset[str]) -> TimeTravel | None:
        at = self.at
        if self.take("@V"):
            start = self.position
            if not self.said().isdecimal():
                self.fail()
            self.next_word()
            return TimeTravel("version", self.part_of(start))
        if self.next_is("@"):
            self.fail("a time after @ without quotes")
        self.take("FOR")
        kind = self.take_one("SYSTEM_VERSION", "VERSION", "SYSTEM_TIME", "TIMESTAMP")
        if kind is None or not self.take("AS", "OF"):
            self.at = at
            return None
        start, at = self.position, self.at
        if kind.endswith("VERSION"):
            if self.is_string():
                self.string()
            elif self.take(":"):  # a parameter
                self.part()
            else:
                self.next_word()
            return TimeTravel("version", self.part_of(start))
        self.value()
        self._again(at, known)
        return TimeTravel("timestamp", self.part_of(start))

    def _table(self, known: frozenset[str]) -> None:
        """Read TABLE with a name or a query."""
        self.expect("TABLE")
        if not self.next_is("("):
            self.table(known)
        elif self._opens_query():
            self._group(known)
        else:
            self.expect("(")
            self.table(known)
            self.expect(")")

    def _joined(self, known: frozenset[str]) -> None:
        """Read what follows the first table in parentheses."""
        while not self.is_at_end and not self.next_is(")"):
            if self.take("JOIN") or self.take(","):
                self.relation(known)
            else:
                self._any(known)

    def _any(self, known: frozenset[str]) -> None:
        """Read a word, what is in parentheses, or a hint."""
        if self.next_is("("):
            self._group(known)
        elif self.take("/*+"):
            while not self.take("*/"):
                self.next_word()
        elif self.next_is(";"):
            self.fail("several statements")
        else:
            self.next_word()

    def _group(self, known: frozenset[str]) -> None:
        """Read a query or expressions in parentheses."""
        is_query = self._opens_query()
        self.expect("(")
        if is_query:
            self.query(known)
        else:
            self.expressions(known)
        self.expect(")")

    def _opens_query(self) -> bool:
        """Whether a query is in the parentheses that come next."""
        if self.begins_query(1):
            return True
        at = self.at
        found = self.said(1) == "(" and self.subquery() is not None
        self.at = at
        return found

    def _again(self, start: int, known: frozenset[str]) -> None:
        """Read again, from an earlier word to here, to find the tables in it."""
        end, kept = self.at, self.words
        self.at, self.words = start, kept[:end]
        self.expressions(known)
        self.words = kept
        if self.at != end:
            self.fail()

    def _names_table(self) -> bool:
        """Whether TABLE comes next and is followed by a name, so that it is not a column of that name."""
        return self.is_name(1) and self.said(1) not in _ENDS_OF_FROM | {
            "FROM",
            "AS",
            "IS",
            "IN",
            "AND",
            "OR",
            "NOT",
            "LIKE",
            "BETWEEN",
        }

    def _follows_set_operator(self) -> bool:
        before = self.said(-1)
        return before in _SET_OPERATORS or (before in ("ALL", "DISTINCT") and self.said(-2) in _SET_OPERATORS)

    def _ends_from(self, said: str) -> bool:
        """Whether the next word ends a FROM clause."""
        return (said in _ENDS_OF_FROM and (said not in _WITH_BY or self.said(1) == "BY")) or self.next_is("LATERAL", "VIEW")

    def _is_expression(self, ahead: int) -> bool:
        """Whether a keyword is an operator or a function, and not a column of that name."""
        said, following = self.said(ahead), self.said(ahead + 1)
        return (said in ("LEFT", "RIGHT") and following == "(") or (said == "NOT" and following not in _AFTER_COLUMN)

    def _names_column(self, ahead: int = 0) -> bool:
        """Whether a keyword is certainly a name, because of the words around it."""
        before, said, following = self.said(ahead - 1), self.said(ahead), self.said(ahead + 1)
        if said not in KEYWORDS:
            return False
        if following in (",", "."):
            return True
        if said in ("SELECT", "NOT"):
            return False
        if following in _SIGNS:
            return said in ("FROM", "JOIN") or before == "SELECT"
        return following in ("FROM", "AS", ")", "") and before in _BEFORE_NAME

    def _is_column(self) -> bool:
        """Whether the next word is a column, although it is a keyword."""
        before = self.said(-1)
        if before == "*":  # the columns, and not a product
            return self.said(-2) not in ("SELECT", "DISTINCT", "ALL", ",", ".", "*/")
        return before in _BEFORE_COLUMNS

    def _is_distinct_from(self) -> bool:
        return self.said(-1) == "DISTINCT" and self.said(-2) in ("IS", "NOT")
