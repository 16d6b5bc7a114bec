# SPDX-License-Identifier: Apache-2.0
"""Read a text word by word. Whatever is not expected raises UnreadableTextError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from bayou.spark.portable.text.literals import Dialect, name_of, string_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from bayou.spark.text.words import Word

_OPENING: Final = {"(": ")", "[": "]"}
_QUERY_BEGINS: Final = frozenset({"SELECT", "WITH", "FROM", "TABLE", "VALUES"})
_NOT_IN_A_QUERY: Final = frozenset(
    {")", ",", ".", "[", ":", "::", "=", "AND", "OR", "NOT", "IN", "IS", "LIKE", "ILIKE", "RLIKE", "BETWEEN", "DIV", "AS"}
)
"""Words after one that could begin a query, and is a name instead."""
KEYWORDS: Final = frozenset(
    {"FROM", "SELECT", "WHERE", "GROUP", "ORDER", "HAVING", "JOIN", "ON", "USING", "UNION", "EXCEPT", "MINUS", "INTERSECT", "LIMIT"}
    | {"LEFT", "RIGHT", "FULL", "INNER", "CROSS", "NATURAL", "LATERAL", "WINDOW", "SET", "WHEN", "AS", "AND", "OR", "NOT", "INTO"}
)
"""Words that Spark may take for names, and that are not read as the names of tables without quotes."""


class Cursor:
    """A position among the words of a text."""

    def __init__(self, text: str, dialect: Dialect | None = None, given: list[Word] | None = None) -> None:
        """Start at the first word.

        Args:
            text: the text.
            dialect: the settings that decide what the text means; None for Spark's defaults.
            given: the words of the text; None to find them.
        """
        self.text = text
        self.dialect = dialect or Dialect()
        self.words = words(text) if given is None else given
        self.at = 0
        if not self.words and text.strip():
            self.fail("a text without words, or with a comment that is not closed")

    @property
    def is_at_end(self) -> bool:
        """Whether all words have been read."""
        return self.at >= len(self.words)

    @property
    def position(self) -> int:
        """The start of the next word in the text."""
        return len(self.text) if self.is_at_end else self.words[self.at].start

    @property
    def end_of_read(self) -> int:
        """The end of the last word that was read."""
        return self.words[self.at - 1].end if self.at else 0

    def fail(self, problem: str | None = None) -> NoReturn:
        """Raise UnreadableTextError at the next word."""
        word = "the end" if self.is_at_end else repr(self.words[self.at].text)
        raise UnreadableTextError(problem or f"not expected: {word}", self.position)

    def peek(self, ahead: int = 0) -> Word | None:
        """Return the next word, or a later one; None at the end."""
        place = self.at + ahead
        return self.words[place] if 0 <= place < len(self.words) else None

    def said(self, ahead: int = 0) -> str:
        """Return the next word, or a later one, in capitals; an empty string at the end. Names keep their quotes."""
        word = self.peek(ahead)
        return "" if word is None else word.text.upper()

    def next_is(self, *said: str) -> bool:
        """Whether these words come next. They are in capitals."""
        return all(self.said(ahead) == each for ahead, each in enumerate(said))

    def take(self, *said: str) -> bool:
        """Read these words if they come next, and return whether they do."""
        is_next = self.next_is(*said)
        if is_next:
            self.at += len(said)
        return is_next

    def take_one(self, *said: str) -> str | None:
        """Read one of these words if it comes next, and return it."""
        return next((each for each in said if self.take(each)), None)

    def expect(self, *said: str) -> None:
        """Read these words."""
        if not self.take(*said):
            self.fail()

    def end(self) -> None:
        """Raise UnreadableTextError if a word follows."""
        if not self.is_at_end:
            self.fail()

    def next_word(self) -> Word:
        """Read any word."""
        word = self.peek()
        if word is None:
            self.fail()
        self.at += 1
        return word

    def is_name(self, ahead: int = 0) -> bool:
        """Whether the next word, or a later one, may be a part of a name."""
        word = self.peek(ahead)
        return word is not None and (word.is_name or (self.dialect.double_quoted_names and word.kind == "DOUBLEQUOTED_STRING"))

    def is_string(self, ahead: int = 0) -> bool:
        """Whether the next word, or a later one, is a string literal."""
        word = self.peek(ahead)
        return word is not None and word.is_string and not self.is_name(ahead)

    def part(self) -> str:
        """Read a part of a name, and return it without quotes."""
        if not self.is_name():
            self.fail()
        word = self.next_word()
        return word.text[1:-1].replace('""', '"') if word.text.startswith('"') else name_of(word)

    def parts(self) -> tuple[str, ...]:
        """Read a name of one or more parts."""
        if self.next_is("IDENTIFIER", "("):
            self.fail("a name that is computed")
        found = [self.part()]
        while self.take("."):
            found.append(self.part())
        return tuple(found)

    def listed_names(self) -> tuple[str, ...]:
        """Read names of one part in parentheses."""
        self.expect("(")
        found = [self.part()]
        while self.take(","):
            found.append(self.part())
        self.expect(")")
        return tuple(found)

    def string(self) -> str:
        """Read a string literal, which may consist of several, and return its value."""
        if not self.is_string():
            self.fail()
        found = []
        while self.is_string():
            found.append(string_of(self.next_word(), self.dialect))
        return "".join(found)

    def skip_brackets(self) -> str:
        """Read from an opening bracket to the closing one, and return the text in between, without blanks at its ends."""
        first = self.next_word()
        expected = [_OPENING[first.text]]
        while expected:
            word = self.next_word()
            if word.text in _OPENING:
                expected.append(_OPENING[word.text])
            elif word.text in (")", "]") and word.text != expected.pop():
                self.at -= 1
                self.fail()
        return self.text[first.end : self.words[self.at - 1].start].strip()

    def begins_query(self, ahead: int = 0) -> bool:
        """Whether a query begins at the next word, or at a later one. Parentheses around a query do not count."""
        return (
            self.said(ahead) in _QUERY_BEGINS and self.peek(ahead + 1) is not None and self.said(ahead + 1) not in _NOT_IN_A_QUERY
        )
