# SPDX-License-Identifier: Apache-2.0
"""A store in which some files do not exist, so that a reader shows what is left of a log without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bayou.storage.store import FileStatus, LogStore


class HiddenFiles:
    """Another store without some files. A file that is written through it is visible again."""

    def __init__(self, store: LogStore, hidden: Iterable[str]) -> None:
        """Hide files of a store.

        Args:
            store: the store.
            hidden: the paths of the files, relative to the root of the store.
        """
        self._store = store
        self._hidden = set(hidden)

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """List the files that are not hidden."""
        return (each for each in self._store.list_from(path) if f"{path.rpartition('/')[0]}/{each.name}" not in self._hidden)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        self._check(path)
        return self._store.read(path)

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading parts of it."""
        self._check(path)
        return self._store.open(path)

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        self._check(path)
        return self._store.size(path)

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists."""
        if path in self._hidden:
            self.put(path, data)
            return True
        return self._store.put_if_absent(path, data)

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file."""
        self._store.put(path, data)
        self._hidden.discard(path)

    def delete(self, path: str) -> None:
        """Delete a file."""
        self._store.delete(path)

    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable."""
        self._store.sync(paths)

    def local_path(self, path: str) -> str | None:
        """Return the file's path on the local disk; None for a hidden file."""
        return None if path in self._hidden else self._store.local_path(path)

    def _check(self, path: str) -> None:
        if path in self._hidden:
            raise FileNotFoundError(path)
