# SPDX-License-Identifier: Apache-2.0
"""Names of tables that a statement computes, and parts of it with literals in place of parameters."""

from __future__ import annotations

import datetime as dt

import pytest

pytest.importorskip("grpc", reason="the messages of Spark Connect need grpcio")

from pyspark.sql.connect import proto

from bayou.errors import SqlSyntaxError
from bayou.spark.portable.commands.arguments import filled
from bayou.spark.portable.commands.identifiers import Arguments, with_names

NAME = "delta.`/a/t`"


def literal(**value):
    return proto.Expression(literal=proto.Expression.Literal(**value))


def named(text, **values):
    return proto.SQL(query=text, named_arguments=values)


def positional(text, *values):
    return proto.SQL(query=text, pos_arguments=values)


@pytest.mark.parametrize(
    "sql",
    [
        proto.SQL(query=f"DELETE FROM IDENTIFIER('{NAME}') WHERE a > 1"),
        named("DELETE FROM identifier(:t) WHERE a > 1", t=literal(string=NAME)),
        positional("DELETE FROM IDENTIFIER ( ? ) WHERE a > 1", literal(string=NAME)),
    ],
    ids=["literal", "named", "positional"],
)
def test_names_replace_their_expressions(sql):
    found = with_names(sql, None)
    assert found.query == f"DELETE FROM {NAME} WHERE a > 1"
    assert not found.pos_arguments


def test_other_arguments_stay():
    found = with_names(positional("UPDATE IDENTIFIER(?) SET a = ? WHERE b = ?", *map(given, (NAME, "x", "y"))), None)
    assert found.query == f"UPDATE {NAME} SET a = ? WHERE b = ?"
    assert [each.literal.string for each in found.pos_arguments] == ["x", "y"]


def given(text):
    return literal(string=text)


@pytest.mark.parametrize(
    "text", ["SELECT 1", "SELECT * FROM IDENTIFIER('other.t')", "SELECT a.identifier FROM t", "SELECT identifier"]
)
def test_statements_without_computed_paths_stay(text):
    assert with_names(proto.SQL(query=text), None) is None


def test_parts_of_a_statement_are_filled():
    text = "SELECT ? FROM t VERSION AS OF ? WHERE a = :b"
    sql = positional(text, literal(integer=1), literal(long=2))
    sql.named_arguments["b"].literal.boolean = True
    arguments = Arguments(sql, None)
    start = text.index("? WHERE")
    assert arguments.filled(start, start + 1) == "2"
    assert arguments.numbers_in(start, start + 1) == (1,)
    assert arguments.filled(text.index("a = "), len(text)) == "a = true"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"string": "it's"}, r"'it\'s'"),
        ({"double": 1.5}, "1.5"),
        ({"double": float("nan")}, "CAST('nan' AS DOUBLE)"),
        ({"float": float("-inf")}, "CAST('-inf' AS FLOAT)"),
        ({"binary": b"it"}, "X'6974'"),
        ({"null": proto.DataType(null=proto.DataType.NULL())}, "NULL"),
        ({"date": 1}, "DATE'1970-01-02'"),
        ({"timestamp": 1_500_000}, "TIMESTAMP'1970-01-01 00:00:01.500000Z'"),
        ({"timestamp_ntz": 0}, "TIMESTAMP_NTZ'1970-01-01 00:00:00'"),
    ],
)
def test_literals(value, expected):
    assert filled(named("DELETE FROM t WHERE a = :v", v=literal(**value))) == f"DELETE FROM t WHERE a = {expected}"


def test_a_time_that_python_does_not_have_is_an_error():
    far = int(dt.timedelta(days=366 * 10_000).total_seconds()) * 1_000_000
    with pytest.raises(SqlSyntaxError, match="INVALID_SQL_ARG"):
        filled(named("DELETE FROM t WHERE a = :v", v=literal(timestamp=far)))


@pytest.mark.parametrize(("value", "expected"), [({"double": 1e7}, "10000000.0D"), ({"float": 0.5}, "0.5F"), ({"long": 2}, "2")])
def test_numbers_of_changes_keep_their_types(value, expected):
    assert filled(named("UPDATE t SET a = :v", v=literal(**value)), is_typed=True) == f"UPDATE t SET a = {expected}"


def test_a_negative_number_after_a_minus_sign_begins_no_comment():
    assert filled(named("UPDATE t SET a = 1-:v", v=literal(integer=-2))) == "UPDATE t SET a = 1- -2"


def call(name, *arguments):
    return proto.Expression(unresolved_function=proto.Expression.UnresolvedFunction(function_name=name, arguments=arguments))


def test_lists_are_arrays():
    pairs = call("array", literal(integer=1), call("map", literal(string="its"), literal(double=0.5)))
    assert filled(named("UPDATE t SET a = :v", v=pairs), is_typed=True) == "UPDATE t SET a = array(1, map('its', 0.5D))"
    assert filled(positional("UPDATE t SET a = ?", pairs), is_typed=True).startswith("UPDATE t SET a = array(1, ")


def test_other_expressions_are_no_values():
    with pytest.raises(SqlSyntaxError, match="INVALID_SQL_ARG"):
        filled(named("DELETE FROM t WHERE a = :v", v=call("array", call("my_function", literal(integer=1)))))
