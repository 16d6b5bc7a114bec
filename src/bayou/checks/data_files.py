# SPDX-License-Identifier: Apache-2.0
"""The files that a log names: their sizes from listings, their bytes, and their Parquet footers."""

from __future__ import annotations

import contextlib
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from bayou.checks.footers import Footer, read_footer
from bayou.errors import DeltaError, StorageError
from bayou.protocol.actions import paths
from bayou.protocol.arguments import is_unicode
from bayou.storage import open_store, qualify
from bayou.storage.parallel import read_each

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayou.storage.store import LogStore


class DataFolder:
    """The files of a table, and those outside of it that its log names by absolute paths."""

    def __init__(self, uri: str, store: LogStore, options: Mapping[str, str]) -> None:
        """Begin with nothing read.

        Args:
            uri: the table.
            store: the store of the table.
            options: credentials and settings for stores of files outside the table.
        """
        self._uri = uri
        self._store_of_table = store
        self._options = options
        self._footers: dict[str, Footer | str | None] = {}
        self._stores: dict[str, tuple[LogStore, str]] = {}

    @cached_property
    def _root(self) -> str:
        return self._uri.rstrip("/") + "/"

    def sizes(self, names: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the sizes of the files that file actions name; null for a missing file. A folder is listed once.

        Args:
            names: the paths of the actions, without nulls.
        """
        uris = self._uris(names)
        folders = pc.unique(pc.replace_substring_regex(uris, "/[^/]*$", "")).to_pylist()
        listed = list(read_each(self._store_of_table, folders, self._listed))
        found = pa.concat_arrays([pa.array([], pa.string()), *(each for each, _ in listed)])
        sizes = pa.concat_arrays([pa.array([], pa.int64()), *(each for _, each in listed)])
        return pc.take(sizes, pc.index_in(uris, value_set=found))

    def _uris(self, names: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the URIs of files, not percent-encoded; see `paths.to_uri`."""
        is_plain = pc.invert(pc.match_substring_regex(names, "^/|[%:]"))
        others = [paths.to_uri(each, self._uri) for each in names.filter(pc.invert(is_plain)).to_pylist()]
        uris = pc.binary_join_element_wise(self._root, names, "").combine_chunks()
        return pc.replace_with_mask(uris, pc.invert(is_plain).combine_chunks(), pa.array(others, pa.string()))

    def _listed(self, folder: str) -> tuple[pa.Array, pa.Array]:
        """Return the URIs and the sizes of the files in a folder."""
        found = self._listing(*self._store(folder))
        uris = pc.binary_join_element_wise(f"{folder}/", pa.array(list(found), pa.string()), "")
        return uris, pa.array(list(found.values()), pa.int64())

    def _listing(self, store: LogStore, inside: str) -> dict[str, int]:
        """Return the sizes of the files in a folder by name."""
        local = store.local_path(inside)
        if local is not None:
            # Arrow asks for the status of the files in half the time. The store decides about what Arrow cannot list.
            with contextlib.suppress(OSError, UnicodeDecodeError):
                selected = fs.LocalFileSystem().get_file_info(fs.FileSelector(local, allow_not_found=True))
                return {each.base_name: each.size for each in selected if each.is_file}
        try:
            return {each.name: each.size for each in store.list_from(inside) if is_unicode(each.name)}
        except FileNotFoundError:
            return {}

    def read(self, uri: str) -> bytes | None:
        """Return the bytes of a file; None if it does not exist."""
        folder, _, name = uri.rpartition("/")
        store, inside = self._store(folder)
        try:
            return store.read(inside + name)
        except FileNotFoundError:
            return None

    def footer(self, path: str) -> Footer | str | None:
        """Return the footer of a data file, or the reason why it cannot be read; None for a missing file. It is read once."""
        if path not in self._footers:
            self._footers[path] = self._footer(path)
        return self._footers[path]

    def _footer(self, path: str) -> Footer | str | None:
        folder, _, name = paths.to_uri(path, self._uri).rpartition("/")
        store, inside = self._store(folder)
        try:
            with store.open(inside + name) as source, pq.ParquetFile(source) as file:
                return read_footer(file.metadata)
        except FileNotFoundError:
            return None
        except StorageError:  # nothing is known of the file
            raise
        except (DeltaError, OSError, pa.ArrowException, ValueError) as error:
            return f"{error}"[:200]

    def damage(self, path: str) -> str | None:
        """Return why the bytes of a data file are not a Parquet file; None if they are, or if the file does not exist.

        Raises:
            StorageError: the file cannot be read now, which says nothing about its bytes.
        """
        data = self.read(paths.to_uri(path, self._uri))
        if data is None:
            return None
        try:
            pq.read_metadata(pa.BufferReader(data))
        except (OSError, pa.ArrowException, ValueError) as error:
            return f"{error}"[:200]
        return None

    def _store(self, folder: str) -> tuple[LogStore, str]:
        """Return a store for a folder, and the folder's path in it, with a slash at its end."""
        if f"{folder}/".startswith(self._root):
            return self._store_of_table, f"{folder}/"[len(self._root) :]
        if folder not in self._stores:
            self._stores[folder] = open_store(qualify(folder), self._options), ""
        return self._stores[folder]
