# SPDX-License-Identifier: Apache-2.0
"""Checks of what callers give: a value of another type is refused before anything is read or written.

Each check returns the value as a plain one of the type, so that a subclass of `str` or an integer of NumPy goes on as what it
stands for. An error names the argument, the value and what is wanted.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, Final

from bayou.errors import DeltaError, failed

INT64_LIMIT: Final = 1 << 63
"""The first number that the log cannot hold."""

_SHOWN: Final = 80


def wrong(name: str, value: object, wanted: str, *, table: str | None = None, shown: bool = True) -> DeltaError:
    """Return the error for an argument, to be raised.

    Args:
        wanted: what is wanted, as in "must be a string".
        shown: whether the message shows the value. It must not if the value may be a secret.
    """
    kind = type(value).__name__
    given = "None" if value is None else f"{shown_text(value)}, of type {kind}" if shown else f"of type {kind}"
    return failed("DELTA_ILLEGAL_OPTION", table=table, option=name, given=given, wanted=wanted)


def shown_text(value: object) -> str:
    """A value as messages show it: cut, and never an error of its own."""
    try:
        found = repr(value)
    except Exception:  # noqa: BLE001  (a value that cannot be shown is still the one that is wrong)
        return "a value that cannot be shown"
    return found if len(found) <= _SHOWN else f"{found[:_SHOWN]}..."


def text(value: object, name: str, *, table: str | None = None, wanted: str = "a string", shown: bool = True) -> str:
    """A string that the log can hold: one that has no half of a surrogate pair.

    Raises:
        InvalidOptionError: it is something else.
    """
    if not isinstance(value, str):
        raise wrong(name, value, wanted, table=table, shown=shown)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise failed("DELTA_ILLEGAL_OPTION/unicode", table=table, option=name, position=error.start) from error
    return str.__str__(value)


def optional_text(value: object, name: str, *, table: str | None = None, wanted: str = "a string or None") -> str | None:
    """A string that the log can hold, or None.

    Raises:
        InvalidOptionError: it is neither.
    """
    return None if value is None else text(value, name, table=table, wanted=wanted)


def texts(value: object, name: str, *, table: str | None = None, wanted: str = "a list of strings") -> tuple[str, ...]:
    """Strings that the log can hold. One string is not a list of its letters.

    Raises:
        InvalidOptionError: they are something else.
    """
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise wrong(name, value, wanted, table=table)
    return tuple(text(each, f"an element of {name}", table=table) for each in value)


def text_map(
    value: object, name: str, *, table: str | None = None, wanted: str = "a dictionary of strings", shown: bool = True
) -> dict[str, str]:
    """Strings by strings. None is an empty dictionary.

    Args:
        shown: whether messages show the values. They must not if they may be secrets.

    Raises:
        InvalidOptionError: it is something else.
    """
    return {
        key: text(each, f"{name}[{key!r}]", table=table, shown=shown) for key, each in mapping(value, name, table, wanted).items()
    }


def mapping(
    value: object, name: str, table: str | None = None, wanted: str = "a dictionary whose keys are strings"
) -> dict[str, Any]:
    """Anything by strings. None is an empty dictionary.

    Raises:
        InvalidOptionError: it is something else.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(name, value, wanted, table=table, shown=False)
    return {text(key, f"a key of {name}", table=table): each for key, each in value.items()}


def integer(value: object, name: str, *, table: str | None = None, least: int | None = None, wanted: str | None = None) -> int:
    """An integer, including NumPy's. Booleans are refused.

    Raises:
        InvalidOptionError: it is something else.
    """
    wanted = wanted or ("an integer" if least is None else f"an integer from {least} on")
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise wrong(name, value, wanted, table=table)
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong(name, value, wanted, table=table) from None
    if least is not None and number < least:
        raise wrong(name, value, wanted, table=table)
    return number


def long(value: object, name: str, *, table: str | None = None) -> int:
    """An integer that the log can hold.

    Raises:
        InvalidOptionError: it is something else.
    """
    wanted = "an integer of at most 64 bits"
    number = integer(value, name, table=table, wanted=wanted)
    if not -INT64_LIMIT <= number < INT64_LIMIT:
        raise wrong(name, value, wanted, table=table)
    return number


def optional_integer(value: object, name: str, *, table: str | None = None) -> int | None:
    """An integer, or None.

    Raises:
        InvalidOptionError: it is neither.
    """
    return None if value is None else integer(value, name, table=table)


def optional_number(value: object, name: str, *, table: str | None = None) -> float | None:
    """A number, or None.

    Raises:
        InvalidOptionError: the value is something else.
    """
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    raise wrong(name, value, "a number or None", table=table)


def flag(value: object, name: str, *, table: str | None = None) -> bool:
    """A boolean. The string `false` is refused: it would count as true.

    Raises:
        InvalidOptionError: it is something else.
    """
    if not isinstance(value, bool):
        raise wrong(name, value, "True or False", table=table)
    return value


def instance(value: object, kind: type | tuple[type, ...], name: str, wanted: str, *, table: str | None = None) -> None:
    """Refuse what is not an instance of a class.

    Raises:
        InvalidOptionError: it is something else.
    """
    if not isinstance(value, kind):
        raise wrong(name, value, wanted, table=table)


def column_path(value: object, name: str, *, table: str | None = None) -> str | tuple[str, ...]:
    """The path of a column: one string, or the names on the way to it.

    Raises:
        InvalidOptionError: it is something else.
    """
    wanted = "a column such as 's.x', or a list of names"
    return text(value, name, table=table) if isinstance(value, str) else texts(value, name, table=table, wanted=wanted)


def function(value: object, name: str, *, table: str | None = None) -> None:
    """Refuse what cannot be called.

    Raises:
        InvalidOptionError: it cannot.
    """
    if not callable(value):
        raise wrong(name, value, "a function", table=table)
