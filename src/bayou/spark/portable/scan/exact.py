# SPDX-License-Identifier: Apache-2.0
"""Keep filters from the reader of Parquet files that Parquet evaluates differently from Spark.

To Spark -0.0 equals 0.0, and a string may hold bytes that are not UTF-8. Parquet would skip row groups with such values.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.types.schema import ArrayType, MapType, StructType
from bayou.spark.portable.text.tree import Literal, Name, Operation, all_nodes

if TYPE_CHECKING:
    from pyspark.sql import Column

    from bayou.protocol.types.schema import DataType
    from bayou.spark.portable.text.tree import Expression

_FLOATS: Final = ("float", "double")


def may_differ(condition: Expression | None) -> bool:
    """Whether Parquet may evaluate a condition differently: it compares with zero, or with a constant that bayou does not know.

    Args:
        condition: the tree; None if it cannot be read.
    """
    if condition is None:
        return True
    for node in all_nodes(condition):
        if not isinstance(node, (Name, Operation, Literal)):
            return True
        if isinstance(node, Literal) and not isinstance(node.value, (str, bytes, bool, type(None))) and node.value == 0:
            return True
    return False


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
    return column


def _holds(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return any(_holds(each.type) for each in kind.fields)
    return not isinstance(kind, (ArrayType, MapType)) and kind in (*_FLOATS, "string")
