# SPDX-License-Identifier: Apache-2.0
"""Compute the names of tables in `IDENTIFIER(...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.errors import PySparkException

from bayou.spark.portable.commands.arguments import literals_of
from bayou.spark.portable.names import name_parts, path_in
from bayou.spark.portable.text.literals import Dialect, string_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.sql.statements.parameters import FilledText, parameters_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.connect import proto

    from bayou.spark.sql.statements.parameters import Parameter
    from bayou.spark.text.words import Word

_IDENTIFIER: Final = "IDENTIFIER"


def with_names(sql: proto.SQL, spark: SparkSession) -> proto.SQL | None:
    """Return a statement with the names of Delta tables in place of `IDENTIFIER(...)`; None if it computes none.

    Args:
        sql: the statement with its arguments. The arguments of the names are left out of the result.
        spark: the session that computes the names.
    """
    text: str = sql.query
    if _IDENTIFIER.lower() not in text.lower():
        return None
    found = words(text)
    parameters = parameters_in(found)
    pieces, done, used = [], 0, []
    for start, end in _places(found):
        inner = [each for each in parameters if found[start + 1].end <= each.start and each.end <= found[end].start]
        place = found[start + 1].end, found[end].start
        name = computed_name(sql, place, inner, parameters, spark)
        if name is not None:
            pieces += [text[done : found[start].start], name]
            done = found[end].end
            used += [number_of(each, parameters) for each in inner if each.name is None]
    if not pieces:
        return None
    changed: Any = type(sql)()
    changed.CopyFrom(sql)
    changed.query = "".join([*pieces, text[done:]])
    drop_arguments(changed, used)
    return cast("proto.SQL", changed)


def computed_name(
    sql: proto.SQL, place: tuple[int, int], inner: Sequence[Parameter], parameters: Sequence[Parameter], spark: SparkSession
) -> str | None:
    """Return the name of a Delta table by path that an expression gives; None if it gives another name.

    Args:
        sql: the statement with its arguments.
        place: where the expression begins and ends.
        inner: the parameters in the expression.
        parameters: all parameters of the statement.
        spark: the session that computes the name.
    """
    start, end = place
    values = dict(zip(parameters, literals_of(sql, parameters), strict=True)) if inner else {}
    moved = [type(each)(each.name, each.start - start, each.end - start) for each in inner]
    expression = FilledText.of(sql.query[start:end], moved, [values[each] for each in inner]).text
    found = words(expression)
    if len(found) == 1 and found[0].is_string:
        name: Any = string_of(found[0], Dialect())
    else:
        try:
            row = spark.sql(f"SELECT ({expression})").first()
        except PySparkException:
            return None  # the server reports what is wrong with it
        name = None if row is None else row[0]
    if not isinstance(name, str) or name_parts(name) is None:
        return None
    return name if path_in(name) is not None else None


def number_of(parameter: Parameter, parameters: Sequence[Parameter]) -> int:
    """Return the number of a positional parameter in the statement, counted from 0."""
    return [each.start for each in parameters if each.name is None].index(parameter.start)


def drop_arguments(sql: proto.SQL, numbers: Sequence[int]) -> None:
    """Remove positional arguments of a statement, in place."""
    for number in sorted(set(numbers), reverse=True):
        # Clients fill one of the two lists.
        if number < len(sql.pos_arguments):
            del sql.pos_arguments[number]
        elif number < len(sql.pos_args):
            del sql.pos_args[number]


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
