# SPDX-License-Identifier: Apache-2.0
"""The conditions of `writeTo(...).overwrite(condition)` as SQL."""

from __future__ import annotations

import pytest

pytest.importorskip("grpc", reason="the messages of Spark Connect need grpcio")

from pyspark.sql.connect import proto

from bayou.errors import UnsupportedFeatureError
from bayou.spark.portable.commands.frame_writes import condition_sql
from bayou.spark.portable.text.literals import Dialect


def text(sql):
    return proto.Expression(expression_string=proto.Expression.ExpressionString(expression=sql))


def function(name, *arguments):
    return proto.Expression(unresolved_function=proto.Expression.UnresolvedFunction(function_name=name, arguments=arguments))


@pytest.mark.parametrize(
    "sql", ["d < TIMESTAMP'2024-01-01 12:00:00'", "d < DATE'2024-01-01' - 1", "s LIKE x ESCAPE '/'", "exists(a, x -> x > 1)"]
)
def test_a_condition_that_is_text_stays_as_it_is(sql):
    assert condition_sql(text(sql), Dialect()) == sql


def test_text_in_a_message_keeps_the_types_of_its_literals():
    condition = function("and", text("d < DATE'2024-01-01' - 1"), text("s LIKE ALL ('a%', '%b')"))
    assert condition_sql(condition, Dialect()) == "((`d` < (DATE '2024-01-01' - 1)) AND (`s` LIKE ALL ('a%', '%b')))"


def test_what_has_no_certain_text_is_refused():
    with pytest.raises(UnsupportedFeatureError, match="overwrite"):
        condition_sql(function("not", text("s LIKE x ESCAPE '/'")), Dialect())
