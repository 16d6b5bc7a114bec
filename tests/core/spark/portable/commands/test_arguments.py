# SPDX-License-Identifier: Apache-2.0
"""The arguments of a statement become literals, and plain ones where a clause takes no expression."""

from __future__ import annotations

import pytest
from pyspark.sql.connect import proto

from bayou.errors import SqlSyntaxError
from bayou.spark.portable.commands.arguments import filled
from bayou.spark.portable.text.tables.statements import table_statement


def statement(text, **kinds):
    given = proto.SQL(query=text)
    for name, literal in kinds.items():
        given.named_arguments[name].literal.CopyFrom(literal)
    return given


def literal(**kind):
    return proto.Expression.Literal(**kind)


@pytest.mark.parametrize("text", ["Bob's", r"a\b\n\%", "${x} $", 'say "so"', "", "line\nline"])
def test_strings_of_clauses_that_take_no_expression(text):
    given = statement("COMMENT ON TABLE delta.`/t` IS :c", c=literal(string=text))
    assert table_statement(filled(given)).alteration.text == text
    assert "${" not in filled(given)


def test_strings_of_expressions_mean_the_same_in_all_sessions():
    given = statement("SELECT :c", c=literal(string="Bob's"))
    assert filled(given, is_typed=True) == "SELECT decode(X'426f622773', 'UTF-8')"


TIMES = {
    "INTERVAL '1 00:00:00.000005' DAY TO SECOND": {"day_time_interval": 86_400_000_005},
    "INTERVAL '-0 23:59:59.999995' DAY TO SECOND": {"day_time_interval": -86_399_999_995},
    "TIME'01:02:03.000004'": {"time": proto.Expression.Literal.Time(nano=3_723_000_004_000, precision=6)},
}


@pytest.mark.parametrize("text", TIMES)
def test_intervals_and_times(text):
    assert filled(statement("SELECT :t", t=literal(**TIMES[text]))) == f"SELECT {text}"


def test_a_value_without_a_literal_is_not_a_missing_value():
    months = proto.Expression.Literal.CalendarInterval(months=1)
    with pytest.raises(SqlSyntaxError, match=r"INVALID_SQL_ARG.*parameter m has a value of the kind calendar_interval"):
        filled(statement("SELECT :m", m=literal(calendar_interval=months)))
    with pytest.raises(SqlSyntaxError, match=r"UNBOUND_SQL_PARAMETER.*unbound parameter: n"):
        filled(statement("SELECT :n", m=literal(calendar_interval=months)))


@pytest.mark.parametrize(("value", "text"), [("1.5E-7", "0.00000015"), ("1E+3", "1000"), ("12.50", "12.50")])
def test_a_decimal_stays_one(value, text):
    assert filled(statement("SELECT :d", d=literal(decimal=proto.Expression.Literal.Decimal(value=value)))) == f"SELECT {text}"
