# SPDX-License-Identifier: Apache-2.0
"""Read and write JSON without changing numbers, and write only valid JSON in ASCII.

Python's own module reads a number with a point as a float, which rounds decimals and makes infinity of 1e400. It also writes NaN
and infinity, which other JSON parsers refuse.
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
    """A number that keeps its digits.

    Attributes:
        digits: the number as it was written.
    """

    __slots__ = ("digits",)
    digits: str

    def __new__(cls, digits: str) -> Self:
        """Parse a number."""
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
    """Parse JSON, and also NaN and infinity, like Python's own module.

    Numbers with a point or an exponent become `Number`, and so does an integer with more digits than Python converts. Raise
    ValueError if the string is not JSON, and RecursionError if it is nested too deeply.
    """
    return json.loads(text, parse_float=Number, parse_int=_integer)


def dumps(document: Any, *, separators: tuple[str, str] = _COMPACT) -> str:
    r"""Write valid JSON in ASCII, on one line.

    NaN and infinity become the strings that statistics have for them. Bytes are decoded as UTF-8. Half of a surrogate pair is not
    valid JSON: it becomes its escaped code, such as `\udc80`. Raise TypeError for a value that JSON cannot represent.

    Args:
        separators: the separators between two members, and between a name and its value.
    """
    # Use a stack instead of recursion, since Python's parser accepts deeper nesting than its calls.
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
    """Yield the pieces of an object or array in order: punctuation and names as JSON, and its values, not yet encoded."""
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
    """Return the JSON of a value that is not an object or an array; see `dumps` for NaN, infinity and bytes."""
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
    """Return the JSON of a string, which may be the name of a member. Raise TypeError for another value."""
    if not isinstance(text, str):
        raise _without_json(text)
    # A Python string may have both halves of a surrogate pair as two characters: join them. Escape a half without the other.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass") if not text.isascii() else text
    return json.dumps(joined.encode("utf-8", "backslashreplace").decode("utf-8")).replace("\x7f", "\\u007f")


def _integer(digits: str) -> int | Number:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts
        return Number(digits)


def _without_json(value: object) -> TypeError:
    return TypeError(f"a {type(value).__name__} has no JSON")
