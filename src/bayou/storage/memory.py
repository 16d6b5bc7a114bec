# SPDX-License-Identifier: Apache-2.0
"""A store in memory, for tests and for logs that are never on a disk."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from bayou.storage.store import FileStatus
from bayou.storage.trees import Deletions, Folder, FolderBuilder


class MemoryStore:
    """Files in a dictionary, safe for the threads of one process. They exist as long as the object."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, int, int]] = {}
        self._lock = threading.Lock()
        self._writes = 0

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """See LogStore."""
        folder, _, start = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        with self._lock:
            files = list(self._files.items())
        listed = [
            FileStatus(name, len(data), modified, str(write))
            for name, (data, modified, write) in files
            if name.startswith(prefix) and "/" not in name[len(prefix) :] and name[len(prefix) :] >= start
        ]
        return iter(sorted(listed, key=lambda status: status.path))

    def read(self, path: str) -> bytes:
        """See LogStore."""
        with self._lock:
            found = self._files.get(path)
        if found is None:
            raise FileNotFoundError(path)
        return found[0]

    def open(self, path: str) -> BinaryIO:
        """See LogStore."""
        return io.BytesIO(self.read(path))

    def size(self, path: str) -> int:
        """See LogStore."""
        return len(self.read(path))

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See LogStore."""
        with self._lock:
            if path in self._files:
                return False
            self._store(path, data)
            return True

    def put(self, path: str, data: bytes) -> None:
        """See LogStore."""
        with self._lock:
            self._store(path, data)

    def delete(self, path: str) -> None:
        """See LogStore."""
        with self._lock:
            self._files.pop(path, None)

    def sync(self, paths: Iterable[str]) -> None:
        """See LogStore. Do nothing, since nothing here survives a crash."""

    def local_path(self, path: str) -> str | None:  # noqa: ARG002  (the contract's signature)
        """See LogStore."""
        return None

    def list_folders(self, folders: Sequence[str], shown: tuple[str, ...]) -> list[Folder]:
        """See TreeStore. A folder is the part of a path before a slash, and as old as its youngest file."""
        with self._lock:
            files = list(self._files.items())
        found = []
        for folder in folders:
            prefix = f"{folder}/" if folder else ""
            builder = FolderBuilder(folder, shown)
            inner: dict[str, int] = {}
            for path, (data, modified, _) in files:
                name, slash, _ = path[len(prefix) :].partition("/")
                if path.startswith(prefix) and slash:
                    inner[name] = max(modified, inner.get(name, 0))
                elif path.startswith(prefix):
                    builder.add(name, len(data), modified, is_folder=False)
            for name, modified in inner.items():
                builder.add(name, 0, modified, is_folder=True)
            found.append(builder.build())
        return found

    def delete_many(self, paths: Sequence[str]) -> Deletions:
        """See TreeStore."""
        with self._lock:
            return Deletions(sum(self._files.pop(path, None) is not None for path in paths), {})

    def set_modification_time(self, path: str, modification_time: int) -> None:
        """Set a file's modification time, in ms since the epoch; for tests of time travel."""
        with self._lock:
            data, _, write = self._files[path]
            self._files[path] = (data, modification_time, write)

    def _store(self, path: str, data: bytes) -> None:
        self._writes += 1
        self._files[path] = (bytes(data), time.time_ns() // 1_000_000, self._writes)
