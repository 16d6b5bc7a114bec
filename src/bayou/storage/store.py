# SPDX-License-Identifier: Apache-2.0
"""The contract of a log store: the operations on files that reading and committing a Delta log require."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class FileStatus:
    """One file of a listing.

    Attributes:
        path: relative to the store's root, with forward slashes, not percent-encoded.
        size: in bytes.
        modification_time: in ms since the epoch.
        etag: a string that changes whenever the file is replaced; None if the store has no such string.
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
    """Reads and creates files in a table's folder. Paths are relative to the table's root.

    Every store guarantees:

    1. *Atomic visibility*: a reader sees a whole file or none, however it was written.
    2. *Mutual exclusion*: if any threads, processes or machines that the store serves call `put_if_absent` on one path,
       exactly one of these calls returns True.
    3. *Consistent listing*: once a put has returned, every later `list_from` and `read` sees the file.
    4. *Durability*: once a put has returned, the file survives a crash of the writer, as far as the medium allows.

    A store that cannot keep one of these raises StorageError instead of weakening it. A call that fails raises StorageError,
    or FileNotFoundError if the file does not exist. A put that raises may or may not have written; the caller finds out by
    reading. If the put certainly wrote nothing, the error has the fact `is_refused`. Stores are thread-safe.

    The log is read and written only through the store. Other programs, such as Spark, may write data files and deletion vectors;
    `sync` makes these durable. VACUUM needs two more operations, which are optional: see `bayou.storage.TreeStore`.

    Implement this protocol to bring your own store (do not subclass), and run
    `bayou.testing.log_store_conformance.LogStoreConformance` on it.
    """

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """List the files of a folder, starting at a name, in the order of their names' code points.

        Folders inside the folder are neither listed nor opened. Hidden files may be listed.

        Args:
            path: a folder and a name; the name need not exist. An empty name lists the whole folder.

        Raises:
            FileNotFoundError: the folder does not exist, on stores that have folders; others list nothing.
        """
        ...

    def read(self, path: str) -> bytes:
        """Read a whole file.

        Raises:
            FileNotFoundError: the file does not exist.
        """
        ...

    def open(self, path: str) -> BinaryIO:
        """Open a file for reading parts of it. The result can seek, and the caller closes it.

        Raises:
            FileNotFoundError: the file does not exist.
        """
        ...

    def size(self, path: str) -> int:
        """Return the size of a file in bytes.

        Raises:
            FileNotFoundError: the file does not exist.
        """
        ...

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """Create a file unless it exists. Make missing folders.

        Returns:
            True if this call created the file, False if it existed.
        """
        ...

    def put(self, path: str, data: bytes) -> None:
        """Create or replace a file, and make missing folders. Only for files that are hints or caches, never for commits."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file. Ignore a missing one."""
        ...

    def sync(self, paths: Iterable[str]) -> None:
        """Make files durable that were not written through this store, before a commit names them.

        Once the call has returned, each file and its name survive a crash of the machine, as far as the medium allows.
        A store does nothing if its files are durable once their writer has closed them, as on object stores.
        After an error the files must be rewritten: an operating system may drop data that it failed to write to the disk.

        Args:
            paths: relative to the table's root, with forward slashes, not percent-encoded.

        Raises:
            FileNotFoundError: a file does not exist. Stores with nothing to do do not check it.
            StorageError: a file could not be made durable.
        """
        ...

    def local_path(self, path: str) -> str | None:
        """Return the file's path on the local disk, so that it can be mapped into memory; None if the store is remote."""
        ...
