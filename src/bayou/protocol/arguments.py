# SPDX-License-Identifier: Apache-2.0
"""Check the arguments of callers before anything is read or written.

Each check returns the value as a plain Python value, also for a subclass of `str` or an integer of NumPy. If the value is not
valid, it raises InvalidOptionError, which names the argument, the value and what is expected.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import Any, Final

from bayou.errors import DeltaError, failed

INT64_LIMIT: Final = 1 << 63
"""The least positive number that does not fit into a long."""

_SHOWN: Final = 80


def wrong(name: str, value: object, wanted: str, *, table: str | None = None, shown: bool = True) -> DeltaError:
    """Return the error for a wrong argument.

    Args:
        wanted: the expected value, as in "must be a string".
        shown: whether the message shows the value, which must not be a secret then.
    """
    kind = type(value).__name__
    given = "None" if value is None else f"{shown_text(value)}, of type {kind}" if shown else f"of type {kind}"
    return failed("DELTA_ILLEGAL_OPTION", table=table, option=name, given=given, wanted=wanted)


def shown_text(value: object) -> str:
    """Return a value as messages show it: shortened, and without raising an error."""
    try:
        found = repr(value)
    except Exception:  # noqa: BLE001  (the message must not fail on a broken `__repr__`)
        return "a value that cannot be shown"
    return found if len(found) <= _SHOWN else f"{found[:_SHOWN]}..."


def is_unicode(value: str) -> bool:
    """Whether a string is valid Unicode: it has no half of a surrogate pair."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def text(value: object, name: str, *, table: str | None = None, wanted: str = "a string", shown: bool = True) -> str:
    """Return a string that is valid Unicode."""
    if not isinstance(value, str):
        raise wrong(name, value, wanted, table=table, shown=shown)
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise failed("DELTA_ILLEGAL_OPTION/unicode", table=table, option=name, position=error.start) from error
    return str.__str__(value)


def optional_text(value: object, name: str, *, table: str | None = None, wanted: str = "a string or None") -> str | None:
    """Return a string that is valid Unicode, or None."""
    return None if value is None else text(value, name, table=table, wanted=wanted)


def texts(value: object, name: str, *, table: str | None = None, wanted: str = "a list of strings") -> tuple[str, ...]:
    """Return a tuple of strings that are valid Unicode. A single string is not a list of its letters."""
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise wrong(name, value, wanted, table=table)
    return tuple(text(each, f"an element of {name}", table=table) for each in value)


def text_map(
    value: object, name: str, *, table: str | None = None, wanted: str = "a dictionary of strings", shown: bool = True
) -> dict[str, str]:
    """Return a dictionary of strings; an empty one for None.

    Args:
        shown: whether messages show the values, which must not be secrets then.
    """
    return {
        key: text(each, f"{name}[{key!r}]", table=table, shown=shown) for key, each in mapping(value, name, table, wanted).items()
    }


def mapping(
    value: object, name: str, table: str | None = None, wanted: str = "a dictionary whose keys are strings"
) -> dict[str, Any]:
    """Return a dictionary with strings as keys; an empty one for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(name, value, wanted, table=table, shown=False)
    return {text(key, f"a key of {name}", table=table): each for key, each in value.items()}


def integer(value: object, name: str, *, table: str | None = None, least: int | None = None, wanted: str | None = None) -> int:
    """Return an integer, also from one of NumPy's. A boolean is not an integer."""
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
    """Return an integer that fits into a long."""
    wanted = "an integer of at most 64 bits"
    number = integer(value, name, table=table, wanted=wanted)
    if not -INT64_LIMIT <= number < INT64_LIMIT:
        raise wrong(name, value, wanted, table=table)
    return number


def optional_integer(value: object, name: str, *, table: str | None = None) -> int | None:
    """Return an integer, or None."""
    return None if value is None else integer(value, name, table=table)


def optional_number(value: object, name: str, *, table: str | None = None) -> float | None:
    """Return a number, or None."""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    raise wrong(name, value, "a number or None", table=table)


def flag(value: object, name: str, *, table: str | None = None) -> bool:
    """Return a boolean. The string `false` is not one: it would count as true."""
    if not isinstance(value, bool):
        raise wrong(name, value, "True or False", table=table)
    return value


def instance(value: object, kind: type | tuple[type, ...], name: str, wanted: str, *, table: str | None = None) -> None:
    """Check that the value is an instance of a class."""
    if not isinstance(value, kind):
        raise wrong(name, value, wanted, table=table)


def column_path(value: object, name: str, *, table: str | None = None) -> str | tuple[str, ...]:
    """Return the path of a column: one string, or a tuple of names."""
    wanted = "a column such as 's.x', or a list of names"
    return text(value, name, table=table) if isinstance(value, str) else texts(value, name, table=table, wanted=wanted)


def function(value: object, name: str, *, table: str | None = None) -> None:
    """Check that the value is callable."""
    if not callable(value):
        raise wrong(name, value, "a function", table=table)
