# SPDX-License-Identifier: Apache-2.0
"""The contract of a log store: what the log engine needs from the place where a table is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class FileStatus:
    """What a listing says about one file.

    Attributes:
        path: relative to the store's root, with forward slashes, not percent-encoded.
        size: in bytes.
        modification_time: in ms since the epoch.
        etag: changes whenever the file is replaced, where the store can tell; else None.
    """

    path: str
    size: int
    modification_time: int
    etag: str | None = None

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]


@runtime_checkable
class LogStore(Protocol):
    """A table's folder, seen as named byte strings. Paths are relative to the table's root.

    Every store guarantees:

    1. *Atomic visibility*: a reader sees a whole file or none, whichever way it was written.
    2. *Mutual exclusion*: of any number of `put_if_absent` calls on one path, by any threads, processes or machines
       that the store serves, exactly one returns True.
    3. *Consistent listing*: once a put has returned, every later `list_from` and `read` sees the file.
    4. *Durability*: once a put has returned, the file survives a crash of the writer, as far as the medium allows.

    A store that cannot keep one of these raises StorageError instead of weakening it. A call that fails raises
    StorageError, and FileNotFoundError where the file is missing; a put that raises may or may not have written, and
    the caller finds out by reading. A store that knows that a put wrote nothing gives its error the fact `is_refused`.
    Stores are safe to use from several threads.

    The store keeps the log; data files and deletion vectors are written by others, and `sync` makes those durable. VACUUM
    needs two more operations, which a store may have or not: see `bayou.storage.TreeStore`.

    Implement this protocol to bring your own store (do not subclass), and run
    `bayou.testing.log_store_conformance.LogStoreConformance` on it.
    """

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """List the files of a folder, from a name on, in the order of their names' code points.

        Folders inside the folder are not listed, nor opened. Hidden files may be listed.

        Args:
            path: a folder and a name; the name need not exist. An empty name lists the whole folder.

        Raises:
            FileNotFoundError: the folder is missing, on stores that have folders; others list nothing.
        """
        ...

    def read(self, path: str) -> bytes:
        """Read a whole file.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading parts of it; the result can seek. The caller closes it.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def size(self, path: str) -> int:
        """The size of a file in bytes.

        Raises:
            FileNotFoundError: there is no such file.
        """
        ...

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file, unless it is there; missing folders are made.

        Returns:
            True where this call created the file, False where it was there already.
        """
        ...

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file; missing folders are made. For files that are hints or caches, never for commits."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file; a missing one is no error."""
        ...

    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable that were not written through this store, before a commit names them.

        Once the call has returned, each file and its name survive a crash of the machine, as far as the medium allows.
        A store whose files are durable as soon as their writer has closed them does nothing: object stores are such.
        After an error the files must be written again: an operating system may drop what it failed to bring to the disk.

        Args:
            paths: relative to the table's root, with forward slashes, not percent-encoded.

        Raises:
            FileNotFoundError: a file is missing, on stores that have something to do.
            StorageError: a file could not be made durable.
        """
        ...

    def local_path(self, path: str) -> str | None:
        """Where the file is on the local disk, so that it can be mapped into memory; None for other stores."""
        ...
