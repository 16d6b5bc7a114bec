# SPDX-License-Identifier: Apache-2.0
"""Find the Delta tables in a query, and the rows that stand for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from bayou.errors import failed
from bayou.spark.portable.change_functions import changes_of
from bayou.spark.portable.requests.answers import Reference
from bayou.spark.portable.text.literals import Dialect, string_of
from bayou.spark.portable.text.queries import read_query
from bayou.spark.portable.text.row_changes import row_change
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from bayou.spark.portable.text.queries import TableReference, TimeTravel
    from bayou.spark.text.words import Word

_PATH: Final = "delta"
_CHANGES: Final = "table_changes"
_AFTER_TABLES: Final = frozenset(
    {"ANTI", "CLUSTER", "CROSS", "DISTRIBUTE", "EXCEPT", "FULL", "GROUP", "HAVING", "INNER", "INTERSECT", "JOIN", "LATERAL"}
    | {"LEFT", "LIMIT", "MINUS", "NATURAL", "OFFSET", "ON", "ORDER", "PIVOT", "QUALIFY", "RIGHT", "SEMI", "SET", "SORT"}
    | {"TABLESAMPLE", "UNION", "UNPIVOT", "USING", "WHEN", "WHERE", "WINDOW"}
)
"""The words that may follow a table without an alias."""

_LONGEST_BEGINNING: Final = len(("CREATE", "OR", "REPLACE", "GLOBAL", "TEMPORARY", "VIEW"))


def references_in(sql: Any, rows: Callable[[Mapping[str, str]], DataFrame]) -> list[Reference]:
    """Return the Delta tables that a query names by their paths.

    Args:
        sql: the message with the query and its arguments.
        rows: returns the rows that the options of a reader ask for.

    Raises:
        UnsupportedFeatureError: Spark would keep the text, as for a view, or a clause of time travel is not a literal.
    """
    text: str = sql.query
    if _PATH not in text.lower() and _CHANGES not in text.lower():
        return []
    try:
        if row_change(text) is not None:
            return []
        query = read_query(text)
    except UnreadableTextError:
        return []
    tables, found = sorted(query.tables, key=lambda table: table.start), words(text)
    kept = _keeps_text(found)
    references = []
    for call in query.calls:
        options = changes_of(call)
        if options is not None:
            alias = None if _has_alias(found, call.end) else call.name
            references.append(Reference(call.start, call.end, rows(options), alias))
    for table in tables:
        if table.path is None:
            continue
        if kept:
            raise failed("DELTA_OPERATION_NOT_ALLOWED/connect-text", statement=kept, path=table.path, features=("Spark Connect",))
        options = {"path": table.path, **_travel(table.travel)}
        alias = (
            None if _has_alias(found, table.end) or _is_bare(found, table) else table.path.rstrip("/").rpartition("/")[2] or "table"
        )
        references.append(Reference(table.start, table.end, rows(options), alias))
    return references


def _keeps_text(found: Sequence[Word]) -> str:
    """Return what a statement is whose query Spark keeps as text, and reads again later; nothing for other statements."""
    said = [word.text.upper() for word in found[:_LONGEST_BEGINNING]]
    if said[:1] == ["CACHE"]:
        return "CACHE TABLE"
    kind = next((word for word in said if word in {"VIEW", "FUNCTION", "TABLE", "SELECT"}), "")
    return f"{said[0]} {kind}" if said[:1] in (["CREATE"], ["ALTER"]) and kind in {"VIEW", "FUNCTION"} else ""


def _has_alias(found: Sequence[Word], end: int) -> bool:
    following = next((word for word in found if word.start >= end), None)
    return following is not None and (
        following.text.startswith("`") or (following.is_name and following.text.upper() not in _AFTER_TABLES)
    )


def _is_bare(found: Sequence[Word], table: TableReference) -> bool:
    """Whether the query is `TABLE name`, which takes no alias."""
    before = [word for word in found if word.end <= table.start]
    return bool(before) and before[-1].text.upper() == "TABLE"


def _travel(travel: TimeTravel | None) -> dict[str, str]:
    """Return the reader's option of a clause of time travel, whose value is a literal."""
    if travel is None:
        return {}
    option = "versionAsOf" if travel.kind == "version" else "timestampAsOf"
    written = words(travel.value.text)
    if len(written) == 1 and written[0].is_string:
        return {option: string_of(written[0], Dialect())}
    if len(written) == len(("timestamp", "text")) and written[0].text.upper() in {"TIMESTAMP", "DATE"} and written[1].is_string:
        return {option: string_of(written[1], Dialect())}
    if travel.kind == "version" and travel.value.text.strip().isdecimal():
        return {option: travel.value.text.strip()}
    what = f"{travel.kind.upper()} AS OF {travel.value.text}"
    raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))
