# SPDX-License-Identifier: Apache-2.0
"""The words of a statement without a JVM: as Spark's lexer finds them, as far as the texts of the tests go."""

from __future__ import annotations

import re

from bayou.spark.jvm.relations.words import Word

_KINDS = {
    "BACKQUOTED_IDENTIFIER": r"`(?:``|[^`])*`",
    "STRING_LITERAL": r"'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"",
    "DECIMAL_VALUE": r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[bB]?[dD]|[lL])?|\d+[eE][+-]\d+",
    "IDENTIFIER": r"\w*[^\W\d]\w*",
    "INTEGER_VALUE": r"\d+",
    "DOUBLE_COLON": r"::",
    "": r"[^\s\w]",
}
_WORDS = re.compile("|".join(f"(?P<k{i}>{pattern})" for i, pattern in enumerate(_KINDS.values())))
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def words(text: str) -> list[Word]:
    """The words of a text."""
    plain = _COMMENTS.sub(lambda found: " " * len(found[0]), text)
    kinds = list(_KINDS)
    return [Word(kinds[int(found.lastgroup[1:])], found[0], found.start(), found.end()) for found in _WORDS.finditer(plain)]
