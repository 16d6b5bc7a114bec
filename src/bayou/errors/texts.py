# SPDX-License-Identifier: Apache-2.0
"""Strings for errors: without the secrets of URIs, and never longer than a person reads.

A text may hold what another program wrote, of any length. So each function here takes time in proportion to its text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final

LONGEST_TEXT: Final = 4_000
"""How many characters `shortened` leaves at most."""

_LONGEST_WORD: Final = 500
_WORD_ENDS: Final = (300, 100)
_TEXT_ENDS: Final = (3_000, 900)
_SAMPLE: Final = 5

# Two letters at least: one letter and a colon is a drive.
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)", re.ASCII)
# The bound keeps the search linear. Of a longer scheme the end is found, and the rest of the URI with it.
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,31}://[^\s'\"<>]+", re.ASCII)
_WORD: Final = re.compile(r"\S+")
_END_OF_AUTHORITY: Final = re.compile(r"[/?#]")
_SCHEMES_WITHOUT_PORTS: Final = frozenset({"s3", "s3a", "s3n"})
# Each turn looks at the whole rest of the text. No URI that works needs more than a few.
_MOST_TURNS: Final = 50


def redact_uri(uri: str) -> str:
    """A URI without its secrets, for messages, events and logs; paths and `file:` URIs are left as they are.

    A user with a password goes, as in `s3a://key:secret@bucket/t`; a user alone stays, as the container does in
    `abfss://container@account.dfs.core.windows.net/t`. What follows a question mark goes too: signed URLs and shared
    access signatures are kept there. A secret key with an unescaped slash in it is found where it is not taken for a port.
    """
    found = _SCHEME.match(uri)
    if found is None or found[1].lower() == "file":
        return uri
    rest = uri[found.end() :]
    if rest.startswith("//"):
        rest = "//" + _without_password(found[1].lower(), rest[2:])
    return uri[: found.end()] + rest.partition("?")[0]


def redact_text(text: str) -> str:
    """A text with the secrets taken out of every URI in it."""
    return _URI.sub(lambda found: redact_uri(found[0]), text)


def shortened(text: str) -> str:
    """A text with its long words cut, and cut in the middle where it is longer than `LONGEST_TEXT` even so."""
    if len(text) <= _LONGEST_WORD:
        return text
    with_short_words = _WORD.sub(lambda found: _cut(found[0], _LONGEST_WORD, _WORD_ENDS), text)
    return _cut(with_short_words, LONGEST_TEXT, _TEXT_ENDS)


def sample(values: Iterable[object], separator: str = ", ", *, total: int | None = None) -> str:
    """The first five of some values, and how many more there are; `none` where there is not one.

    Args:
        values: the values, or the first ones where their number is given.
        total: how many there are; None counts them.
    """
    known = list(islice(values, _SAMPLE)) if total is not None else list(values)
    count = len(known) if total is None else total
    shown = separator.join(map(str, known[:_SAMPLE]))
    return f"{shown} and {count - _SAMPLE} more" if count > _SAMPLE else shown or "none"


def _cut(text: str, most: int, ends: tuple[int, int]) -> str:
    if len(text) <= most:
        return text
    head, tail = ends
    return f"{text[:head]}... ({len(text)} characters) ...{text[-tail:]}"


def _without_password(scheme: str, text: str) -> str:
    """The text after `//`, without users that have a password. Each turn makes it shorter."""
    for _ in range(_MOST_TURNS):
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
        # No port: the beginning of a secret that holds one of `/?#`.
        text = rest.partition("@")[2] if "@" in rest else name + rest
    return ""
