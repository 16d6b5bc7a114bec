# SPDX-License-Identifier: Apache-2.0
"""Read the smallest parts of expressions: literals, names, casts, types and what is in parentheses.

Source: `primaryExpression` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from typing import Literal as OneOf

from bayou.spark.portable.text.calls import Calls
from bayou.spark.portable.text.literals import NUMBERS, number_of, string_of, typed_literal
from bayou.spark.portable.text.tree import (
    Case,
    Cast,
    Collate,
    Field,
    Item,
    Lambda,
    Literal,
    Name,
    Named,
    Parameter,
    Row,
    Star,
    VariantPath,
)

if TYPE_CHECKING:
    from bayou.spark.portable.text.tree import Expression

_NO_NAMES: Final = frozenset(
    """
    AND AS ASC BETWEEN DESC DISTINCT ELSE END ESCAPE FROM GROUP HAVING ILIKE IN IS LIKE LIMIT NOT ON OR ORDER REGEXP RLIKE SELECT
    SET THEN UNION USING WHEN WHERE
    """.split()  # noqa: SIM905
)
"""Words that could be names of columns in Spark, but hardly are. An expression with one of them in front is not read."""
_CONSTANTS: Final = {"TRUE": (True, "boolean"), "FALSE": (False, "boolean"), "NULL": (None, "void")}
_UNITS: Final = frozenset(
    each + plural
    for each in ("NANOSECOND", "MICROSECOND", "MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "YEAR")
    for plural in ("", "S")
)


class Primaries(Calls):
    """A cursor that reads the smallest parts of expressions."""

    def primary(self) -> Expression:
        """Read a part that binds closer than any operator, with what follows it directly: fields, elements, casts, collations."""
        start = self.position
        found = self._first()
        while (longer := self._continued(found, start)) is not None:
            found = longer
        return found

    def _continued(self, found: Expression, start: int) -> Expression | None:
        """Read one thing that follows a part directly. Return None, and read nothing, if another word follows."""
        if self.take("."):
            return self._field(found, start)
        if self.take("["):
            key = self.value()
            self.expect("]")
            return Item(found, key, start=start, end=self.end_of_read)
        if self.take("::"):
            return Cast(found, self.type_text(), start=start, end=self.end_of_read)
        if self.take("COLLATE"):
            return Collate(found, self.parts(), start=start, end=self.end_of_read)
        if self.next_is(":"):
            return VariantPath(found, self._variant_path(), start=start, end=self.end_of_read)
        return None

    def type_text(self) -> str:
        """Read a type, and return it as it is written."""
        start = self.position
        name = self.part().upper()
        if self.next_is("(") and name not in ("ARRAY", "MAP", "STRUCT"):
            self.skip_brackets()
        elif name in ("ARRAY", "MAP", "STRUCT") and not self.take("<>"):
            self._nested_type()
        elif name == "INTERVAL" and self.take_one("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
            if self.take("TO"):
                self.part()
        elif name == "STRING" and self.take("COLLATE"):
            self.parts()
        if name in ("TIMESTAMP", "TIME"):
            self.take("WITHOUT", "TIME", "ZONE")
        return self.text[start : self.end_of_read]

    def _first(self) -> Expression:  # noqa: PLR0911  (one return for each kind)
        word = self.peek()
        if word is None:
            self.fail()
        if self.is_string():
            return Literal(self.string(), "string", start=word.start, end=self.end_of_read)
        if word.kind in NUMBERS or self.next_is("-"):
            is_negative = self.take("-")
            return number_of(self.next_word(), self.dialect, is_negative=is_negative, start=word.start)
        if self.next_is("("):
            return self._in_parentheses()
        if self.take("*"):
            return self._star((), word.start)
        if self.take("?"):
            return Parameter(None, start=word.start, end=word.end)
        if self.take(":"):
            return Parameter(self.part(), start=word.start, end=self.end_of_read)
        if not self.is_name():
            self.fail()
        return self._worded()

    def _worded(self) -> Expression:  # noqa: PLR0911  (one return for each kind)
        """Read what begins with a word or a name."""
        said, following = self.said(), self.said(1)
        if said in _CONSTANTS and following not in ("(", "."):
            word = self.next_word()
            return Literal(*_CONSTANTS[said], start=word.start, end=word.end)
        if said == "INTERVAL" and self._is_interval():
            return self._interval()
        if self.is_string(1) and not said.startswith("`"):
            return self._typed()
        if said in _NO_NAMES:
            self.fail()
        if following == "->":
            start = self.position
            return self._lambda((self.part(),), start)
        if said in ("CAST", "TRY_CAST") and following == "(":
            return self._cast("cast" if said == "CAST" else "try_cast")
        if said == "CASE" and following not in ("", ",", ")", ".", "="):
            return self._case()
        return self.call() if following == "(" else self.name_or_call()

    def _field(self, child: Expression, start: int) -> Expression:
        if self.take("*"):
            if not isinstance(child, Name):
                self.fail("a star after an expression")
            return self._star(child.parts, start)
        name = self.part()
        if isinstance(child, Name):
            return Name((*child.parts, name), start=start, end=self.end_of_read)
        return Field(child, name, start=start, end=self.end_of_read)

    def _star(self, parts: tuple[str, ...], start: int) -> Star:
        if self.next_is("EXCEPT", "("):
            self.at += 1
            self.skip_brackets()
        return Star(parts, start=start, end=self.end_of_read)

    def _variant_path(self) -> str:
        self.expect(":")
        start = self.position
        if self.next_is("["):
            self.skip_brackets()
        else:
            self.part()
        while True:
            if self.take("."):
                self.part()
            elif self.next_is("["):
                self.skip_brackets()
            else:
                return self.text[start : self.end_of_read]

    def _nested_type(self) -> None:
        """Read the types between `<` and `>`, if they come next."""
        if not self.take("<"):
            return
        while not self.take(">"):
            if self.next_is("<"):
                self._nested_type()
            elif self.next_is("("):
                self.skip_brackets()
            elif self.said() in (")", "]", ";"):
                self.fail()
            else:
                self.next_word()

    def _in_parentheses(self) -> Expression:
        start = self.position
        query = self.subquery()
        if query is not None:
            return query
        ahead = 1
        while self.is_name(ahead) and self.said(ahead + 1) == ",":
            ahead += 2
        if ahead > 1 and self.is_name(ahead) and self.said(ahead + 1) == ")" and self.said(ahead + 2) == "->":
            return self._lambda(self.listed_names(), start)
        self.expect("(")
        items = [self.maybe_named()]
        while self.take(","):
            items.append(self.maybe_named())
        self.expect(")")
        if len(items) > 1:
            return Row(tuple(items), start=start, end=self.end_of_read)
        if isinstance(items[0], Named):
            self.fail("an alias in parentheses")
        return items[0]

    def _lambda(self, parameters: tuple[str, ...], start: int) -> Lambda:
        self.expect("->")
        body = self.expression()
        return Lambda(parameters, body, start=start, end=self.end_of_read)

    def _is_interval(self) -> bool:
        """Whether an interval comes next, and not a column of that name."""
        sign = 1 if self.said(1) in ("+", "-") else 0
        value = self.peek(1 + sign)
        if value is None or not (value.is_string or value.kind in ("INTEGER_VALUE", "DECIMAL_VALUE")):
            return False
        return not sign or self.said(2 + sign) in _UNITS

    def _interval(self) -> Literal:
        start = self.position
        self.expect("INTERVAL")
        while True:
            self.take_one("+", "-")
            if self.is_string():
                self.string()
            else:
                self.next_word()
            if self.said() not in _UNITS:
                break
            self.at += 1
            if self.take("TO"):
                if self.said() not in _UNITS:
                    self.fail()
                self.at += 1
                break
            number = self.peek(1 if self.said() in ("+", "-") else 0)
            if number is None or not (number.kind in NUMBERS or number.is_string) or self.said() in ("+", "-"):
                break
        return Literal(self.text[start : self.end_of_read], "interval", start=start, end=self.end_of_read)

    def _typed(self) -> Literal:
        start = self.position
        kind = self.next_word().text
        value = string_of(self.next_word(), self.dialect)
        if self.is_string():
            self.fail()
        return typed_literal(kind, value, start=start, end=self.end_of_read)

    def _cast(self, kind: OneOf["cast", "try_cast"]) -> Cast:
        start = self.position
        self.at += 2
        child = self.expression()
        self.expect("AS")
        target = self.type_text()
        self.expect(")")
        return Cast(child, target, kind, start=start, end=self.end_of_read)

    def _case(self) -> Case:
        start = self.position
        self.expect("CASE")
        operand = None if self.next_is("WHEN") else self.expression()
        branches = []
        while self.take("WHEN"):
            condition = self.expression()
            self.expect("THEN")
            branches.append((condition, self.expression()))
        if not branches:
            self.fail()
        otherwise = self.expression() if self.take("ELSE") else None
        self.expect("END")
        return Case(operand, tuple(branches), otherwise, start=start, end=self.end_of_read)
