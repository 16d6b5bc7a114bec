# SPDX-License-Identifier: Apache-2.0
"""Tables in the subqueries of SQL expressions become temporary views."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark.sql.connect import proto

EXPRESSION = "id in (select id from delta.`/t`)"
TABLE = "delta.`/t`"


class Client:
    """A client that notes the views that it creates."""

    def __init__(self):
        self.views = []

    def execute_command(self, command):
        self.views.append(command.create_dataframe_view)


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def dropped():
    return []


@pytest.fixture
def rewriter(answers, client, dropped):
    from bayou.spark.portable.requests.rewriting import Rewriter

    return Rewriter(SimpleNamespace(client=client, catalog=SimpleNamespace(dropTempView=dropped.append)), answers)


@pytest.fixture
def answered(answers):
    """Let a DataFrame stand for the table in each text."""
    from bayou.spark.portable.requests.answers import Reference

    def answered(frame, alias="t"):
        def references(sql):
            start = sql.query.find(TABLE)
            return [Reference(start, start + len(TABLE), frame, alias)] if start >= 0 else []

        answers.given["references"] = references

    return answered


def filtered(expression=EXPRESSION):
    relation = proto.Relation()
    relation.filter.input.range.end = 3
    relation.filter.condition.expression_string.expression = expression
    return relation


def sent(rewriter, relation):
    request = proto.ExecutePlanRequest()
    request.plan.root.CopyFrom(relation)
    rewriter.execute(request)
    return request.plan.root.filter.condition.expression_string.expression


def test_a_table_becomes_a_view_of_its_rows(rewriter, answered, client, parquet_frame):
    answered(parquet_frame())
    expression = sent(rewriter, filtered())
    (view,) = client.views
    assert expression == f"id in (select id from ({view.name} AS `t`))"
    assert (list(view.input.read.data_source.paths), view.is_global, view.replace) == (["/v0"], False, True)


def test_the_same_rows_have_one_view_and_the_same_request(rewriter, answered, client, parquet_frame):
    answered(parquet_frame())
    assert sent(rewriter, filtered()) == sent(rewriter, filtered())
    assert len(client.views) == 1
    answered(parquet_frame("/v1"))
    assert sent(rewriter, filtered()) == f"id in (select id from ({client.views[1].name} AS `t`))"
    assert client.views[0].name != client.views[1].name


def test_the_oldest_views_are_dropped(rewriter, answered, client, dropped, parquet_frame):
    for number in range(66):
        answered(parquet_frame(f"/v{number}"))
        sent(rewriter, filtered())
    assert dropped == [each.name for each in client.views[:2]]


def test_other_expressions_stay(rewriter, answered, client, parquet_frame):
    answered(parquet_frame())
    for text in ("id in (select id from other)", "id > 1", "'select' = s"):
        assert sent(rewriter, filtered(text)) == text
    assert not client.views
