# SPDX-License-Identifier: Apache-2.0
"""JSON that goes out as it came in: numbers keep their digits, and what is written is valid JSON in ASCII.

Python's own module reads a number with a point into a float, which rounds a decimal and turns 1e400 into infinity. It also
writes NaN and infinity as words that no other JSON parser accepts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

_COMPACT = (",", ":")


class Number(float):
    """A number that remembers its digits.

    Attributes:
        digits: the text of the number.
    """

    __slots__ = ("digits",)
    digits: str

    def __new__(cls, digits: str) -> Self:
        """The number of a text."""
        made = super().__new__(cls, digits)
        made.digits = digits
        return made

    def __str__(self) -> str:
        return str(self.digits)

    __repr__ = __str__


class _Text(str):
    """A piece of JSON that is already encoded."""

    __slots__ = ()


def loads(text: str | bytes) -> Any:
    """Read JSON. NaN and infinity, which are no JSON, are read as floats, as Python's own module does.

    Numbers with a point or an exponent become `Number`, and so does an integer with more digits than Python converts.

    Raises:
        ValueError: the text is not JSON.
        RecursionError: its values are nested too deeply.
    """
    return json.loads(text, parse_float=Number, parse_int=_integer)


def dumps(document: Any, *, separators: tuple[str, str] = _COMPACT) -> str:
    r"""Write valid JSON in ASCII, on one line.

    NaN and infinity become the strings that statistics use for them. Bytes become text, as UTF-8. Half of a surrogate pair has
    no valid JSON: it becomes text that spells its code, such as `\udc80`.

    Args:
        document: what `loads` gives, or other plain values.
        separators: what to write between two members, and between a name and its value.

    Raises:
        TypeError: a value has no JSON.
    """
    # A stack and no recursion: Python's parser accepts deeper nesting than Python's calls do.
    comma, colon = separators
    pieces: list[str] = []
    stack: list[Any] = [document]
    while stack:
        value = stack.pop()
        if isinstance(value, _Text):
            pieces.append(value)
        elif isinstance(value, (Mapping, list, tuple)):
            stack.extend(reversed(list(_members(value, comma, colon))))
        else:
            pieces.append(_scalar(value))
    return "".join(pieces)


def _members(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], comma: str, colon: str) -> Iterator[Any]:
    is_object = isinstance(value, Mapping)
    yield _Text("{" if is_object else "[")
    for place, each in enumerate(value.items() if isinstance(value, Mapping) else value):
        if place:
            yield _Text(comma)
        if is_object:
            yield _Text(_string(each[0]) + colon)
        yield each[1] if is_object else each
    yield _Text("}" if is_object else "]")


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bytes):
        return _string(value.decode("utf-8", "backslashreplace"))
    if isinstance(value, Number):
        return value.digits
    if isinstance(value, float) and not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else '"Infinity"' if value > 0 else '"-Infinity"'
    if value is None or isinstance(value, (bool, int, float)):
        return json.dumps(value)
    raise _without_json(value)


def _string(text: object) -> str:
    if not isinstance(text, str):
        raise _without_json(text)
    # Joins the pairs that stand in the text as two halves, and spells what is left.
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if not text.isascii() else text
    return json.dumps(whole.encode("utf-8", "backslashreplace").decode("utf-8")).replace("\x7f", "\\u007f")


def _integer(digits: str) -> int | Number:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        return Number(digits)


def _without_json(value: object) -> TypeError:
    return TypeError(f"a {type(value).__name__} has no JSON")
