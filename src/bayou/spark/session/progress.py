# SPDX-License-Identifier: Apache-2.0
"""What a long operation is doing, on a terminal: `displayed` around it, `phase` wherever it goes on to something else.

Where nothing is shown, nothing is asked of the JVM, no thread is started and rich is not imported. What goes wrong with the
display is logged, and never an error of the operation.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import sys
import threading
import time
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from bayou.spark.jvm.core.job_tasks import ConsoleBar, JobTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.job_tasks import Tasks

SETTING: Final = "spark.bayou.progress"
"""The session's setting: `on`, `off` or `auto`, which is the default."""
VARIABLE: Final = "BAYOU_PROGRESS"
"""The same as a variable of the environment, for sessions that do not say it."""
DELAY_SECONDS: Final = 0.5
"""Operations that are done by then are not shown."""
INTERVAL_SECONDS: Final = 0.25
"""How often the line is drawn, and Spark's bar is cleared: see ConsoleBar for how long that lasts."""
_PATIENCE_SECONDS: Final = 2.0
_DUMB_TERMINALS: Final = {"dumb", "unknown"}

_logger = logging.getLogger("bayou")
_CURRENT: Final[ContextVar[Display | None]] = ContextVar("bayou_progress", default=None)
_TERMINAL: Final = threading.Lock()
"""Held by the thread that draws: there is one line, that of the operation which was the first to take long."""


class TaskCounter(Protocol):
    """Counts the tasks of the running thread's jobs; see JobTasks."""

    @property
    def are_drawn_by_spark(self) -> bool:
        """Whether Spark shows them itself."""
        ...

    def begin(self) -> None:
        """Counts from here on."""
        ...

    def count(self) -> Tasks:
        """The tasks by now."""
        ...

    def end(self) -> None:
        """Ends the counting."""
        ...


class SparkBar(Protocol):
    """Spark's own bar on the same line of the terminal; see ConsoleBar."""

    def clear(self) -> None:
        """Keeps it away for a while."""
        ...


class DrawnLine(Protocol):
    """The line on the terminal; see Line."""

    def show(self, phase: str, tasks: Tasks | None, seconds: float) -> None:
        """Draws it."""
        ...

    def hide(self) -> None:
        """Takes it away."""
        ...


@contextlib.contextmanager
def displayed(name: str, spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Shows what the block does, where it takes long and somebody looks; an operation inside of another is part of that one."""
    if _CURRENT.get() is not None or not is_wanted(settings):
        yield
        return
    display = Display(name, JobTasks(spark), ConsoleBar(spark))
    token = _CURRENT.set(display)
    try:
        display.start()
        yield
    finally:
        _CURRENT.reset(token)
        display.close()


def phase(name: str) -> None:
    """Says what the operation around this is doing from here on; nothing where none is shown."""
    display = _CURRENT.get()
    if display is not None:
        display.phase(name)


def is_wanted(settings: Mapping[str, str]) -> bool:
    """Whether operations are to be shown: because the session says so, or the environment, or stderr is a terminal."""
    mode = (settings.get(SETTING) or os.environ.get(VARIABLE) or "auto").strip().lower()
    return (mode in {"on", "true"} or (mode == "auto" and _is_watched())) and _has_rich()


def _is_watched() -> bool:
    """Whether stderr is a terminal that lines can be drawn on, and no notebook."""
    if "ipykernel" in sys.modules or os.environ.get("TERM", "").lower() in _DUMB_TERMINALS:
        return False
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


@cache
def _has_rich() -> bool:
    return importlib.util.find_spec("rich") is not None


def _line(name: str) -> DrawnLine:
    from bayou.spark.session.progress_line import Line  # noqa: PLC0415  (loads rich, for a line that is drawn)

    return Line(name)


class Display:
    """One operation's line, drawn by a thread of its own while the operation runs."""

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
        """Show nothing yet.

        Args:
            bar: Spark's own bar, if Spark draws one.
            delay_seconds: how long the operation may take without it; `DELAY_SECONDS` where None.
            interval_seconds: how often it is drawn; `INTERVAL_SECONDS` where None.
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
        self._thread = threading.Thread(target=self._run, name="bayou-progress", daemon=True)

    def start(self) -> None:
        """The operation begins."""
        with _logged():
            self._tasks.begin()
        with _logged():
            self._thread.start()

    def phase(self, name: str) -> None:
        """The operation goes on to something else; the tasks are counted from here on."""
        if name != self._phase:
            self._phase = name
            with _logged():
                self._tasks.begin()

    def close(self) -> None:
        """The operation has ended, in whatever way: the line goes, and the thread."""
        self._done.set()
        with _logged():
            self._tasks.end()
        if self._thread.is_alive():
            self._thread.join(_PATIENCE_SECONDS)

    def _run(self) -> None:
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

    def _draw_once(self, line: DrawnLine) -> None:
        line.show(self._phase, self._counted(), time.monotonic() - self._start)

    def _counted(self) -> Tasks | None:
        """The tasks, if they can be told; Spark's bar is cleared before the line is drawn over it."""
        try:
            if self._tasks.are_drawn_by_spark:
                self._bar.clear()
            return self._tasks.count()
        except Exception as error:  # noqa: BLE001  (whatever the JVM has: the phases are shown all the same)
            _log(error)
            return None


@contextlib.contextmanager
def _logged() -> Iterator[None]:
    """The display is nobody's reason to fail."""
    try:
        yield
    except Exception as error:  # noqa: BLE001  (whatever the JVM, rich or the terminal has)
        _log(error)


def _log(error: Exception) -> None:
    _logger.debug("the progress of an operation is not shown: %s", error, exc_info=error)
