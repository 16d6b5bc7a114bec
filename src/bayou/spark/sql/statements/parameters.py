# SPDX-License-Identifier: Apache-2.0
"""Find the parameters `:name` and `?` of a statement, and replace them by literals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.spark.text.words import Word

_CLOSING: Final = frozenset({")", "]"})


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter.

    Attributes:
        name: its name; None for `?`.
        start: where it begins in the statement.
        end: where it ends.
    """

    name: str | None
    start: int
    end: int

    @property
    def text(self) -> str:
        """The parameter as it is written."""
        return "?" if self.name is None else f":{self.name}"


@dataclass(frozen=True, slots=True)
class FilledText:
    """A statement with literals in place of its parameters.

    Attributes:
        text: the statement with literals.
        written: the statement as the user wrote it.
        parameters: the parameters in the written statement.
        values: the literals of the parameters, in the same order.
    """

    text: str
    written: str
    parameters: tuple[Parameter, ...] = ()
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, written: str, parameters: Sequence[Parameter], values: Sequence[str]) -> FilledText:
        """Replace each parameter by its literal."""
        # Two minus signs without a space between them would begin a comment.
        values = [f" {each}" if each.startswith("-") else each for each in values]
        parts, end = [], 0
        for parameter, value in zip(parameters, values, strict=True):
            parts += [written[end : parameter.start], value]
            end = parameter.end
        return cls("".join([*parts, written[end:]]), written, tuple(parameters), tuple(values))

    def place(self, at: int) -> int:
        """Map a position in `text` to the position in `written`. A position inside a literal maps to the start of its parameter."""
        shift = 0  # the number of characters that the literals before this position add
        for parameter, value in zip(self.parameters, self.values, strict=True):
            start = parameter.start + shift
            if at < start:
                break
            if at < start + len(value):
                return parameter.start
            shift += len(value) - (parameter.end - parameter.start)
        return at - shift


def parameters_in(words: Sequence[Word]) -> list[Parameter]:
    """Return the parameters among the words of a statement.

    A colon directly after a name or a bracket is not a parameter: `a:b` is a part of a variant.
    """
    parameters: list[Parameter] = []
    for place, word in enumerate(words):
        if word.text == "?":
            parameters.append(Parameter(None, word.start, word.end))
        elif word.text == ":" and place + 1 < len(words) and words[place + 1].is_name:
            previous = words[place - 1] if place else None
            if previous is None or previous.end < word.start or not (previous.is_name or previous.text in _CLOSING):
                name = words[place + 1]
                parameters.append(Parameter(name.text.strip("`"), word.start, name.end))
    return parameters
