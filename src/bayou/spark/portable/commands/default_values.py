# SPDX-License-Identifier: Apache-2.0
"""Replace the keyword DEFAULT in the query of an INSERT by the defaults of the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.spark.portable.text.tokens import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bayou.spark.text.words import Word


_ROWS: Final = ("SELECT", "*", "FROM", "VALUES")
_ENDS: Final = ("FROM", "WHERE", "ORDER", "SORT", "LIMIT", "OFFSET")
"""Words that may follow the list of a SELECT."""
_SET_OPERATORS: Final = frozenset({"UNION", "EXCEPT", "MINUS", "INTERSECT"})


def with_defaults(query: str, value_of: Callable[[int], str]) -> str:
    """Return a query with values in place of DEFAULT in the rows of VALUES, or in the list of a SELECT.

    Rows of `SELECT * FROM VALUES` count as well, and the query may be in parentheses. As in Spark, DEFAULT means nothing next to a
    set operator.

    Args:
        query: the SQL of the query.
        value_of: returns the SQL of the value for a column, given its position in the row, counted from 0.
    """
    end, parts = 0, []
    for place, column in _defaults(words(query)):
        parts += [query[end : place.start], value_of(column)]
        end = place.end
    return "".join([*parts, query[end:]])


def may_be_columns(query: str) -> bool:
    """Whether a DEFAULT that `with_defaults` would replace may be a column of that name.

    It is in a SELECT that has a FROM, or that has the name elsewhere, perhaps as the alias of a column to its left.
    """
    found = words(query)
    replaced = len(list(_defaults(found)))
    said = [word.text.upper().strip("`") for word in found if word.text != "("]
    if not replaced or said[0] != "SELECT" or said[: len(_ROWS)] == list(_ROWS):
        return False
    return "FROM" in said or said.count("DEFAULT") > replaced


def _defaults(found: list[Word]) -> Iterator[tuple[Word, int]]:
    """Yield each DEFAULT that is a whole value, with the position of its column."""
    start = next((number for number, word in enumerate(found) if word.text != "("), len(found))
    said = [word.text.upper() for word in found[start : start + len(_ROWS)]]
    if said == list(_ROWS):
        start += len(_ROWS) - 1
    elif said[:1] not in (["VALUES"], ["SELECT"]):
        return
    if _has_set_operator(found[start:]):
        return
    of_values = int(found[start].text.upper() == "VALUES")  # so deep are the commas between values
    depth = column = 0
    for number, word in enumerate(found[start:], start):
        text = word.text.upper()
        if text == "(":
            depth += 1
            column = 0 if of_values and depth == of_values else column
        elif text == ")":
            depth -= 1
        elif text == ",":
            column = column + 1 if depth == of_values else 0 if not depth else column
        elif depth < 0 or (not of_values and not depth and text in {"*", *_ENDS}):
            return
        elif text == "DEFAULT" and depth <= of_values and _is_value(found[number - 1 : number + 2]):
            yield word, column


def _has_set_operator(found: list[Word]) -> bool:
    depth = 0
    for word in found:
        depth += (word.text == "(") - (word.text == ")")
        if depth <= 0 and word.text.upper() in _SET_OPERATORS:
            return True
    return False


def _is_value(around: list[Word]) -> bool:
    before, _, *after = around
    return before.text.upper() in {"(", ",", "VALUES", "SELECT"} and (
        not after or after[0].text.upper() in {")", ",", "AS", *_ENDS}
    )
