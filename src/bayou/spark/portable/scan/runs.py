# SPDX-License-Identifier: Apache-2.0
"""Watch what one client runs on its server: something is done before a request is sent, and when its operation has ended.

This is below everything that rewrites requests, so that it sees all requests as the server gets them.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, Protocol

from bayou.spark.backend import is_of_connect
from bayou.spark.portable.client import client_of
from bayou.spark.portable.requests.compression import opened_plan
from bayou.spark.portable.settings.known import settings_of_client
from bayou.spark.session.session_transaction import LAST_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.portable.settings.known import Settings

_MOST: Final = 1_000
"""So many operations are remembered. Those of which no end is seen, such as of a stream that nobody reads, do not pile up."""
_CASE: Final = "spark.sql.casesensitive"
_READS_SETTINGS: Final = re.compile(rf"^\s*set\b|{re.escape(LAST_VERSION)}", re.IGNORECASE)
"""A statement that may read a setting that is not at the server yet."""
_making: Final = threading.Lock()


class Watch(Protocol):
    """What is done for one operation."""

    def end(self) -> None:
        """The operation has succeeded. An exception is raised where the program reads the result."""
        ...

    def close(self) -> None:
        """The operation has ended, with success or not."""
        ...


class Watcher(Protocol):
    """Decides about the operations of one client."""

    def begin(self, plan: proto.Plan) -> Watch | None:
        """A plan is about to be sent. Return None if its operation needs nothing."""
        ...


class _Run:
    """One operation that is watched."""

    def __init__(self, watches: list[Watch], *, is_reattachable: bool) -> None:
        self.watches = watches
        self.is_reattachable = is_reattachable
        self._lock = threading.Lock()
        self._is_open = True

    def end(self) -> None:
        try:
            for watch in self.watches:
                watch.end()
        finally:
            self.close()

    def close(self) -> None:
        with self._lock:
            was_open, self._is_open = self._is_open, False
        for watch in reversed(self.watches) if was_open else ():
            watch.close()


class Runs:
    """The stub of a client, whose operations are watched. All methods that it does not have are the stub's own.

    Attributes:
        inner: the client's own stub.
        watchers: what watches the operations, by a name.
        case_changes: how often the client changed whether names depend on case, or may have done so.
        settings: what is known about the session's settings.
    """

    def __init__(self, inner: Any, settings: Settings) -> None:
        self.inner = inner
        self.watchers: dict[str, Watcher] = {}
        self.case_changes = 0
        self.settings = settings
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _Run] = OrderedDict()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def ExecutePlan(self, request: proto.ExecutePlanRequest, **options: Any) -> Iterable[proto.ExecutePlanResponse]:
        """Run a query or a command. A second try of the same operation is watched once."""
        run = self._open.get(request.operation_id) or self._begun(request, options)
        responses: Iterable[proto.ExecutePlanResponse] = self.inner.ExecutePlan(request, **options)
        return responses if run is None else self._watched(responses, run, request.operation_id)

    def ReattachExecute(self, request: proto.ReattachExecuteRequest, **options: Any) -> Iterable[proto.ExecutePlanResponse]:
        """Go on with the responses of an operation after the connection was lost."""
        responses: Iterable[proto.ExecutePlanResponse] = self.inner.ReattachExecute(request, **options)
        run = self._open.get(request.operation_id)
        return responses if run is None else self._watched(responses, run, request.operation_id)

    def ReleaseExecute(self, request: proto.ReleaseExecuteRequest, **options: Any) -> proto.ReleaseExecuteResponse:
        """Let the server forget responses. A client that gives up an operation releases all of them."""
        response: proto.ReleaseExecuteResponse = self.inner.ReleaseExecute(request, **options)
        if request.HasField("release_all"):
            self._drop(request.operation_id)
        return response

    def Config(self, request: proto.ConfigRequest, **options: Any) -> proto.ConfigResponse:
        """Read or change settings of the session. Within a call of the program they are read once."""
        response = self.settings.answer(request, lambda each: self.inner.Config(each, **options))
        operation = request.operation
        changed = [pair.key for pair in operation.set.pairs] + list(operation.unset.keys)
        self.case_changes += any(name.lower() == _CASE for name in changed)
        return response

    def _begun(self, request: proto.ExecutePlanRequest, options: dict[str, Any]) -> _Run | None:
        plan = opened_plan(request.plan)
        if plan is None:
            return None
        if plan.WhichOneof("op_type") == "command" and plan.command.WhichOneof("command_type") == "sql_command":
            statement = plan.command.sql_command
            texts = (statement.sql, statement.input.sql.query, statement.input.with_relations.root.sql.query)
            self.case_changes += any(_CASE in text.lower() for text in texts)
            if any(_READS_SETTINGS.search(text) for text in texts):
                self._send_late_settings(request, options)
        watches: list[Watch] = []
        try:
            for watcher in list(self.watchers.values()):
                watch = watcher.begin(plan)
                if watch is not None:
                    watches.append(watch)
        except BaseException:
            _Run(watches, is_reattachable=False).close()
            raise
        if not watches:
            return None
        # Without an id nobody can ask for the operation again.
        can_reattach = any(option.reattach_options.reattachable for option in request.request_options)
        run = _Run(watches, is_reattachable=bool(request.operation_id) and can_reattach)
        if run.is_reattachable:
            with self._lock:
                self._open[request.operation_id] = run
                forgotten = self._open.popitem(last=False)[1] if len(self._open) > _MOST else None
            if forgotten is not None:
                forgotten.close()
        return run

    def _send_late_settings(self, request: proto.ExecutePlanRequest, options: dict[str, Any]) -> None:
        from pyspark.sql.connect import proto  # noqa: PLC0415  (it needs grpc)

        about = proto.ConfigRequest(session_id=request.session_id, client_type=request.client_type)
        about.user_context.CopyFrom(request.user_context)
        self.settings.send_late(about, lambda each: self.inner.Config(each, metadata=options.get("metadata")))

    def _watched(
        self, responses: Iterable[proto.ExecutePlanResponse], run: _Run, operation: str
    ) -> Iterator[proto.ExecutePlanResponse]:
        try:
            for response in responses:
                if response.HasField("result_complete"):  # a client may read no further
                    self._forget(operation)
                    run.end()
                yield response
            # The end of one stream may not be the end of an operation that a client can attach to again.
            if not run.is_reattachable:
                run.end()
        finally:
            if not run.is_reattachable:
                run.close()

    def _forget(self, operation: str) -> _Run | None:
        with self._lock:
            return self._open.pop(operation, None)

    def _drop(self, operation: str) -> None:
        run = self._forget(operation)
        if run is not None:
            with contextlib.suppress(Exception):  # the program gets the failure of its operation, and not this one
                run.close()


def watch(spark: SparkSession, name: str, watcher: Watcher) -> None:
    """Let something watch what the client of a session runs from now on, unless it has a watcher of that name."""
    runs = _runs_of(client_of(spark))
    with _making:
        runs.watchers.setdefault(name, watcher)


def case_changes(spark: SparkSession) -> int:
    """Return how often the client of a session may have changed whether names depend on case, since the first call.

    It is 0 for a classic session, whose DataFrames keep what they resolved.
    """
    if not is_of_connect(spark):
        return 0
    return _runs_of(client_of(spark)).case_changes


def ask_settings_once(spark: SparkSession) -> None:
    """Let each call of the program ask for the settings of a session of Spark Connect once, from now on."""
    _runs_of(client_of(spark))


def _runs_of(client: Any) -> Runs:
    with _making:
        stub = client._stub
        if isinstance(stub, Runs):
            return stub
        inner = getattr(stub, "inner", None)  # of a stub that rewrites requests
        if isinstance(inner, Runs):
            return inner
        runs = Runs(stub if inner is None else inner, settings_of_client(client))
        if inner is None:
            client._stub = runs
        else:
            stub.inner = runs
        return runs
