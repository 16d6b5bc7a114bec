# SPDX-License-Identifier: Apache-2.0
"""Keep what is found out for one call of the program, such as one write: it is forgotten when the call returns."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _OfThread(threading.local):
    notes: dict[object, Any] | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def program_call() -> Iterator[None]:
    """Within the block, a call of the program runs in this thread. Calls that bayou makes itself are part of the outermost one."""
    if _of_thread.notes is not None:
        yield
        return
    _of_thread.notes = {}
    try:
        yield
    finally:
        _of_thread.notes = None


def notes_of_call() -> dict[object, Any] | None:
    """Return what is noted for the call that this thread runs, to read and to add to; None if it runs none."""
    return _of_thread.notes
