# SPDX-License-Identifier: Apache-2.0
"""Handle Ctrl-C while an operation runs: stop its jobs, and commit nothing.

PySpark's handler cancels all jobs, and raises KeyboardInterrupt in the main thread. If that thread is in the middle of a call into
the JVM, the answer to that call is later taken for the answer to another one. The operation itself may go on, because it often
runs on another thread of Python, which the JVM calls. The handler here cancels the jobs as PySpark's does, but lets the operation
end in order: it commits nothing, deletes what it wrote, and raises KeyboardInterrupt.

PySpark's handler acts if the main thread waits for no operation, and on a second Ctrl-C.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from bayou.spark.jvm.core.bridge import Jvm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

_running: Final[set[_Operation]] = set()
"""The operations that the main thread waits for."""
_CURRENT: Final[ContextVar[_Operation | None]] = ContextVar("bayou_operation", default=None)
"""The operation of the running thread, if the main thread waits for it."""
_main_threads: Final[WeakKeyDictionary[Jvm, int]] = WeakKeyDictionary()
"""The id of the thread in each JVM that runs the calls of Python's main thread."""


class _Operation:
    """An operation that the main thread waits for."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self.is_interrupted = False

    def interrupt(self) -> None:
        """Cancel the jobs, on another thread: the one that Ctrl-C interrupts may be waiting for the JVM."""
        self.is_interrupted = True
        threading.Thread(target=self._context.cancelAllJobs, name="bayou-interrupt", daemon=True).start()


@contextlib.contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """Let Ctrl-C stop the jobs of the block and end it with KeyboardInterrupt.

    An operation that the main thread does not wait for, such as one in a batch of a stream, is left to PySpark's handler.
    """
    listen(spark)
    if _CURRENT.get() is not None or not _is_waited_for(spark):
        yield
        return
    running = _Operation(spark)
    token = _CURRENT.set(running)
    _running.add(running)
    try:
        yield
    except Exception as error:
        if running.is_interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        _running.discard(running)
        _CURRENT.reset(token)
    if running.is_interrupted:
        raise KeyboardInterrupt


def check_interrupted() -> None:
    """Raise KeyboardInterrupt if the operation around this call was interrupted. To be called before a commit."""
    running = _CURRENT.get()
    if running is not None and running.is_interrupted:
        raise KeyboardInterrupt


def listen(spark: SparkSession) -> None:
    """Install the handler in front of the current one. A no-op on other threads than the main one, which alone may do it."""
    if threading.current_thread() is not threading.main_thread():
        return
    jvm = Jvm.of(spark)
    if jvm not in _main_threads:
        _main_threads[jvm] = jvm.thread_id()
    current = signal.getsignal(signal.SIGINT)
    if callable(current) and not isinstance(current, _Handler):
        signal.signal(signal.SIGINT, _Handler(current))


def _is_waited_for(spark: SparkSession) -> bool:
    """Whether the main thread runs this, or waits for the JVM, which runs it."""
    if threading.current_thread() is threading.main_thread():
        return True
    jvm = Jvm.of(spark)
    return jvm in _main_threads and jvm.thread_id() == _main_threads[jvm]


class _Handler:
    """The handler of Ctrl-C."""

    def __init__(self, before: Callable[[int, Any], Any]) -> None:
        self._before = before

    def __call__(self, number: int, frame: Any) -> None:
        waiting = [each for each in tuple(_running) if not each.is_interrupted]
        if not waiting:
            self._before(number, frame)
        for each in waiting:
            each.interrupt()
