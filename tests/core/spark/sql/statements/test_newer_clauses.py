# SPDX-License-Identifier: Apache-2.0
"""Clauses of newer Sparks, cut out of their statements."""

from __future__ import annotations

import pytest
from tests.core.spark.sql.statements.fixture_words import reader_of
from tests.support.cases import in_one_test

from bayou.errors import SqlSyntaxError
from bayou.spark.sql.statements.newer_clauses import ClusteredCreation, ReplacingStatement, without


@in_one_test(
    ("text", "rest", "columns", "provider"),
    [
        ("CREATE TABLE t (a INT) USING delta CLUSTER BY (a)", "CREATE TABLE t (a INT) USING delta", ("a",), "delta"),
        (
            "create or replace table a.`b c` using delta cluster by (a.b, `x``y`) tblproperties ('p' = 'q') as select 1",
            "create or replace table a.`b c` using delta  tblproperties ('p' = 'q') as select 1",
            ("a.b", "`x``y`"),
            "delta",
        ),
        ("REPLACE TABLE t CLUSTER BY\n(a) SELECT 1 CLUSTER BY (b)", "REPLACE TABLE t \n SELECT 1 CLUSTER BY (b)", ("a",), None),
        ("CREATE TABLE IF NOT EXISTS t CLUSTER BY (a) COMMENT 'x'", "CREATE TABLE IF NOT EXISTS t COMMENT 'x'", ("a",), None),
    ],
)
def test_the_clustering_of_a_new_table_is_cut_out(text, rest, columns, provider):
    found = ClusteredCreation.read(reader_of(text))
    assert (found.columns, found.provider) == (columns, provider)
    cut = without(text, [found.place])
    assert len(cut) == len(text)
    assert [line.split() for line in cut.split("\n")] == [line.split() for line in rest.split("\n")]


@in_one_test(
    "text",
    [
        "CREATE TABLE t AS SELECT 1 CLUSTER BY (a)",
        "CREATE TABLE t USING delta SELECT 1 CLUSTER BY (a)",
        "CREATE TABLE t (cluster INT)",
        "CREATE TABLE t (a INT COMMENT 'cluster by (a)') USING delta",
        "CREATE TABLE t (a INT) USING delta CLUSTER BY AUTO",
        "ALTER TABLE t CLUSTER BY (a)",
        "SELECT 1 CLUSTER BY (a)",
    ],
)
def test_other_statements_are_no_clustered_creations(text):
    assert ClusteredCreation.read(reader_of(text)) is None


def test_a_wrong_clause_is_an_error_at_its_place():
    with pytest.raises(SqlSyntaxError) as caught:
        ClusteredCreation.read(reader_of("CREATE TABLE t (a INT)\nCLUSTER BY (a) CLUSTER BY (a)"))
    assert caught.value.error_class == "DUPLICATE_CLAUSES"
    assert (caught.value.facts["line"], caught.value.facts["position"]) == (2, 15)
    with pytest.raises(SqlSyntaxError, match="Expected: a name"):
        ClusteredCreation.read(reader_of("CREATE TABLE t (a INT) CLUSTER BY ()"))


def queries(text, found):
    return [(text[each.start :], each.alias) for each in found.queries]


def test_the_columns_of_replace_using_are_cut_out():
    text = "WITH q AS (SELECT 1) INSERT INTO TABLE a.b REPLACE USING (x, `y z`) SELECT * FROM q"
    found = ReplacingStatement.read(reader_of(text))
    assert (found.table.text, found.columns, found.alias) == ("a.b", ("x", "`y z`"), None)
    assert queries(text, found) == [("SELECT * FROM q", None)]
    assert without(text, [found.place]).split() == text.replace("REPLACE USING (x, `y z`)", "").split()


def test_the_condition_of_replace_on_ends_where_a_query_may_begin():
    text = "INSERT INTO t AS a BY NAME REPLACE ON a.x = s.x AND f (a.y) IN (SELECT 1) (SELECT 1 AS x) AS s"
    found = ReplacingStatement.read(reader_of(text))
    assert (found.alias, text[slice(*found.alias_place)], found.columns) == ("a", "AS a", None)
    assert text[found.place[1] :].startswith("a.x")
    first, second, third = queries(text, found)
    assert first[0].startswith("(a.y) IN")
    assert second[0].startswith("(SELECT 1) (")
    assert third == ("(SELECT 1 AS x) AS s", "s")
    text = "INSERT INTO t REPLACE ON t.x = 1 VALUES (1) AS s(x)"
    assert queries(text, ReplacingStatement.read(reader_of(text)))[0] == ("VALUES (1) AS s(x)", None)


@in_one_test(
    "text",
    [
        "INSERT INTO t REPLACE WHERE a = 1 SELECT 1",
        "INSERT INTO t (a) REPLACE USING (a) SELECT 1",
        "INSERT INTO t BY NAME AS a REPLACE USING (a) SELECT 1",
        "INSERT INTO t WITH (o = 1) REPLACE USING (a) SELECT 1",
        "INSERT INTO t SELECT replace(a, 'b', 'c') FROM u",
        "INSERT OVERWRITE t SELECT 1 AS replace",
        "CREATE OR REPLACE TABLE t AS SELECT 1",
        "SELECT 1",
    ],
)
def test_other_inserts_are_left(text):
    assert ReplacingStatement.read(reader_of(text)) is None


@in_one_test(
    "text",
    [
        "INSERT INTO t REPLACE USING a SELECT 1",
        "INSERT INTO t REPLACE USING () SELECT 1",
        "INSERT INTO t REPLACE USING (a.b) SELECT 1",
        "INSERT INTO t REPLACE ON a = 1",
    ],
)
def test_a_wrong_replacing_insert_is_an_error(text):
    with pytest.raises(SqlSyntaxError):
        ReplacingStatement.read(reader_of(text))
