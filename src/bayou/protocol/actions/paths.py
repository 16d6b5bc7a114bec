# SPDX-License-Identifier: Apache-2.0
"""Paths of `add` and `remove` actions: percent-encoded in the log, one canonical form for comparing."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from urllib.parse import quote, unquote_to_bytes

# RFC 3986's unreserved characters and those that a path segment may hold; what delta-spark leaves unescaped as well.
_SAFE = "/=-._~!$&'()*+,;@"
# What Java's `URI` looks at before it keeps it.
_ODD = re.compile(rf"[^A-Za-z0-9:{re.escape(_SAFE)}]")
_EMPTY_HOST = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]+:)///", re.ASCII)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)", re.ASCII)
# Source: RFC 8089: the host `localhost` and no host are the same.
_FILE = re.compile(r"file:(?://localhost(?=/|$))?(?=/|$)", re.ASCII | re.IGNORECASE)
# Elsewhere the authority is a host, for which case makes no difference.
_BUCKETS = frozenset({"s3", "s3a", "s3n"})
# Several schemes name the same objects: Hadoop has its own, and each of its generations another one.
_SAME_STORE = {"s3": "s3a", "s3n": "s3a", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}


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


def encode_uri(path: str) -> str:
    """Percent-encode a decoded path or URI, as an action holds it; a scheme stays as it is."""
    found = _SCHEME.match(path)
    return encode(path) if found is None else found[0] + encode(path[found.end() :])


def hadoop_uri(uri: str) -> str:
    """An absolute URI as Hadoop's `Path` writes it, percent-encoded: `file:/a`, and letters beyond ASCII as they are.

    delta-spark 4.4 finds a file of another table by this text alone where it deletes rows by deletion vectors.

    Args:
        uri: the URI, not percent-encoded.
    """
    found = _SCHEME.match(uri)
    if found is None:
        return _quoted(uri)
    return found[0] + _quoted(hadoop_text(uri)[found.end() :])


def hadoop_text(uri: str) -> str:
    """A URI without an empty host, as Hadoop's `Path` shows it: `file:/a`, `s3a://bucket/a`. Nothing is percent-encoded."""
    return _EMPTY_HOST.sub(r"\1/", uri)


def _quoted(path: str) -> str:
    """What Java's `URI` makes of a path: it escapes spaces and control characters, and of ASCII what no path may hold."""
    return _ODD.sub(lambda found: found[0] if _is_letter(found[0]) else quote(found[0]), path)


def _is_letter(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character)[0] not in "ZC"


def is_absolute(path: str) -> bool:
    """Whether an encoded path names its own root: a URI with a scheme, or a leading slash."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def local_path(uri: str) -> str | None:
    """The absolute path of a `file:` URI that is not percent-encoded; None for any other text.

    The spellings of the scheme, `localhost` and any number of slashes are the same place.
    """
    found = _FILE.match(uri)
    return None if found is None else "/" + uri[found.end() :].lstrip("/")


def canonical(path: str, table_uri: str) -> str:
    """The form in which two actions' paths are equal exactly when they name one file.

    A file under the table's root: its decoded path relative to the root. Any other: its decoded absolute path.
    """
    decoded = decode(path)
    if not is_absolute(path):
        return _normalise(decoded)
    absolute = _absolute(decoded)
    root = _absolute(table_uri)
    return absolute[len(root) + 1 :] if absolute.startswith(root + "/") else absolute


def to_uri(path: str, table_uri: str) -> str:
    """Where an action's file is: an absolute URI, not percent-encoded."""
    decoded = decode(path)
    if not is_absolute(path):
        return f"{table_uri.rstrip('/')}/{decoded}"
    if decoded.startswith("/"):
        scheme, separator, _ = table_uri.partition("://")
        local = scheme == "file" or not separator
        authority = "" if local else table_uri[len(scheme) + 3 :].split("/", 1)[0]
        return f"{scheme}://{authority}{decoded}" if separator else decoded
    place = local_path(decoded)
    return with_lower_scheme(decoded) if place is None else f"file://{place}"


def with_lower_scheme(uri: str) -> str:
    """A URI with its scheme in lower case, as file systems are registered; text without a scheme as it is."""
    found = _SCHEME.match(uri)
    return uri if found is None else found[0].lower() + uri[found.end() :]


def _absolute(path: str) -> str:
    """An absolute path or URI without doubled slashes, dot segments or a trailing slash; `file:` becomes a path."""
    inner = path if path.startswith("/") else local_path(path)
    found = None if inner is not None else _SCHEME.match(path)
    if found is None:
        return "/" + _normalise(inner or path).lstrip("/")
    scheme, rest = found[1].lower(), path[found.end() :]
    scheme = _SAME_STORE.get(scheme, scheme)
    if not rest.startswith("//"):
        return f"{scheme}://{_normalise(rest).lstrip('/')}"
    authority, slash, inside = rest[2:].partition("/")
    host = authority if scheme in _BUCKETS else authority.lower()
    return f"{scheme}://{host}{_normalise(slash + inside.lstrip('/')).rstrip('/')}"


def _normalise(path: str) -> str:
    return posixpath.normpath(path) if path else path
