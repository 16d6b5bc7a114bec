# SPDX-License-Identifier: Apache-2.0
"""The parameters of a statement, `:name` and `?`: where they stand, and the statement with literals in their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.spark.jvm.relations.words import Word

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
        """As the statement has it."""
        return "?" if self.name is None else f":{self.name}"


@dataclass(frozen=True, slots=True)
class FilledText:
    """A statement with literals in the places of its parameters.

    Attributes:
        text: the statement that is read.
        written: the statement as the user wrote it.
        parameters: the parameters in the written statement.
        values: their literals.
    """

    text: str
    written: str
    parameters: tuple[Parameter, ...] = ()
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, written: str, parameters: Sequence[Parameter], values: Sequence[str]) -> FilledText:
        """The statement with a literal for each parameter."""
        parts, end = [], 0
        for parameter, value in zip(parameters, values, strict=True):
            parts += [written[end : parameter.start], value]
            end = parameter.end
        return cls("".join([*parts, written[end:]]), written, tuple(parameters), tuple(values))

    def place(self, at: int) -> int:
        """The place in the written statement of a place in the one that is read; within a literal, where its parameter begins."""
        shift = 0  # by how much the text that is read is longer, up to here
        for parameter, value in zip(self.parameters, self.values, strict=True):
            start = parameter.start + shift
            if at < start:
                break
            if at < start + len(value):
                return parameter.start
            shift += len(value) - (parameter.end - parameter.start)
        return at - shift


def parameters_in(words: Sequence[Word]) -> list[Parameter]:
    """The parameters among the words of a statement.

    A colon right behind a name or a bracket is not one: `a:b` is a part of a variant.
    """
    found: list[Parameter] = []
    for place, word in enumerate(words):
        if word.text == "?":
            found.append(Parameter(None, word.start, word.end))
        elif word.text == ":" and place + 1 < len(words) and words[place + 1].is_name:
            before = words[place - 1] if place else None
            if before is None or before.end < word.start or not (before.is_name or before.text in _CLOSING):
                name = words[place + 1]
                found.append(Parameter(name.text.strip("`"), word.start, name.end))
    return found
