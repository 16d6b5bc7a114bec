# SPDX-License-Identifier: Apache-2.0
"""The arguments of the functions that make tables, and what the rule tells them that a query needs."""

from __future__ import annotations

import pytest

from bayou.errors import InvalidOptionError
from bayou.spark.native.sql.functions.log_rows import LogRowsRequest, WantedRows
from bayou.spark.sql.functions.arguments import Argument, change_bound, check_count
from bayou.spark.sql.statements.reader import TableReference


@pytest.mark.parametrize(
    ("argument", "option"),
    [
        (Argument("integer", "3"), {"startingVersion": "3"}),
        (Argument("short", "-1"), {"startingVersion": "-1"}),
        (Argument("string", "2026-01-02"), {"startingTimestamp": "2026-01-02"}),
        (Argument("string collate UTF8_LCASE", "x"), {"startingTimestamp": "x"}),
        (Argument("timestamp", "1500000"), {"startingTimestamp": "1970-01-01 00:00:01.500000Z"}),
        (Argument("timestamp_ntz", "1500000"), {"startingTimestamp": "1970-01-01 00:00:01.500000"}),
        (Argument("date", "1"), {"startingTimestamp": "1970-01-02 00:00:00.000000"}),
    ],
)
def test_a_number_is_a_version_and_all_else_a_time(argument, option):
    assert change_bound("table_changes", "starting", argument) == option


@pytest.mark.parametrize(
    ("argument", "error_class", "state"),
    [
        (Argument("void", "null"), "DELTA_CDC_READ_NULL_RANGE_BOUNDARY", "22004"),
        (Argument("?", "rand()"), "DELTA_CDC_NON_CONSTANT_ARGUMENT", "42K0H"),
        (Argument("double", "1.5"), "DELTA_UNSUPPORTED_EXPRESSION", "0A000"),
        (Argument("boolean", "true"), "DELTA_UNSUPPORTED_EXPRESSION", "0A000"),
    ],
)
def test_a_bound_of_another_kind_is_refused(argument, error_class, state):
    with pytest.raises(InvalidOptionError) as caught:
        change_bound("table_changes", "ending", argument)
    assert (caught.value.error_class, caught.value.sql_state) == (error_class, state)


@pytest.mark.parametrize(
    ("function", "counts"),
    [
        ("table_changes", (2, 3)),
        ("table_changes_by_path", (2, 3)),
        ("table_history", (1, 2)),
        ("table_detail", (1,)),
        ("table_files", (1,)),
    ],
)
def test_the_number_of_arguments_is_checked(function, counts):
    for count in range(5):
        given = [Argument("string", "x")] * count
        if count in counts:
            check_count(function, given)
            continue
        with pytest.raises(InvalidOptionError, match=function) as caught:
            check_count(function, given)
        assert caught.value.error_class == "INCORRECT_NUMBER_OF_ARGUMENTS"


def test_names_are_strings_and_limits_are_whole_numbers():
    assert Argument("string", "t").string("table_history", "table") == "t"
    assert Argument("long", "3").integer("table_history", "limit") == 3
    assert Argument("void", "null").integer("table_history", "limit") is None
    for call in (
        lambda: Argument("integer", "3").string("table_history", "table"),
        lambda: Argument("void", "null").string("table_history", "table"),
        lambda: Argument("string", "3").integer("table_history", "limit"),
    ):
        with pytest.raises(InvalidOptionError, match="DELTA_UNSUPPORTED_EXPRESSION"):
            call()
    with pytest.raises(InvalidOptionError, match="NON_FOLDABLE_ARGUMENT"):
        Argument("?", "x").string("table_history", "table")


@pytest.mark.parametrize("table", [TableReference("`a`.`b`"), TableReference(None, "'/p'")])
def test_a_request_is_what_was_asked_for(table):
    request = LogRowsRequest("table_history", table, 3)
    assert LogRowsRequest.decode(request.encode()) == request


def test_what_a_query_needs_is_read_from_the_rules_words():
    assert WantedRows.of("", "", ["a"]) == WantedRows("", None, False, ("a",))
    assert WantedRows.of("x", "7 first", []) == WantedRows("x", 7, True, ())
    assert WantedRows.of("x", "7 last", []).oldest is False
