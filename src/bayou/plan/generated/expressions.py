# SPDX-License-Identifier: Apache-2.0
"""Which generation expressions of partition columns are understood: a small grammar over sqlglot's tokens.

Tokens and not sqlglot's trees: the trees turn date formats and units into those of another language, and do so differently from
version to version. What the grammar does not know is no error; it only derives no filter.
Source: delta-spark's `GeneratedColumn.getOptimizablePartitionExpressions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sqlglot import TokenType, tokenize
from sqlglot.errors import SqlglotError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import Token

_LITERAL_WORDS: Final = frozenset({"null", "true", "false"})
_CASTS: Final = frozenset({"cast", "try_cast"})
_SUBSTRINGS: Final = frozenset({"substring", "substr"})
_MOST_TOKENS: Final = 200


@dataclass(frozen=True, slots=True)
class Reference:
    """A column or a nested field, by the names in the expression."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constant:
    """A string or an integer."""

    value: str | int


@dataclass(frozen=True, slots=True)
class Call:
    """A function by its name in lower case, or a cast: its name is then "cast to" and the type."""

    name: str
    arguments: tuple[Expression, ...]


Expression: TypeAlias = Reference | Constant | Call


def parse_expression(text: str) -> Expression | None:
    """The expression that a text spells, or None where it is not one of columns, constants, functions and casts."""
    try:
        tokens = tokenize(text, read="spark")
        return _Parser(tokens).whole() if len(tokens) <= _MOST_TOKENS else None
    except (SqlglotError, _NotUnderstoodError):
        return None


class _NotUnderstoodError(Exception):
    """The text has something that the grammar does not."""


class _Parser:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._position = 0

    def whole(self) -> Expression:
        found = self._expression()
        if self._position < len(self._tokens):
            raise _NotUnderstoodError
        return found

    def _expression(self) -> Expression:
        token = self._take()
        if token.token_type is TokenType.STRING:
            return Constant(token.text)
        if token.token_type is TokenType.NUMBER:
            return _integer(token.text)
        if token.text == "-":
            return _integer(f"-{self._take().text}")
        if token.token_type is TokenType.L_PAREN:
            inner = self._expression()
            self._expect(")")
            return inner
        is_quoted = token.token_type is TokenType.IDENTIFIER
        if not is_quoted and self._next() == "(":
            self._take()
            return self._call(token.text.lower())
        return self._reference(token)

    def _reference(self, token: Token) -> Reference:
        names = [_name(token)]
        while self._next() == ".":
            self._take()
            names.append(_name(self._take()))
        return Reference(tuple(names))

    def _call(self, name: str) -> Call:
        if self._next() == ")":
            self._take()
            return Call(name, ())
        arguments = [self._expression()]
        if name in _CASTS:
            self._expect("as")
            name = f"cast to {self._take().text.lower()}"
        elif name in _SUBSTRINGS and self._next() == "from":
            for word in ("from", "for"):
                if self._next() == word:
                    self._take()
                    arguments.append(self._expression())
        while self._next() == ",":
            self._take()
            arguments.append(self._expression())
        self._expect(")")
        return Call(name, tuple(arguments))

    def _take(self) -> Token:
        if self._position == len(self._tokens):
            raise _NotUnderstoodError
        self._position += 1
        return self._tokens[self._position - 1]

    def _next(self) -> str:
        """The next token's text in lower case; a quoted one is no keyword and no punctuation."""
        if self._position == len(self._tokens):
            return ""
        token = self._tokens[self._position]
        return "" if token.token_type in {TokenType.STRING, TokenType.IDENTIFIER} else token.text.lower()

    def _expect(self, text: str) -> None:
        if self._next() != text:
            raise _NotUnderstoodError
        self._take()


def _name(token: Token) -> str:
    if token.token_type is TokenType.IDENTIFIER:
        return token.text
    is_word = token.token_type is not TokenType.STRING and token.text.replace("_", "a").isalnum()
    if not is_word or token.text.lower() in _LITERAL_WORDS:
        raise _NotUnderstoodError
    return token.text


def _integer(text: Any) -> Constant:
    try:
        return Constant(int(text))
    except ValueError as error:
        raise _NotUnderstoodError from error
