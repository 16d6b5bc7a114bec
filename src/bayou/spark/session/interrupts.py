# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while jobs of an operation run: it stops the jobs, and the operation ends as one whose job failed.

PySpark's handler raises KeyboardInterrupt in the middle of the call into the JVM that waits for the job. The job goes on, and what
the call was to answer is taken for the answer of a later one. A statement runs on another thread than the one that Ctrl-C reaches,
and would go on, too. While an operation runs, the handler here stops its jobs from a thread of its own instead, and the operation
raises KeyboardInterrupt. PySpark's handler is called if none runs, and for a second Ctrl-C.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import uuid
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark import SparkContext

_running: Final[set[Jobs]] = set()
"""The operations whose jobs may be running, of all threads."""


class Jobs:
    """The jobs that a thread starts in an operation, by a tag on them."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._tag = f"bayou-{uuid.uuid4().hex}"
        self.is_interrupted = False

    def begin(self) -> None:
        """The jobs that this thread starts from here on are these."""
        self._context.addJobTag(self._tag)

    def end(self) -> None:
        """The jobs that this thread starts from here on are others. To be called on the thread that began."""
        self._context.removeJobTag(self._tag)

    def interrupt(self) -> None:
        """Stops the jobs. The thread that Ctrl-C reaches may be waiting for the JVM: another one asks for it."""
        self.is_interrupted = True
        threading.Thread(target=self._cancel, name="bayou-interrupt", daemon=True).start()

    def check(self) -> None:
        """Ends the operation if it was interrupted.

        Raises:
            KeyboardInterrupt: it was.
        """
        if self.is_interrupted:
            raise KeyboardInterrupt

    def _cancel(self) -> None:
        self._context.cancelJobsWithTag(self._tag)


@contextlib.contextmanager
def interruptible(context: SparkContext) -> Iterator[Jobs]:
    """Within it, Ctrl-C stops the jobs of this thread, and the block ends with KeyboardInterrupt.

    Args:
        context: the Spark context.
    """
    listen()
    jobs = Jobs(context)
    jobs.begin()
    _running.add(jobs)
    try:
        yield jobs
    except Exception as error:
        if jobs.is_interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        _running.discard(jobs)
        jobs.end()
    jobs.check()


def listen() -> None:
    """Puts the handler before the one that is there; nothing on another thread than the main one, which alone may do it."""
    there = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is threading.main_thread() and callable(there) and not isinstance(there, _Handler):
        signal.signal(signal.SIGINT, _Handler(there))


class _Handler:
    """What Ctrl-C does."""

    def __init__(self, before: Callable[[int, Any], Any]) -> None:
        self._before = before

    def __call__(self, number: int, frame: Any) -> None:
        waiting = [each for each in tuple(_running) if not each.is_interrupted]
        if not waiting:
            self._before(number, frame)
        for each in waiting:
            each.interrupt()
