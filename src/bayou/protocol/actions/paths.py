# SPDX-License-Identifier: Apache-2.0
"""Encode, decode and compare the paths of `add` and `remove` actions."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from urllib.parse import quote, unquote_to_bytes

# The characters that RFC 3986 allows in a path segment and that delta-spark does not escape.
_SAFE = "/=-._~!$&'()*+,;@"
# All other characters, some of which Java's `URI` keeps.
_ODD = re.compile(rf"[^A-Za-z0-9:{re.escape(_SAFE)}]")
_EMPTY_HOST = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]+:)///", re.ASCII)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)", re.ASCII)
# Source: RFC 8089: the host `localhost` and no host are the same.
_FILE = re.compile(r"file:(?://localhost(?=/|$))?(?=/|$)", re.ASCII | re.IGNORECASE)
# In other schemes the authority is a host, which is case-insensitive.
_BUCKETS = frozenset({"s3", "s3a", "s3n"})
# Several schemes are for the same objects, since Hadoop and its versions have their own.
_SAME_STORE = {"s3": "s3a", "s3n": "s3a", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs"}


def decode(path: str) -> str:
    """Percent-decode a path in the log, once. Return it unchanged if the bytes are not UTF-8."""
    if "%" not in path:
        return path
    try:
        return unquote_to_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        return path


def encode(path: str) -> str:
    """Percent-encode a relative path for an action."""
    return quote(path, safe=_SAFE)


def encode_uri(path: str) -> str:
    """Percent-encode a path or URI for an action, except for the scheme."""
    found = _SCHEME.match(path)
    return encode(path) if found is None else found[0] + encode(path[found.end() :])


def hadoop_uri(uri: str) -> str:
    """Percent-encode an absolute URI as Hadoop's `Path` does: `file:/a`, without encoding letters beyond ASCII.

    If delta-spark 4.4 deletes rows by deletion vectors, it finds a file of another table only by this string.

    Args:
        uri: the URI, not percent-encoded.
    """
    found = _SCHEME.match(uri)
    if found is None:
        return _quoted(uri)
    return found[0] + _quoted(hadoop_text(uri)[found.end() :])


def hadoop_text(uri: str) -> str:
    """Return a URI without an empty host, as Hadoop's `Path` shows it: `file:/a`, `s3a://bucket/a`. Encode nothing."""
    return _EMPTY_HOST.sub(r"\1/", uri)


def _quoted(path: str) -> str:
    """Escape a path like Java's `URI`: spaces, control characters, and ASCII characters that are not allowed."""
    return _ODD.sub(lambda found: found[0] if _is_letter(found[0]) else quote(found[0]), path)


def _is_letter(character: str) -> bool:
    return not character.isascii() and unicodedata.category(character)[0] not in "ZC"


def is_absolute(path: str) -> bool:
    """Whether an encoded path is a URI with a scheme, or has a leading slash."""
    return path.startswith("/") or _SCHEME.match(path) is not None


def local_path(uri: str) -> str | None:
    """Return the absolute path of a `file:` URI that is not percent-encoded; None for any other string.

    The case of the scheme, the host `localhost` and the number of slashes do not matter.
    """
    found = _FILE.match(uri)
    return None if found is None else "/" + uri[found.end() :].lstrip("/")


def canonical(path: str, table_uri: str) -> str:
    """Return the form in which two paths are equal if and only if they name the same file.

    It is decoded, relative for a file under the table's root, and absolute for any other.
    """
    decoded = decode(path)
    if not is_absolute(path):
        return _normalise(decoded)
    absolute = _absolute(decoded)
    root = _absolute(table_uri)
    return absolute[len(root) + 1 :] if absolute.startswith(root + "/") else absolute


def to_uri(path: str, table_uri: str) -> str:
    """Return the absolute URI of an action's file, not percent-encoded."""
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
    """Return a URI with its scheme in lower case, as file systems are registered."""
    found = _SCHEME.match(uri)
    return uri if found is None else found[0].lower() + uri[found.end() :]


def _absolute(path: str) -> str:
    """Return an absolute path or URI without double slashes, dot segments or a trailing slash; for `file:` a path."""
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
