# SPDX-License-Identifier: Apache-2.0
"""The words of a statement without Spark."""

from __future__ import annotations

import re

from bayou.spark.jvm.relations.words import Word
from bayou.spark.sql.statements.reader import Reader

# As Spark's lexer, as far as these texts go.
KINDS = {
    "BACKQUOTED_IDENTIFIER": r"`(?:``|[^`])*`",
    "STRING_LITERAL": r"'(?:\\.|[^'])*'|\"(?:\\.|[^\"])*\"",
    "DECIMAL_VALUE": r"(?:\d+\.\d*|\.\d+)(?:[eE][+-]?\d+)?(?:[bB]?[dD]|[lL])?|\d+[eE][+-]\d+",
    "IDENTIFIER": r"\w*[^\W\d]\w*",
    "INTEGER_VALUE": r"\d+",
    "DOUBLE_COLON": r"::",
    "": r"[^\s\w]",
}
WORDS = re.compile("|".join(f"(?P<k{i}>{pattern})" for i, pattern in enumerate(KINDS.values())))
COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def words_in(text):
    """The words of a text."""
    plain = COMMENTS.sub(lambda found: " " * len(found[0]), text)
    kinds = list(KINDS)
    return [Word(kinds[int(found.lastgroup[1:])], found[0], found.start(), found.end()) for found in WORDS.finditer(plain)]


def reader_of(text):
    """A reader of a text."""
    return Reader(text, words_in(text))
