# SPDX-License-Identifier: Apache-2.0
"""The files that a log names: their sizes from listings, their bytes, and their Parquet footers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from bayou.checks.footers import Footer, read_footer
from bayou.errors import DeltaError, StorageError
from bayou.protocol.actions import paths
from bayou.storage import open_store, qualify

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.storage.store import LogStore


class DataFolder:
    """The files of a table, and those outside of it that its log names by absolute paths. A folder is listed once."""

    def __init__(self, uri: str, store: LogStore, options: Mapping[str, str]) -> None:
        """Begin with nothing listed.

        Args:
            uri: the table.
            store: the store of the table.
            options: credentials and settings for stores of files outside the table.
        """
        self._uri = uri
        self._store_of_table = store
        self._options = options
        self._found: dict[str, int | None] = {}
        self._sizes: dict[str, dict[str, int]] = {}
        self._footers: dict[str, Footer | str] = {}
        self._stores: dict[str, tuple[LogStore, str]] = {}

    @cached_property
    def _root(self) -> str:
        return self._uri.rstrip("/") + "/"

    def size(self, path: str) -> int | None:
        """Return the size of a file that a file action names; None if it does not exist."""
        if path not in self._found:
            self._found[path] = self._size(path)
        return self._found[path]

    def _size(self, path: str) -> int | None:
        folder, _, name = paths.to_uri(path, self._uri).rpartition("/")
        if folder not in self._sizes:
            store, inside = self._store(folder)
            try:
                self._sizes[folder] = {each.name: each.size for each in store.list_from(inside)}
            except FileNotFoundError:
                self._sizes[folder] = {}
        return self._sizes[folder].get(name)

    def read(self, uri: str) -> bytes | None:
        """Return the bytes of a file; None if it does not exist."""
        folder, _, name = uri.rpartition("/")
        store, inside = self._store(folder)
        try:
            return store.read(inside + name)
        except FileNotFoundError:
            return None

    def footer(self, path: str) -> Footer | str:
        """Return the footer of a data file, or the reason why it cannot be read. A footer is read once."""
        if path not in self._footers:
            self._footers[path] = self._footer(path)
        return self._footers[path]

    def _footer(self, path: str) -> Footer | str:
        folder, _, name = paths.to_uri(path, self._uri).rpartition("/")
        store, inside = self._store(folder)
        try:
            with store.open(inside + name) as source, pq.ParquetFile(source) as file:
                return read_footer(file.metadata)
        except FileNotFoundError:
            return "the file does not exist"
        except StorageError:  # nothing is known of the file
            raise
        except (DeltaError, OSError, pa.ArrowException, ValueError) as error:
            return f"{error}"[:200]

    def _store(self, folder: str) -> tuple[LogStore, str]:
        """Return a store for a folder, and the folder's path in it, with a slash at its end."""
        if f"{folder}/".startswith(self._root):
            return self._store_of_table, f"{folder}/"[len(self._root) :]
        if folder not in self._stores:
            self._stores[folder] = open_store(qualify(folder), self._options), ""
        return self._stores[folder]
