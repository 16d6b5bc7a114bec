# SPDX-License-Identifier: Apache-2.0
"""A folder for lists of files, and how Spark's readers and this process call it and its files."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bayou.errors import DeltaError
from bayou.spark.portable.scratch.owners import PREFIX

if TYPE_CHECKING:
    from bayou.storage import LogStore

_OF_PATTERNS: Final = re.compile(r"[{}\[\]*?\\]")


@dataclass(frozen=True, slots=True)
class Scratch:
    """A folder for lists of files.

    Attributes:
        uri: the folder as Spark's readers accept it.
        store: the store that this process writes it with.
        prefix: the folder's path in the store, with a trailing slash; empty for its root.
    """

    uri: str
    store: LogStore
    prefix: str = ""

    def place(self, name: str) -> str:
        """Return what Spark's readers call a file or folder of this folder."""
        return f"{self.uri}/{name}"

    def put(self, name: str, data: bytes) -> None:
        """Create a file.

        Raises:
            StorageError: it could not be written.
        """
        self.store.put(self.prefix + name, data)

    @property
    def is_local(self) -> bool:
        """Whether the folder is on a local file system."""
        return self.store.local_path("x") is not None

    def has(self, name: str, size: int, mark: object = None) -> bool:
        """Whether a file exists and has a size in bytes, and a mark if one is given."""
        try:
            if mark is not None:
                return self.mark(name) == mark
            return self.size(name) == size
        except (DeltaError, OSError):
            return False

    def size(self, name: str) -> int:
        """Return the size of a file in bytes.

        Raises:
            FileNotFoundError: the file does not exist.
            StorageError: the store does not say it.
        """
        return self.store.size(self.prefix + name)

    def mark(self, name: str) -> object:
        """Return what differs between a file on a local disk and any file that replaces it. None in other stores."""
        path = self.store.local_path(self.prefix + name)
        if path is None:
            return None
        found = os.stat(path)  # noqa: PTH116  (saves a Path object)
        return found.st_size, found.st_mtime_ns, found.st_ino

    def delete(self, *names: str) -> None:
        """Delete files, and on the local disk the folders that they leave empty. Ignore errors: others may have deleted them."""
        for name in names:
            with contextlib.suppress(DeltaError, OSError):
                self.store.delete(self.prefix + name)
            self.remove_empty(name, name.count("/"))

    def close(self) -> None:
        """Remove the folder itself from a table on the local disk if it is empty."""
        if self.prefix:
            self.remove_empty("x", self.prefix.count("/"))

    def remove_empty(self, name: str, levels: int) -> None:
        """Delete the folders above a file that are empty, on the local disk.

        Args:
            levels: how many of them at most.
        """
        path = self.store.local_path(self.prefix + name)
        if path is not None:
            with contextlib.suppress(OSError):  # not empty
                for folder in list(Path(path).parents)[:levels]:
                    folder.rmdir()


def process_name() -> str:
    """Return the name of this process's folders."""
    return _process_name(os.getpid())


@cache
def _process_name(process: int) -> str:
    return f"{PREFIX}{process}-{secrets.token_hex(6)}"


def literal(path: str) -> str:
    """Return a path for Spark's readers, in which characters of patterns mean themselves."""
    return _OF_PATTERNS.sub(r"\\\g<0>", path)
