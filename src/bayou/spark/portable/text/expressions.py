# SPDX-License-Identifier: Apache-2.0
"""Read SQL expressions as trees: operators by their precedence, and tests such as IN and BETWEEN.

Source: `booleanExpression`, `predicate` and `valueExpression` in Spark's grammar `SqlBaseParser.g4`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.spark.portable.text.literals import NUMBERS
from bayou.spark.portable.text.primaries import Primaries
from bayou.spark.portable.text.tree import Literal, Operation, UnreadableTextError

if TYPE_CHECKING:
    from bayou.spark.portable.text.literals import Dialect
    from bayou.spark.portable.text.tree import Expression

_LEVELS: Final = (
    {"=": "=", "==": "=", "<=>": "<=>", "<>": "!=", "!=": "!=", "<": "<", "<=": "<=", "!>": "<=", ">": ">", ">=": ">=", "!<": ">="},
    {"|": "|"},
    {"^": "^"},
    {"&": "&"},
    {"<<": "<<", ">>": ">>", ">>>": ">>>"},
    {"+": "+", "-": "-", "||": "||"},
    {"*": "*", "/": "/", "%": "%", "DIV": "div"},
)
"""Operators with two operands and their names in the tree, those that bind least first. All of them group from the left."""
_OPERATORS: Final = {sign: (level, name) for level, names in enumerate(_LEVELS) for sign, name in names.items()}
_VARIABLE: Final = "${"
_SIGNS: Final = {"-": "negative", "+": "positive", "~": "~"}


class ExpressionReader(Primaries):
    """A cursor that reads expressions."""

    def expression(self) -> Expression:
        """Read an expression of any kind."""
        return self._chain("OR")

    def value(self) -> Expression:
        """Read an expression without AND, OR, NOT and tests such as IS NULL."""
        return self._binary(0)

    def _chain(self, word: str) -> Expression:
        """Read operands between the words OR, or AND, which bind closer."""
        start = self.position
        operands = [self._chain("AND") if word == "OR" else self._negation()]
        while self.take(word):
            operands.append(self._chain("AND") if word == "OR" else self._negation())
        if len(operands) == 1:
            return operands[0]
        return Operation(word.lower(), tuple(operands), start=start, end=self.end_of_read)

    def _negation(self) -> Expression:
        starts = []
        while self.next_is("NOT") or self.next_is("!"):
            starts.append(self.position)
            self.at += 1
        found = self._tested()
        for start in reversed(starts):
            found = Operation("not", (found,), start=start, end=self.end_of_read)
        return found

    def _tested(self) -> Expression:
        """Read a value with the test that may come after it."""
        start = self.position
        child = self.value()
        if self.take("IS"):
            is_not = self._takes_not()
            tested = self._is_test(child, start)
        else:
            is_not = self._takes_not()
            test = self._test(child, start)
            if test is None:
                if is_not:
                    self.fail()
                return child
            tested = test
        return Operation("not", (tested,), start=start, end=self.end_of_read) if is_not else tested

    def _takes_not(self) -> bool:
        return self.take("NOT") or self.take("!")

    def _is_test(self, child: Expression, start: int) -> Operation:
        word = self.take_one("NULL", "TRUE", "FALSE", "UNKNOWN")
        if word is not None:
            return Operation(f"is {word.lower()}", (child,), start=start, end=self.end_of_read)
        self.expect("DISTINCT", "FROM")
        other = self.value()
        return Operation("is distinct from", (child, other), start=start, end=self.end_of_read)

    def _test(self, child: Expression, start: int) -> Operation | None:
        word = self.take_one("BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP")
        if word is None:
            return None
        if word == "BETWEEN":
            operands, name = self._bounds(), "between"
        elif word == "IN":
            operands, name = self._members(), "in"
        elif word in ("RLIKE", "REGEXP"):
            operands, name = (self.value(),), "rlike"
        else:
            operands, name = self._patterns(word.lower())
        return Operation(name, (child, *operands), start=start, end=self.end_of_read)

    def _bounds(self) -> tuple[Expression, ...]:
        low = self.value()
        self.expect("AND")
        return low, self.value()

    def _members(self) -> tuple[Expression, ...]:
        query = self.subquery("list")
        if query is not None:
            return (query,)
        self.expect("(")
        found = self.listed()
        self.expect(")")
        return found

    def _patterns(self, name: str) -> tuple[tuple[Expression, ...], str]:
        quantifier = self.take_one("ANY", "SOME", "ALL") if self.said(1) == "(" else None
        if quantifier is not None:
            self.expect("(")
            patterns = () if self.next_is(")") else self.listed()
            self.expect(")")
            return patterns, f"{name} {'all' if quantifier == 'ALL' else 'any'}"
        pattern = self.value()
        start = self.position
        if not self.take("ESCAPE"):
            return (pattern,), name
        return (pattern, Literal(self.string(), "string", start=start, end=self.end_of_read)), name

    def _binary(self, least: int) -> Expression:
        """Read operands with the operators between them that bind at least as closely as a level."""
        start = self.position
        found = self._signed()
        while True:
            level, operator = _OPERATORS.get(self.said(), (-1, ""))
            if level < least:
                return found
            self.at += 1
            other = self._binary(level + 1)
            found = Operation(operator, (found, other), start=start, end=self.end_of_read)

    def _signed(self) -> Expression:
        start, sign = self.position, self.said()
        if sign not in _SIGNS:
            return self.primary()
        number = self.peek(1)
        if sign == "-" and number is not None and number.kind in NUMBERS:
            return self.primary()
        self.at += 1
        return Operation(_SIGNS[sign], (self._signed(),), start=start, end=self.end_of_read)


def read_expression(
    text: str, dialect: Dialect | None = None, *, is_stored: bool = False, may_have_alias: bool = False
) -> Expression:
    """Return the tree of an expression in SQL.

    Args:
        text: the expression.
        dialect: the settings that decide what the text means; None for Spark's defaults.
        is_stored: whether a table has the text. Its meaning then depends on no setting.
        may_have_alias: whether the expression may have an alias.

    Raises:
        UnreadableTextError: bayou does not understand the text. Spark may.
    """
    if not is_stored and _VARIABLE in text:  # Spark puts the value of a setting there, also in a string
        raise UnreadableTextError("a variable such as ${name}")
    reader = ExpressionReader(text, dialect)
    try:
        found = reader.maybe_named() if may_have_alias else reader.expression()
        reader.end()
    except RecursionError:
        raise UnreadableTextError("an expression that is nested too deeply") from None
    return found
