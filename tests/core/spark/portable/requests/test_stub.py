# SPDX-License-Identifier: Apache-2.0
"""Responses as a server sends them, also after the connection was lost."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.connect import proto


class Server:
    """The stub of a client: it answers a SQL text with the text, as a server does."""

    def __init__(self):
        self.called = []
        self.breaks = False

    def ExecutePlan(self, request, **_):  # noqa: N802  (a name of the service)
        self.called.append("ExecutePlan")
        self.echo = proto.ExecutePlanResponse()
        self.echo.sql_command_result.relation.CopyFrom(request.plan.command.sql_command.input)
        if self.breaks:
            raise ConnectionError
        yield from self.ReattachExecute(request)

    def ReattachExecute(self, _request, **_):  # noqa: N802  (a name of the service)
        yield self.echo
        yield proto.ExecutePlanResponse(result_complete=proto.ExecutePlanResponse.ResultComplete())

    def ReleaseExecute(self, request, **_):  # noqa: N802  (a name of the service)
        self.called.append("ReleaseExecute")
        return proto.ReleaseExecuteResponse(operation_id=request.operation_id)

    def AnalyzePlan(self, request, **_):  # noqa: N802  (a name of the service)
        self.called.append("AnalyzePlan")
        return proto.AnalyzePlanResponse(session_id=request.session_id, server_side_session_id="of the server")

    def Config(self, request):  # noqa: N802  (a name of the service)
        return request


@pytest.fixture
def server():
    return Server()


@pytest.fixture
def stub(server, rewriter):
    from bayou.spark.portable.requests.stub import Stub

    return Stub(server, rewriter)


@pytest.fixture
def request_of_text(answers, parquet_frame):
    from bayou.spark.portable.requests.answers import Reference

    frame = parquet_frame()
    answers.given["references"] = [Reference(14, 15, frame)]
    request = proto.ExecutePlanRequest(session_id="s", operation_id="o", client_type="c")
    request.plan.command.sql_command.input.sql.query = "SELECT * FROM t"
    return request


def texts(responses):
    return [each.sql_command_result.relation.sql.query for each in responses if each.HasField("sql_command_result")]


def test_the_text_of_the_program_comes_back(stub, server, request_of_text):
    assert texts(stub.ExecutePlan(request_of_text)) == ["SELECT * FROM t"]
    assert server.echo.sql_command_result.relation.sql.query == "SELECT * FROM t"


def test_the_text_of_the_program_comes_back_after_the_connection_was_lost(stub, server, request_of_text):
    server.breaks = True
    with pytest.raises(ConnectionError):
        list(stub.ExecutePlan(request_of_text))
    assert texts(stub.ReattachExecute(proto.ReattachExecuteRequest(operation_id="o"))) == ["SELECT * FROM t"]


def test_a_second_try_is_the_same_request(stub, server, answers, request_of_text):
    server.breaks = True
    request_of_text.operation_id = ""
    with pytest.raises(ConnectionError):
        list(stub.ExecutePlan(request_of_text))
    sent = request_of_text.plan.SerializeToString(deterministic=True)
    server.breaks = False
    asked = list(answers.asked)
    assert texts(stub.ExecutePlan(request_of_text)) == ["SELECT * FROM t"]
    assert request_of_text.plan.SerializeToString(deterministic=True) == sent
    assert answers.asked == asked


def test_a_second_try_to_cache_remembers_the_relation_of_the_program(stub, server, answers, delta_read, parquet_frame):
    first, second = parquet_frame("/v0"), parquet_frame("/v1")
    answers.given["read"] = lambda read: first if read.data_source.format == "delta" else None
    request = proto.AnalyzePlanRequest()
    request.persist.relation.CopyFrom(delta_read())
    analyze, server.AnalyzePlan = server.AnalyzePlan, None
    with pytest.raises(TypeError):
        stub.AnalyzePlan(request)
    server.AnalyzePlan = analyze
    stub.AnalyzePlan(request)
    answers.given["read"] = lambda _: second
    later = proto.ExecutePlanRequest()
    later.plan.root.CopyFrom(delta_read())
    list(stub.ExecutePlan(later))
    assert later.plan.root.read.data_source.paths == ["/v0"]


def test_rows_of_a_statement_stay(stub, server, request_of_text):
    responses = stub.ExecutePlan(request_of_text)
    first = proto.ExecutePlanResponse()
    first.sql_command_result.relation.local_relation.data = b"rows"
    server.ReattachExecute = lambda *_: iter([first])
    assert next(iter(responses)).sql_command_result.relation.local_relation.data == b"rows"


def test_an_answered_command_is_a_whole_stream(stub, server, answers, request_of_text):
    from bayou.spark.portable.requests.answers import CommandAnswer

    answers.given["command"] = CommandAnswer(rows=pa.table({"n": [1, 2]}))
    result, complete = stub.ExecutePlan(request_of_text)
    with pa.ipc.open_stream(result.sql_command_result.relation.local_relation.data) as reader:
        assert reader.read_all().to_pydict() == {"n": [1, 2]}
    assert complete.HasField("result_complete")
    for response in (result, complete):
        assert (response.session_id, response.server_side_session_id, response.operation_id) == ("s", "of the server", "o")
    assert result.response_id != complete.response_id
    release = proto.ReleaseExecuteRequest(session_id="s", operation_id="o")
    assert stub.ReleaseExecute(release).operation_id == "o"
    assert stub.Interrupt(proto.InterruptRequest(session_id="s", operation_id="o")).session_id == "s"
    assert server.called == ["AnalyzePlan"]


def test_results_of_other_commands_are_completed(stub, answers):
    from bayou.spark.portable.requests.answers import CommandAnswer

    started = proto.ExecutePlanResponse()
    started.write_stream_operation_start_result.name = "q"
    answers.given["command"] = CommandAnswer(results=(started,))
    request = proto.ExecutePlanRequest(session_id="s", client_observed_server_side_session_id="x")
    request.plan.command.write_stream_operation_start.format = "delta"
    first, last = stub.ExecutePlan(request)
    assert first.write_stream_operation_start_result.name == "q"
    assert (first.session_id, first.server_side_session_id) == ("s", "x")
    assert last.HasField("result_complete")


def test_other_methods_are_the_stubs_own(stub):
    assert stub.Config("asked") == "asked"
    with pytest.raises(AttributeError):
        stub.Nothing  # noqa: B018  (looking it up is the test)


def test_operations_that_are_forgotten_do_not_pile_up():
    from bayou.spark.portable.requests.execution import Execution, Recent

    recent = Recent(most=2)
    for name in ("a", "b", "c", ""):
        recent.add(name, Execution())
    assert ["a" in recent, "b" in recent, "c" in recent, "" in recent] == [False, True, True, False]


@pytest.mark.parametrize("raises_late", [False, True])
def test_an_error_of_an_answer_is_raised_where_the_client_ends_its_execution(
    stub, server, answers, request_of_text, monkeypatch, raises_late
):
    from bayou.spark.portable.requests import stub as module

    def fail(_sql):
        raise LookupError("no such table")

    answers.given["references"] = fail
    monkeypatch.setattr(module, "_raises_late", raises_late)
    if raises_late:
        responses = iter(stub.ExecutePlan(request_of_text))
        with pytest.raises(LookupError):
            next(responses)
    else:
        with pytest.raises(LookupError):
            stub.ExecutePlan(request_of_text)
    stub.ReleaseExecute(proto.ReleaseExecuteRequest(session_id="s", operation_id="o"))
    assert server.called == []
