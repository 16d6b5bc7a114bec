# SPDX-License-Identifier: Apache-2.0
"""Draw the progress line of a long operation below the cell of a notebook. Only this module imports IPython."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any, Final

from IPython.display import display

from bayou.spark.session.progress_state import ProgressState

if TYPE_CHECKING:
    from bayou.spark.task_counts import Tasks

_LEAST_CHANGE: Final = 1.0
"""The least number of seconds between two updates: each one is a message to the browser."""


class NotebookLine:
    """An output of the cell that is updated in place: the bar is replaced by the closing line, or by nothing."""

    def __init__(self, operation: str) -> None:
        """Initialise without an output."""
        self._operation = operation
        self._state = ProgressState()
        self._handle: Any = None
        self._drawn: tuple[str, float] = ("", -_LEAST_CHANGE)

    def show(self, phase: str, tasks: Tasks | None, seconds: float) -> None:
        """Draw the line over the previous one. Show no tasks if they are None."""
        now = self._state.advance(phase, tasks, seconds)
        if phase == self._drawn[0] and seconds - self._drawn[1] < _LEAST_CHANGE:
            return
        self._drawn = (phase, seconds)
        bar = "" if now.share is None else f'<progress max="1" value="{now.share:.3f}"></progress> '
        facts = html.escape(", ".join(now.facts))
        self._put(f"<b>{html.escape(self._operation)}</b> {html.escape(phase)} {bar}{facts}", f"{self._operation} {phase}")

    def hide(self) -> None:
        """Empty the output."""
        if self._handle is not None:
            self._put("", "")

    def finish(self, text: str) -> None:
        """Leave a closing line in the output."""
        self._put(f'<span style="opacity:.7">{html.escape(text)}</span>', text)

    def _put(self, document: str, text: str) -> None:
        data = {"text/html": f"<div>{document}</div>", "text/plain": text}
        if self._handle is None:
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
