# SPDX-License-Identifier: Apache-2.0
"""The responses of a server, as a client that answers its own commands makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.connect import proto

from bayou.spark.portable.requests.frames import relation_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bayou.spark.portable.requests.execution import Execution

# What a server repeats of a query.
_ECHOES = ("sql", "with_relations")


def command_responses(
    execution: Execution, request: proto.ExecutePlanRequest, server_session: str
) -> list[proto.ExecutePlanResponse]:
    """The whole stream of responses to a command that the client answered.

    Args:
        execution: the command and its answer.
        request: the request with the command, which may be compressed.
        server_session: the server's own id of the session.
    """
    command, answer = execution.command, execution.answer
    if command is None or answer is None:
        return []
    responses = list(answer.results)
    if command.WhichOneof("command_type") == "sql_command":
        result = proto.ExecutePlanResponse()
        if answer.frame is not None:
            result.sql_command_result.relation.CopyFrom(relation_of(answer.frame))
        else:
            rows = answer.rows if answer.rows is not None else pa.table({})
            result.sql_command_result.relation.local_relation.data = _ipc(rows)
        responses.append(result)
    if execution.observed and execution.observed.reported:
        responses.append(proto.ExecutePlanResponse(observed_metrics=execution.observed.reported))
    responses.append(proto.ExecutePlanResponse(result_complete=proto.ExecutePlanResponse.ResultComplete()))
    for response in responses:
        response.session_id = request.session_id
        response.server_side_session_id = server_session
        response.operation_id = request.operation_id
        response.response_id = str(uuid4())
    return responses


def with_original(responses: Iterable[proto.ExecutePlanResponse], original: proto.Relation) -> Iterator[proto.ExecutePlanResponse]:
    """The responses to a SQL text, with the program's text instead of the rewritten one.

    A server repeats a query for the DataFrame that the program gets. With the original, each action of the DataFrame is rewritten
    again, so that it follows the tables. The rows of a statement that the server has run stay.
    """
    for response in responses:
        if (
            response.WhichOneof("response_type") == "sql_command_result"
            and response.sql_command_result.relation.WhichOneof("rel_type") in _ECHOES
        ):
            response.sql_command_result.relation.CopyFrom(original)
        yield response


def _ipc(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())
