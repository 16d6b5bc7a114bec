# SPDX-License-Identifier: Apache-2.0
"""Refuse statements about Delta tables that only the server could run. It would say that it knows no such table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pyspark.errors import ParseException, PySparkException

from bayou.errors import failed, redact_text
from bayou.spark.backend import is_of_connect
from bayou.spark.portable.own_delta import has_own_delta
from bayou.spark.portable.text.literals import Dialect, name_of, string_of
from bayou.spark.portable.text.queries import path_of
from bayou.spark.portable.text.tokens import words

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from bayou.spark.portable.text.tree import UnreadableTextError
    from bayou.spark.text.words import Word

_BEGINNINGS: Final = (
    *(("CREATE", "TABLE"), ("CREATE", "EXTERNAL", "TABLE"), ("CREATE", "OR", "REPLACE", "TABLE"), ("REPLACE", "TABLE")),
    *(("ALTER", "TABLE"), ("COMMENT", "ON"), ("TRUNCATE", "TABLE"), ("DROP", "TABLE"), ("SHOW",), ("DESCRIBE",), ("DESC",)),
    *(("CACHE", "TABLE"), ("UNCACHE", "TABLE"), ("REFRESH", "TABLE"), ("ANALYZE", "TABLE"), ("MSCK", "REPAIR", "TABLE")),
)
_PATH: Final = re.compile(r"\bdelta\s*\.\s*`[^`]*/", re.IGNORECASE)
_LABEL: Final = (":", "BEGIN")


def refuse_on_server(text: str) -> None:
    """Raise UnsupportedFeatureError for scripts and EXECUTE IMMEDIATE that name Delta tables by path."""
    if "delta" not in text.lower():
        return
    found = words(text)
    said = [word.text.upper() for word in found[:3]]
    what = ""
    if said[:1] == ["BEGIN"] or tuple(said[1:]) == _LABEL:
        what = "A SQL script"
    elif said[:2] == ["EXECUTE", "IMMEDIATE"]:
        what = "EXECUTE IMMEDIATE"
    path = _path_in(found) if what else None
    if path is not None:
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect-script", statement=what, path=path, features=("Spark Connect",))


def refuse_inserts_after_from(text: str) -> None:
    """Raise UnsupportedFeatureError for `FROM ... INSERT INTO ...` with a table by path, which has one query for several tables."""
    if _PATH.search(text) is None:
        return
    found = words(text)
    said = [word.text.upper() for word in found]
    if said[:1] not in (["FROM"], ["WITH"]):
        return
    for number, word in enumerate(said[1:], 1):
        if word == "INSERT" and said[number + 1 : number + 2] in (["INTO"], ["OVERWRITE"]):
            start = number + 2 + (said[number + 2 : number + 3] == ["TABLE"])
            if said[start : start + 2] == ["DELTA", "."]:
                raise failed("DELTA_OPERATION_NOT_ALLOWED/connect-insert", features=("Spark Connect",))


def refuse_unread(text: str, explained: Callable[[str], DataFrame]) -> None:
    """Raise UnsupportedFeatureError for a valid statement about a table by path that bayou could not read.

    For an invalid statement nothing is raised: the server reports the error in its syntax.

    Args:
        text: the statement, without parameters.
        explained: returns the rows of a query, given its text.
    """
    found = words(text)
    said = tuple(word.text.upper() for word in found)
    beginning = next((each for each in _BEGINNINGS if said[: len(each)] == each), None)
    if beginning is None or _path_among(found) is None or not _is_valid(text, explained):
        return
    what = f"This form of {' '.join(beginning)} for a table by path"
    raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))


def refuse_unread_query(text: str, problem: UnreadableTextError, spark: SparkSession) -> None:
    """Raise UnsupportedFeatureError for a valid query, or change of rows, that names a table by path and that bayou could not read.

    Nothing is raised for an invalid one, and if Spark itself knows Delta tables.

    Args:
        text: the statement.
        problem: why bayou could not read it.
        spark: the session that runs it.
    """
    found = words(text)
    path = _path_among(found)
    if path is None or found[0].text.upper() == "EXPLAIN" or (is_of_connect(spark) and has_own_delta(spark)):
        return
    if _is_valid(text, spark.sql):
        raise failed(
            "DELTA_OPERATION_NOT_ALLOWED/connect-unread",
            path=path,
            reason=redact_text(str(problem)),
            place=problem.place,
            features=("Spark Connect",),
        )


def _is_valid(text: str, explained: Callable[[str], DataFrame]) -> bool:
    """Whether Spark can parse a statement."""
    try:
        explained(f"EXPLAIN {text}").collect()
    except ParseException:
        return False
    except PySparkException:
        pass  # it is valid, and Spark does not know the table
    return True


def _path_in(found: list[Word]) -> str | None:
    """Return a path of a Delta table among words, or in the strings among them."""
    for word in found:
        inside = _PATH.search(string_of(word, Dialect())) if word.is_string else None
        if inside is not None:
            return inside[0].partition("`")[2] + "..."
    return _path_among(found)


def _path_among(found: list[Word]) -> str | None:
    """Return the first path of a Delta table among words."""
    for database, dot, name in zip(found, found[1:], found[2:], strict=False):
        path = path_of((name_of(database), name_of(name))) if dot.text == "." else None
        if path is not None:
            return path
    return None
