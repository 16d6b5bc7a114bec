# SPDX-License-Identifier: Apache-2.0
"""Commands that the client answers without the server."""

from __future__ import annotations

import datetime as dt
import time
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from bayou.errors import DeltaError


@pytest.fixture
def answer(answers):
    """Lets SQL statements that begin with a word have an answer."""
    from bayou.spark.portable.requests.answers import CommandAnswer

    def answer(word, result):
        def statement(command):
            if not command.sql_command.input.sql.query.startswith(word):
                return None
            found = result() if callable(result) else result
            return found if isinstance(found, CommandAnswer) else CommandAnswer(rows=found)

        answers.commands["sql_command"] = statement

    return answer


@pytest.fixture
def sent(spark, answers):
    """The names of the service's methods that reach the server, with their requests."""
    stub = spark.client._stub
    seen = []

    class Recorder:
        def __getattr__(self, name):
            def call(request, **options):
                seen.append((name, request))
                return getattr(inner, name)(request, **options)

            return call

    inner, stub.inner = stub.inner, Recorder()
    yield seen
    stub.inner = inner


def test_a_write_is_answered_with_its_input_replaced(spark, path, tmp_path):
    copy = str(tmp_path / "copy")
    frame = spark.read.format("delta").load(path)
    frame.where(frame["id"] > 0).write.format("delta").save(copy)
    assert spark.read.format("delta").load(copy).count() == 2


def test_a_statement_returns_rows_as_one_that_the_server_ran(spark, answers, answer):
    rows = pa.table({"n": pa.array([1, None]), "s": ["ä", "b"], "d": [dt.date(2020, 1, 2), None], "m": [b"x", b""]})
    answer("DELETE", rows)
    frame = spark.sql("DELETE FROM delta.`/nowhere`")
    assert frame.columns == ["n", "s", "d", "m"]
    assert frame.schema["n"].dataType.simpleString() == "bigint"
    assert [row.s for row in frame.collect()] == ["ä", "b"]
    assert frame.where(frame["n"] == 1).count() == 1


def test_a_statement_without_rows_returns_an_empty_frame(spark, answers, answer):
    answer("VACUUM", lambda: None)
    frame = spark.sql("VACUUM x")
    assert frame.columns == []
    assert frame.collect() == []


def test_a_statement_may_return_a_frame(spark, path, answers, answer, append):
    from bayou.spark.portable.requests.answers import CommandAnswer

    answer("DESCRIBE", lambda: CommandAnswer(frame=spark.read.format("delta").load(path).select("id")))
    frame = spark.sql("DESCRIBE x")
    assert frame.count() == 3
    append(3)
    assert frame.count() == 4


def test_other_statements_are_the_servers(spark, answers, answer):
    answer("DELETE", pa.table({"n": [1]}))
    assert spark.sql("SELECT 1 AS one").collect()[0].one == 1
    assert "sql_command" in answers.asked


def test_the_server_learns_nothing_of_an_answered_command(spark, answers, answer, sent):
    answer("DELETE", pa.table({"n": [1]}))
    spark.sql("DELETE FROM x")
    time.sleep(0.3)  # the client releases responses in threads
    # The first plan of a client asks for the settings of compression.
    assert [name for name, _ in sent if name != "Config"] == []


def test_the_requests_of_an_answer_are_rewritten_and_have_the_tags_of_the_program(spark, path, answers, answer, sent):
    answer("DELETE", lambda: pa.table({"n": [spark.sql(f"SELECT * FROM delta.`{path}`").count()]}))
    spark.addTag("mine")
    try:
        assert spark.sql("DELETE FROM x").collect()[0].n == 3
    finally:
        spark.removeTag("mine")
    executed = [request for name, request in sent if name == "ExecutePlan"]
    assert executed
    assert all(list(request.tags) == ["mine"] for request in executed)


def test_an_answer_is_interrupted_with_what_it_runs(spark, answers, answer):
    def slow():
        spark.range(1).selectExpr("java_method('java.lang.Thread', 'sleep', 30000L)").collect()

    answer("DELETE", slow)
    with ThreadPoolExecutor(1) as pool:
        begun = time.monotonic()
        running = pool.submit(spark.sql, "DELETE FROM x")
        while not running.done() and time.monotonic() - begun < 20:
            time.sleep(0.3)
            spark.interruptAll()
        with pytest.raises(Exception, match=r"(?i)cancel|interrupt"):
            running.result()
    assert time.monotonic() - begun < 20


def test_an_interruption_of_an_answered_operation_finds_nothing(spark, answers, answer, sent):
    from pyspark.sql.connect import proto

    asked = []

    def interrupt():
        operation = next(iter(spark.client._stub._own._executions))
        asked.append(spark.interruptOperation(operation))

    answer("DELETE", interrupt)
    spark.sql("DELETE FROM x")
    assert asked == [[]]
    assert not any(isinstance(request, proto.InterruptRequest) for _, request in sent)


@pytest.mark.parametrize("reattachable", [True, False])
def test_an_error_of_an_answer_reaches_the_caller_once(spark, path, answers, answer, sent, reattachable):
    calls = []

    def failing(*_):
        calls.append(1)
        raise DeltaError("it is full", next_step="Empty it.")

    answer("DELETE", failing)
    answers.commands["write_operation"] = failing
    if not reattachable:
        spark.client.disable_reattachable_execute()
    try:
        with pytest.raises(DeltaError, match="it is full"):
            spark.sql("DELETE FROM x")
        with pytest.raises(DeltaError, match="it is full"):
            spark.range(1).write.format("delta").save(path)
        frame = spark.read.format("delta").load(path)
        answers.read = failing
        for action in (frame.count, lambda: frame.schema, frame.explain, frame.cache):
            with pytest.raises(DeltaError, match="it is full"):
                action()
    finally:
        spark.client.enable_reattachable_execute()
    assert len(calls) == 6
    time.sleep(0.3)
    # The client of PySpark 4.0 also releases operations that never reached the server.
    assert [name for name, _ in sent if name != "ReleaseExecute"] == []


def test_answers_work_without_reattachable_execution(spark, path, answers, answer):
    answer("DELETE", pa.table({"n": [1]}))
    spark.client.disable_reattachable_execute()
    try:
        assert spark.sql("DELETE FROM x").collect()[0].n == 1
        assert spark.sql(f"SELECT * FROM delta.`{path}`").count() == 3
        spark.range(1).selectExpr("id", "id AS price").write.format("delta").mode("append").save(path)
    finally:
        spark.client.enable_reattachable_execute()


def test_the_first_request_of_a_session_may_be_answered(server, answers):
    from pyspark.sql.connect.session import SparkSession
    from tests.support.connect_answers import VersionedFolders

    from bayou.spark.portable.requests.answers import CommandAnswer
    from bayou.spark.portable.requests.installation import install

    session = SparkSession.builder.remote(server.url).create()
    try:
        first = VersionedFolders(session)
        first.commands["sql_command"] = lambda _: CommandAnswer(rows=pa.table({"n": [7]}))
        install(session, first)
        session.client._server_session_id = None
        assert session.sql("DELETE FROM x").collect()[0].n == 7
        assert session.range(2).count() == 2
    finally:
        session.client.close()


def test_checkpoints_hold_the_rows_of_their_time(spark, path, append):
    frame = spark.read.format("delta").load(path)
    checkpoint = frame.localCheckpoint()
    append(3)
    assert (checkpoint.count(), frame.count()) == (3, 4)


def test_garbage_is_collected_while_a_command_runs(spark, answers, answer):
    import gc

    seen = []
    answer("DELETE", lambda: seen.append(gc.isenabled()))
    spark.sql("DELETE FROM x")
    assert seen == [True]
    assert gc.isenabled()


def test_observed_metrics_of_a_write_reach_the_program(spark, path, tmp_path):
    from pyspark.sql import Observation, functions

    observation = Observation("mine")
    rows = spark.read.format("delta").load(path).observe(observation, functions.sum("price").alias("s"))
    rows.write.format("delta").save(str(tmp_path / "copy"))
    assert observation.get == {"s": 30}


def test_a_merge_is_answered_with_its_columns(spark, path, answers):
    from bayou.spark.portable.requests.answers import CommandAnswer
    from bayou.spark.portable.requests.frames import column_of, frame_of

    seen = []

    def merge(command):
        merge = command.merge_into_table_command
        target = answers.rows(path).alias("t")
        pairs = frame_of(spark, merge.source_table_plan).join(target, column_of(merge.merge_condition))
        seen.extend(tuple(row) for row in pairs.selectExpr("new", "t.price").collect())
        return CommandAnswer()

    answers.commands["merge_into_table_command"] = merge
    from pyspark.sql import functions

    source = spark.read.format("delta").load(path).selectExpr("id AS new").where("new > 1")
    merged = source.mergeInto(f"delta.`{path}`", source["new"] == functions.col("t.id"))
    merged.whenMatched().updateAll().merge()
    assert seen == [(2, 20)]


def test_the_newer_writer_is_answered(spark, path, answers):
    from bayou.spark.portable.requests.answers import CommandAnswer
    from bayou.spark.portable.requests.frames import frame_of

    seen = []

    def write(command):
        operation = command.write_operation_v2
        seen.append((operation.table_name, frame_of(spark, operation.input).count()))
        return CommandAnswer()

    answers.commands["write_operation_v2"] = write
    spark.read.format("delta").load(path).writeTo("sales.orders").append()
    assert seen == [("sales.orders", 3)]


def test_the_start_of_a_stream_is_answered_by_another_stream(spark, path, answers, tmp_path):
    from pyspark.sql.connect import proto

    from bayou.spark.portable.requests.answers import CommandAnswer

    out = str(tmp_path / "out")

    def start(command):
        if command.write_stream_operation_start.format != "delta":
            return None
        own = proto.Command()
        own.CopyFrom(command)
        own.write_stream_operation_start.format = "parquet"
        _, properties, _ = spark.client.execute_command(own)
        started = properties["write_stream_operation_start_result"]
        return CommandAnswer(results=(proto.ExecutePlanResponse(write_stream_operation_start_result=started),))

    answers.commands["write_stream_operation_start"] = start
    stream = spark.readStream.format("delta").load(path).writeStream.format("delta")
    query = stream.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True).start(out)
    assert query.awaitTermination(60)
    assert query.exception() is None
    assert spark.read.parquet(out).count() == 3
