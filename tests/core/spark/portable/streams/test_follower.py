# SPDX-License-Identifier: Apache-2.0
"""A stream from a table is followed until it ends, whatever the store and the server do meanwhile."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("grpc")

from bayou.spark.portable.streams import follower

SECONDS = 20
FAILURES = 30


class Query:
    """A query that is active until it is stopped. The server may fail to answer."""

    lastProgress = None  # noqa: N815  (PySpark's name)

    def __init__(self) -> None:
        self.is_stopped = False
        self.error: Exception | None = None

    @property
    def isActive(self) -> bool:  # noqa: N802  (PySpark's name)
        if self.error is not None:
            raise self.error
        return not self.is_stopped


class Run:
    """A source. Its store fails as often as it is told."""

    folder = SimpleNamespace(name="stream-x")

    def __init__(self, failures: float) -> None:
        self.failures = failures
        self.advanced = 0
        self.is_deleted = False

    def advance(self, _: int) -> bool:
        self.advanced += 1
        if self.advanced <= self.failures:
            raise OSError("the store is out of reach")
        return True

    def delete(self) -> None:
        self.is_deleted = True


@pytest.fixture
def query(monkeypatch):
    made = Query()
    monkeypatch.setattr(follower, "StreamingQuery", lambda *_: made)
    monkeypatch.setattr(follower, "client_of", lambda _: SimpleNamespace(is_closed=False))
    monkeypatch.setattr(follower, "_SECONDS", 0.001)
    return made


def test_a_query_waits_for_a_store_that_fails(query, caplog):
    run = Run(FAILURES)
    followed = follower.Follower(None, [run], "query-id", "run-id")
    followed.start()
    followed.wait_until_all_is_read()
    assert run.advanced > FAILURES
    assert [each for each in caplog.messages if "waits for a store" in each] == [
        "a stream waits for a store that fails: the store is out of reach"
    ]
    query.is_stopped = True
    followed.wait(SECONDS)
    assert run.is_deleted


def test_a_query_that_has_ended_is_left_although_the_store_fails(query):
    run = Run(float("inf"))
    query.is_stopped = True
    followed = follower.Follower(None, [run], "query-id", "run-id")
    followed.start()
    followed.wait(SECONDS)
    assert run.is_deleted


def test_a_server_that_does_not_answer_is_given_up(query, caplog):
    run = Run(0)
    query.error = ValueError("no answer")
    followed = follower.Follower(None, [run], "query-id", "run-id")
    followed.start()
    followed.wait(SECONDS)
    assert (run.advanced, run.is_deleted) == (0, False)
    assert any("the server does not answer" in each for each in caplog.messages)
