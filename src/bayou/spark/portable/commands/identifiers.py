# SPDX-License-Identifier: Apache-2.0
"""Compute what a statement does not spell out: the names of tables in `IDENTIFIER(...)`, and the times of time travel."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.errors import PySparkException

from bayou.spark.portable.commands.arguments import literals_of
from bayou.spark.portable.names import path_in
from bayou.spark.portable.text.literals import Dialect, string_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.sql.functions.arguments import Argument
from bayou.spark.sql.statements.parameters import FilledText, Parameter, parameters_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.text.words import Word

_IDENTIFIER: Final = "IDENTIFIER"
_NAME: Final = "name"
_EPOCH: Final = dt.datetime(1970, 1, 1)  # noqa: DTZ001  (of times without a zone)
_TYPES: Final = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long"}
"""Spark's names of types in SQL whose classes have other names."""


class Arguments:
    """A statement with its arguments, and the session that computes expressions in it."""

    def __init__(self, sql: proto.SQL, spark: SparkSession) -> None:
        self._sql = sql
        self._spark = spark
        self._parameters = parameters_in(words(sql.query))

    def filled(self, start: int, end: int, *, is_typed: bool = False) -> str:
        """Return a part of the statement with literals in place of its parameters.

        Args:
            is_typed: whether floating-point numbers keep their types, see `arguments.filled`.

        Raises:
            SqlSyntaxError: a parameter has no value, or a value of another type than string, number, boolean, date and time.
        """
        inner = [each for each in self._parameters if start <= each.start and each.end <= end]
        text = self._sql.query[start:end]
        if not inner:
            return text
        positional = [each.start for each in self._parameters if each.name is None]
        values = literals_of(
            self._sql, inner, [positional.index(each.start) for each in inner if each.name is None], is_typed=is_typed
        )
        moved = [Parameter(each.name, each.start - start, each.end - start) for each in inner]
        return FilledText.of(text, moved, values).text

    def numbers_in(self, start: int, end: int) -> tuple[int, ...]:
        """Return the numbers of the positional parameters in a part of the statement, counted from 0 in the whole statement."""
        positional = [each for each in self._parameters if each.name is None]
        return tuple(number for number, each in enumerate(positional) if start <= each.start and each.end <= end)

    def name(self, start: int, end: int) -> str | None:
        """Return the name of a Delta table by path that an expression in the statement gives; None for other values."""
        expression = self.filled(start, end)
        found = words(expression)
        if any(word.text.upper() == "SELECT" for word in found):
            return None  # Spark takes no subquery here
        name = string_of(found[0], Dialect()) if len(found) == 1 and found[0].is_string else self._computed(expression)
        return name if isinstance(name, str) and path_in(name) is not None else None

    def time(self, expression: str) -> str | None:
        """Return the time that an expression gives, as a string in UTC; None if it gives none."""
        micros = self._computed(f"unix_micros(CAST(({expression}) AS TIMESTAMP))")
        if micros is None:
            return None
        time = dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(microseconds=int(micros))
        return time.isoformat(sep=" ").replace("+00:00", "Z")

    def value(self, expression: str) -> Argument:
        """Return the value of an argument of a function. An expression that has none without a table is not a constant."""
        try:
            row = self._spark.sql(f"SELECT ({expression}) AS v").selectExpr("typeof(v)", "CAST(v AS STRING)", "v").first()
        except PySparkException:
            row = None
        if row is None:
            return Argument("?", expression)
        kind, text, value = row
        kind = _TYPES.get(kind, kind)
        if kind == "date":
            text = str((value - _EPOCH.date()).days) if value is not None else None
        elif kind == "timestamp_ntz":
            text = str((value - _EPOCH) // dt.timedelta(microseconds=1)) if value is not None else None
        elif kind == "timestamp":
            text = self._computed(f"CAST(unix_micros({expression}) AS STRING)")
        return Argument("void", "NULL") if text is None else Argument(kind, text)

    def _computed(self, expression: str) -> Any:
        """Return the value of an expression; None if it has none. The server reports errors when it gets the statement."""
        try:
            row = self._spark.sql(f"SELECT ({expression}) AS {_NAME}").first()
        except PySparkException:
            return None
        return None if row is None else row[0]


def with_names(sql: proto.SQL, spark: SparkSession) -> proto.SQL | None:
    """Return a statement with the names of Delta tables in place of `IDENTIFIER(...)`; None if it computes none.

    Args:
        sql: the statement with its arguments. The result has only those that it needs.
        spark: the session that computes the names.
    """
    text: str = sql.query
    if _IDENTIFIER.lower() not in text.lower():
        return None
    found, arguments = words(text), Arguments(sql, spark)
    pieces, done = [], 0
    used: list[int] = []
    for start, end in _places(found):
        name = arguments.name(found[start + 1].end, found[end].start)
        if name is not None:
            pieces += [text[done : found[start].start], name]
            done = found[end].end
            used += arguments.numbers_in(found[start].start, done)
    if not pieces:
        return None
    changed: Any = type(sql)()
    changed.CopyFrom(sql)
    changed.query = "".join([*pieces, text[done:]])
    for number in sorted(used, reverse=True):
        # Clients fill one of the two lists.
        if number < len(changed.pos_arguments):
            del changed.pos_arguments[number]
        elif number < len(changed.pos_args):
            del changed.pos_args[number]
    return cast("proto.SQL", changed)


def _places(found: Sequence[Word]) -> list[tuple[int, int]]:
    """Return the numbers of the words IDENTIFIER, and of the parentheses that close what follows them."""
    places = []
    for number, word in enumerate(found[:-1]):
        if word.text.upper() != _IDENTIFIER or found[number + 1].text != "(" or (number and found[number - 1].text == "."):
            continue
        depth = 0
        for end in range(number + 1, len(found)):
            depth += {"(": 1, ")": -1}.get(found[end].text, 0)
            if depth == 0:
                places.append((number, end))
                break
    return places
