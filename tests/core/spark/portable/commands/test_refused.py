# SPDX-License-Identifier: Apache-2.0
"""Statements that bayou cannot read and that Spark could not run."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException

from bayou.errors import UnsupportedFeatureError
from bayou.spark.portable.commands.refused import refuse_unread_query
from bayou.spark.portable.text.tree import UnreadableTextError

PROBLEM = UnreadableTextError("a column with the name of a keyword", 7)


class Session:
    """A session that refuses every statement."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[str] = []

    def sql(self, text: str) -> Any:
        """Fail."""
        self.asked.append(text)
        raise self.error or AssertionError


def refuse(text: str, error: Exception | None = None) -> list[str]:
    session: Any = Session(error)
    refuse_unread_query(text, PROBLEM, session)
    return session.asked


@pytest.mark.parametrize("text", ["SELECT a AS select FROM `delta`.`/a/t`", "DELETE FROM delta . `s3://b/t` WHERE from = 1"])
def test_the_reason_is_part_of_the_error(text):
    with pytest.raises(UnsupportedFeatureError, match=r"/t.*a column with the name of a keyword.*7"):
        refuse(text, AnalysisException("no such table"))


def test_spark_reports_what_is_not_valid():
    text = "SELECT FROM FROM delta.`/a/t`"
    assert refuse(text, ParseException("a syntax error")) == [f"EXPLAIN {text}"]


@pytest.mark.parametrize("text", ["SELECT a AS select FROM delta.events", "SELECT 'delta.`/a/t`' AS select FROM t", "EXPLAIN x"])
def test_other_statements_are_sparks(text):
    assert refuse(text) == []
