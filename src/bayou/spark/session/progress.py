# SPDX-License-Identifier: Apache-2.0
"""Show the progress of a long operation on a terminal: `displayed` wraps the operation, and `phase` names its current step.

If progress is off, the JVM is not called, no thread starts and rich is not imported. Errors of the display are logged. They never
make the operation fail.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib.util
import logging
import os
import sys
import threading
import time
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from bayou.report.units import duration_text
from bayou.spark.backend import backend_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from bayou.spark.task_counts import SparkBar, TaskCounter, Tasks

SETTING: Final = "spark.bayou.progress"
"""The session's setting: `on`, `off` or `auto`, which is the default."""
VARIABLE: Final = "BAYOU_PROGRESS"
"""An environment variable with the same meaning, for sessions without the setting."""
DELAY_SECONDS: Final = 0.5
"""Shorter operations are not shown."""
INTERVAL_SECONDS: Final = 0.25
"""The interval at which the line is drawn and Spark's own bar is cleared. See ConsoleBar for the duration of the latter."""
_PATIENCE_SECONDS: Final = 2.0
"""The maximum time that the end of an operation waits for the thread that draws."""
_DUMB_TERMINALS: Final = {"dumb", "unknown"}

_ROWS: Final = {
    "numTargetRowsUpdated": "updated",
    "numTargetRowsDeleted": "deleted",
    "numTargetRowsInserted": "inserted",
    "numUpdatedRows": "updated",
    "numDeletedRows": "deleted",
}
"""The metrics of changed rows, and the word for each one in the closing line."""
_OUTPUT: Final = {
    "numOutputRows": "rows",
    "numRestoredFiles": "files restored",
    "numCopiedFiles": "files copied",
    "numAddedFiles": "files added",
    "numRemovedFiles": "files removed",
}
"""The metrics of operations that change no row."""

_logger = logging.getLogger("bayou")
_CURRENT: Final[ContextVar[Display | None]] = ContextVar("bayou_progress", default=None)
_TERMINAL: Final = threading.Lock()
"""The thread that draws holds this lock, so that only one of several concurrent operations has a line."""


class DrawnLine(Protocol):
    """The line on the terminal; see Line."""

    def show(self, phase: str, tasks: Tasks | None, seconds: float) -> None:
        """Draw the line."""
        ...

    def hide(self) -> None:
        """Remove the line."""
        ...

    def finish(self, text: str) -> None:
        """Leave a closing line."""
        ...


@contextlib.contextmanager
def displayed(name: str, spark: SparkSession, settings: Mapping[str, str], *, closes: bool = True) -> Iterator[None]:
    """Show the progress of the block if it takes long and progress is on. An operation inside another one has no separate line."""
    if _CURRENT.get() is not None or not is_wanted(settings):
        yield
        return
    counters = backend_of(spark).task_counters(spark)
    if counters is None:
        yield
        return
    display = Display(name, *counters)
    token = _CURRENT.set(display)
    succeeded = False
    try:
        display.start()
        yield
        succeeded = closes
    finally:
        _CURRENT.reset(token)
        display.close(succeeded=succeeded)


def phase(name: str) -> None:
    """Name the current step of the operation around this call. A no-op if its progress is not shown."""
    display = _CURRENT.get()
    if display is not None:
        display.phase(name)


def committed(version: int, metrics: Mapping[str, object]) -> None:
    """Add a commit to the closing line of the operation around this call. A no-op if its progress is not shown."""
    concluded(outcome_text(version, metrics))


def concluded(text: str) -> None:
    """Set the outcome in the closing line of the operation around this call. A no-op if its progress is not shown."""
    display = _CURRENT.get()
    if display is not None:
        display.outcome = text


def outcome_text(version: int, metrics: Mapping[str, object]) -> str:
    """Return the version that an operation made and its numbers of rows, such as `version 12, 160 updated, 1 inserted`."""
    counts = [(word, metrics[name]) for name, word in _ROWS.items() if name in metrics]
    counts = counts or [(word, metrics[name]) for name, word in _OUTPUT.items() if name in metrics]
    known = [(int(str(count)), word) for word, count in counts if str(count).isdecimal() and int(str(count))]
    texts = [f"{count:,} {word.replace('files', 'file') if count == 1 else word}" for count, word in known]
    return ", ".join([f"version {version}", *texts])


def is_wanted(settings: Mapping[str, str]) -> bool:
    """Whether progress is on: by the session's setting, by the environment, or automatically because stderr is a terminal."""
    mode = (settings.get(SETTING) or os.environ.get(VARIABLE) or "auto").strip().lower()
    return (mode in {"on", "true"} or (mode == "auto" and _is_watched())) and (_is_notebook() or _has_rich())


def _is_watched() -> bool:
    """Whether there is a notebook, or stderr is a terminal that can draw lines."""
    if _is_notebook():
        return True
    if os.environ.get("TERM", "").lower() in _DUMB_TERMINALS:
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # it does not exist, or is closed
        return False


def _is_notebook() -> bool:
    """Whether the process is the kernel of a notebook."""
    return "ipykernel.kernelapp" in sys.modules


@cache
def _has_rich() -> bool:
    return importlib.util.find_spec("rich") is not None


def _line(name: str) -> DrawnLine:
    if _is_notebook():
        from bayou.spark.session.progress_notebook import NotebookLine  # noqa: PLC0415  (loads IPython, which is a kernel's)

        return NotebookLine(name)
    from bayou.spark.session.progress_line import Line  # noqa: PLC0415  (loads rich, for a line that is drawn)

    return Line(name)


class Display:
    """The line of one operation, drawn by a separate thread while the operation runs."""

    def __init__(
        self,
        name: str,
        tasks: TaskCounter,
        bar: SparkBar,
        *,
        line: Callable[[str], DrawnLine] = _line,
        delay_seconds: float | None = None,
        interval_seconds: float | None = None,
    ) -> None:
        """Initialise without showing anything.

        Args:
            delay_seconds: the time after which the line appears; `DELAY_SECONDS` if None.
            interval_seconds: the interval between updates of the line; `INTERVAL_SECONDS` if None.
        """
        self._name = name
        self._tasks = tasks
        self._bar = bar
        self._make_line = line
        self._delay = DELAY_SECONDS if delay_seconds is None else delay_seconds
        self._interval = INTERVAL_SECONDS if interval_seconds is None else interval_seconds
        self._phase = "preparing"
        self._start = time.monotonic()
        self._done = threading.Event()
        self._succeeded = False
        self.outcome = ""
        # A kernel finds the cell of an output by a context variable.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="bayou-progress", daemon=True)

    def start(self) -> None:
        """Begin the operation."""
        with _logged():
            self._tasks.begin()
        with _logged():
            self._thread.start()

    def phase(self, name: str) -> None:
        """Begin the next step, and count its tasks from zero."""
        if name != self._phase:
            self._phase = name
            with _logged():
                self._tasks.begin()

    def close(self, *, succeeded: bool = False) -> None:
        """End the operation: remove the line and stop the thread. Leave a closing line if the line was shown and it succeeded."""
        self._succeeded = succeeded
        self._done.set()
        with _logged():
            self._tasks.end()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE_SECONDS)

    def _run(self) -> None:
        """Draw the line after the delay, until the operation ends. While another operation has the terminal, try again."""
        self._done.wait(self._delay)
        with _logged():
            while not self._done.is_set():
                if _TERMINAL.acquire(blocking=False):
                    try:
                        self._draw(self._make_line(self._name))
                    finally:
                        _TERMINAL.release()
                self._done.wait(self._interval)

    def _draw(self, line: DrawnLine) -> None:
        try:
            while not self._done.is_set():
                self._draw_once(line)
                self._done.wait(self._interval)
        finally:
            line.hide()
        if self._succeeded:
            seconds = duration_text(time.monotonic() - self._start)
            line.finish(f"{self._name}: {self.outcome or 'done'}, {seconds}")

    def _draw_once(self, line: DrawnLine) -> None:
        line.show(self._phase, self._counted(), time.monotonic() - self._start)

    def _counted(self) -> Tasks | None:
        """Return the tasks, or None if they cannot be counted. Clear Spark's bar first, because it uses the same line."""
        try:
            if self._tasks.are_drawn_by_spark:
                self._bar.clear()
            return self._tasks.count()
        except Exception as error:  # noqa: BLE001  (whatever the JVM raises: the phases are still shown)
            _log(error)
            return None


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """Log errors of the display instead of raising them."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (whatever the JVM, rich or the terminal raises)
        _log(error)


def _log(error: Exception) -> None:
    _logger.debug("the progress of an operation is not shown: %s", error, exc_info=error)
