# SPDX-License-Identifier: Apache-2.0
"""The number of tasks of an operation's jobs, for its progress line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Tasks:
    """The tasks of some jobs.

    Attributes:
        done: the number of completed tasks.
        total: the number of tasks known so far: Spark plans a query in stages.
        is_running: whether a job is still running.
        rows: the number of rows that they have written.
        size_bytes: the number of bytes that they have read from files.
    """

    done: int = 0
    total: int = 0
    is_running: bool = False
    rows: int = 0
    size_bytes: int = 0


class TaskCounter(Protocol):
    """Counts the tasks of the running thread's jobs; see JobTasks."""

    @property
    def are_drawn_by_spark(self) -> bool:
        """Whether Spark's console progress bar shows the tasks as well."""
        ...

    def begin(self) -> None:
        """Start counting from zero."""
        ...

    def count(self) -> Tasks:
        """Return the numbers of finished and of all tasks."""
        ...

    def end(self) -> None:
        """Stop counting."""
        ...


class SparkBar(Protocol):
    """Spark's own bar on the same line of the terminal; see ConsoleBar."""

    def clear(self) -> None:
        """Remove the bar from the terminal. Spark draws it again after a while."""
        ...
