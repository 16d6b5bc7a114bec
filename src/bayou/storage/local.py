# SPDX-License-Identifier: Apache-2.0
"""The store for tables on a local disk."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, Final

from bayou.errors import DeltaError, failed
from bayou.protocol.actions.file_names import LOG_FOLDER, LogFileKind, parse_log_file_name
from bayou.storage.durable_files import publish, sync_file, sync_folder, sync_folders_above, temporary_file
from bayou.storage.store import FileStatus
from bayou.storage.trees import Deletions, Folder, LocalTree

# A disk merges syncs that wait together. More threads than this are not faster.
_SYNC_THREADS: Final = 8

_NEXT_STEPS: Final = {
    errno.ENOSPC: "Free space on that disk, and run the operation again.",
    errno.EDQUOT: "Free space within the quota, and run the operation again.",
    errno.EROFS: "Mount that disk for writing, because it is mounted read-only, or keep the table elsewhere.",
    errno.ENOTSUP: "Keep the table on a file system with hard links, which keep two writers apart.",
}


class LocalStore:
    """A folder on a local disk, safe for any number of processes on one machine.

    `put_if_absent` writes and syncs a temporary file and links it to its name. The link fails if the name exists, so no
    process overwrites another's commit and no reader sees part of one. Then the folder, and its new parents, are synced, so
    that the name survives a crash. On file systems without hard links an exclusive rename replaces the link. If Linux does
    not support that either, the call raises StorageError.

    A put that fails before the file has its name leaves no file behind. A put that fails afterwards, while its folder is
    synced, raises although the file exists; the file may disappear in a crash.

    Hadoop writes a checksum file `.name.crc` next to each file, and refuses the file if the two disagree. Each write here
    deletes that sibling.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)
        self._tree = LocalTree(self._root)

    def __repr__(self) -> str:
        return f"LocalStore({self._root!r})"

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """See LogStore."""
        folder, _, start = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        with self._reading(folder), os.scandir(self._at(folder)) as entries:
            found = sorted((entry for entry in entries if entry.name >= start), key=lambda entry: entry.name)
            listed = [status for entry in found if (status := _status(prefix, entry)) is not None]
        return iter(listed)

    def read(self, path: str) -> bytes:
        """See LogStore."""
        with self._reading(path):
            return Path(self._at(path)).read_bytes()

    def open(self, path: str) -> BinaryIO:
        """See LogStore."""
        with self._reading(path):
            return Path(self._at(path)).open("rb")

    def size(self, path: str) -> int:
        """See LogStore."""
        with self._reading(path):
            return Path(self._at(path)).stat().st_size

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See LogStore."""
        target = Path(self._at(path))
        with self._writing(path):
            if target.exists():
                return False
            with temporary_file(target, data) as temporary:
                if not publish(temporary, target):
                    return False
                _drop_hadoop_checksum(target)
                sync_folder(target.parent)
        return True

    def put(self, path: str, data: bytes) -> None:
        """See LogStore."""
        target = Path(self._at(path))
        with self._writing(path), temporary_file(target, data) as temporary:
            # Delete the sibling first: a file without one is read unchecked, a file with a stale one is refused.
            _drop_hadoop_checksum(target)
            temporary.replace(target)
            sync_folder(target.parent)

    def delete(self, path: str) -> None:
        """See LogStore."""
        target = Path(self._at(path))
        with self._reading(path):
            target.unlink(missing_ok=True)
            _drop_hadoop_checksum(target)

    def sync(self, paths: Iterable[str]) -> None:
        """See LogStore.

        Sync each file once, then each folder up to the root. Before the first commit the table's own
        folder may be new, so sync the folders above the root too.
        """
        files = dict.fromkeys(paths)
        if not files:
            return
        for path in files:
            if path.startswith("/") or ".." in path.split("/"):
                raise failed("sync-outside-table", table=self._root, file=path)
        _each(self._sync_file, files)
        _each(self._sync_folder, _folders(files))
        if not os.path.exists(self._at(LOG_FOLDER)):  # noqa: PTH110  (a string is enough)
            with self._writing(""):
                sync_folders_above(Path(self._root))

    def local_path(self, path: str) -> str | None:
        """See LogStore."""
        return self._at(path)

    def list_folders(self, folders: Sequence[str], shown: tuple[str, ...]) -> list[Folder]:
        """See TreeStore."""
        return self._tree.list_folders(folders, shown)

    def delete_many(self, paths: Sequence[str]) -> Deletions:
        """See TreeStore."""
        return self._tree.delete_many(paths)

    def _at(self, path: str) -> str:
        return os.path.join(self._root, path) if path else self._root  # noqa: PTH118  (hot: one call per commit)

    def _sync_file(self, path: str) -> None:
        with self._reading(path):
            sync_file(self._at(path))

    def _sync_folder(self, path: str) -> None:
        with self._reading(path):
            sync_folder(self._at(path))

    @contextlib.contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        try:
            yield
        except NotADirectoryError as error:
            raise FileNotFoundError(error.errno, error.strerror, error.filename) from error
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise self._failed(path, error) from error

    @contextlib.contextmanager
    def _writing(self, path: str) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError) as error:
            raise self._failed(path, error) from error

    def _failed(self, path: str, error: Exception) -> DeltaError:
        code = error.errno if isinstance(error, OSError) else None
        step = _NEXT_STEPS.get(code or 0)
        return failed("local-file-system", table=self._root, file=path, reason=str(error), next_step=step, errno=code)


def _status(prefix: str, entry: os.DirEntry[str]) -> FileStatus | None:
    try:
        stat = entry.stat()
    except FileNotFoundError:  # deleted since the folder was read, or a link that leads nowhere
        stat = None
    except OSError:
        if not entry.is_symlink():
            raise
        stat = None  # such as a link that leads to itself
    if stat is None or not S_ISREG(stat.st_mode):
        try:
            if not _hides_commit(entry):
                return None
            stat = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # deleted since the folder was read
            return None
    etag = f"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}"
    return FileStatus(prefix + entry.name, stat.st_size, stat.st_mtime_ns // 1_000_000, etag)


def _hides_commit(entry: os.DirEntry[str]) -> bool:
    """Whether a dangling link or a folder has the name of a commit.

    A reader that does not see it would take the previous version for the latest. A reader that sees it fails when it reads it.
    """
    name = parse_log_file_name(entry.name)
    return name is not None and name.kind is LogFileKind.COMMIT and (entry.is_symlink() or entry.is_dir())


def _drop_hadoop_checksum(target: Path) -> None:
    (target.parent / f".{target.name}.crc").unlink(missing_ok=True)


def _folders(files: Iterable[str]) -> set[str]:
    """Return every folder from the files up to the root, which is the empty path."""
    folders: set[str] = set()
    for folder in {path.rpartition("/")[0] for path in files}:
        at = folder
        while at not in folders:
            folders.add(at)
            at = at.rpartition("/")[0]
    return folders


def _each(call: Callable[[str], None], paths: Iterable[str]) -> None:
    """Call a function for each path concurrently. Raise the first error, and skip the calls that have not started."""
    todo = list(paths)
    if len(todo) == 1:
        call(todo[0])
        return
    with ThreadPoolExecutor(min(_SYNC_THREADS, len(todo)), thread_name_prefix="bayou-sync") as pool:
        for _ in pool.map(call, todo):
            pass
