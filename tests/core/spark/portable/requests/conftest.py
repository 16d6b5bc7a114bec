# SPDX-License-Identifier: Apache-2.0
"""Messages of a client, and answers to them, without a server."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

grpc = pytest.importorskip("grpc", reason="the client of Spark Connect needs grpcio")


class FrameOf:
    """A DataFrame as far as its relation is concerned."""

    def __init__(self, relation):
        self._plan = SimpleNamespace(plan=lambda _: relation)
        self._session = SimpleNamespace(client=None)


class FixedAnswers:
    """Answers that tests give, as functions by the name of the question."""

    def __init__(self):
        self.asked = []
        self.given = {}

    def of_one_version(self):
        return nullcontext()

    def _answer(self, question, asked, otherwise=None):
        self.asked.append(question)
        given = self.given.get(question, otherwise)
        return given(asked) if callable(given) else given

    def read(self, read, place=None):  # noqa: ARG002  (all rows will do)
        return self._answer("read", read)

    def catalog(self, request):
        return self._answer("catalog", request)

    def references(self, sql, place=None, views=None):  # noqa: ARG002  (all rows will do)
        return self._answer("references", sql, ())

    def command(self, command):
        return self._answer("command", command)

    def starting(self, start):  # noqa: ARG002  (no streams)
        return nullcontext()


@pytest.fixture
def answers():
    return FixedAnswers()


@pytest.fixture
def rewriter(answers):
    from bayou.spark.portable.requests.rewriting import Rewriter

    return Rewriter(SimpleNamespace(client=None), answers)


@pytest.fixture
def delta_read():
    """A relation that reads a table, as a client makes it."""
    from pyspark.sql.connect import proto

    def delta_read(plan_id=7, path="/t"):
        relation = proto.Relation()
        relation.common.plan_id = plan_id
        relation.read.data_source.format = "delta"
        relation.read.data_source.paths.append(path)
        return relation

    return delta_read


@pytest.fixture
def parquet_frame():
    """A DataFrame of another source."""
    from pyspark.sql.connect import proto

    def parquet_frame(path="/v0", plan_id=100):
        relation = proto.Relation()
        relation.common.plan_id = plan_id
        relation.read.data_source.format = "parquet"
        relation.read.data_source.paths.append(path)
        return FrameOf(relation)

    return parquet_frame
