# SPDX-License-Identifier: Apache-2.0
"""Find the Delta tables in a query, and the rows that stand for them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from bayou.errors import failed
from bayou.protocol.types.sql_text import quoted_name
from bayou.spark.portable.commands.identifiers import Arguments
from bayou.spark.portable.commands.refused import refuse_unread_query
from bayou.spark.portable.functions.changes import changes_of
from bayou.spark.portable.functions.log_rows import described_in, log_rows, with_queries
from bayou.spark.portable.names import path_in
from bayou.spark.portable.pruning.blocks import blocks_in
from bayou.spark.portable.pruning.texts import TextConditions
from bayou.spark.portable.requests.answers import Reference
from bayou.spark.portable.requests.metadata import METADATA, use_in_text
from bayou.spark.portable.text.literals import Dialect, dialect_of, string_of
from bayou.spark.portable.text.queries import AFTER_TABLES, TableReference, read_query
from bayou.spark.portable.text.row_changes import Insert, row_change
from bayou.spark.portable.text.tables.reader import options_of
from bayou.spark.portable.text.tokens import words
from bayou.spark.portable.text.tree import UnreadableTextError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.connect import proto

    from bayou.spark.portable.pruning.blocks import BlockTable
    from bayou.spark.portable.pruning.conditions import Conditions
    from bayou.spark.portable.requests.answers import Views
    from bayou.spark.portable.requests.messages import Outside
    from bayou.spark.portable.requests.metadata import MetadataUse
    from bayou.spark.portable.text.queries import FunctionCall, QueryReader, TimeTravel
    from bayou.spark.sql.statements.context import Context
    from bayou.spark.text.words import Word

_PATH: Final = "delta"
_VERSIONS: Final = frozenset({"versionasof", "timestampasof"})
_MENTIONED: Final = ("delta", "identifier", "table_changes", "table_history", "table_detail", "table_files", "describe", "desc")
"""Words without which a query names no Delta table."""
_BEGINNINGS: Final = frozenset({"SELECT", "WITH", "(", "FROM", "TABLE"})
"""The words that begin a query, and no other statement."""
_LONGEST_BEGINNING: Final = len(("CREATE", "OR", "REPLACE", "GLOBAL", "TEMPORARY", "VIEW"))


_Rows: TypeAlias = "Callable[[Mapping[str, str], Conditions | None, MetadataUse | None], DataFrame]"


def references_in(
    sql: proto.SQL, rows: _Rows, context: Context, above: Outside | None = None, views: Views | None = None
) -> list[Reference]:
    """Return the Delta tables that a query names by their paths, and the views of which it needs only some files.

    Args:
        sql: the message with the query and its arguments.
        rows: returns the rows that the options of a reader ask for. Files without a row that satisfies the conditions may be left
            out. The rows have a column `_metadata` if the query asks for what Spark's own does not know.
        context: the session that computes names and times.
        above: what is above the rows of the query; None if nothing is, or if it is not known.
        views: the temporary views that may be replaced; None for none.

    Raises:
        UnsupportedFeatureError: Spark would keep the text, as for a view, or bayou cannot read it.
    """
    text: str = sql.query
    has_views = views is not None and views.are_named_in(text)
    if not has_views and not any(word in text.lower() for word in _MENTIONED):
        return []
    dialect = dialect_of(text, lambda: context.application.backend.settings(context.spark))
    try:
        described = described_in(text)
        readers, is_query = _read(with_queries(text, described), dialect)
    except UnreadableTextError as problem:
        refuse_unread_query(text, problem, context.spark)
        return []
    tables = sorted((table for each in readers for table in each.tables), key=lambda table: table.start)
    calls = [call for each in readers for call in each.calls]
    found = words(text)
    arguments = Arguments(sql, context.spark)
    kept = _keeps_text(found)
    blocks = _blocks(text, found, readers) if tables and not described else {}
    use = use_in_text(found)
    looked_up = views if has_views and is_query and not kept and METADATA not in text.lower() else None
    filled = partial(arguments.filled, is_typed=True)
    references = []
    for each in described:
        _refuse_kept(kept, text[each.start : each.end])
        references.append(Reference(each.start, each.end, each.statement.run(context), is_query=True))
    for call in calls:
        for reference in _of_call(call, arguments, rows, context, found):
            _refuse_kept(kept, text[call.start : call.end])
            references.append(reference)
    for table in tables:
        placed = blocks.get(table.start)
        path = _path_of(table, arguments)
        if path is None:
            if placed is not None and looked_up is not None and _may_be_view(table):
                above_view = TextConditions(placed, placed.alias or table.parts[0], filled, above)
                references += _view(table, looked_up.rows(table.parts[0], above_view), found)
            continue
        _refuse_kept(kept, f"delta.{quoted_name(path)}")
        options = {**_options(table, path, arguments, dialect), "path": path}
        has_alias = _has_alias(found, table)
        alias = None if has_alias else path
        names = () if has_alias or table.computed is not None else _qualifiers(found, path)
        conditions = None if placed is None else TextConditions(placed, placed.alias or alias, filled, above)
        used = arguments.numbers_in(table.start, table.end)
        references.append(Reference(table.start, table.end, rows(options, conditions, use), alias, used, qualifiers=names))
    return references


def _of_call(call: FunctionCall, arguments: Arguments, rows: _Rows, context: Context, found: Sequence[Word]) -> list[Reference]:
    """Return the reference to the rows of a function such as `table_changes`, if bayou knows the function."""
    options = changes_of(call, arguments)
    frame = log_rows(call, arguments, context) if options is None else rows(options, None, None)
    alias = None if _has_alias(found, call) else call.name
    used = arguments.numbers_in(call.start, call.end)
    return [] if frame is None else [Reference(call.start, call.end, frame, alias, used)]


def _blocks(text: str, found: Sequence[Word], readers: Sequence[QueryReader]) -> dict[int, BlockTable]:
    """Return the blocks of all queries, by the places of their tables."""
    blocks: dict[int, BlockTable] = {}
    for reader in readers:
        blocks |= blocks_in(text, found, reader)
    return blocks


def _read(text: str, dialect: Dialect | None) -> tuple[list[QueryReader], bool]:
    """Read the queries of a statement, and return whether it is a query.

    Statements that change rows of Delta tables are not for the server.

    Raises:
        UnreadableTextError: it is not certain which names are tables.
    """
    change = row_change(text, dialect)
    if change is None:
        query = read_query(text, dialect=dialect)
        return [query], bool(query.words) and query.words[0].text.upper() in _BEGINNINGS
    if not isinstance(change, Insert) or change.table.path is not None:
        return [], False
    parts = [part for part in (change.with_clause, change.query) if part is not None]
    return [read_query(text, place=(part.start, part.end), is_query=part is change.query, dialect=dialect) for part in parts], False


def _view(table: TableReference, frame: DataFrame | None, found: Sequence[Word]) -> list[Reference]:
    """Return the reference to a view, if its rows are to be replaced."""
    alias = None if _has_alias(found, table) else table.parts[0]
    return [] if frame is None else [Reference(table.start, table.end, frame, alias)]


def _may_be_view(table: TableReference) -> bool:
    return len(table.parts) == 1 and table.travel is None and table.options is None and table.computed is None


def _refuse_kept(statement: str, named: str) -> None:
    """Raise UnsupportedFeatureError if Spark would keep the statement as it is written."""
    if statement:
        raise failed("DELTA_OPERATION_NOT_ALLOWED/connect-text", statement=statement, relation=named, features=("Spark Connect",))


def _qualifiers(found: Sequence[Word], path: str) -> tuple[tuple[int, int], ...]:
    """Return where a text has the name of a table before the name of a column, such as ``delta.`/a/path`.id``."""
    places = []
    name = (_PATH, ".", quoted_name(path), ".")
    for number in range(len(found) - len(name)):
        if tuple(word.text if word.text.startswith("`") else word.text.lower() for word in found[number : number + 4]) != name:
            continue
        start = number
        if number > 1 and found[number - 1].text == ".":
            start = number - 2
            if found[start].text.lower() != "spark_catalog":
                continue
        places.append((found[start].start, found[number + 2].end))
    return tuple(places)


def _path_of(table: TableReference, arguments: Arguments) -> str | None:
    """Return the path of a Delta table, also if its name is computed; None for other tables."""
    if table.computed is None:
        return table.path
    name = arguments.name(table.computed.start, table.computed.end)
    return None if name is None else path_in(name)


def _keeps_text(found: Sequence[Word]) -> str:
    """Return what a statement is whose query Spark keeps as text, and reads again later; nothing for other statements."""
    said = [word.text.upper() for word in found[:_LONGEST_BEGINNING]]
    if said[:1] == ["CACHE"]:
        return "CACHE TABLE"
    kind = next((word for word in said if word in {"VIEW", "FUNCTION", "TABLE", "SELECT"}), "")
    return f"{said[0]} {kind}" if said[:1] in (["CREATE"], ["ALTER"]) and kind in {"VIEW", "FUNCTION"} else ""


def _has_alias(found: Sequence[Word], named: TableReference | FunctionCall) -> bool:
    """Whether an alias follows a table or a function, or the query is `TABLE name`, which takes none."""
    following = next((word for word in found if word.start >= named.end), None)
    before = [word for word in found if word.end <= named.start]
    return (isinstance(named, TableReference) and bool(before) and before[-1].text.upper() == "TABLE") or (
        following is not None
        and (following.text.startswith("`") or (following.is_name and following.text.upper() not in AFTER_TABLES))
    )


def _options(table: TableReference, path: str, arguments: Arguments, dialect: Dialect | None) -> dict[str, str]:
    """Return the reader's options of a table: those of its WITH clause, and its version or time.

    Raises:
        InvalidOptionError: the options are invalid, or two clauses name a version.
    """
    travel = _travel(table.travel, arguments)
    if table.options is None:
        return travel
    options = options_of(table, arguments.filled(table.options.start, table.options.end), dialect)
    if travel and not _VERSIONS.isdisjoint(name.lower() for name in options):
        raise failed("DELTA_UNSUPPORTED_TIME_TRAVEL_MULTIPLE_FORMATS", table=path, place="statement", other_place="option")
    return {**options, **travel}


def _travel(travel: TimeTravel | None, arguments: Arguments) -> dict[str, str]:
    """Return the reader's option of a clause of time travel. The server computes the value of an expression."""
    if travel is None:
        return {}
    option = "versionAsOf" if travel.kind == "version" else "timestampAsOf"
    text = arguments.filled(travel.value.start, travel.value.end).strip()
    written = words(text)
    if len(written) == 1 and written[0].is_string:
        return {option: string_of(written[0], Dialect())}
    if len(written) == len(("timestamp", "text")) and written[0].text.upper() in {"TIMESTAMP", "DATE"} and written[1].is_string:
        return {option: string_of(written[1], Dialect())}
    if travel.kind == "version" and text.isdecimal():
        return {option: text}
    time = arguments.time(text) if travel.kind == "timestamp" else None
    if time is not None:
        return {option: time}
    what = f"{travel.kind.upper()} AS OF {travel.value.text}"
    raise failed("DELTA_OPERATION_NOT_ALLOWED/connect", what=what, features=("Spark Connect",))
