# SPDX-License-Identifier: Apache-2.0
"""Check values of options on which the library would abort the program, or which it would ignore silently.

obstore 0.12 panics at a line break in a key and at an invalid endpoint. It ignores an encryption key without encryption, and a
proxy or a proxy's certificate that it cannot parse. It reads environment variables itself, so these are checked too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from bayou.errors import failed
from bayou.storage.object_stores.places import Kind

_PREFIXES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "s3": ("aws_",),
    "gcs": ("google_",),
    "azure": ("azure_storage_", "azure_"),
}
_ADDRESSES: Final = frozenset(
    {
        "authority_host",
        "base_url",
        "container_credentials_full_uri",
        "endpoint",
        "endpoint_url",
        "endpoint_url_s3",
        "endpoint_url_sts",
        "identity_endpoint",
        "metadata_endpoint",
        "msi_endpoint",
        "proxy_url",
    }
)
# Strings of several lines, which are not part of a header.
_CERTIFICATES: Final = frozenset({"proxy_ca_certificate", "root_certificate"})
_PEM: Final = "-----BEGIN CERTIFICATE-----"
_TEXTS: Final = _CERTIFICATES | {"service_account_key"}
# Parts of a host's name, or of a path.
_WORDS: Final[Mapping[str, str]] = {
    "account_name": "mystorageaccount",
    "default_region": "eu-west-1",
    "region": "eu-west-1",
    "tenant_id": "contoso.onmicrosoft.com",
}
_WORD: Final = re.compile(r"[\w.-]+", re.ASCII)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]", re.ASCII)
_SPACE: Final = re.compile(r"\s")

_ENCRYPTION: Final = "server_side_encryption"
_NEEDED: Final[Mapping[str, tuple[str, str]]] = {
    "sse_kms_key_id": ("kms", "aws:kms"),
    "sse_bucket_key_enabled": ("kms", "aws:kms"),
    "sse_customer_key_base64": ("sse-c", "sse-c"),
}
"""By option: a part of the algorithm's name, and an example of such a name."""
# Environment variables that the library puts into a header.
_OF_ENVIRONMENT: Final = frozenset(
    {
        *("access_key_id", "session_token", "token", "region", "default_region", "bearer_token", "web_identity_token_file"),
        *(_ENCRYPTION, *_NEEDED),
    }
)


def check_options(given: Mapping[str, str], kind: Kind, table: str) -> None:
    """Check what the library does not.

    Args:
        given: the options by name, in any case.
        kind: the kind of store.
        table: the table's URI, for errors.

    Raises:
        InvalidOptionError: a value cannot be used, or would have no effect; the error names the option.
    """
    found = _by_short_name(given, kind)
    for short, (name, value) in found.items():
        if short not in _TEXTS and _CONTROL.search(value):
            raise failed("DELTA_ILLEGAL_OPTION/control-character", table=table, option=name)
        if short in _WORDS and not _WORD.fullmatch(value):
            what = "holds a space, or another character that such a name cannot have" if value else "is empty"
            raise failed("DELTA_ILLEGAL_OPTION/word", table=table, option=name, problem=what, example=_WORDS[short])
        if short in _ADDRESSES:
            _check_address(short, name, value, table)
        if short in _CERTIFICATES and _PEM not in value:
            raise failed("DELTA_ILLEGAL_OPTION/certificate", table=table, option=name)
    if kind == "s3":
        _check_encryption(found, table)


def _by_short_name(given: Mapping[str, str], kind: Kind) -> dict[str, tuple[str, str]]:
    """Return name and value of the options, otherwise of environment variables, by the name without its prefix."""
    found: dict[str, tuple[str, str]] = {}
    for name, value in os.environ.items():
        short = _short(name, kind)
        if short in _ADDRESSES | _OF_ENVIRONMENT and short != name.lower() and value:
            found[short] = (name, value)
    return found | {_short(name, kind): (name, value) for name, value in given.items() if not name.lower().startswith("fs.")}


def _short(name: str, kind: Kind) -> str:
    short = name.lower()
    for prefix in _PREFIXES[kind]:
        short = short.removeprefix(prefix)
    return short


def _check_address(short: str, name: str, value: str, table: str) -> None:
    is_proxy = short == "proxy_url"
    try:
        place = urlsplit(value if "://" in value or not is_proxy else f"http://{value}")
        is_right = place.scheme in {"http", "https"} and bool(place.hostname) and place.port != 0 and not _SPACE.search(value)
    except ValueError:
        is_right, place = False, None
    if not is_right or place is None:
        raise failed("DELTA_ILLEGAL_OPTION/address", table=table, option=name)
    if "@" in place.netloc and not is_proxy:
        raise failed("DELTA_ILLEGAL_OPTION/address-with-user", table=table, option=name)


def _check_encryption(found: Mapping[str, tuple[str, str]], table: str) -> None:
    algorithm = found.get(_ENCRYPTION, ("", ""))[1]
    for short, (part, one) in _NEEDED.items():
        name, value = found.get(short, ("", ""))
        if value.strip().lower() not in {"", "false", "0"} and part not in algorithm:
            raise failed("DELTA_ILLEGAL_OPTION/encryption", table=table, option=name, algorithm=one)
