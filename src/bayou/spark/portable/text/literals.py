# SPDX-License-Identifier: Apache-2.0
"""Read the values of literals in SQL, which depend on a few of the session's settings."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from bayou.spark.portable.text.tree import Literal, UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from bayou.spark.portable.text.tree import Value
    from bayou.spark.text.words import Word

_ESCAPES: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a"}
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([01][0-7]{2})|(.))", re.DOTALL)
_SUFFIXES: Final = {
    "BIGINT_LITERAL": ("long", 1),
    "SMALLINT_LITERAL": ("short", 1),
    "TINYINT_LITERAL": ("byte", 1),
    "FLOAT_LITERAL": ("float", 1),
    "DOUBLE_LITERAL": ("double", 1),
    "BIGDECIMAL_LITERAL": ("decimal", 2),
    "INTEGER_VALUE": ("integer", 0),
    "EXPONENT_VALUE": ("double", 0),
    "DECIMAL_VALUE": ("decimal", 0),
}
"""For each kind of number its type, and the length of its suffix."""
NUMBERS: Final = frozenset(_SUFFIXES)
_BITS: Final = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_MAX_PRECISION: Final = 38
_HALVES: Final = range(0xD800, 0xE000)
"""Code points that are half a character."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """The settings of a session that decide what a text means. The defaults are those of Spark 4.

    Attributes:
        double_quoted_names: whether double quotes enclose names, and not strings.
        escapes: whether a backslash in a string begins an escape sequence.
        doubled_quotes: whether two quotes in a string are one. Before Spark 4 they end a string and begin the next one.
        decimal_exponents: whether `1e3` is a decimal.
    """

    double_quoted_names: bool = False
    escapes: bool = True
    doubled_quotes: bool = True
    decimal_exponents: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> Dialect:
        """Return the dialect of a session's settings. Those that are missing have Spark's defaults."""

        def is_on(name: str, default: str = "false") -> bool:
            return settings.get(f"spark.sql.{name}", default).lower() == "true"

        return cls(
            double_quoted_names=is_on("ansi.doubleQuotedIdentifiers") and is_on("ansi.enabled", "true"),
            escapes=not is_on("parser.escapedStringLiterals"),
            doubled_quotes=not is_on("legacy.consecutiveStringLiterals.enabled"),
            decimal_exponents=is_on("legacy.exponentLiteralAsDecimal.enabled"),
        )


def dialect_of(text: str, settings: Callable[[], Mapping[str, str]]) -> Dialect | None:
    """Return the dialect of a text whose meaning may depend on it; None for other texts.

    Args:
        settings: returns the session's settings, which may be a request.
    """
    return Dialect.of(settings()) if '"' in text else None


def name_of(word: Word) -> str:
    """Return a part of a name without its quotes."""
    return word.text[1:-1].replace("``", "`") if word.text.startswith("`") else word.text


def string_of(word: Word, dialect: Dialect) -> str:
    """Return the value of a string literal."""
    if word.text[0] in "rR":
        return word.text[2:-1]
    quote, inner = word.text[0], word.text[1:-1]
    if dialect.doubled_quotes:
        inner = re.sub(rf"(\\.)|{quote}{quote}", lambda found: found[1] or quote, inner, flags=re.DOTALL)
    else:
        inner = re.sub(rf"(\\.)|{quote}{quote}", lambda found: found[1] or "", inner, flags=re.DOTALL)
    return _ESCAPE.sub(_unescaped, inner) if dialect.escapes and "\\" in inner else inner


def _unescaped(found: re.Match[str]) -> str:
    short, long, octal, char = found.groups()
    if short is not None or long is not None:
        point = int(short or long, 16)
        if point > sys.maxunicode or point in _HALVES:
            raise UnreadableTextError("an escape sequence that is not a character")
        return chr(point)
    if octal is not None:
        return chr(int(octal, 8))
    # Patterns keep the backslash before their own signs.
    return f"\\{char}" if char in "%_" else _ESCAPES.get(char, char)


def number_of(word: Word, dialect: Dialect, *, is_negative: bool, start: int) -> Literal:
    """Return a number. Raise UnreadableTextError if it does not fit its type.

    Args:
        start: where the number begins, which is at its sign if it has one.
    """
    kind, suffix = _SUFFIXES[word.kind]
    digits = ("-" if is_negative else "") + word.text[: len(word.text) - suffix]
    if word.kind == "EXPONENT_VALUE" and dialect.decimal_exponents:
        kind = "decimal"
    value: Value
    if kind in _BITS:
        value = int(digits)
        if kind == "integer":
            kind = next((each for each in ("integer", "long") if _fits(value, each)), "decimal")
        if kind == "decimal":
            return _decimal(Decimal(value), word, start)
        if not _fits(value, kind):
            raise UnreadableTextError(f"{word.text} is out of range", start)
    elif kind == "decimal":
        return _decimal(Decimal(digits), word, start)
    else:
        value = float(digits)
    return Literal(value, kind, start=start, end=word.end)


def _fits(value: int, kind: str) -> bool:
    limit = 1 << (_BITS[kind] - 1)
    return -limit <= value < limit


def _decimal(value: Decimal, word: Word, start: int) -> Literal:
    digits, exponent = value.as_tuple().digits, value.as_tuple().exponent
    scale = max(-int(exponent), 0)
    precision = max(len(digits) + max(int(exponent), 0), scale)
    if precision > _MAX_PRECISION:
        raise UnreadableTextError(f"{word.text} is out of range", start)
    return Literal(value, f"decimal({precision},{scale})", start=start, end=word.end)


def typed_literal(kind: str, text: str, *, start: int, end: int) -> Literal:
    """Return a literal with the name of its type: `DATE '2024-01-31'`, `X'1F'`."""
    name = kind.upper()
    if name == "X":
        digits = text.zfill(len(text) + len(text) % 2)
        try:
            return Literal(bytes.fromhex(digits), "binary", start=start, end=end)
        except ValueError:
            raise UnreadableTextError("a binary literal with other signs than digits", start) from None
    if name not in ("DATE", "TIME", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"):
        raise UnreadableTextError(f"a literal of the type {kind}", start)
    return Literal(text, name.lower(), start=start, end=end)
