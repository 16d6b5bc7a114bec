# SPDX-License-Identifier: Apache-2.0
"""What a progress line shows: a share that never falls within a phase, rows or bytes, and the time left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bayou.report.units import duration_text, size_text

if TYPE_CHECKING:
    from bayou.spark.task_counts import Tasks

_MINUTE: Final = 59.5
"""Shorter durations round to less than 60 s."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The content of a progress line.

    Attributes:
        phase: the current step.
        share: the finished share of the phase, from 0 to 1; None if the tasks are unknown.
        facts: the tasks, the rows or bytes, the seconds, and the time left if it is known.
    """

    phase: str
    share: float | None
    facts: tuple[str, ...]


class ProgressState:
    """Computes the content of a line from successive counts of tasks."""

    def __init__(self) -> None:
        self._phase = ""
        self._began = 0.0
        self._share = 0.0
        self._done = 0

    def advance(self, phase: str, tasks: Tasks | None, seconds: float) -> Shown:
        """Return the content for a count of tasks.

        Args:
            phase: the current step. The share begins at zero with each one.
            tasks: the count; None if the tasks are unknown.
            seconds: since the operation began.
        """
        if phase != self._phase:
            self._phase, self._began, self._share, self._done = phase, seconds, 0.0, 0
        elapsed = _whole(seconds)
        if tasks is None or not tasks.total:
            return Shown(phase, None, (elapsed,))
        self._grow(tasks)
        volume = f"{tasks.rows:,} rows" if tasks.rows else size_text(tasks.size_bytes) if tasks.size_bytes else ""
        left = self._left(tasks, seconds)
        facts = (f"{tasks.done:,}/{tasks.total:,} tasks", volume, elapsed, left)
        return Shown(phase, self._share, tuple(filter(None, facts)))

    def _grow(self, tasks: Tasks) -> None:
        """Let the share grow by the newly finished part of what was left.

        Spark plans a query in stages, so the total grows as well, and the quotient of both numbers would fall. A task more than are
        known counts as left: the phase ends with the next one, not with its last known task.
        """
        left = tasks.total - self._done + 1
        fresh = tasks.done - self._done
        if fresh > 0:
            self._share += (1 - self._share) * fresh / max(left, fresh)
            self._done = tasks.done

    def _left(self, tasks: Tasks, seconds: float) -> str:
        if not 0 < tasks.done < tasks.total:
            return ""
        left = (seconds - self._began) * (tasks.total - tasks.done) / tasks.done
        return f"about {_whole(left)} left" if left >= 1 else ""


def _whole(seconds: float) -> str:
    """Return a duration without tenths, which a line that changes does not need."""
    return f"{seconds:.0f} s" if seconds < _MINUTE else duration_text(seconds)
