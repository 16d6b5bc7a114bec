# SPDX-License-Identifier: Apache-2.0
"""Storage options: credentials, connections to the store, and how long requests are retried.

The names are delta-rs's, in any case: `AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT_URL`, `AZURE_STORAGE_ACCOUNT_KEY`,
`GOOGLE_SERVICE_ACCOUNT`. The environment supplies missing ones. Source: object_store 0.14, `AmazonS3ConfigKey` and others.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from bayou.errors import failed
from bayou.storage.object_stores.credentials import Credentials, aws_credentials
from bayou.storage.object_stores.given_credentials import apart_from_environment
from bayou.storage.object_stores.option_checks import check_options
from bayou.storage.object_stores.places import Kind

SINGLE_WRITER: Final = "single_writer"
"""Whether a store that cannot exclude writers is accepted."""

# Prefixes that delta-rs and object_store accept before any name.
_PREFIXES: Final[Mapping[Kind, str]] = {"s3": "aws_", "gcs": "google_", "azure": "azure_"}

_CLIENT: Final = frozenset(
    {
        "allow_http",
        "allow_invalid_certificates",
        "connect_timeout",
        "http1_only",
        "http2_only",
        "pool_idle_timeout",
        "pool_max_idle_per_host",
        "proxy_ca_certificate",
        "proxy_excludes",
        "proxy_url",
        "read_timeout",
        "root_certificate",
        "timeout",
        "user_agent",
    }
)
_MAX_RETRIES: Final = "max_retries"
_RETRY_TIMEOUT: Final = "retry_timeout"
_DEFAULT_RETRY_TIMEOUT: Final = timedelta(seconds=60)

# delta-rs's options for writing without conditional requests, which bayou always uses.
_WITHOUT_MEANING: Final = frozenset({"aws_s3_allow_unsafe_rename", "allow_unsafe_rename", "aws_conditional_put", "conditional_put"})
_LOCK_TABLES: Final = frozenset({"aws_s3_locking_provider", "delta_dynamo_table_name", "dynamo_lock_table_name"})

# Names that object_store spells differently.
_OTHER_NAMES: Final[Mapping[str, str]] = {"aws_endpoint_url_s3": "aws_endpoint_url"}

_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*", re.ASCII)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class ObjectOptions:
    """The storage options of a table, sorted by what they apply to. Most of them are secrets.

    Attributes:
        store: credentials and settings of the store, by obstore's names.
        client: settings of HTTP requests, by obstore's names.
        retry_timeout: how long a request is retried.
        max_retries: how often it is retried; None for any number.
        single_writer: whether a store that cannot exclude writers is accepted.
        credentials: returns the credentials, if obstore does not find them itself.
    """

    store: Mapping[str, str] = field(repr=False)
    client: Mapping[str, object] = field(repr=False)
    retry_timeout: timedelta = _DEFAULT_RETRY_TIMEOUT
    max_retries: int | None = None
    single_writer: bool = False
    credentials: Credentials | None = field(default=None, repr=False)

    @classmethod
    def of(cls, given: Mapping[str, str], kind: Kind, table: str, credentials: Credentials | None = None) -> ObjectOptions:
        """Sort storage options.

        Args:
            given: the options by name, in any case.
            kind: the kind of store.
            table: the table's URI, for errors.
            credentials: returns the credentials, if the options do not contain them.

        Raises:
            InvalidOptionError: an option's value cannot be parsed, it requires a lock table, or it would have no effect.
            MissingPackageError: an option needs botocore, which is not installed.
        """
        store: dict[str, str] = {}
        client = _client_of_environment(kind, table)
        others: dict[str, str] = {}
        for name, value in given.items():
            lower = _OTHER_NAMES.get(name.lower(), name.lower())
            short = lower.removeprefix(_PREFIXES[kind])
            if lower in _LOCK_TABLES:
                raise failed("DELTA_ILLEGAL_OPTION/lock-table", table=table, option=name)
            if lower in _WITHOUT_MEANING or lower.startswith("fs."):
                continue
            if short in _CLIENT:
                client[short] = _client_value(short, value, name, table)
            elif lower in {_MAX_RETRIES, _RETRY_TIMEOUT, SINGLE_WRITER}:
                others[lower] = value
            else:
                store[lower] = value
        check_options(given, kind, table)
        if kind == "s3" and credentials is None:
            store, credentials = aws_credentials(store, table)
        if credentials is None:
            store, credentials = apart_from_environment(store, kind, table)
        return cls(
            store,
            client,
            _duration(others[_RETRY_TIMEOUT], _RETRY_TIMEOUT, table) if _RETRY_TIMEOUT in others else _DEFAULT_RETRY_TIMEOUT,
            _count(others[_MAX_RETRIES], _MAX_RETRIES, table) if _MAX_RETRIES in others else None,
            _flag(others.get(SINGLE_WRITER, "false"), SINGLE_WRITER, table),
            credentials,
        )


def _client_of_environment(kind: Kind, table: str) -> dict[str, object]:
    """Return the environment's settings of requests, such as `AWS_ALLOW_HTTP`. obstore itself reads only those of the store."""
    prefix = _PREFIXES[kind].upper()
    given = {short: os.environ.get(f"{prefix}{short.upper()}") for short in sorted(_CLIENT)}
    return {
        short: _client_value(short, value, f"{prefix}{short.upper()}", table) for short, value in given.items() if value is not None
    }


def _client_value(short: str, value: str, name: str, table: str) -> object:
    if short in {"allow_http", "allow_invalid_certificates", "http1_only", "http2_only"}:
        return _flag(value, name, table)
    if short in {"connect_timeout", "pool_idle_timeout", "read_timeout", "timeout"}:
        return _duration(value, name, table)
    return value


def _flag(value: str, name: str, table: str) -> bool:
    text = value.strip().lower()
    if text not in {"true", "false", "1", "0"}:
        raise failed("DELTA_ILLEGAL_OPTION/flag", table=table, option=name)
    return text in {"true", "1"}


def _duration(value: str, name: str, table: str) -> timedelta:
    found = _DURATION.fullmatch(value.lower())
    if found is None:
        raise failed("DELTA_ILLEGAL_OPTION/duration", table=table, option=name)
    return timedelta(seconds=float(found[1]) * _UNITS[found[2] or "s"])


def _count(value: str, name: str, table: str) -> int:
    if not re.fullmatch(r"\d{1,6}", value.strip(), re.ASCII):
        raise failed("DELTA_ILLEGAL_OPTION/count", table=table, option=name)
    return int(value)
