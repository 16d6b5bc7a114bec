# SPDX-License-Identifier: Apache-2.0
"""One way to read a table's path, so that the log engine and Spark mean the same place."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

# Two letters at least: one letter and a colon is a drive.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)", re.ASCII)
_END_OF_AUTHORITY = re.compile(r"[/?#]")
_SCHEMES_WITHOUT_PORTS = frozenset({"s3", "s3a", "s3n"})


@dataclass(frozen=True, slots=True)
class QualifiedPath:
    """A table's place, absolute and without a trailing slash.

    Attributes:
        uri: the absolute URI in Hadoop's spelling (not percent-encoded), for example `file:///data/t`.
        local: the path on the local disk, or None where the table is elsewhere.
    """

    uri: str
    local: str | None

    @property
    def scheme(self) -> str:
        """The URI's scheme in lower case."""
        return self.uri.partition(":")[0].lower()


def qualify(path: str | os.PathLike[str]) -> QualifiedPath:
    """Make a table's path absolute.

    A path without a scheme is local, whatever `fs.defaultFS` says; `~` is the home folder. A `file:` URI is taken as
    Hadoop takes it: a percent sign in it is a percent sign. Any other scheme is kept.
    """
    text = os.fspath(path)
    found = _SCHEME.match(text)
    if found is None:
        return _local(str(Path(text).expanduser()))
    if found[1].lower() == "file":
        return _local("/" + text[found.end() :].lstrip("/"))
    return QualifiedPath(text.rstrip("/"), None)


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


def _without_password(scheme: str, text: str) -> str:
    """The text after `//`, without users that have a password. Each turn makes it shorter."""
    while True:
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


def _local(path: str) -> QualifiedPath:
    absolute = os.path.abspath(path)  # noqa: PTH100  (Path.absolute keeps `..`)
    return QualifiedPath("file://" + Path(absolute).as_posix(), absolute)
