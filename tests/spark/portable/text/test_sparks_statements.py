# SPDX-License-Identifier: Apache-2.0
"""Queries and statements that Python reads are those that Spark's own parser reads."""

from __future__ import annotations

import re

import pytest
from tests.core.spark.portable.text.query_texts import QUERIES
from tests.core.spark.portable.text.statement_texts import CHANGES
from tests.support.cases import in_one_test

from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.jvm.core.session import java_session
from bayou.spark.jvm.relations.parser import sparks_parser
from bayou.spark.portable.text.queries import tables_in
from bayou.spark.portable.text.row_changes import row_change


@pytest.fixture(scope="module")
def parser(spark):
    return sparks_parser(Jvm.of(spark), java_session(spark))


@in_one_test("text", list(QUERIES))
def test_the_tables_of_a_query_are_those_that_spark_parses(parser, text):
    """Spark resolves the names of WITH clauses later, so they are among its relations."""
    relations = [name.replace(", ", ".") for name in re.findall(r"UnresolvedRelation \[(.*?)\]", parser.parsePlan(text).toString())]
    defined = set(re.findall(r"(?:with (?:recursive )?|\), )(\w)(?:\(\w\))? as \(", text))
    ours = [".".join(table.parts) for table in tables_in(text) if table.parts]
    sparks = [name for name in relations if name.lower() not in defined]
    assert sorted(set(sparks)) == sorted(name for name in set(ours) if name.lower() not in defined)


@in_one_test(("text", "node"), list(CHANGES.items()))
def test_spark_takes_the_same_texts_for_changes_of_rows(parser, text, node):
    assert type(row_change(text)).__name__ == node.split(",")[0]
    if "only newer" in node:
        return
    plan = parser.parsePlan(text).toString()
    assert {"Delete": "DeleteFromTable", "Update": "UpdateTable", "Merge": "MergeInto", "Insert": ""}[node] in plan
