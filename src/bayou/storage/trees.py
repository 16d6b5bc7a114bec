# SPDX-License-Identifier: Apache-2.0
"""List a table's folder with all subfolders, and delete many files in one call, for VACUUM and CONVERT.

A store may implement both (see `TreeStore`). Otherwise files are deleted one at a time, and only a folder on the local disk can be
listed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from bayou.errors import DeltaError, StorageError, failed
from bayou.protocol.actions.file_names import LOG_FOLDER
from bayou.protocol.arguments import is_unicode

if TYPE_CHECKING:
    import pyarrow as pa

    from bayou.storage.store import LogStore

EVERY_NAME: Final = ("_", ".")
"""The beginnings of hidden names that make a listing show all of them (see `is_shown`)."""
_BATCH: Final = 50_000
_FOLDERS_AT_ONCE: Final = 64
_THREADS: Final = 8


@cache
def tree_schema() -> pa.Schema:
    """Return the schema of a listing of files and folders.

    The path is relative to the table's root, with forward slashes, not percent-encoded. The size is in bytes; for a folder it is
    the number of its entries, hidden ones included. The modification time is in ms since the epoch. A link to a file has the
    file's size and the later modification time of the two.
    """
    import pyarrow as pa  # noqa: PLC0415  (a program that implements a store, or listens to events, needs no Arrow)

    return pa.schema([("path", pa.string()), ("size", pa.int64()), ("modification_time", pa.int64()), ("is_folder", pa.bool_())])


@dataclass(frozen=True, slots=True)
class Folder:
    """The entries of one folder; those of its subfolders are not included.

    Attributes:
        files: the files that are not hidden, in batches of `tree_schema`.
        folders: the path and modification time of each subfolder that is not hidden.
        num_entries: the number of all files and folders, hidden ones included: only a folder without any entry can be deleted.
    """

    files: Sequence[pa.RecordBatch]
    folders: Sequence[tuple[str, int]]
    num_entries: int


@dataclass(frozen=True, slots=True)
class Deletions:
    """The result of deleting files.

    Attributes:
        deleted: the number of deleted files. An object store does not report whether a file existed, so that it includes missing
            files there.
        failed: the errors of files that could not be deleted, by path.
    """

    deleted: int
    failed: Mapping[str, DeltaError]


class FolderBuilder:
    """Collects the entries of one folder into a `Folder`, whatever lists them.

    Args:
        path: the folder's path, relative to the table's root.
        shown: beginnings of hidden names that are shown nevertheless (see `is_shown`).
    """

    def __init__(self, path: str, shown: tuple[str, ...]) -> None:
        self._prefix = f"{path}/" if path else ""
        self._shown = shown
        self._rows: list[tuple[str, int, int, bool]] = []
        self._batches: list[pa.RecordBatch] = []
        self._folders: list[tuple[str, int]] = []
        self._count = 0
        self._is_table = False

    def add(self, name: str, size: int, modification_time: int, *, is_folder: bool) -> None:
        """Add an entry of the folder: its name, its size in bytes and its modification time in ms since the epoch."""
        self._count += 1
        if not is_shown(name, self._shown):
            # The log of the root is the table's own log.
            self._is_table |= is_folder and name == LOG_FOLDER and bool(self._prefix)
            return
        if not is_unicode(name):  # the log cannot have its path
            return
        if is_folder:
            self._folders.append((self._prefix + name, modification_time))
            return
        self._rows.append((self._prefix + name, size, modification_time, False))
        if len(self._rows) == _BATCH:
            self._flush()

    def pass_over(self) -> None:
        """Count an entry that is not shown."""
        self._count += 1

    def build(self) -> Folder:
        """Return the folder of the added entries. A subfolder with its own log is another table, and its content is left out."""
        self._flush()
        if self._is_table:
            return Folder([], [], self._count)
        return Folder(self._batches, self._folders, self._count)

    def _flush(self) -> None:
        if self._rows:
            self._batches.append(_batch(self._rows))
            self._rows = []


def is_shown(name: str, shown: tuple[str, ...]) -> bool:
    """Return whether a listing shows a file or folder. Names that begin with `_` or `.` are hidden, with everything below them.

    Args:
        name: the last part of its path.
        shown: beginnings of hidden names that are shown nevertheless.
    """
    return not name.startswith(("_", ".")) or name.startswith(shown)


@runtime_checkable
class TreeStore(Protocol):
    """A log store that lists folders and deletes many files. Both are thread-safe."""

    def list_folders(self, folders: Sequence[str], shown: tuple[str, ...]) -> list[Folder]:
        """List some folders.

        A missing folder counts as empty. Links to folders are not shown, so that a listing never leaves the table.

        Args:
            folders: relative to the table's root, which is the empty string.
            shown: beginnings of hidden names that are shown nevertheless (see `is_shown`).

        Raises:
            StorageError: a folder cannot be listed.
        """
        ...

    def delete_many(self, paths: Sequence[str]) -> Deletions:
        """Delete files and empty folders. Ignore missing ones, and folders that are not empty.

        Args:
            paths: relative to the table's root. A path that leads out of the table, also through a link, is not followed.
        """
        ...


def list_tree(store: LogStore, shown: tuple[str, ...] = (), below: str = "") -> Iterator[pa.RecordBatch]:
    """List everything below a table's root, or below one of its folders, in bounded batches of `tree_schema`.

    Many folders are listed concurrently, at any depth.

    Args:
        store: the table's store.
        shown: beginnings of hidden names that are shown nevertheless (see `is_shown`).
        below: the folder, relative to the table's root; it is not listed itself.

    Raises:
        StorageError: the store cannot list folders, or failed.
    """
    list_folders = _lister(store)
    waiting = [(below, 0)]
    while waiting:
        now, waiting = waiting[-_FOLDERS_AT_ONCE:], waiting[:-_FOLDERS_AT_ONCE]
        rows = []
        for (path, modified), folder in zip(now, list_folders([path for path, _ in now], shown), strict=True):
            # A listing of the parent has no entry count for the folder, so the folder's own row follows its listing.
            if path != below:
                rows.append((path, folder.num_entries, modified, True))
            waiting += folder.folders
            yield from folder.files
        if rows:
            yield _batch(rows)


def linked_folders(store: LogStore, folders: Iterable[str]) -> Iterator[str]:
    """Yield the links to folders inside some folders, which listings leave out. Yield nothing for a remote store.

    Args:
        store: the table's store.
        folders: relative to the table's root, which is the empty string.
    """
    for folder in folders:
        local_path = store.local_path(folder)
        if local_path is None:
            return
        with contextlib.suppress(OSError), os.scandir(local_path) as entries:
            names = sorted(entry.name for entry in entries if entry.is_symlink() and entry.is_dir())
            yield from (f"{folder}/{name}" if folder else name for name in names)


def delete_many(store: LogStore, paths: Sequence[str]) -> Deletions:
    """Delete files and empty folders; see `TreeStore.delete_many`."""
    if isinstance(store, TreeStore):
        return store.delete_many(paths)
    failures = {}
    for path in paths:
        try:
            store.delete(path)
        except StorageError as error:
            failures[path] = error
    return Deletions(len(paths) - len(failures), failures)


def list_each(folders: Sequence[str], list_one: Callable[[str], Folder], *, threads: int) -> list[Folder]:
    """List some folders concurrently, and return them in the same order."""
    if len(folders) == 1:
        return [list_one(folders[0])]
    with ThreadPoolExecutor(min(threads, len(folders)), thread_name_prefix="bayou-list") as pool:
        return list(pool.map(list_one, folders))


class LocalTree:
    """Lists and deletes files in a folder on the local disk, with several threads.

    `delete_many` also deletes the checksum file `.name.crc` that Hadoop's local file system writes for a file.
    """

    def __init__(self, root: str) -> None:
        self._root = root

    def list_folders(self, folders: Sequence[str], shown: tuple[str, ...]) -> list[Folder]:
        """See TreeStore."""
        return list_each(folders, lambda folder: self._folder(folder, shown), threads=_THREADS)

    def delete_many(self, paths: Sequence[str]) -> Deletions:
        """See TreeStore."""
        if not paths:
            return Deletions(0, {})
        folders = {path.rpartition("/")[0] for path in paths}
        checksums = {folder: self._checksums(folder) for folder in folders if self._is_inside(folder)}
        size = max(-(-len(paths) // _THREADS), 1)
        parts = [paths[start : start + size] for start in range(0, len(paths), size)]
        deleted, failures = 0, dict[str, DeltaError]()
        with ThreadPoolExecutor(len(parts), thread_name_prefix="bayou-delete") as pool:
            for result in pool.map(lambda part: self._deleted(part, checksums), parts):
                deleted += result.deleted
                failures |= result.failed
        return Deletions(deleted, failures)

    def _folder(self, path: str, shown: tuple[str, ...]) -> Folder:
        builder = FolderBuilder(path, shown)
        try:
            with os.scandir(self._at(path)) as entries:
                for entry in entries:
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:  # deleted since the folder was read
                        continue
                    is_folder = stat.S_ISDIR(status.st_mode)
                    if stat.S_ISLNK(status.st_mode) and os.path.isdir(entry.path):  # noqa: PTH112  (a string is enough)
                        builder.pass_over()
                        continue
                    size, modified = status.st_size, status.st_mtime_ns
                    if stat.S_ISLNK(status.st_mode):
                        with contextlib.suppress(OSError):  # a dangling link
                            size, modified = entry.stat().st_size, max(modified, entry.stat().st_mtime_ns)
                    builder.add(entry.name, size, modified // 1_000_000, is_folder=is_folder)
        except (FileNotFoundError, NotADirectoryError):
            return FolderBuilder(path, shown).build()
        except OSError as error:
            raise self._failed(path, error) from error
        return builder.build()

    def _checksums(self, folder: str) -> frozenset[str]:
        """Return the names of the checksum files in a folder: one listing instead of one system call for each file."""
        with contextlib.suppress(OSError), os.scandir(self._at(folder)) as entries:
            return frozenset(entry.name for entry in entries if entry.name[0] == "." and entry.name.endswith(".crc"))
        return frozenset()

    def _deleted(self, paths: Iterable[str], checksums: Mapping[str, frozenset[str]]) -> Deletions:
        """Delete files and empty folders one after the other. A missing file is neither deleted nor failed.

        Args:
            checksums: the names of the checksum files in each folder. A folder that it lacks is outside the table (`_is_inside`).
        """
        deleted, failures = 0, dict[str, DeltaError]()
        for path in paths:
            folder, _, name = path.rpartition("/")
            if folder not in checksums or name in {"", ".", ".."}:
                failures[path] = failed("file-outside-table", table=self._root, file=path)
                continue
            try:
                self._delete(path)
                if f".{name}.crc" in checksums[folder]:
                    with contextlib.suppress(OSError):  # a leftover checksum file is harmless
                        os.unlink(self._at(f"{folder}/.{name}.crc" if folder else f".{name}.crc"))  # noqa: PTH108  (as below)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:  # a folder that got a file in the meantime
                    failures[path] = self._failed(path, error)
                continue
            deleted += 1
        return Deletions(deleted, failures)

    def _delete(self, path: str) -> None:
        target = self._at(path)
        try:
            os.unlink(target)  # noqa: PTH108  (a string is enough, as below)
        except (IsADirectoryError, PermissionError):  # PermissionError on macOS
            if not stat.S_ISDIR(os.lstat(target).st_mode):
                raise
            os.rmdir(target)  # noqa: PTH106

    def _is_inside(self, folder: str) -> bool:
        """Return whether a folder is below the root and its path contains no link: files behind a link would have two paths."""
        root = os.path.realpath(self._root)
        if folder.startswith("/") or ".." in folder.split("/"):
            return False
        return os.path.realpath(self._at(folder)) == os.path.normpath(os.path.join(root, folder))  # noqa: PTH118  (a string)

    def _at(self, path: str) -> str:
        return os.path.join(self._root, path) if path else self._root  # noqa: PTH118

    def _failed(self, path: str, error: OSError) -> DeltaError:
        return failed("local-file-system", table=self._root, file=path or None, reason=str(error), errno=error.errno)


def _lister(store: LogStore) -> Callable[[Sequence[str], tuple[str, ...]], list[Folder]]:
    if isinstance(store, TreeStore):
        return store.list_folders
    root = store.local_path("")
    if root is not None:
        return LocalTree(root).list_folders
    raise failed("cannot-list-folders", store=type(store).__name__)


def _batch(rows: Sequence[tuple[str, int, int, bool]]) -> pa.RecordBatch:
    import pyarrow as pa  # noqa: PLC0415  (see tree_schema)

    columns: list[Sequence[object]] = list(zip(*rows, strict=True))
    schema = tree_schema()
    return pa.record_batch([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema)
