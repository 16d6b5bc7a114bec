# SPDX-License-Identifier: Apache-2.0
"""Replace `now()` and similar functions in texts by literals of one instant, because each query would have its own instant."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.portable.text.expressions import read_expression
from bayou.spark.portable.text.literals import Dialect
from bayou.spark.portable.text.tree import Call, Name, UnreadableTextError, all_nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.protocol.types.schema import StructType
    from bayou.spark.portable.text.tree import Expression

_WRITTEN: Final[Mapping[str, Callable[[str, str, int], str]]] = {
    **dict.fromkeys(("now", "current_timestamp"), lambda instant, _date, _seconds: f"timestamp_ltz'{instant}'"),
    "localtimestamp": lambda instant, _date, _seconds: f"cast(timestamp_ltz'{instant}' as timestamp_ntz)",
    **dict.fromkeys(("current_date", "curdate"), lambda _instant, date, _seconds: f"date'{date}'"),
    "unix_timestamp": lambda _instant, _date, seconds: f"{seconds}L",
}
_WITHOUT_PARENTHESES: Final = frozenset({"current_timestamp", "current_date", "localtimestamp"})


def at_one_instant(spark: SparkSession, given: Sequence[Any], schema: StructType, settings: Mapping[str, str]) -> list[Any]:
    """Return expressions whose SQL has the time of this call. Other expressions stay as they are.

    Runs a query if an expression in SQL uses the current time.

    Args:
        given: expressions in SQL, and columns.
        schema: the table's columns, which take precedence over functions without parentheses.
        settings: the session's settings.
    """
    found = [_calls(each, schema, settings) if isinstance(each, str) else [] for each in given]
    if not any(found):
        return list(given)
    instant, date = spark.range(1).select(F.unix_micros(F.current_timestamp()), F.current_date().cast("string")).collect()[0]
    seconds, micros = divmod(int(instant), 1_000_000)
    shown = f"{_utc(seconds)}.{micros:06d}Z"
    return [_replaced(each, calls, (shown, date, seconds)) if calls else each for each, calls in zip(given, found, strict=True)]


def _utc(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _calls(text: str, schema: StructType, settings: Mapping[str, str]) -> list[tuple[str, Expression]]:
    """Return the functions of the current time, with their places, the last one first."""
    try:
        tree = read_expression(text, Dialect.of(settings))
    except UnreadableTextError:
        return []
    named = [(name, node) for node in all_nodes(tree) if (name := _name(node, schema)) is not None]
    return sorted(named, key=lambda pair: -pair[1].start)


def _name(node: Expression, schema: StructType) -> str | None:
    match node:
        case Call((name,), ()) if name.lower() in _WRITTEN:
            return name.lower()
        case Name((name,)) if name.lower() in _WITHOUT_PARENTHESES and schema.field(name) is None:
            return name.lower()
        case _:
            return None


def _replaced(text: str, calls: Sequence[tuple[str, Expression]], now: tuple[str, str, int]) -> str:
    for name, node in calls:
        text = f"{text[: node.start]}{_WRITTEN[name](*now)}{text[node.end :]}"
    return text
