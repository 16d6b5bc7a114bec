# SPDX-License-Identifier: Apache-2.0
"""Draw the progress line of a long operation on a terminal. Only this module imports rich, and it is imported only to draw."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.text import Text

from bayou.spark.session.progress_state import ProgressState

if TYPE_CHECKING:
    from rich.progress import TaskID

    from bayou.spark.task_counts import Tasks

_BAR_WIDTH = 24


class Line:
    """A line with an operation, its table, its phase, its tasks, its rows or bytes, and its time. `hide` removes it completely.

    Only calls of `show` draw it: rich starts no thread, and does not redirect stdout or stderr.
    """

    def __init__(self, operation: str, console: Console | None = None) -> None:
        """Initialise without drawing. The console is stderr by default, and assumed to be a terminal."""
        # Without `force_jupyter=False`, rich would show a widget in a notebook instead of this line.
        self._console = console or Console(file=sys.stderr, force_terminal=True, force_jupyter=False)
        self._operation = operation
        self._state = ProgressState()
        self._shown: tuple[Progress, TaskID] | None = None

    def show(self, phase: str, tasks: Tasks | None, seconds: float) -> None:
        """Draw the line over the previous one. Show no tasks if they are None."""
        if self._shown is None:
            self._shown = self._begun(phase)
        progress, line = self._shown
        now = self._state.advance(phase, tasks, seconds)
        total = None if now.share is None else 1.0
        progress.update(line, phase=phase, facts="  ".join(now.facts), total=total, completed=now.share or 0.0)
        progress.refresh()

    def finish(self, text: str) -> None:
        """Print a closing line, which stays."""
        self._console.print(Text(text, "dim"))

    def hide(self) -> None:
        """Remove the line."""
        if self._shown is not None:
            progress, _ = self._shown
            self._shown = None
            progress.stop()

    def _begun(self, phase: str) -> tuple[Progress, TaskID]:
        columns = (TextColumn("{task.fields[" + name + "]}", markup=False) for name in ("phase", "facts"))
        progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", style="bold", markup=False),
            next(columns),
            BarColumn(_BAR_WIDTH),
            *columns,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        line = progress.add_task(self._operation, total=None, phase=phase, facts="")
        progress.start()
        return progress, line
