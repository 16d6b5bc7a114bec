# SPDX-License-Identifier: Apache-2.0
"""Evaluate the arguments of a function in place of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.spark.portable.text.literals import Dialect, string_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.sql.functions.arguments import Argument

if TYPE_CHECKING:
    from bayou.spark.portable.commands.identifiers import Arguments
    from bayou.spark.portable.text.queries import FunctionCall
    from bayou.spark.text.words import Word

_TIMES: Final = ("TIMESTAMP", "DATE")


def values_of(call: FunctionCall, arguments: Arguments) -> list[Argument]:
    """Return the values of a call's arguments. The server computes those that are not literals."""
    found = []
    for start, end in _split(call):
        text = arguments.filled(start, end).strip()
        found.append(_literal(words(text)) or arguments.value(text))
    return found


def _split(call: FunctionCall) -> list[tuple[int, int]]:
    """Return where each argument begins and ends in the whole text."""
    places, depth, start = [], 0, 0
    found = words(call.arguments.text)
    for word in found:
        depth += (word.text in ("(", "[")) - (word.text in (")", "]"))
        if word.text == "," and not depth:
            places.append((start, word.start))
            start = word.end
    places += [(start, len(call.arguments.text))] if found else []
    return [(call.arguments.start + start, call.arguments.start + end) for start, end in places]


def _literal(argument: list[Word]) -> Argument | None:
    """Return the value of a number, a string, a time or NULL; None for other expressions."""
    shown = " ".join(word.text for word in argument)
    sign = shown[:1] if shown[:1] in ("-", "+") else ""
    if shown[len(sign) :].strip().isdecimal():
        return Argument("long", sign + shown[len(sign) :].strip())
    if shown.upper() == "NULL":
        return Argument("void", "NULL")
    is_time = len(argument) > 1 and argument[0].text.upper() in _TIMES
    text = argument[1:] if is_time else argument
    if len(text) == 1 and text[0].is_string:
        return Argument("string", string_of(text[0], Dialect()))
    return None
