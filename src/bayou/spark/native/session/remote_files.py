# SPDX-License-Identifier: Apache-2.0
"""Move and delete files of a store through the file systems of the running session's JVM, many in one call."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bayou.errors import SessionError, failed
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations.hadoop import HadoopError, HadoopFiles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def delete_files(root: str, options: Mapping[str, str], uris: Sequence[str]) -> None:
    """Delete files under a root. Files that cannot be deleted stay. A no-op without a running session."""
    jvm = Jvm.running()
    if uris and jvm is not None:
        with contextlib.suppress(HadoopError, SessionError):
            HadoopFiles.of(jvm, root, options).delete_all(uris)


def delete_folders(root: str, options: Mapping[str, str], uris: Sequence[str]) -> None:
    """Delete folders with their files. Folders that cannot be deleted stay."""
    for uri in uris:
        with contextlib.suppress(HadoopError, SessionError, OSError):
            _files(root, options).clear(uri)


def move_files(root: str, options: Mapping[str, str], moves: Sequence[tuple[str, str]]) -> None:
    """Move files under a root, each from a URI to another.

    Raises:
        OSError, SessionError: a file could not be moved.
    """
    try:
        for answer in _files(root, options).move_all(moves) if moves else ():
            if isinstance(answer, Exception):
                raise answer
    except HadoopError as error:
        raise OSError(str(error)) from error


def _files(root: str, options: Mapping[str, str]) -> HadoopFiles:
    jvm = Jvm.running()
    if jvm is None:
        raise failed("no-running-session")
    return HadoopFiles.of(jvm, root, options)
