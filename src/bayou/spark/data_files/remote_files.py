# SPDX-License-Identifier: Apache-2.0
"""Move and delete files of a remote store as the running session does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, cast

from bayou.spark.backend import native_part
from bayou.spark.session.running_context import running_context

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class RemoteFiles(Protocol):
    """The files of one store. The methods raise OSError or DeltaError."""

    def move_all(self, moves: Sequence[tuple[str, str]]) -> None:
        """Move files, each from a URI to another, until one fails."""
        ...

    def delete_all(self, uris: Sequence[str]) -> None:
        """Delete files. Those that cannot be deleted stay."""
        ...

    def clear(self, uri: str) -> None:
        """Delete a folder with its files."""
        ...


def files_of_session(root: str, options: Mapping[str, str]) -> RemoteFiles | None:
    """Return the files of a store in the file system of a classic session; None if none runs in this process.

    Args:
        root: a URI in the store.
    """
    if running_context() is None:
        return None
    return cast("RemoteFiles", native_part("session.remote_files").RemoteFiles(root, options))
