# SPDX-License-Identifier: Apache-2.0
"""Move and delete files of a store through the file systems of the running session's JVM, many in one call."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from bayou.errors import failed
from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.relations.hadoop import HadoopError, HadoopFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class RemoteFiles:
    """The files of one store. Its methods raise OSError or DeltaError."""

    def __init__(self, root: str, options: Mapping[str, str]) -> None:
        """Connect to the store.

        Args:
            root: a URI in the store.
        """
        jvm = Jvm.running()
        if jvm is None:
            raise failed("no-running-session")
        with _as_os_error():
            self._files = HadoopFiles.of(jvm, root, options)

    def move_all(self, moves: Sequence[tuple[str, str]]) -> None:
        """Move files, each from a URI to another, until one fails."""
        with _as_os_error():
            for answer in self._files.move_all(moves) if moves else ():
                if isinstance(answer, Exception):
                    raise answer

    def delete_all(self, uris: Sequence[str]) -> None:
        """Delete files. Those that cannot be deleted stay."""
        with _as_os_error():
            self._files.delete_all(uris)

    def clear(self, uri: str) -> None:
        """Delete a folder with its files."""
        with _as_os_error():
            self._files.clear(uri)


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except HadoopError as error:
        raise OSError(str(error)) from error
