# SPDX-License-Identifier: Apache-2.0
"""The store for tables on a local disk."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from bayou.errors import StorageError
from bayou.storage.store import FileStatus


class LocalStore:
    """A folder on a local disk, safe for any number of processes on one machine.

    `put_if_absent` writes a temporary file, syncs it, and links it to its name: the link fails where the name exists,
    so no process overwrites another's commit and no reader sees a part of one. The folder is synced afterwards, so that
    the name survives a crash. File systems without hard links raise StorageError.

    Hadoop keeps a checksum beside a file that it wrote, `.name.crc`, and refuses the file when the two disagree; each
    write here deletes that sibling.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._root = os.fspath(root)

    def __repr__(self) -> str:
        return f"LocalStore({self._root!r})"

    def list_from(self, path: str) -> Iterator[FileStatus]:
        """See LogStore."""
        folder, _, start = path.rpartition("/")
        prefix = f"{folder}/" if folder else ""
        with self._errors(folder), os.scandir(self._at(folder)) as entries:
            found = sorted((entry for entry in entries if entry.name >= start), key=lambda entry: entry.name)
            listed = [status for entry in found if (status := _status(prefix, entry)) is not None]
        return iter(listed)

    def read(self, path: str) -> bytes:
        """See LogStore."""
        with self._errors(path):
            return Path(self._at(path)).read_bytes()

    def open(self, path: str) -> BinaryIO:
        """See LogStore."""
        with self._errors(path):
            return Path(self._at(path)).open("rb")

    def size(self, path: str) -> int:
        """See LogStore."""
        with self._errors(path):
            return Path(self._at(path)).stat().st_size

    def put_if_absent(self, path: str, data: bytes) -> bool:
        """See LogStore."""
        target = Path(self._at(path))
        if target.exists():
            return False
        with self._errors(path), _temporary(target, data) as temporary:
            try:
                os.link(temporary, target)
            except FileExistsError:
                return False
            _drop_hadoop_checksum(target)
            _sync_folder(target.parent)
        return True

    def put(self, path: str, data: bytes) -> None:
        """See LogStore."""
        target = Path(self._at(path))
        with self._errors(path), _temporary(target, data) as temporary:
            # The sibling goes first: a file without one is read unchecked, a file with a stale one is refused.
            _drop_hadoop_checksum(target)
            temporary.replace(target)
            _sync_folder(target.parent)

    def delete(self, path: str) -> None:
        """See LogStore."""
        target = Path(self._at(path))
        with self._errors(path):
            target.unlink(missing_ok=True)
            _drop_hadoop_checksum(target)

    def local_path(self, path: str) -> str | None:
        """See LogStore."""
        return self._at(path)

    def _at(self, path: str) -> str:
        return os.path.join(self._root, path) if path else self._root  # noqa: PTH118  (hot: one call per commit)

    @contextlib.contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except NotADirectoryError as error:
            raise FileNotFoundError(error.errno, error.strerror, error.filename) from error
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise StorageError(
                f"the local file system failed: {error}",
                table=self._root,
                file=path,
                next_step="Check the permissions and the space of that folder.",
            ) from error


def _status(prefix: str, entry: os.DirEntry[str]) -> FileStatus | None:
    try:
        if not entry.is_file():
            return None
        stat = entry.stat()
    except FileNotFoundError:  # deleted since the folder was read
        return None
    etag = f"{stat.st_ino:x}-{stat.st_mtime_ns:x}-{stat.st_size:x}"
    return FileStatus(prefix + entry.name, stat.st_size, stat.st_mtime_ns // 1_000_000, etag)


@contextlib.contextmanager
def _temporary(target: Path, data: bytes) -> Iterator[Path]:
    """A synced file beside the target, gone afterwards. Its name is hidden and is no log file's name."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.parent / f".{target.name}.{uuid.uuid4().hex}.tmp"
    try:
        with temporary.open("xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _drop_hadoop_checksum(target: Path) -> None:
    (target.parent / f".{target.name}.crc").unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
