# SPDX-License-Identifier: Apache-2.0
"""Represent the words of a statement, as Spark's lexer finds them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NAME: Final = re.compile(r"[^\W\d]\w*", re.ASCII)
_BACKTICKS: Final = "BACKQUOTED_IDENTIFIER"
_STRINGS: Final = frozenset({"STRING", "STRING_LITERAL", "DOUBLEQUOTED_STRING"})


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a statement.

    Attributes:
        kind: its kind in Spark's lexer.
        text: the word as it is written.
        start: where it begins.
        end: where it ends.
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """Whether it may be a part of a name."""
        return self.kind in {_BACKTICKS, "IDENTIFIER"} or _NAME.fullmatch(self.text) is not None

    @property
    def is_string(self) -> bool:
        """Whether it is a string literal."""
        return self.kind in _STRINGS and not self.is_name  # the keyword STRING has the kind that older lexers give a literal
