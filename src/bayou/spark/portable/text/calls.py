# SPDX-License-Identifier: Apache-2.0
"""Read calls of functions, those with a syntax of their own included, and subqueries.

Source: `primaryExpression` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final
from typing import Literal as OneOf

from bayou.spark.portable.text.cursor import Cursor
from bayou.spark.portable.text.tree import Call, ComputedName, Literal, Name, Named, Subquery, Window

if TYPE_CHECKING:
    from bayou.spark.portable.text.tree import Expression

_AFTER_QUERY: Final = frozenset(
    {"UNION", "EXCEPT", "MINUS", "INTERSECT", "ORDER", "LIMIT", "OFFSET", "CLUSTER", "DISTRIBUTE", "SORT", "|>"}
)
_WITH_UNIT: Final = frozenset({"TIMESTAMPADD", "DATEADD", "DATE_ADD", "TIMESTAMPDIFF", "DATEDIFF", "DATE_DIFF", "TIMEDIFF"})
_DATE_UNITS: Final = frozenset(
    {"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"}
)
_SEPARATORS: Final = {
    "POSITION": ("IN",),
    "SUBSTR": ("FROM", "FOR"),
    "SUBSTRING": ("FROM", "FOR"),
    "OVERLAY": ("PLACING", "FROM", "FOR"),
    "EXTRACT": ("FROM",),
}
"""The functions that take words in place of commas. They take commas, too."""


class Calls(Cursor, ABC):
    """A cursor that reads calls of functions."""

    @abstractmethod
    def expression(self) -> Expression:
        """Read an expression of any kind."""

    @abstractmethod
    def value(self) -> Expression:
        """Read an expression without AND, OR, NOT and tests such as IS NULL."""

    def maybe_named(self) -> Expression:
        """Read an expression with an optional alias."""
        start = self.position
        child = self.expression()
        if self.take("AS"):
            names = self.listed_names() if self.next_is("(") else (self.part(),)
        elif self.is_name():
            names = (self.part(),)
        else:
            return child
        return Named(child, names, start=start, end=self.end_of_read)

    def listed(self) -> tuple[Expression, ...]:
        """Read expressions that commas separate."""
        found = [self.expression()]
        while self.take(","):
            found.append(self.expression())
        return tuple(found)

    def sort_items(self) -> tuple[Expression, ...]:
        """Read the expressions of an ORDER BY."""
        found: list[Expression] = []
        while not found or self.take(","):
            found.append(self.expression())
            self.take_one("ASC", "DESC")
            if self.take("NULLS") and not self.take_one("FIRST", "LAST"):
                self.fail()
        return tuple(found)

    def subquery(self, kind: OneOf["scalar", "exists", "list"] = "scalar") -> Subquery | None:
        """Read a query in parentheses if it comes next."""
        ahead = 0
        while self.said(ahead) == "(":
            ahead += 1
        if not ahead or not self.begins_query(ahead):
            return None
        start, at = self.position, self.at
        text = self.skip_brackets()
        if ahead > 1 and not self._is_query(at + 1):
            self.at = at
            return None
        return Subquery(text, kind, start=start, end=self.end_of_read)

    def _is_query(self, at: int) -> bool:
        """Whether what begins with a query in parentheses is a query, and not an expression such as `(SELECT 1) + 1`."""
        inner = Cursor(self.text, self.dialect, self.words)
        inner.at = at
        inner.skip_brackets()
        if inner.said() == ")":
            return inner.words[at + 1].text != "(" or self._is_query(at + 1)
        return inner.said() in _AFTER_QUERY

    def call(self) -> Expression:
        """Read a call whose parenthesis comes after the next word. It may have a syntax of its own."""
        start, said = self.position, self.said()
        if said == "IDENTIFIER":
            self.at += 2
            child = self.expression()
            self.expect(")")
            return ComputedName(child, start=start, end=self.end_of_read)
        if said == "EXISTS":
            self.at += 1
            query = self.subquery("exists")
            if query is not None:
                return Subquery(query.text, "exists", start=start, end=query.end)
            self.at -= 1
        if said in _WITH_UNIT and self.said(2) in _DATE_UNITS and self.said(3) == ",":
            return self._with_unit(said) or self.name_or_call()
        return self._with_words(said) or self.name_or_call()

    def name_or_call(self) -> Expression:
        """Read a name of one or more parts, and a plain call if it is the name of a function."""
        start = self.position
        name = [self.part()]
        while self.next_is(".") and self.is_name(1):
            self.at += 1
            name.append(self.part())
        is_call = self.next_is("(") and not self.begins_query(1)  # a condition may be followed by a query in parentheses
        if not is_call or not self.take("("):
            return Name(tuple(name), start=start, end=self.end_of_read)
        is_distinct = self.take("DISTINCT")
        if not is_distinct and self.said(1) not in (",", ")", "."):
            self.take("ALL")
        arguments: list[Expression] = []
        if is_distinct or not self.next_is(")"):
            read = self.maybe_named if name[-1].upper() == "STRUCT" else self._argument
            arguments.append(read())
            while self.take(","):
                arguments.append(read())
        if self.take_one("IGNORE", "RESPECT"):
            self.expect("NULLS")
        self.expect(")")
        return self._with_clauses(tuple(name), tuple(arguments), start, is_distinct=is_distinct)

    def _with_clauses(
        self, name: tuple[str, ...], arguments: tuple[Expression, ...], start: int, *, is_distinct: bool
    ) -> Call | Window:
        """Read what may come after the arguments of a call."""
        clauses: tuple[Expression, ...] = ()
        if self.take("WITHIN", "GROUP"):
            self.expect("(")
            self.expect("ORDER", "BY")
            clauses += self.sort_items()
            self.expect(")")
        if self.take("FILTER", "("):
            self.expect("WHERE")
            clauses += (self.expression(),)
            self.expect(")")
        if self.take_one("IGNORE", "RESPECT"):
            self.expect("NULLS")
        call = Call(name, arguments, is_distinct, clauses, start=start, end=self.end_of_read)
        if not self.take("OVER"):
            return call
        return Window(call, self._window(), start=start, end=self.end_of_read)

    def _window(self) -> tuple[Expression, ...]:
        if not self.take("("):
            self.part()
            return ()
        found: tuple[Expression, ...] = ()
        if self.is_name() and self.said(1) == ")":
            self.part()
        if self.take_one("PARTITION", "DISTRIBUTE", "CLUSTER"):
            self.expect("BY")
            found += self.listed()
        if self.take_one("ORDER", "SORT"):
            self.expect("BY")
            found += self.sort_items()
        if self.take_one("RANGE", "ROWS"):
            found += self._frame()
        self.expect(")")
        return found

    def _frame(self) -> tuple[Expression, ...]:
        if not self.take("BETWEEN"):
            return self._bound()
        first = self._bound()
        self.expect("AND")
        return first + self._bound()

    def _bound(self) -> tuple[Expression, ...]:
        if self.take("CURRENT", "ROW"):
            return ()
        found = () if self.take("UNBOUNDED") else (self.value(),)
        if not self.take_one("PRECEDING", "FOLLOWING"):
            self.fail()
        return found

    def _argument(self) -> Expression:
        start = self.position
        if self.is_name() and self.said(1) == "=>":
            name = self.part()
            self.at += 1
            return Named(self.expression(), (name,), is_argument=True, start=start, end=self.end_of_read)
        return self.expression()

    def _word(self) -> Literal:
        """Read a word that is an argument, such as a unit."""
        word = self.next_word()
        return Literal(word.text, "string", start=word.start, end=word.end)

    def _closed(self, said: str, arguments: list[Expression], start: int) -> Call:
        self.expect(")")
        return Call((said.lower(),), tuple(arguments), start=start, end=self.end_of_read)

    def _with_unit(self, said: str) -> Call | None:
        """Read a call with a unit, such as DAY, and two values. Return None, and read nothing, if it has other arguments."""
        start, at = self.position, self.at
        self.at += 2
        arguments: list[Expression] = [self._word()]
        while self.take(","):
            arguments.append(self.value())
        if len(arguments) == len(("unit", "value", "value")) and self.next_is(")"):
            return self._closed("TIMESTAMPADD" if said.endswith("ADD") else "TIMESTAMPDIFF", arguments, start)
        self.at = at
        return None

    def _with_words(self, said: str) -> Call | None:
        """Read a call with words in place of commas. Return None, and read nothing, if it has commas or is another function."""
        start, at = self.position, self.at
        self.at += 2
        arguments: list[Expression] = []
        if said == "TRIM":
            option = self.said(1) not in (",", ")", ".", "(") and self.take_one("BOTH", "LEADING", "TRAILING")
            if not self.next_is("FROM"):
                arguments.append(self.value())
            if self.take("FROM"):
                return self._closed(
                    {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(option or "", "trim"), [*arguments, self.value()], start
                )
        elif said in _SEPARATORS:
            first, *others = _SEPARATORS[said]
            arguments.append(self._word() if said == "EXTRACT" else self.value())
            if self.take(first):
                arguments.append(self.value())
                while others:
                    if self.take(others.pop(0)):
                        arguments.append(self.value())
                return self._closed(said, arguments, start)
        self.at = at
        return None
