# SPDX-License-Identifier: Apache-2.0
"""Read calls of `table_changes` and `table_changes_by_path` in SQL queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.spark.portable.names import path_in
from bayou.spark.portable.text.literals import Dialect, string_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.sql.functions.arguments import Argument, change_bound, check_count

if TYPE_CHECKING:
    from bayou.spark.portable.text.queries import FunctionCall, Part
    from bayou.spark.text.words import Word

_BY_NAME, _BY_PATH = "table_changes", "table_changes_by_path"
_TIMES: Final = ("TIMESTAMP", "DATE")


def changes_of(call: FunctionCall) -> dict[str, str] | None:
    """Return the reader's options for the change data feed that a call asks for; None if the call is the server's.

    Raises:
        InvalidOptionError: the number or the types of the arguments are wrong.
        UnsupportedFeatureError: an argument is not a literal.
    """
    if call.name not in (_BY_NAME, _BY_PATH):
        return None
    arguments = [_value(part, call.name) for part in _split(call.arguments)]
    check_count(call.name, arguments)
    table, *bounds = arguments
    path: str | None = table.string(call.name, "table path" if call.name == _BY_PATH else "table name")
    if call.name == _BY_NAME:
        path = path_in(path or "")
    if path is None:
        return None
    options = {"path": path, "readChangeFeed": "true"}
    for side, bound in zip(("starting", "ending"), bounds, strict=False):
        options |= change_bound(call.name, side, bound)
    return options


def _split(arguments: Part) -> list[list[Word]]:
    """Return the words of each argument."""
    found: list[list[Word]] = [[]]
    depth = 0
    for word in words(arguments.text):
        depth += (word.text == "(") - (word.text == ")")
        if word.text == "," and not depth:
            found.append([])
        else:
            found[-1].append(word)
    return found if found[0] or len(found) > 1 else []


def _value(argument: list[Word], function: str) -> Argument:
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
    what = f"The argument {shown} of {function}, which is not a literal,"
    raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))
