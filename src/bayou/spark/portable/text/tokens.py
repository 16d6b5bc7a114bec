# SPDX-License-Identifier: Apache-2.0
"""Split SQL text into words, as Spark's lexer does.

Source: Spark's grammar `SqlBaseLexer.g4`. Of the rules that match at a position, the one with the longest match applies.
"""

from __future__ import annotations

import re
from typing import Final

from bayou.spark.text.words import Word

_BLANKS: Final = re.compile(r"[ \t\n\f\r\x0b\u00a0\u1680\u2000-\u200a\u2028\u202f\u205f\u3000]+")
_COMMENT: Final = re.compile(r"--(?:\\\n|[^\r\n])*\r?\n?")
_BRACKETS: Final = re.compile(r"/\*(?!\+)|\*/")
"""The beginning and the end of a comment in brackets. `/*+` begins a hint, which consists of words."""
_NAME: Final = re.compile(r"[0-9A-Za-z_]+")
_LOCATION: Final = re.compile(r"://(?P<rest>[\w/\-.?=&#%]+)")
"""The part of a location without quotes after its scheme."""
_DOLLARS: Final = re.compile(r"(\$[A-Za-z0-9_]*\$).*?\1", re.DOTALL)
_EXPONENT: Final = r"[eE][+-]?[0-9]+"
_FRACTION: Final = r"(?:[0-9]+\.[0-9]*|\.[0-9]+)"
_NO_PART_FOLLOWS: Final = r"(?![0-9A-Za-z_])"


def _number(suffix: str) -> re.Pattern[str]:
    """Return the pattern of a literal that has a type suffix, and optionally a fraction and an exponent."""
    return re.compile(rf"[0-9]+(?:{_EXPONENT})?{suffix}|{_FRACTION}(?:{_EXPONENT})?{suffix}{_NO_PART_FOLLOWS}")


_NUMBERS: Final = {
    "BIGINT_LITERAL": re.compile(r"[0-9]+[lL]"),
    "SMALLINT_LITERAL": re.compile(r"[0-9]+[sS]"),
    "TINYINT_LITERAL": re.compile(r"[0-9]+[yY]"),
    "INTEGER_VALUE": re.compile(r"[0-9]+"),
    "EXPONENT_VALUE": re.compile(rf"[0-9]+{_EXPONENT}|{_FRACTION}{_EXPONENT}{_NO_PART_FOLLOWS}"),
    "DECIMAL_VALUE": re.compile(rf"{_FRACTION}{_NO_PART_FOLLOWS}"),
    "FLOAT_LITERAL": _number("[fF]"),
    "DOUBLE_LITERAL": _number("[dD]"),
    "BIGDECIMAL_LITERAL": _number("[bB][dD]"),
}
"""The rules of numbers in the order of the grammar, in which the first of two equally long matches wins."""
_QUOTED: Final = {
    "'": ("STRING_LITERAL", re.compile(r"'(?:[^'\\]|\\.|'')*'", re.DOTALL)),
    '"': ("DOUBLEQUOTED_STRING", re.compile(r'"(?:[^"\\]|\\.|"")*"', re.DOTALL)),
    "`": ("BACKQUOTED_IDENTIFIER", re.compile(r"`(?:[^`]|``)*`")),
}
_RAW: Final = re.compile(r"[rR](?:'[^']*'|\"[^\"]*\")")
_SIGNS: Final = {
    ";": "SEMICOLON",
    "(": "LEFT_PAREN",
    ")": "RIGHT_PAREN",
    ",": "COMMA",
    ".": "DOT",
    "[": "LEFT_BRACKET",
    "]": "RIGHT_BRACKET",
    "!": "BANG",
    "=": "EQ",
    "==": "EQ",
    "<=>": "NSEQ",
    "<>": "NEQ",
    "!=": "NEQJ",
    "<": "LT",
    "<=": "LTE",
    "!>": "LTE",
    ">": "GT",
    ">=": "GTE",
    "!<": "GTE",
    "<<": "SHIFT_LEFT",
    ">>": "SHIFT_RIGHT",
    ">>>": "SHIFT_RIGHT_UNSIGNED",
    "+": "PLUS",
    "-": "MINUS",
    "*": "ASTERISK",
    "/": "SLASH",
    "%": "PERCENT",
    "~": "TILDE",
    "&": "AMPERSAND",
    "|": "PIPE",
    "||": "CONCAT_PIPE",
    "|>": "OPERATOR_PIPE",
    "^": "HAT",
    ":": "COLON",
    "::": "DOUBLE_COLON",
    "@": "AT_SIGN",
    "@v": "AT_VERSION",
    "@V": "AT_VERSION",
    "->": "ARROW",
    "=>": "FAT_ARROW",
    "/*+": "HENT_START",
    "*/": "HENT_END",
    "?": "QUESTION",
}
_LONGEST_SIGN: Final = max(map(len, _SIGNS))
_NESTED_TYPES: Final = frozenset({"ARRAY", "MAP", "STRUCT"})


def words(text: str) -> list[Word]:
    """Return the words of a text, without blanks and comments.

    The kinds are those of Spark's lexer, except that a keyword is an IDENTIFIER, since Spark's versions differ in their keywords,
    and that a string in dollars is one word of the kind DOLLAR_QUOTED_STRING. A text with a comment that is not closed has no
    words: Spark refuses it.
    """
    found: list[Word] = []
    at = open_types = 0
    while at < len(text):
        end = _after_hidden(text, at)
        if end is None:
            return []
        if end > at:
            at = end
            continue
        kind, end = _word(text, at)
        if kind.startswith("SHIFT_RIGHT") and open_types:
            kind, end = "GT", at + 1  # the end of a type in a type, such as array<array<int>>
        if kind == "GT":
            open_types = max(open_types - 1, 0)
        elif kind == "IDENTIFIER" and text[at:end].upper() in _NESTED_TYPES:
            open_types += 1
        found.append(Word(kind, text[at:end], at, end))
        at = end
    return found


def _after_hidden(text: str, at: int) -> int | None:
    """Return the end of the blanks or the comment at a position, which is the position itself without them.

    Return None if a comment is not closed.
    """
    hidden = _BLANKS.match(text, at) or _COMMENT.match(text, at)
    if hidden is not None:
        return hidden.end()
    if not text.startswith("/*", at) or text.startswith("/*+", at):
        return at
    depth = 0
    for bracket in _BRACKETS.finditer(text, at):
        depth += 1 if bracket[0] == "/*" else -1
        if depth == 0:
            return bracket.end()
    return None


def _word(text: str, at: int) -> tuple[str, int]:
    """Return the kind and the end of the word at a position."""
    first = text[at]
    if first in _QUOTED:
        kind, pattern = _QUOTED[first]
        quoted = pattern.match(text, at)
        return ("UNRECOGNIZED", at + 1) if quoted is None else (kind, quoted.end())
    raw = _RAW.match(text, at)
    if raw is not None:
        return "STRING_LITERAL", raw.end()
    dollars = _DOLLARS.match(text, at)
    if dollars is not None:
        return "DOLLAR_QUOTED_STRING", dollars.end()
    matches = [(kind, pattern.match(text, at)) for kind, pattern in _NUMBERS.items()] if first.isdecimal() or first == "." else []
    ends = [(kind, match.end()) for kind, match in matches if match is not None]
    ends += [("IDENTIFIER", _end_of_name(text, at)), _sign(text, at), ("UNRECOGNIZED", at + 1)]
    return max(ends, key=lambda each: each[1])


def _sign(text: str, at: int) -> tuple[str, int]:
    for length in range(_LONGEST_SIGN, 0, -1):
        sign = text[at : at + length]
        if sign in _SIGNS:
            return _SIGNS[sign], at + len(sign)
    return "UNRECOGNIZED", at


def _end_of_name(text: str, at: int) -> int:
    """Return the end of the name, or of the location without quotes, at a position; the position without either."""
    end = at
    only_letters = True
    while end < len(text):
        ascii_part = _NAME.match(text, end)
        if ascii_part is not None:
            only_letters = only_letters and ascii_part[0].isalpha()
            end = ascii_part.end()
        elif text[end].isalpha():
            end += 1
        else:
            break
    location = _LOCATION.match(text, end) if end > at and only_letters else None
    if location is None:
        return end
    rest = location["rest"]
    foreign = next((place for place, char in enumerate(rest) if not char.isascii() and not char.isalpha()), len(rest))
    return location.start("rest") + foreign if foreign else end
