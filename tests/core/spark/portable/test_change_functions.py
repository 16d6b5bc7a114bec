# SPDX-License-Identifier: Apache-2.0
"""Calls of `table_changes` in the text of a query on Spark Connect."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError, UnsupportedFeatureError

pytest.importorskip("pyspark.sql.connect.proto", reason="the client of Spark Connect needs grpcio")

from bayou.spark.portable.change_functions import changes_of
from bayou.spark.portable.text.queries import read_query

FEED = {"readChangeFeed": "true"}


def options(arguments: str, function: str = "table_changes_by_path"):
    (call,) = read_query(f"SELECT * FROM {function}({arguments}) WHERE id > 1").calls
    return changes_of(call)


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


@pytest.mark.parametrize("arguments", ["'/t', 1 + 1", "'/t', :start", "concat('/', 't'), 1", "'/t', end => 5"])
def test_what_is_no_literal_is_refused(arguments):
    with pytest.raises(UnsupportedFeatureError, match="not a literal"):
        options(arguments)
