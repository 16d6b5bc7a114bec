# SPDX-License-Identifier: Apache-2.0
"""Split the names of tables as Spark's parser does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayou.errors import failed
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.portable.text.literals import Dialect, string_of
from bayou.spark.portable.text.queries import path_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TWO: Final = 2


def name_parts(text: str) -> tuple[str, ...] | None:
    """Return the parts of a name such as ``delta.`/a/path` ``; None if the string is not a name."""
    try:
        found = words(text)
    except UnreadableTextError:
        return None
    names, dots = found[::2], found[1::2]
    if not found or len(names) != len(dots) + 1 or any(dot.text != "." for dot in dots) or not all(each.is_name for each in names):
        return None
    return tuple(each.text[1:-1].replace("``", "`") if each.text.startswith("`") else each.text for each in names)


def path_in(name: str) -> str | None:
    """Return the path in a table's name such as ``delta.`/a/path` ``; None for the name of a catalog."""
    parts = name_parts(name)
    return None if parts is None else path_of(parts)


def check_format(given: str, name: str) -> None:
    """Raise InvalidOptionError for another format than `delta` for a table by path. Without a format it is `delta`."""
    if given.lower() not in ("", "delta"):
        raise failed("DELTA_ILLEGAL_OPTION/format-of-path", option="format", given=given, relation=name)


def path_alias(path: str) -> str:
    """Return the alias that rows of a table by path get, if a statement has the table's name before its columns."""
    return f"delta.{quoted_name(path)}"


def with_path_alias(text: str, alias: str) -> str:
    """Return an expression of such a statement for users: the table's name stands where the alias is."""
    return text.replace(quoted_name(alias), alias) if alias.startswith("delta.`") else text


def in_session_catalog(parts: tuple[str, ...] | None, settings: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the parts of a table's name without the session's catalog; None without a name, or for another catalog."""
    if parts is None:
        return None
    if len(parts) > _TWO:
        return parts[1:] if len(parts) == _TWO + 1 and parts[0].lower() == "spark_catalog" else None
    return None if len(parts) == _TWO and f"spark.sql.catalog.{parts[0]}" in settings else parts


def string_value(literal: str, settings: Mapping[str, str]) -> str:
    """Return the value of a string literal, as a session with these settings reads it."""
    (word,) = words(literal)
    return string_of(word, Dialect.of(settings))
