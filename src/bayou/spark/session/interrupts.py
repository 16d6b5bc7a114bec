# SPDX-License-Identifier: Apache-2.0
"""Handle Ctrl-C during an operation: cancel its jobs, and end it in order without a commit.

PySpark's own handler cancels all jobs, and raises KeyboardInterrupt in the main thread at once. This has two problems:

- The main thread may be in the middle of a call into the JVM. The answer of that call is then taken for the answer of the next one.
- The operation may continue and commit, because it often runs on another thread of Python, which the JVM called.

The handler here cancels the jobs too, but raises nothing. The operation notices the interrupt before its commit, deletes its
uncommitted files, and raises KeyboardInterrupt. PySpark's handler still runs if the main thread waits for no operation, and on a
second Ctrl-C.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from bayou.spark.backend import backend_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from bayou.spark.backend import Backend

_running: Final[set[_Operation]] = set()
"""The operations that the main thread waits for."""
_CURRENT: Final[ContextVar[_Operation | None]] = ContextVar("bayou_operation", default=None)
"""The operation of the running thread, if the main thread waits for it."""
_main_threads: Final[WeakKeyDictionary[Backend, int]] = WeakKeyDictionary()
"""For each backend, the id of the JVM's thread that runs the calls of Python's main thread."""


class _Operation:
    """An operation that the main thread waits for."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self.is_interrupted = False

    def interrupt(self) -> None:
        """Cancel the jobs on another thread, because the interrupted thread may be in the middle of a call into the JVM."""
        self.is_interrupted = True
        threading.Thread(target=self._context.cancelAllJobs, name="bayou-interrupt", daemon=True).start()


@contextlib.contextmanager
def interruptible(spark: SparkSession) -> Iterator[None]:
    """Let Ctrl-C cancel the jobs of the block and end the block with KeyboardInterrupt.

    PySpark's handler remains responsible for operations that the main thread does not wait for, such as a batch of a stream.
    """
    listen(spark)
    if _CURRENT.get() is not None or not _is_waited_for(spark):
        yield
        return
    operation = _Operation(spark)
    token = _CURRENT.set(operation)
    _running.add(operation)
    try:
        yield
    except Exception as error:
        if operation.is_interrupted:
            raise KeyboardInterrupt from error
        raise
    finally:
        _running.discard(operation)
        _CURRENT.reset(token)
    if operation.is_interrupted:
        raise KeyboardInterrupt


def check_interrupted() -> None:
    """Raise KeyboardInterrupt if the operation around this call was interrupted. Transactions call this before a commit."""
    operation = _CURRENT.get()
    if operation is not None and operation.is_interrupted:
        raise KeyboardInterrupt


def listen(spark: SparkSession) -> None:
    """Install the handler, which calls the current one if necessary. A no-op on other threads, where Python does not allow it."""
    if threading.current_thread() is not threading.main_thread():
        return
    backend = backend_of(spark)
    if backend not in _main_threads:
        _main_threads[backend] = backend.thread_id()
    current = signal.getsignal(signal.SIGINT)
    if callable(current) and not isinstance(current, _Handler):
        signal.signal(signal.SIGINT, _Handler(current))


def _is_waited_for(spark: SparkSession) -> bool:
    """Whether the main thread runs the current code, or waits for a call into the JVM that runs it as a callback."""
    if threading.current_thread() is threading.main_thread():
        return True
    backend = backend_of(spark)
    return backend in _main_threads and backend.thread_id() == _main_threads[backend]


class _Handler:
    """The handler of SIGINT. It calls the previous handler if no operation waits for an interrupt."""

    def __init__(self, before: Callable[[int, Any], Any]) -> None:
        self._before = before

    def __call__(self, number: int, frame: Any) -> None:
        waiting = [each for each in tuple(_running) if not each.is_interrupted]
        if not waiting:
            self._before(number, frame)
        for each in waiting:
            each.interrupt()
