# SPDX-License-Identifier: Apache-2.0
"""Parse a statement word by word, with one method for each kind of clause: names, tables, strings, numbers, expressions.

Spark's lexer splits the statement into words, so quotes and comments work as in Spark.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bayou.errors import DeltaError, failed, redact_text
from bayou.spark.sql.statements.parameters import FilledText
from bayou.spark.text.words import Word

_PROPERTIES: Final = re.compile(r"(\btblproperties\s*\()([^)]*)", re.IGNORECASE)
_STRING: Final = re.compile(r"'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"", re.DOTALL)
_NUMBER: Final = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_TYPED: Final = re.compile(rf"(?P<number>{_NUMBER.pattern})B?D|(?P<whole>\d+)[LSY]", re.ASCII | re.IGNORECASE)
"""Literals with a type suffix, such as 12D and 12L."""
_INTEGER: Final = re.compile(r"(\d+)[LSY]?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """A name, a value or a string literal, as it is written."""

    text: str
    is_string: bool = False


@dataclass(frozen=True, slots=True)
class TableReference:
    """The table of a statement.

    Attributes:
        name: its name in SQL; None for a path in quotes and for a computed name.
        path: the string literal of its path; None for a name.
        computed: the expression in `IDENTIFIER(...)`; None otherwise.
    """

    name: str | None
    path: str | None = None
    computed: str | None = None

    @property
    def text(self) -> str:
        """The reference as it is written."""
        return self.name or self.path or f"IDENTIFIER({self.computed})"


class Reader:
    """A cursor over the words of a statement.

    Methods that read something required raise SqlSyntaxError if it does not come next. `take` and `take_one` read optional words.
    """

    def __init__(self, text: str, words: Sequence[Word], filled: FilledText | None = None) -> None:
        """Start at the first word.

        Args:
            text: the statement, with literals in place of parameters.
            words: its words.
            filled: the mapping of positions to the user's text; None for a statement without parameters.
        """
        self.text = text
        self._filled = filled or FilledText(text, text)
        self._words = list(words)
        while self._words and self._words[-1].text == ";":
            self._words.pop()
        self._at = 0
        self._wanted: list[str] = []

    @property
    def read_words(self) -> tuple[str, ...]:
        """The words before the cursor, in capitals."""
        return tuple(each.text.upper() for each in self._words[: self._at])

    @property
    def is_at_end(self) -> bool:
        """Whether all words have been read."""
        return self._at == len(self._words)

    @property
    def next_is_name(self) -> bool:
        """Whether the next word may be a part of a name."""
        word = self._peek()
        return word is not None and word.is_name

    @property
    def position(self) -> int:
        """The start of the next word in the statement."""
        word = self._peek()
        return len(self.text) if word is None else word.start

    @property
    def end_of_read(self) -> int:
        """The end of the last word that was read."""
        return self._words[self._at - 1].end if self._at else 0

    def has(self, word: str) -> bool:
        """Whether a word occurs at or after the cursor."""
        return any(each.text.upper() == word for each in self._words[self._at :])

    def next_is(self, *words: str) -> bool:
        """Whether these words come next, in upper or lower case. An error at this position lists them as expected."""
        if words[-1].isidentifier():  # do not list signs such as `.`, which only continue the previous word
            self._wanted.append(" ".join(words))
        next_words = self._words[self._at : self._at + len(words)]
        return len(next_words) == len(words) and all(
            each.text.upper() == word for each, word in zip(next_words, words, strict=True)
        )

    def take(self, *words: str) -> bool:
        """Read these words if they come next, and return whether they do."""
        is_next = self.next_is(*words)
        if is_next:
            self._read(len(words))
        return is_next

    def take_one(self, *words: str) -> str | None:
        """Read one of these words if it comes next, and return it."""
        return next((word for word in words if self.take(word)), None)

    def begin(self, beginning: str) -> bool:
        """Read the words of an entry of `BEGINNINGS` if they come next, and return whether they do."""
        words, _, mentioned = beginning.partition(" ... ")
        return (not mentioned or self.has(mentioned)) and self.take(*words.split())

    def expect(self, *words: str) -> None:
        """Read these words."""
        if not self.take(*words):
            raise self.error()

    def name(self) -> str:
        """Read a name of one or more parts in SQL."""
        start = self._at
        self._part()
        while self.take("."):
            self._part()
        return self.text[self._words[start].start : self._words[self._at - 1].end]

    def names(self) -> tuple[str, ...]:
        """Read names separated by commas, with or without parentheses."""
        is_open = self.take("(")
        names = [self.name()]
        while self.take(","):
            names.append(self.name())
        if is_open:
            self.expect(")")
        return tuple(names)

    def copied(self) -> Reader:
        """Return a second reader that starts at the cursor."""
        return Reader(self.text, self._words[self._at :])

    def table(self) -> TableReference:
        """Read a table's name, its path in quotes, or `IDENTIFIER(...)`."""
        word = self._peek()
        return TableReference(None, self.string()) if word is not None and word.is_string else self.named_table()

    def named_table(self) -> TableReference:
        """Read a table's name, or `IDENTIFIER(...)`."""
        if not self.take("IDENTIFIER", "("):
            return TableReference(self.name())
        computed = self.until()
        self.expect(")")
        return TableReference(None, None, computed)

    def string_or(self, other: Callable[[], str]) -> Written:
        """Read a string literal if it comes next. Otherwise call `other`, which reads something else."""
        word = self._peek()
        return Written(self.string(), is_string=True) if word is not None and word.is_string else Written(other())

    def string(self) -> str:
        """Read a string literal, and return it as it is written."""
        word = self._peek()
        self._wanted.append("a string")
        if word is None or not word.is_string:
            raise self.error()
        self._read(1)
        return word.text

    def value(self) -> Written:
        """Read the value of a property: a string literal, a number, or true or false."""
        return self.string_or(self._plain_value)

    def integer(self) -> int:
        """Read an integer without a sign."""
        word = self._peek()
        self._wanted.append("a whole number")
        digits = None if word is None else _INTEGER.fullmatch(word.text)
        if digits is None:
            raise self.error()
        self._read(1)
        return int(digits[1])

    def number(self) -> str:
        """Read a number with an optional sign, and return it without its type suffix: `12` for `12D`."""
        sign = "-" if self.take("-") else ""
        word = self._peek()
        self._wanted.append("a number")
        typed = None if word is None else _TYPED.fullmatch(word.text)
        if word is None or (typed is None and _NUMBER.fullmatch(word.text) is None):
            raise self.error()
        self._read(1)
        return sign + (word.text if typed is None else typed["number"] or typed["whole"])

    def until(self, *ends: tuple[str, ...]) -> str:
        """Read up to one of the ends outside parentheses, or to the end of the statement, and return the text in between."""
        start, depth = self._at, 0
        while not self.is_at_end and not (depth == 0 and any(self.next_is(*words) for words in ends)):
            depth += {"(": 1, ")": -1}.get(self._words[self._at].text, 0)
            if depth < 0:
                break
            self._read(1)
        if self._at == start:
            self._wanted.append("an expression")
            raise self.error()
        return self.text[self._words[start].start : self._words[self._at - 1].end]

    def skip(self) -> None:
        """Read the next word. If it is an opening parenthesis, read to the closing one."""
        is_open = self.next_is("(")
        self._read(1)
        while is_open and not self.take(")"):
            if self.is_at_end:
                raise self.error()
            self.skip()

    def expression(self, *ends: tuple[str, ...]) -> Written:
        """Read an expression up to one of the ends, as `until` does, and note if it is only a string literal."""
        start = self._at
        text = self.until(*ends)
        return Written(text, is_string=self._at == start + 1 and self._words[start].is_string)

    def end(self) -> None:
        """Raise SqlSyntaxError if a word follows."""
        if not self.is_at_end:
            raise self.error()

    def error(self, what: str | None = None, error_class: str = "PARSE_SYNTAX_ERROR") -> DeltaError:
        """Return the error at the next word.

        Args:
            what: the problem, without a full stop; None if the word is unexpected.
            error_class: the error class of Spark or delta-spark.
        """
        word = self._peek()
        unexpected = "the end of the statement" if word is None else "a string" if word.is_string else f"'{word.text}'"
        expected_words = list(dict.fromkeys(self._wanted))
        similar = (
            [] if word is None else difflib.get_close_matches(word.text.upper(), [each.split()[0] for each in expected_words], n=1)
        )
        hint = f" Did you mean {similar[0]}?" if similar else ""
        expected = f" Expected: {', '.join(expected_words)}." if expected_words and what is None else ""
        place = len(self.text.rstrip()) if word is None else word.start
        return error_at(
            self._filled.written,
            self._filled.place(place),
            what or f"Syntax error at or near {unexpected}",
            f"{expected}{hint}",
            error_class=error_class,
        )

    def _plain_value(self) -> str:
        truth = self.take_one("TRUE", "FALSE")
        return self.number() if truth is None else truth.lower()

    def _part(self) -> None:
        word = self._peek()
        self._wanted.append("a name")
        if word is None or not word.is_name:
            raise self.error()
        self._read(1)

    def _peek(self) -> Word | None:
        return None if self.is_at_end else self._words[self._at]

    def _read(self, count: int) -> None:
        self._at += count
        self._wanted.clear()


def error_at(text: str, place: int, what: str, more: str = "", *, error_class: str = "PARSE_SYNTAX_ERROR") -> DeltaError:
    """Return the error at a position of a statement.

    Args:
        place: the index of the character at which the error is shown.
        what: the problem, without a full stop.
        more: further sentences, which begin with a blank.
        error_class: the error class of Spark or delta-spark.
    """
    shown = without_secrets(text)
    line = text.count("\n", 0, place) + 1
    column = place - (text.rfind("\n", 0, place) + 1)
    shown_line = shown.split("\n")[line - 1]
    return failed(
        "PARSE_SYNTAX_ERROR",
        error_class=error_class,
        problem=redact_text(what),
        more=more,
        line=line,
        position=column,
        excerpt=redact_text(f"\n\n== SQL ==\n{shown_line}\n{'-' * column}^^^"),
        statement=redact_text(shown),
    )


def without_secrets(text: str) -> str:
    """Mask the values of the properties of a statement, which may be keys and passwords. The length stays the same."""
    return _PROPERTIES.sub(lambda found: found[1] + _STRING.sub(lambda value: "*" * len(value[0]), found[2]), text)
