# SPDX-License-Identifier: Apache-2.0
"""Standard streams, any of which may be closed, and Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as in shells: 128 plus the number of the signal."""


def exits_when_interrupted() -> None:
    """Let Ctrl-C end the process immediately and without a trace, also in an import, in a C library or at exit.

    The command only reads, so nothing has to be rolled back. A process that ignores the signal keeps ignoring it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))


@contextlib.contextmanager
def open_streams() -> Iterator[bool]:
    """Open standard streams that the process was started without. Return whether standard output leads anywhere."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # Otherwise the next file that is opened gets the number, and writes to standard output destroy that file.
            os.open(os.devnull, os.O_RDWR)
    has_output = sys.stdout is not None
    with contextlib.ExitStack() as undo:
        for name in ("stdout", "stderr"):
            if getattr(sys, name) is None:
                nowhere = undo.enter_context(open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123  (no file of a user)
                undo.callback(setattr, sys, name, None)
                setattr(sys, name, nowhere)
        yield has_output


def flushed(stream: TextIO) -> bool:
    """Flush a stream, or return False and redirect it to nowhere, because the interpreter flushes it again at exit."""
    try:
        stream.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        return False
    return True
