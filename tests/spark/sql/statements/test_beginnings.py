# SPDX-License-Identifier: Apache-2.0
"""Which texts Python is asked for: those that Spark refused and that begin like a statement of Delta's."""

from __future__ import annotations

import contextlib

import pytest
from pyspark.errors import AnalysisException
from tests.support.cases import in_one_test

from bayou.spark.jvm.core.bridge import Jvm
from bayou.spark.native.sql.statements import StatementCommands

BEGINNING = (
    *("VACUUM", "vacuum t", "  \n/* a /* b */ c */ -- d\nOptimize t", "reorg\ttable t", "restore t", "GENERATE x"),
    *("explain vacuum t", "EXPLAIN /* x */ formatted OPTIMIZE t", "explain cost describe detail t"),
    *("create or replace table a shallow clone b", "create table if not exists a.b.c deep clone b", "replace table a CLONE b"),
    *("alter table t drop feature x", "alter table `x y`.z change c sync identity", "alter table t cluster by (a)"),
    *("analyze table t compute delta statistics", "convert to delta t", "DESC history t limit", "vacuum :path", "optimize : x"),
    *("begin vacuum t; end", "a: begin vacuum t; end", "a /* x */ :\nBEGIN"),
    *("-- a \\\n b\nvacuum t",),
)
OTHERS = (
    *(
        "",
        "   ",
        "-- vacuum t",
        "/* vacuum t",
        "/* /* */ vacuum t",
        "selec 1",
        "explain",
        "explain cost",
        "explain selec",
        "explain explain",
    ),
    *("vacuums t", "reorg t", "convert t", "describe", "describe t", "create table t (a in)", "alter table t add colum a int"),
    *(
        "analyze table t compute",
        "'vacuum' t",
        "`vacuum` t",
        "(vacuum t)",
        "with a as (selec 1) select 1",
        "a: vacuum t",
        "1 vacuum",
    ),
    *("select 'vacuum t' fro", "ünlike vacuum", "with", "begi vacuum t"),
)


@pytest.fixture(scope="module")
def beginnings(spark):
    """The adapter that decides."""
    return Jvm.of(spark).static("bayou.Beginnings")


@pytest.mark.smoke
@in_one_test("text", BEGINNING)
def test_a_statement_of_deltas_begins(beginnings, text):
    assert beginnings.mayBegin(text)


@pytest.mark.smoke
@in_one_test("text", OTHERS)
def test_other_texts_are_sparks_alone(beginnings, text):
    assert not beginnings.mayBegin(text)


@in_one_test(
    ("text", "expected"),
    [
        ("select * from (describe history t)", True),
        ("select 1 from (DESC /* x */ Detail '/p') where x", True),
        ("with a as (describe\nhistory t) select 1", True),
        ("select 'describe history t' fro", False),
        ("select `describe history` -- describe history\n /* describe detail */ fro", False),
        ("select describes history, describe, history", False),
        ("describe describe history", True),
    ],
)
def test_a_description_anywhere_in_a_text_is_found(beginnings, text, expected):
    assert beginnings.describes(text) == expected


def test_python_is_not_asked_for_other_texts(spark, monkeypatch):
    asked = []
    monkeypatch.setattr(StatementCommands, "of_text", lambda _self, text, _context: asked.append(text))
    for text in (*OTHERS, "vacuum", "${a_verb} t"):
        with contextlib.suppress(AnalysisException):
            spark.sql(text)
    assert asked == ["vacuum"]
    spark.conf.set("a_verb", "optimize")
    try:
        with pytest.raises(AnalysisException):
            spark.sql("${a_verb} t")
    finally:
        spark.conf.unset("a_verb")
    assert asked == ["vacuum", "${a_verb} t"]
