# SPDX-License-Identifier: Apache-2.0
"""Rename a file atomically, and fail if the name is taken: for file systems without hard links."""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import sys
from typing import Any, Final

# From linux/fs.h and fcntl.h.
_AT_FDCWD: Final = -100
_RENAME_NOREPLACE: Final = 1


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
