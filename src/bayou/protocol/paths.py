# SPDX-License-Identifier: Apache-2.0
"""Paths of `add` and `remove` actions: percent-encoded in the log, one canonical form for comparing."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import quote, unquote_to_bytes

# RFC 3986's unreserved characters and those that a path segment may hold; what delta-spark leaves unescaped as well.
_SAFE = "/=-._~!$&'()*+,;@"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]+:/", re.ASCII)


def decode(path: str) -> str:
    """Undo the percent-encoding of a path in the log, once; text that is no valid encoding stays as it is."""
    if "%" not in path:
        return path
    try:
        return unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        return path


def encode(path: str) -> str:
    """Percent-encode a decoded relative path, as an action holds it."""
    return quote(path, safe=_SAFE)


def is_absolute(path: str) -> bool:
    """Whether an encoded path names its own root: a URI with a scheme, or a leading slash."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def canonical(path: str, table_uri: str) -> str:
    """The form in which two actions' paths are equal exactly when they name one file.

    A file under the table's root: its decoded path relative to the root. Any other: its decoded absolute path.

    Args:
        path: the path as the action holds it.
        table_uri: the table's URI, not percent-encoded.
    """
    decoded = decode(path)
    if not is_absolute(path):
        return _normalise(decoded)
    absolute = _absolute(decoded)
    root = _absolute(table_uri)
    return absolute[len(root) + 1 :] if absolute.startswith(root + "/") else absolute


def to_uri(path: str, table_uri: str) -> str:
    """Where an action's file is: an absolute URI, not percent-encoded.

    Args:
        path: the path as the action holds it.
        table_uri: the table's URI, not percent-encoded.
    """
    decoded = decode(path)
    if not is_absolute(path):
        return f"{table_uri.rstrip('/')}/{decoded}"
    if decoded.startswith("/"):
        scheme, separator, _ = table_uri.partition("://")
        local = scheme == "file" or not separator
        authority = "" if local else table_uri[len(scheme) + 3 :].split("/", 1)[0]
        return f"{scheme}://{authority}{decoded}" if separator else decoded
    return "file:///" + decoded[5:].lstrip("/") if decoded.startswith("file:/") else decoded


def _absolute(path: str) -> str:
    """An absolute path or URI without doubled slashes, dot segments or a trailing slash; `file:` becomes a path."""
    if path.startswith("file:"):
        return "/" + _normalise(path[5:]).lstrip("/")
    scheme, separator, rest = path.partition(":/")
    if not separator or path.startswith("/"):
        return "/" + _normalise(path).lstrip("/")
    return f"{scheme.lower()}://{_normalise(rest).lstrip('/')}"


def _normalise(path: str) -> str:
    return posixpath.normpath(path) if path else path
