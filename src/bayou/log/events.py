# SPDX-License-Identifier: Apache-2.0
"""What happens to a table's log, as values: for logging, metrics and traces.

Each event is logged once, by the logger `bayou.log`, with the event itself as the record's `bayou_event`; and each
listener is called with it, in the thread where it happened.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

from bayou.errors import redact_text, redact_uri, shortened
from bayou.protocol import arguments

_logger: Final = logging.getLogger("bayou.log")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent:
    """The base of all events. Texts hold no secrets: URIs in them are redacted when the event is made.

    Attributes:
        name: what happened, in snake case; the same for every event of a class.
        level: the logging level.
        table: the table's URI.
    """

    name: ClassVar[str] = "event"
    level: ClassVar[int] = logging.INFO

    table: str

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            value = getattr(self, each.name)
            if isinstance(value, str):
                clean = redact_uri(value) if each.name == "table" else shortened(redact_text(value))
                object.__setattr__(self, each.name, clean)

    def __str__(self) -> str:
        facts = self.to_dict()
        del facts["event"], facts["table"]
        text = ", ".join(
            f"{name}={value:.3f}" if isinstance(value, float) else f"{name}={value}"
            for name, value in facts.items()
            if value is not None
        )
        return " ".join(f"{self.name} on {self.table}: {text}".split())

    def to_dict(self) -> dict[str, Any]:
        """The event as JSON can hold it: `event` is its name, then its attributes."""
        return {"event": self.name, **{each.name: getattr(self, each.name) for each in dataclasses.fields(self)}}


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitEvent(LogEvent):
    """A commit is in the log.

    Attributes:
        version: the version that it made.
        operation: the operation's name, as in the history.
        txn_id: the commit's unique name.
        read_version: the version that it was made from; None if it created the table.
        attempts: how many versions were tried.
        duration_seconds: from the first attempt to the answer of the last.
        num_actions: how many actions it holds, `commitInfo` left out.
        size_bytes: the size of the commit file.
    """

    name: ClassVar[str] = "commit"

    version: int
    operation: str
    txn_id: str
    read_version: int | None = None
    attempts: int = 1
    duration_seconds: float | None = None
    num_actions: int | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WinningCommitEvent(LogEvent):
    """Another writer made the version that a commit wanted to be; they may conflict.

    Attributes:
        version: the version that the other writer made.
        operation: the operation's name.
        txn_id: the commit's unique name.
        attempt: which attempt it was, from 1 on.
        winning_operation: the name of the other writer's operation, if its commit states it.
        winning_txn_id: the other commit's unique name, if it states one.
    """

    name: ClassVar[str] = "winning_commit"

    version: int
    operation: str
    txn_id: str
    attempt: int
    winning_operation: str | None = None
    winning_txn_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryEvent(LogEvent):
    """A commit is tried again, as a later version.

    Attributes:
        version: the version that it wants to be now.
        operation: the operation's name.
        txn_id: the commit's unique name.
        attempt: which attempt begins, from 2 on.
        wait_seconds: how long it waits first.
        reason: why it may go on.
    """

    name: ClassVar[str] = "retry"

    version: int
    operation: str
    txn_id: str
    attempt: int
    wait_seconds: float = 0.0
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictEvent(LogEvent):
    """A commit was given up: another writer's commit excludes it, or other writers committed first in all attempts.

    Attributes:
        version: the version whose commit excludes it; None if there was one in each attempt.
        operation: the operation's name.
        txn_id: the commit's unique name.
        attempts: how many versions were tried.
        error_class: the name of delta-spark's error class for the conflict.
        reason: what the other commit did, one sentence.
        winning_operation: the name of the other writer's operation, if its commit states it.
        duration_seconds: from the first attempt on.
    """

    name: ClassVar[str] = "conflict"

    version: int | None
    operation: str
    txn_id: str
    attempts: int
    error_class: str | None = None
    reason: str | None = None
    winning_operation: str | None = None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownOutcomeEvent(LogEvent):
    """The store failed, and whether a commit is in the log is not known; its data files stay.

    Attributes:
        version: the version that it wanted to be.
        operation: the operation's name.
        txn_id: the commit's unique name, by which it can be found in the history.
        attempts: how many versions were tried.
        error: the store's error, as text.
    """

    name: ClassVar[str] = "unknown_outcome"
    level: ClassVar[int] = logging.WARNING

    version: int
    operation: str
    txn_id: str
    attempts: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointEvent(LogEvent):
    """A checkpoint was written.

    Attributes:
        version: the version that it is of.
        kind: its kind: `classic`, `multipart` or `v2`.
        num_actions: how many actions it holds.
        num_parts: how many files it is: parts, or sidecars and the file that names them.
        size_bytes: the size of those files together.
        duration_seconds: how long it took.
    """

    name: ClassVar[str] = "checkpoint"

    version: int
    kind: str = "classic"
    num_actions: int | None = None
    num_parts: int = 1
    size_bytes: int | None = None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksumEvent(LogEvent):
    """The checksum file of a version was written.

    Attributes:
        version: the version that it is of.
        size_bytes: the size of the file.
        duration_seconds: how long it took.
    """

    name: ClassVar[str] = "checksum"

    version: int
    size_bytes: int | None = None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCleanupEvent(LogEvent):
    """Expired files of the log were deleted.

    Attributes:
        version: the first version that can still be read.
        num_deleted: how many files were deleted.
        size_bytes: the size of those files together.
        duration_seconds: how long it took.
    """

    name: ClassVar[str] = "log_cleanup"

    version: int
    num_deleted: int
    size_bytes: int | None = None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumEvent(LogEvent):
    """Files that the table does not need were deleted.

    Attributes:
        kind: `full` or `lite`.
        num_deleted: how many files and empty folders were deleted.
        num_failed: how many could not be deleted.
        size_bytes: the size of the files that were to be deleted, in bytes, as far as it is known.
        duration_seconds: how long it took.
    """

    name: ClassVar[str] = "vacuum"

    kind: str
    num_deleted: int
    num_failed: int
    size_bytes: int | None = None
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFailedEvent(LogEvent):
    """What follows a commit failed; the commit is in the log all the same.

    Attributes:
        version: the version that was committed.
        hook: what failed, for example `checkpoint`.
        error: the error, as text.
        duration_seconds: how long it ran.
    """

    name: ClassVar[str] = "hook_failed"
    level: ClassVar[int] = logging.WARNING

    version: int
    hook: str
    error: str
    duration_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryCutEvent(LogEvent):
    """The latest version of a table cannot be read, and its history was asked for.

    Attributes:
        version: the version that the history begins at instead.
        error: why the latest version cannot be read, as text.
    """

    name: ClassVar[str] = "history_cut"
    level: ClassVar[int] = logging.WARNING

    version: int
    error: str


Listener: TypeAlias = Callable[[LogEvent], object]


class _Listeners:
    """The listeners of this process, in the order in which they were added."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: tuple[tuple[object, Listener], ...] = ()

    def add(self, listener: Listener) -> Callable[[], None]:
        entry = (object(), listener)
        with self._lock:
            self._entries = (*self._entries, entry)

        def remove() -> None:
            with self._lock:
                self._entries = tuple(each for each in self._entries if each is not entry)

        return remove

    def current(self) -> tuple[Listener, ...]:
        return tuple(listener for _, listener in self._entries)


_listeners: Final = _Listeners()


def add_listener(listener: Listener) -> Callable[[], None]:
    """Have a function called with every event of every table in this process, in the thread where it happens.

    The operation waits for it. An exception that it raises is logged and changes nothing else.

    Args:
        listener: takes a `LogEvent`; one that is added twice is called twice.

    Returns:
        A function that removes it again; calling that once more does nothing.
    """
    arguments.function(listener, "listener")
    return _listeners.add(listener)


def emit(event: LogEvent) -> None:
    """Log an event and call the listeners with it. No exception leaves this: what happened has happened."""
    for receive in (_log, *_listeners.current()):
        try:
            receive(event)
        except Exception:
            # A handler of the user's may be what failed, and fail again.
            with contextlib.suppress(Exception):
                _logger.exception("a listener failed at the event %s: %r", event.name, receive)


def _log(event: LogEvent) -> None:
    _logger.log(event.level, "%s", event, extra={"bayou_event": event})
