# SPDX-License-Identifier: Apache-2.0
"""Cache compiled adapters on disk, so that only the first session on a machine waits for the compiler.

A session executes the class files that it loads. It therefore trusts only a folder that belongs to this user and that nobody else
can write to. Without such a folder every session compiles.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMPLETE = "complete"


class AdapterCache:
    """Folders of class files, keyed by what they were compiled from and against. Processes may share one."""

    def __init__(self, root: Path | None = None) -> None:
        base = os.environ.get("XDG_CACHE_HOME") or Path("~", ".cache").expanduser()
        self.root = Path(base, "bayou", "adapters") if root is None else root

    @staticmethod
    def key(facts: Iterable[str]) -> str:
        """Return the folder name for classes that depend on these facts."""
        return hashlib.sha256("\0".join(facts).encode()).hexdigest()[:32]

    def get(self, key: str) -> Path | None:
        """Return the folder of that key if it is complete and trusted."""
        folder = self.root / key
        with contextlib.suppress(OSError):
            if _is_ours(self.root) and _is_ours(folder) and (folder / _COMPLETE).exists():
                return folder
        return None

    def put(self, key: str, compiled: Path) -> Path | None:
        """Copy a folder of class files into the cache. Return the copy, or None if it cannot be stored."""
        with contextlib.suppress(OSError):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_ours(self.root):
                return None
            # Rename a complete copy, so that no other process sees a part of it.
            copy = Path(tempfile.mkdtemp(prefix=".", dir=self.root))
            try:
                shutil.copytree(compiled, copy, dirs_exist_ok=True)
                (copy / _COMPLETE).touch()
                copy.rename(self.root / key)
            except OSError:  # usually because another process was first
                shutil.rmtree(copy, ignore_errors=True)
        return self.get(key)


def _is_ours(folder: Path) -> bool:
    status = folder.lstat()
    if os.name == "nt":  # profile folders are private on Windows
        return stat.S_ISDIR(status.st_mode)
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
