# SPDX-License-Identifier: Apache-2.0
"""Strings for errors, without the secrets of URIs and with a limited length.

A string may come from another program and have any length. Therefore each function here takes time linear in the length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

LONGEST_TEXT: Final = 4_000
"""The approximate maximum length of what `shortened` returns."""

_LONGEST_WORD: Final = 500
_WORD_ENDS: Final = (300, 100)
_TEXT_ENDS: Final = (3_000, 900)
_SAMPLE: Final = 5

# A scheme has at least two letters: one letter and a colon are a drive of Windows.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)", re.ASCII)
# The bound keeps the search linear. If a scheme is longer, its last characters match, and so does the rest of the URI.
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,31}://[^\s'\"<>]+", re.ASCII)
_WORD: Final = re.compile(r"\S+")
_END_OF_AUTHORITY: Final = re.compile(r"[/?#]")
_SCHEMES_WITHOUT_PORTS: Final = frozenset({"s3", "s3a", "s3n"})
# Each pass reads the whole rest of the string. A valid URI needs few passes.
_MAX_PASSES: Final = 50


def redact_uri(uri: str) -> str:
    """Return a URI without its secrets, for messages, events and logs. Paths and `file:` URIs stay as they are.

    A user with a password is removed, as in `s3a://key:secret@bucket/t`. A user without one stays, such as the container in
    `abfss://container@account.dfs.core.windows.net/t`. The query is removed, because signed URLs and shared access signatures have
    their secrets in it. A password with an unescaped slash is found too, unless its beginning looks like a port.
    """
    found = _SCHEME.match(uri)
    if found is None or found[1].lower() == "file":
        return uri
    rest = uri[found.end() :]
    if rest.startswith("//"):
        rest = "//" + _without_password(found[1].lower(), rest[2:])
    return uri[: found.end()] + rest.partition("?")[0]


def redact_text(text: str) -> str:
    """Return a string without the secrets of the URIs in it."""
    return _URI.sub(lambda found: redact_uri(found[0]), text)


def shortened(text: str) -> str:
    """Return a string with its long words cut. If it is still longer than `LONGEST_TEXT`, cut out its middle."""
    if len(text) <= _LONGEST_WORD:
        return text
    with_short_words = _WORD.sub(lambda found: _cut(found[0], _LONGEST_WORD, _WORD_ENDS), text)
    return _cut(with_short_words, LONGEST_TEXT, _TEXT_ENDS)


def sample(values: Iterable[object], separator: str = ", ", *, total: int | None = None) -> str:
    """Return the first five of some values as a string, with the number of the others; `none` for an empty iterable.

    Args:
        values: the values. If `total` is set, the first ones suffice.
        total: the number of values; they are counted if it is None.
    """
    known = list(islice(values, _SAMPLE)) if total is not None else list(values)
    count = len(known) if total is None else total
    shown = separator.join(map(str, known[:_SAMPLE]))
    return f"{shown} and {count - _SAMPLE} more" if count > _SAMPLE else shown or "none"


def _cut(text: str, longest: int, ends: tuple[int, int]) -> str:
    """Return a string that is too long without its middle: its first and last characters, `ends` of them, and its length."""
    if len(text) <= longest:
        return text
    head, tail = ends
    return f"{text[:head]}... ({len(text)} characters) ...{text[-tail:]}"


def _without_password(scheme: str, text: str) -> str:
    """Return the part of a URI after `//` without users that have a password.

    Each pass removes one user. If passes remain necessary after the last, return an empty string, because it may be a secret.
    """
    for _ in range(_MAX_PASSES):
        end = _END_OF_AUTHORITY.search(text)
        authority, rest = (text[: end.start()], text[end.start() :]) if end else (text, "")
        user, at, host = authority.rpartition("@")
        if at:
            if ":" not in user:
                return text
            text = host + rest
            continue
        name, colon, tail = host.partition(":")
        is_port = tail.isdecimal() and scheme not in _SCHEMES_WITHOUT_PORTS
        if not colon or not tail or is_port or host.startswith("["):
            return text
        # What follows the colon is not a port: it is the beginning of a password that contains one of `/?#`.
        text = rest.partition("@")[2] if "@" in rest else name + rest
    return ""
