# SPDX-License-Identifier: Apache-2.0
"""What became of one request: sent with changes, or answered without the server."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.connect import proto

    from bayou.spark.portable.requests.answers import CommandAnswer
    from bayou.spark.portable.requests.observed import ObservedMetrics


class Execution:
    """A request after it was rewritten.

    Attributes:
        command: the command of the request, if the client answered it.
        answer: the client's answer.
        observed: the metrics that the command observes, if the client answered it.
        original: the program's SQL text, if it was changed.
        when_started: what to call when the server has started a stream, once.
        is_reattachable: whether a client can ask for the responses again that it did not get.
    """

    def __init__(self) -> None:
        self.command: proto.Command | None = None
        self.answer: CommandAnswer | None = None
        self.observed: ObservedMetrics | None = None
        self.original: proto.Relation | None = None
        self.is_reattachable = False
        self.when_started: Callable[[proto.WriteStreamOperationStartResult], object] | None = None
        self._when_done: list[Callable[[], object]] = []

    @property
    def is_watched(self) -> bool:
        """Whether anything is to be done with the responses."""
        return self.original is not None or self.when_started is not None or bool(self._when_done)

    def when_done(self, action: Callable[[], object]) -> None:
        """Do something when the server has done what the request asked for. If it fails, nothing is done."""
        self._when_done.append(action)

    def saw(self, response: proto.ExecutePlanResponse) -> None:
        """Look at a response of the server."""
        action = self.when_started
        if action is not None and response.HasField("write_stream_operation_start_result"):
            self.when_started = None
            action(response.write_stream_operation_start_result)

    def done(self) -> None:
        """Do what was to be done, once."""
        while self._when_done:
            self._when_done.pop()()


class Recent:
    """The newest operations of a client by their id, so that requests about them are recognised. Threads share it.

    Those of which no end is seen, such as of a stream that a program stops reading, do not pile up.
    """

    def __init__(self, most: int = 1_000) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._executions: OrderedDict[str, Execution] = OrderedDict()

    def __contains__(self, operation: str) -> bool:
        return operation in self._executions

    def add(self, operation: str, execution: Execution) -> None:
        """Remember an operation. Without an id it is not remembered."""
        with self._lock:
            if operation:
                self._executions[operation] = execution
                while len(self._executions) > self._most:
                    self._executions.popitem(last=False)

    def get(self, operation: str) -> Execution | None:
        """An operation that is remembered, or None."""
        return self._executions.get(operation)

    def drop(self, operation: str) -> None:
        """Forget an operation."""
        with self._lock:
            self._executions.pop(operation, None)
