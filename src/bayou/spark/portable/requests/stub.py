# SPDX-License-Identifier: Apache-2.0
"""The object between one client and its server: it has the methods of the service that the client calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from pyspark.sql.connect import proto
from pyspark.sql.connect.client.reattach import ExecutePlanResponseReattachableIterator

from bayou.spark.errors.conversion import raised_as_pyspark
from bayou.spark.portable.requests.execution import Execution, Recent
from bayou.spark.portable.requests.responses import command_responses, with_original

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bayou.spark.portable.requests.rewriting import Rewriter

_raises_late: Final = hasattr(ExecutePlanResponseReattachableIterator, "__del__")
"""Whether a client leaves an execution that fails at once to the garbage collector.

That of PySpark 4.0 does. It then starts a task in a pool of threads from `__del__`, and if the collector runs while any other pool
starts a thread, the process stops forever: they share a lock. The client itself ends an execution that fails later.
"""


class Stub:
    """The stub of a client, with requests rewritten. All methods that it does not have are the stub's own.

    Attributes:
        inner: the client's own stub.
        rewriter: what rewrites the requests, or None to pass all of them on.
    """

    def __init__(self, inner: Any, rewriter: Rewriter) -> None:
        self.inner = inner
        self.rewriter: Rewriter | None = rewriter
        # The operations that the server does not know, and those whose responses are changed.
        self._own = Recent()
        self._changed = Recent()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def ExecutePlan(self, request: proto.ExecutePlanRequest, **options: Any) -> Iterable[proto.ExecutePlanResponse]:
        """Run a query or a command. Errors of `Answers` are raised here, or at the first response: see `_raises_late`."""
        try:
            return self._executed(request, options)
        except Exception as error:
            if not _raises_late:
                raise
            return _failing(error)

    def ReattachExecute(self, request: proto.ReattachExecuteRequest, **options: Any) -> Iterable[proto.ExecutePlanResponse]:
        """Go on with the responses of an operation after the connection was lost."""
        responses: Iterable[proto.ExecutePlanResponse] = self.inner.ReattachExecute(request, **options)
        execution = self._changed.get(request.operation_id)
        return self._noted(responses if execution is None else self._watched(responses, execution, request.operation_id))

    def ReleaseExecute(self, request: proto.ReleaseExecuteRequest, **options: Any) -> proto.ReleaseExecuteResponse:
        """Let the server forget responses. It does not learn of operations that never reached it."""
        if request.operation_id in self._own:
            return proto.ReleaseExecuteResponse(session_id=request.session_id, operation_id=request.operation_id)
        if request.HasField("release_all"):
            self._changed.drop(request.operation_id)
        response: proto.ReleaseExecuteResponse = self.inner.ReleaseExecute(request, **options)
        return response

    def Interrupt(self, request: proto.InterruptRequest, **options: Any) -> proto.InterruptResponse:
        """Interrupt operations. One that the client runs itself consists of operations with ids of their own."""
        if request.operation_id and request.operation_id in self._own:
            return proto.InterruptResponse(session_id=request.session_id)
        response: proto.InterruptResponse = self.inner.Interrupt(request, **options)
        return response

    @raised_as_pyspark
    def AnalyzePlan(self, request: proto.AnalyzePlanRequest, **options: Any) -> proto.AnalyzePlanResponse:
        """Ask about a plan, such as for its schema."""
        rewriter = self._rewriter()
        if rewriter is None:
            unchanged: proto.AnalyzePlanResponse = self.inner.AnalyzePlan(request, **options)
            return unchanged
        if request.WhichOneof("analyze") == "persist":
            # A client that tries again sends the same object. It must hold the relation of the program then.
            copy = proto.AnalyzePlanRequest()
            copy.CopyFrom(request)
            request = copy
        execution = rewriter.analyze(request)
        response: proto.AnalyzePlanResponse = self.inner.AnalyzePlan(request, **options)
        execution.done()
        return response

    @raised_as_pyspark
    def _executed(self, request: proto.ExecutePlanRequest, options: dict[str, Any]) -> Iterable[proto.ExecutePlanResponse]:
        return self._noted(self._responses(request, options))

    def _rewriter(self) -> Rewriter | None:
        rewriter = self.rewriter
        return None if rewriter is None or rewriter.relations.are_untouched else rewriter

    def _responses(self, request: proto.ExecutePlanRequest, options: dict[str, Any]) -> Iterable[proto.ExecutePlanResponse]:
        rewriter = self._rewriter()
        if rewriter is None:
            return self._sent(request, options)
        # The server would choose an id, too. With this one, a second try is recognised.
        operation = request.operation_id = request.operation_id or str(uuid4())
        execution = self._changed.get(operation)
        if execution is None:
            # An interruption of this operation finds nothing at the server yet.
            self._own.add(operation, Execution())
            execution = rewriter.execute(request)
            if execution.answer is not None:
                session = request.client_observed_server_side_session_id or self._server_session(request, options)
                return iter(command_responses(execution, request, session))
            self._own.drop(operation)
            if not execution.is_watched:
                return self._sent(request, options)
            execution.is_reattachable = any(option.reattach_options.reattachable for option in request.request_options)
            self._changed.add(operation, execution)
        return self._watched(self._sent(request, options), execution, operation)

    def _noted(self, responses: Iterable[proto.ExecutePlanResponse]) -> Iterable[proto.ExecutePlanResponse]:
        """The same responses. If this thread answers a command, its metrics are remembered."""
        observed = None if self.rewriter is None else self.rewriter.observed
        return responses if observed is None else observed.noted(responses)

    def _sent(self, request: proto.ExecutePlanRequest, options: dict[str, Any]) -> Iterable[proto.ExecutePlanResponse]:
        responses: Iterable[proto.ExecutePlanResponse] = self.inner.ExecutePlan(request, **options)
        return responses

    def _watched(
        self, responses: Iterable[proto.ExecutePlanResponse], execution: Execution, operation: str
    ) -> Iterator[proto.ExecutePlanResponse]:
        original = execution.original
        for response in responses if original is None else with_original(responses, original):
            execution.saw(response)
            # A client may read no further than this response.
            if response.HasField("result_complete"):
                self._done(execution, operation)
            yield response
        # The end of one stream may not be the end of an operation that a client can attach to again.
        if not execution.is_reattachable:
            self._done(execution, operation)

    def _done(self, execution: Execution, operation: str) -> None:
        self._changed.drop(operation)
        execution.done()

    def _server_session(self, request: proto.ExecutePlanRequest, options: dict[str, Any]) -> str:
        """The server's own id of the session, asked for before its first response to the client."""
        asked = proto.AnalyzePlanRequest(session_id=request.session_id, client_type=request.client_type)
        asked.user_context.CopyFrom(request.user_context)
        asked.spark_version.SetInParent()
        return str(self.inner.AnalyzePlan(asked, metadata=options.get("metadata")).server_side_session_id)


def _failing(error: Exception) -> Iterator[proto.ExecutePlanResponse]:
    yield from ()
    raise error
