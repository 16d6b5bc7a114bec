# SPDX-License-Identifier: Apache-2.0
"""Write the arguments of `spark.sql` as SQL, for statements that the client reads itself."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Final, cast

from pyspark.sql.connect import proto

from bayou.protocol.types.sql_text import string_sql
from bayou.spark.portable.text.tokens import words
from bayou.spark.sql.statements.parameters import FilledText, parameters_in
from bayou.spark.sql.statements.reader import error_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bayou.spark.sql.statements.parameters import Parameter

_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  (the literals state their zone)
_NANOS: Final = 1000
"""Nanoseconds in a microsecond."""


def filled(sql: proto.SQL, *, is_typed: bool = False) -> str:
    """Return a statement in which literals replace its parameters.

    Args:
        sql: the statement with its arguments.
        is_typed: whether the literals are expressions that mean the same in all sessions. Otherwise they are plain literals of
            strings and decimals, which all clauses can have.

    Raises:
        SqlSyntaxError: as `literals_of`.
    """
    text: str = sql.query
    parameters = parameters_in(words(text))
    return FilledText.of(text, parameters, literals_of(sql, parameters, is_typed=is_typed)).text if parameters else text


def literals_of(
    sql: proto.SQL, parameters: Sequence[Parameter], numbers: Sequence[int] | None = None, *, is_typed: bool = False
) -> list[str]:
    """Return the literal for each of some parameters of a statement.

    Args:
        sql: the statement with its arguments.
        parameters: the parameters.
        numbers: the numbers of the positional ones among them, counted from 0 in the statement; None if they are the first ones.
        is_typed: see `filled`.

    Raises:
        SqlSyntaxError: a parameter has no value, or a value that has no literal in SQL and is not a list or a dictionary.
    """
    number, found = 0, []
    for each in parameters:
        if each.name is not None:
            given = _named(sql, each.name)
        else:
            given = _positional(sql, number if numbers is None else numbers[number])
        number += each.name is None
        if given is None:
            problem = f"Found the unbound parameter: {each.name or each.text}. Give it a value in the arguments of spark.sql"
            raise error_at(sql.query, each.start, problem, error_class="UNBOUND_SQL_PARAMETER")
        literal = _value(given, is_typed=is_typed)
        if literal is None:
            kind = given.literal.WhichOneof("literal_type") if given.HasField("literal") else "expression"
            problem = f"The parameter {each.name or each.text} has a value of the kind {kind}, which has no literal here"
            more = " Write the value into the statement, or give its text and a CAST."
            raise error_at(sql.query, each.start, problem, more, error_class="INVALID_SQL_ARG")
        found.append(literal)
    return found


def _named(sql: proto.SQL, name: str) -> proto.Expression | None:
    if name in sql.named_arguments:
        return cast("proto.Expression", sql.named_arguments[name])
    return proto.Expression(literal=sql.args[name]) if name in sql.args else None


def _positional(sql: proto.SQL, number: int) -> proto.Expression | None:
    if number < len(sql.pos_arguments):
        return cast("proto.Expression", sql.pos_arguments[number])
    return proto.Expression(literal=sql.pos_args[number]) if number < len(sql.pos_args) else None


def _value(given: proto.Expression, *, is_typed: bool) -> str | None:
    """Return an argument as SQL. Lists and dictionaries are calls of `array` and `map`; None for other expressions."""
    if given.HasField("literal"):
        return _literal(given.literal, is_typed=is_typed)
    call = given.unresolved_function
    if not given.HasField("unresolved_function") or call.function_name not in {"array", "map", "struct", "named_struct"}:
        return None
    values = [_value(each, is_typed=is_typed) for each in call.arguments]
    return None if None in values else f"{call.function_name}({', '.join(map(str, values))})"


def _literal(value: proto.Expression.Literal, *, is_typed: bool) -> str | None:
    kind = value.WhichOneof("literal_type")
    if kind in ("float", "double"):
        return _floating_point(kind, getattr(value, kind), is_typed=is_typed)
    if kind in ("byte", "short", "integer", "long", "boolean"):
        return str(getattr(value, kind)).lower()
    if kind == "binary":
        return f"X'{value.binary.hex()}'"
    if kind == "decimal":
        return format(Decimal(value.decimal.value), "f")  # with an exponent it would be a double
    if kind == "string":
        return string_sql(value.string) if is_typed else _plain_string(value.string)
    return "NULL" if kind == "null" else _time_literal(kind, value)


def _plain_string(value: str) -> str:
    """Return a string as a literal for clauses that take no expression. No variable of a setting is in it."""
    return "'" + value.replace("\\", r"\\").replace("'", r"\'").replace("$", r"\u0024") + "'"


def _floating_point(kind: str, number: float, *, is_typed: bool) -> str:
    if not isfinite(number):
        return f"CAST('{number}' AS {kind.upper()})"
    return f"{number}{kind[0].upper() if is_typed else ''}"


def _time_literal(kind: str | None, value: proto.Expression.Literal) -> str | None:
    """Return the literal of a date or a time; None for other types, and for times that Python does not have."""
    try:
        if kind == "date":
            return f"DATE'{_EPOCH.date() + dt.timedelta(days=value.date)}'"
        if kind == "timestamp":
            return f"TIMESTAMP'{_EPOCH + dt.timedelta(microseconds=value.timestamp)}Z'"
        if kind == "timestamp_ntz":
            return f"TIMESTAMP_NTZ'{_EPOCH + dt.timedelta(microseconds=value.timestamp_ntz)}'"
        if kind == "day_time_interval":
            size = dt.timedelta(microseconds=abs(value.day_time_interval))
            sign = "-" if value.day_time_interval < 0 else ""
            time = f"{_EPOCH + dt.timedelta(0, size.seconds, size.microseconds):%H:%M:%S.%f}"
            return f"INTERVAL '{sign}{size.days} {time}' DAY TO SECOND"
        if kind == "time":
            return f"TIME'{_EPOCH + dt.timedelta(microseconds=value.time.nano // _NANOS):%H:%M:%S.%f}'"
    except OverflowError:
        pass
    return None
