# SPDX-License-Identifier: Apache-2.0
"""A store in which some files do not exist, so that a reader shows what is left of a log without them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from bayou.errors import StorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bayou.storage.store import FileStatus, LogStore


_T = TypeVar("_T")


class HiddenFiles:
    """Another store without some files. A file that is written through it is visible again.

    Attributes:
        failure: the last failure of the other store in a call that reads; None if it did not fail. A reader that finds another way
            to a version, without a checkpoint that the store failed to give, returns what the log without the checkpoint says.
    """

    def __init__(self, store: LogStore, hidden: Iterable[str]) -> None:
        """Hide files of a store.

        Args:
            store: the store.
            hidden: the paths of the files, relative to the root of the store.
        """
        self._store = store
        self._hidden = set(hidden)
        self.failure: StorageError | None = None

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """List the files that are not hidden."""
        listed = self._noted(lambda: list(self._store.list_from(path)))
        return (each for each in listed if f"{path.rpartition('/')[0]}/{each.name}" not in self._hidden)

    def read(self, path: str) -> bytes:
        """Read a whole file."""
        self._check(path)
        return self._noted(lambda: self._store.read(path))

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading parts of it. The whole file is read here, so that a failure is noted."""
        return io.BytesIO(self.read(path))

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        self._check(path)
        return self._noted(lambda: self._store.size(path))

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

    def local_path(self, path: str) -> str | None:  # noqa: ARG002  (of `LogStore`)
        """Return None: a reader of the file on the disk would note no failure."""
        return None

    def _noted(self, read: Callable[[], _T]) -> _T:
        try:
            return read()
        except StorageError as error:
            self.failure = error
            raise

    def _check(self, path: str) -> None:
        if path in self._hidden:
            raise FileNotFoundError(path)
