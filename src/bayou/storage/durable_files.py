# SPDX-License-Identifier: Apache-2.0
"""Files and names on a local disk that survive a crash of the machine."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bayou.storage.exclusive_rename import rename_exclusively

# What file systems without hard links answer. vfat and exfat say EPERM; FUSE passes on what its server says.
_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS})
# What file systems answer that cannot sync a folder.
_NO_FOLDER_SYNC: Final = frozenset({errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EOPNOTSUPP})
# Windows syncs only what is open for writing.
_OPEN_FOR_SYNC: Final = os.O_RDWR if os.name == "nt" else os.O_RDONLY


@contextlib.contextmanager
def temporary_file(target: Path, data: bytes) -> Iterator[Path]:
    """A synced file beside the target, gone afterwards. Its name is hidden and is no log file's name."""
    make_folders(target.parent)
    temporary = target.parent / f".{target.name}.{uuid.uuid4().hex}.tmp"
    try:
        with temporary.open("xb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        yield temporary
    finally:
        # What remains is hidden and harmless; it must not turn a file that is in place into an error.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def publish(temporary: Path, target: Path) -> bool:
    """Give a file its name, unless the name is taken: by a hard link, or by an exclusive rename where there are none.

    Returns:
        True where the file has its name now, False where another file has it.

    Raises:
        OSError: the file system can do neither, or fails.
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
    """Make a folder and the ones that it is in, and sync every folder that got an entry by that."""
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
    """Bring a file's content to the disk."""
    descriptor = os.open(file, _OPEN_FOR_SYNC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Bring a folder's entries to the disk, where the file system offers that."""
    if os.name == "nt":  # folders cannot be opened there
        return
    try:
        sync_file(folder)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def sync_folders_above(folder: Path) -> None:
    """Bring the entries to the disk by which a new folder is found; folders that this process cannot change are left out."""
    for above in folder.absolute().parents:
        if os.access(above, os.W_OK):
            sync_folder(above)
