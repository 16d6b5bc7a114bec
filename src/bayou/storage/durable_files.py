# SPDX-License-Identifier: Apache-2.0
"""Write files and names to a local disk so that they survive a crash of the machine."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import os
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

# What file systems without hard links report: vfat and exfat say EPERM, FUSE forwards its server's answer.
_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
# What file systems report that cannot sync a folder.
_NO_FOLDER_SYNC: Final = frozenset({errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EOPNOTSUPP})
# Windows syncs only files that are open for writing.
_OPEN_FOR_SYNC: Final = os.O_RDWR if os.name == "nt" else os.O_RDONLY
# From linux/fs.h and fcntl.h.
_AT_FDCWD: Final = -100
_RENAME_NOREPLACE: Final = 1


@contextlib.contextmanager
def temporary_file(target: Path, data: bytes) -> Iterator[Path]:
    """Yield a synced file in the target's folder, and delete it afterwards. Its name is hidden and not that of a log file."""
    make_folders(target.parent)
    temporary = target.parent / f".{target.name}.{uuid.uuid4().hex}.tmp"
    try:
        with temporary.open("xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        yield temporary
    finally:
        # A leftover is hidden and harmless. It must not turn a published file into an error.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def publish(temporary: Path, target: Path) -> bool:
    """Give a file its name, unless the name is taken. Use a hard link, or an exclusive rename if hard links do not exist.

    Returns:
        True if the file now has its name, False if another file has it.

    Raises:
        OSError: the file system supports neither, or failed.
    """
    try:
        os.link(temporary, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
    else:
        return True
    try:
        rename_exclusively(temporary, target)
    except FileExistsError:
        return False
    return True


def make_folders(folder: Path) -> None:
    """Make a folder and its missing parents, and sync every folder that got a new entry."""
    missing = []
    at = folder
    while not at.is_dir() and at != at.parent:
        missing.append(at)
        at = at.parent
    if not missing:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for made in reversed(missing):
        sync_folder(made.parent)


def sync_file(file: str | os.PathLike[str]) -> None:
    """Flush a file's content to the disk."""
    descriptor = os.open(file, _OPEN_FOR_SYNC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Flush a folder's entries to the disk, if the file system supports it."""
    if os.name == "nt":  # folders cannot be opened on Windows
        return
    try:
        sync_file(folder)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def sync_folders_above(folder: Path) -> None:
    """Flush the entries that lead to a new folder. Skip folders that this process cannot change."""
    for above in folder.absolute().parents:
        if os.access(above, os.W_OK):
            sync_folder(above)


def rename_exclusively(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename a file atomically, unless the name is taken.

    Raises:
        FileExistsError: the name is taken.
        OSError: with `errno.ENOTSUP` if the machine or the file system does not support it. Linux does on most file systems.

    Source: `renameat2(2)` with RENAME_NOREPLACE.
    """
    renameat2 = _renameat2()
    if renameat2 is None:
        raise _unsupported(source, target)
    if renameat2(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), _RENAME_NOREPLACE) == 0:
        return
    code = ctypes.get_errno()
    if code in {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP}:
        raise _unsupported(source, target)
    raise OSError(code, os.strerror(code), os.fspath(source), None, os.fspath(target))


def _unsupported(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> OSError:
    message = "there are neither hard links nor exclusive renames here"
    return OSError(errno.ENOTSUP, message, os.fspath(source), None, os.fspath(target))


@functools.cache
def _renameat2() -> Any:
    if sys.platform != "linux":
        return None
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library older than the call
        return None
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_int
    return function
