# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from tests.support.cases import in_one_test

from bayou.protocol.columns.expression_functions import (
    CHECK_CONSTRAINT_FUNCTIONS,
    COLUMN_DEFAULT_FUNCTIONS,
    GENERATED_COLUMN_FUNCTIONS,
    REFUSED,
    ExpressionKind,
    refusal,
    unknown_functions,
)

KINDS = list(ExpressionKind)

# What no expression of a table may ever call, whoever wrote it.
DANGEROUS = [
    "reflect",
    "java_method",
    "try_reflect",
    "input_file_name",
    "input_file_block_start",
    "input_file_block_length",
    "from_avro",
    "from_protobuf",
    "read_files",
    "rand",
    "randn",
    "random",
    "uuid",
    "shuffle",
    "monotonically_increasing_id",
    "spark_partition_id",
    "version",
    "ai_query",
    "http_request",
    "current_path",
    "raise_error",
    "explode",
    "count",
    "sum",
    "max",
    "row_number",
]


@in_one_test("name", DANGEROUS)
@in_one_test("kind", KINDS)
def test_a_dangerous_function_is_refused_everywhere_and_the_reason_is_known(name, kind):
    assert unknown_functions([name.upper()], kind) == (name.upper(),)
    assert refusal(name, kind) == REFUSED[name]


USUAL = [
    "CONCAT",
    "year",
    "month",
    "date_format",
    "date_trunc",
    "trunc",
    "substring",
    "substr",
    "cast",
    "date",
    "coalesce",
    "if",
    "upper",
    "length",
    "len",
    "hash",
    "abs",
    "when",
    "struct",
    "from_json",
    "to_date",
    "hour",
    "ceil",
    "regexp_like",
]


@in_one_test("name", USUAL)
@in_one_test("kind", KINDS)
def test_the_usual_functions_are_allowed_everywhere(name, kind):
    assert unknown_functions([name], kind) == ()
    assert refusal(name, kind) is None


@pytest.mark.parametrize("name", ["current_date", "current_timestamp"])
def test_the_time_may_be_asked_for_where_it_is_asked_once(name):
    assert unknown_functions([name], ExpressionKind.GENERATED_COLUMN) == (name,)
    assert refusal(name, ExpressionKind.GENERATED_COLUMN) == "it depends on when the row is written"
    assert unknown_functions([name], ExpressionKind.CHECK_CONSTRAINT) == ()
    assert unknown_functions([name], ExpressionKind.COLUMN_DEFAULT) == ()


@pytest.mark.parametrize("name", ["current_user", "user", "session_user", "current_catalog", "current_timezone"])
def test_only_a_default_may_ask_who_writes(name):
    assert [unknown_functions([name], kind) for kind in KINDS] == [(name,), (name,), ()]


def test_unknown_functions_are_named_once_and_in_order():
    names = ["my_udf", "UPPER", "db.upper", "my_udf", "`year`"]
    assert unknown_functions(names, ExpressionKind.CHECK_CONSTRAINT) == ("my_udf", "db.upper", "`year`")
    assert "CHECK constraint" in refusal("my_udf", ExpressionKind.CHECK_CONSTRAINT)


def test_each_kind_allows_what_the_stricter_one_does():
    assert GENERATED_COLUMN_FUNCTIONS < CHECK_CONSTRAINT_FUNCTIONS < COLUMN_DEFAULT_FUNCTIONS


def test_names_are_lower_case_words():
    assert all(name == name.lower() and name.isidentifier() for name in COLUMN_DEFAULT_FUNCTIONS | REFUSED.keys())


def test_nothing_is_refused_with_a_reason_and_allowed_in_generated_columns_but_what_delta_spark_lists():
    assert GENERATED_COLUMN_FUNCTIONS & REFUSED.keys() == {"now"}
