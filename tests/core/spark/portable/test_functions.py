# SPDX-License-Identifier: Apache-2.0
"""Functions of Delta Lake in the text of a query on Spark Connect."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError, SqlSyntaxError

pytest.importorskip("pyspark.sql.connect.proto", reason="the client of Spark Connect needs grpcio")

from pyspark.errors import AnalysisException
from pyspark.sql.connect import proto

from bayou.spark.portable.commands.identifiers import Arguments
from bayou.spark.portable.functions.changes import changes_of
from bayou.spark.portable.functions.log_rows import described_in, with_queries
from bayou.spark.portable.text.queries import read_query

FEED = {"readChangeFeed": "true"}


class Nothing:
    """A session that computes no value."""

    def sql(self, text):
        raise AnalysisException(text)


def options(arguments: str, function: str = "table_changes_by_path"):
    text = f"SELECT * FROM {function}({arguments}) WHERE id > 1"
    (call,) = read_query(text).calls
    return changes_of(call, Arguments(proto.SQL(query=text), Nothing()))


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("'/t', 1", {"startingVersion": "1"}),
        ("'/t', 1, 12", {"startingVersion": "1", "endingVersion": "12"}),
        ("'/t', - 1", {"startingVersion": "-1"}),
        ("'/t', '2026-01-01', timestamp '2026-01-02'", {"startingTimestamp": "2026-01-01", "endingTimestamp": "2026-01-02"}),
    ],
)
def test_literals_are_a_range(arguments, wanted):
    assert options(arguments) == {"path": "/t", **FEED, **wanted}
    assert options(arguments.replace("'/t'", "'delta.`/t`'"), "TABLE_CHANGES") == {"path": "/t", **FEED, **wanted}


def test_other_functions_and_names_are_the_servers():
    assert options("1, 2", "range") is None
    assert options("'some_table', 1", "table_changes") is None


@pytest.mark.parametrize("arguments", ["", "'/t'", "'/t', 1, 2, 3", "'/t', NULL", "5, 1"])
def test_wrong_arguments_are_refused(arguments):
    with pytest.raises(InvalidOptionError):
        options(arguments)


@pytest.mark.parametrize("arguments", ["'/t', id + 1", "concat(name, 't'), 1", "'/t', end => 5"])
def test_what_is_no_constant_is_refused(arguments):
    with pytest.raises(InvalidOptionError, match="DELTA_CDC_NON_CONSTANT_ARGUMENT"):
        options(arguments)


def test_a_parameter_without_a_value_is_refused():
    with pytest.raises(SqlSyntaxError, match="unbound parameter: start"):
        options("'/t', :start")


def test_descriptions_in_parentheses_give_way_to_queries_of_the_same_length():
    text = "select * from (desc history delta.`/t` limit 2) h join (DESCRIBE DETAIL '/t') using (x)"
    found = described_in(text)
    assert [text[each.start : each.end] for each in found] == ["desc history delta.`/t` limit 2", "DESCRIBE DETAIL '/t'"]
    assert found[0].statement.limit == 2
    changed = with_queries(text, found)
    assert len(changed) == len(text)
    assert " ".join(changed.split()) == "select * from (SELECT 1 ) h join (SELECT 1 ) using (x)"
