# SPDX-License-Identifier: Apache-2.0
"""Resolve a table's path in one way, so that the log engine and Spark mean the same location."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from bayou.errors import failed, redact_uri
from bayou.protocol import arguments
from bayou.protocol.actions.paths import local_path, with_lower_scheme

__all__ = ["QualifiedPath", "host_of", "path_text", "qualify", "redact_uri", "without_host"]

# At least two letters: one letter and a colon are a drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)", re.ASCII)
_WANTED = "a string or an os.PathLike, such as '/data/t' or Path('/data/t')"
_HOST = re.compile(r"[^:/]+:(//[^/]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class QualifiedPath:
    """A table's location, absolute and without a trailing slash.

    Attributes:
        uri: the absolute URI in Hadoop's spelling (not percent-encoded), for example `file:///data/t`.
        local: the path on the local disk, or None if the table is elsewhere.
    """

    uri: str
    local: str | None

    def __repr__(self) -> str:
        return f"QualifiedPath(uri={redact_uri(self.uri)!r}, local={self.local!r})"

    @property
    def scheme(self) -> str:
        """Return the URI's scheme in lower case."""
        return self.uri.partition(":")[0].lower()


def qualify(path: str | os.PathLike[str]) -> QualifiedPath:
    """Make a table's path absolute.

    A path without a scheme is local, whatever `fs.defaultFS` says. A leading `~/` is the home folder; other names may begin
    with `~`. A `file:` URI follows Hadoop: a percent sign is itself, and the host is empty or `localhost`. Any other scheme is
    kept, in lower case.

    Raises:
        InvalidOptionError: it is not a path, it is empty, or no file can have this name.
    """
    text = path_text(path)
    found = _SCHEME.match(text)
    if found is None:
        return _local(os.path.expanduser(text) if text.startswith("~/") else text)  # noqa: PTH111  (Path refuses a user it lacks)
    local = local_path(text)
    return QualifiedPath(with_lower_scheme(text).rstrip("/"), None) if local is None else _local(local)


def path_text(path: object) -> str:
    """Return a table's path as a string, exactly as the user wrote it.

    Raises:
        InvalidOptionError: it is not a path, it is empty, or no file can have this name.
    """
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise arguments.wrong("the path of a table", path, _WANTED)
    if not text:
        raise failed("DELTA_ILLEGAL_OPTION/empty-path", option="path")
    try:
        is_name = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise failed("DELTA_ILLEGAL_OPTION/impossible-path", option="path", path=text)
    return text


def _local(path: str) -> QualifiedPath:
    absolute = os.path.abspath(path)  # noqa: PTH100  (Path.absolute keeps `..`)
    if absolute.startswith("//"):  # POSIX allows a special meaning of two leading slashes; no file system here has one
        absolute = "/" + absolute.lstrip("/")
    return QualifiedPath("file://" + Path(absolute).as_posix(), absolute)


def host_of(uri: str) -> str:
    """Return the scheme and the host of a URI. URIs with the same ones are on the same file system."""
    found = _HOST.match(uri)
    return found[0] if found else uri


def without_host(uri: str) -> str:
    """Return the path of a URI. One host may have several names, and Hadoop adds one if a URI has none."""
    return "/" + uri[len(host_of(uri)) :].lstrip("/")
