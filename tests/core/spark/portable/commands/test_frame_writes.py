# SPDX-License-Identifier: Apache-2.0
"""Writes of DataFrames: whose they are, and the conditions of `writeTo(...).overwrite(condition)` as SQL."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("grpc", reason="the messages of Spark Connect need grpcio")

from pyspark.sql.connect import proto

from bayou.errors import InvalidOptionError, UnsupportedFeatureError
from bayou.spark.portable.commands.frame_writes import condition_sql, write_of, write_to
from bayou.spark.portable.text.literals import Dialect

NOTHING: Any = object()
"""What these tests do not use."""


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


def test_a_table_by_path_has_no_other_format():
    table = proto.WriteOperation.SaveTable(table_name="delta.`/a/t`", save_method=1)
    with pytest.raises(InvalidOptionError, match="parquet"):
        write_of(NOTHING, NOTHING, proto.WriteOperation(source="parquet", table=table), NOTHING)
    to = proto.WriteOperationV2(provider="parquet", table_name="delta.`/a/t`", mode=proto.WriteOperationV2.MODE_CREATE)
    with pytest.raises(InvalidOptionError, match="parquet"):
        write_to(NOTHING, NOTHING, to, NOTHING)


def test_a_table_of_the_database_delta_is_written_by_the_server():
    table = proto.WriteOperation.SaveTable(table_name="delta.events", save_method=1)
    assert write_of(NOTHING, NOTHING, proto.WriteOperation(source="parquet", table=table), NOTHING) is None
    to = proto.WriteOperationV2(provider="parquet", table_name="delta.events", mode=proto.WriteOperationV2.MODE_CREATE)
    assert write_to(NOTHING, NOTHING, to, NOTHING) is None
