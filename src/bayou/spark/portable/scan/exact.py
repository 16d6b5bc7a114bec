# SPDX-License-Identifier: Apache-2.0
"""Keep filters from the reader of Parquet files that Parquet evaluates differently from Spark.

To Spark -0.0 equals 0.0, NaN is greater than any number, and a string may hold bytes that are not UTF-8. Parquet would skip row
groups with such values: their bounds leave out NaN, for example. Spark passes dates and times to Parquet by the old calendar, where
1582-10-10 is another day (Spark 4.3, `spark.sql.datetime.java8API.enabled=false`).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.types.schema import ArrayType, MapType, StructType
from bayou.spark.portable.text.tree import Literal, Name, Operation, all_nodes

if TYPE_CHECKING:
    from pyspark.sql import Column

    from bayou.protocol.types.schema import DataType
    from bayou.spark.portable.text.tree import Expression

_FLOATS: Final = ("float", "double")
_OLD: Final = re.compile(r"\s*[-+]?(?:0\d{3}|1[0-8]\d\d)-\d|\s*-")
"""Dates and times before 1900. Later ones are the same by both calendars, in every time zone."""
_FIND_NAN: Final = frozenset({"<", "<=", ">", ">=", "!=", "not"})
"""Operators of conditions that NaN may satisfy: a number before the operator is on the other side after it."""


def may_differ(condition: Expression | None) -> bool:
    """Whether Parquet may evaluate a condition differently.

    It compares with zero, an old time or a constant that bayou does not know, or with a number in a way that NaN may satisfy.

    Args:
        condition: the tree; None if it cannot be read.
    """
    if condition is None:
        return True
    nodes = list(all_nodes(condition))
    if not all(isinstance(node, (Name, Operation, Literal)) for node in nodes):
        return True
    values = [node.value for node in nodes if isinstance(node, Literal)]
    if any(isinstance(value, str) and _OLD.match(value) for value in values):
        return True
    numbers = [value for value in values if not isinstance(value, (str, bytes, bool, type(None)))]
    may_find_nan = any(isinstance(node, Operation) and node.operator in _FIND_NAN for node in nodes)
    return any(number == 0 for number in numbers) or (bool(numbers) and may_find_nan)


def unfiltered(column: Column, kind: DataType) -> Column:
    """Return the same values. Spark does not push filters on them into the reader, if Parquet may evaluate them differently.

    Args:
        kind: the type of the column.
    """
    if isinstance(kind, StructType):
        members = (unfiltered(column.getField(each.name), each.type).alias(each.name) for each in kind.fields)
        return F.when(column.isNotNull(), F.struct(*members)) if _holds(kind) else column
    if kind in _FLOATS:
        return F.nanvl(column, F.lit(math.nan).cast(str(kind)))
    if kind == "string":
        return column.cast("binary").cast("string")
    if kind == "date":
        return F.date_add(column, 0)
    if kind == "timestamp":
        return F.timestamp_micros(F.unix_micros(column))
    return column


def _holds(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_holds(each.type) for each in kind.fields)
    return not isinstance(kind, (ArrayType, MapType)) and kind in (*_FLOATS, "string", "date", "timestamp")
