# SPDX-License-Identifier: Apache-2.0
"""Hide the secrets of a store from errors: a server may quote anything that it was sent."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

# Shorter values are parts of words, and of other strings.
_SHORTEST: Final = 8
_HIDDEN: Final = "..."
_NAMES: Final = re.compile(
    r"access_key|account_key|master_key|customer_key|encryption_key|service_account_key|sas_key|secret|token|password", re.ASCII
)
_NO_SECRETS: Final = re.compile(r"_(?:file|url|uri)$", re.ASCII)
_ENVIRONMENT: Final = ("AWS_", "AZURE_", "GOOGLE_")
# What a server may quote of the credentials that the library got itself, and of what it signed.
_PATTERNS: Final = (
    re.compile(r"(?i)\b(?P<kept>bearer\s+)[\w.~+/=-]{8,}"),
    re.compile(r"(?i)(?P<kept>\b(?:sig|x-amz-signature|x-amz-security-token|x-goog-signature|signature)=)[^&\s\"'<>,]+"),
    re.compile(r"(?i)(?P<kept>\"(?:access_token|id_token|refresh_token|client_secret|private_key)\"\s*:\s*\")[^\"]*"),
)


class Secrets:
    """Removes secrets from strings."""

    def __init__(self, options: Mapping[str, object]) -> None:
        """Collect the secrets in the options of the store and of its client, by name, and in the environment."""
        found = {each for name, value in options.items() for each in _of_option(name.lower(), str(value))}
        for name, value in os.environ.items():
            if name.startswith(_ENVIRONMENT):
                found.update(_of_option(name.lower(), value))
        self._values = _longest_first(found)

    def __repr__(self) -> str:
        return f"Secrets({len(self._values)})"

    def add(self, values: Iterable[str]) -> None:
        """Hide further values, which were received later."""
        found = {spelling for value in values for spelling in _spellings(value)}
        if not found <= set(self._values):
            self._values = _longest_first(found | set(self._values))

    def hide(self, text: str) -> str:
        """Return a string without secrets."""
        for value in self._values:
            text = text.replace(value, _HIDDEN)
        for pattern in _PATTERNS:
            text = pattern.sub(rf"\g<kept>{_HIDDEN}", text)
        return text


def _of_option(name: str, value: str) -> Iterator[str]:
    """Yield the secrets in an option's value, in all spellings in which they may be quoted."""
    plain: list[str] = []
    if _NAMES.search(name) and not _NO_SECRETS.search(name):
        plain = [value, value.strip(), *value.split()]
        if "sas" in name:
            plain += [found for key, found in parse_qsl(value.lstrip("?")) if key == "sig"]
            plain += re.findall(r"sig=([^&]+)", value)
        plain += _of_json(value)
    elif "://" in value and "@" in value:
        plain = list(_of_address(value))
    for each in plain:
        yield from _spellings(each)


def _spellings(value: str) -> Iterator[str]:
    yield from (value, quote(value, safe=""), quote(value), quote_plus(value), json.dumps(value)[1:-1])


def _longest_first(values: Iterable[str]) -> list[str]:
    return sorted((each for each in values if len(each) >= _SHORTEST), key=len, reverse=True)


def _of_address(value: str) -> Iterator[str]:
    """Yield the password of a URL, and the encoded form that a proxy is sent."""
    user, _, password = urlsplit(value).netloc.rpartition("@")[0].partition(":")
    yield from (password, unquote(password))
    yield base64.b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode()


def _of_json(value: str) -> Iterator[str]:
    try:
        found = json.loads(value)
    except ValueError:
        return
    for each in found.values() if isinstance(found, dict) else ():
        if isinstance(each, str) and "://" not in each and "@" not in each:
            yield each
            yield from each.split()
