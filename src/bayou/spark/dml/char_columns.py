# SPDX-License-Identifier: Apache-2.0
"""Columns declared as CHAR(n): Spark pads their values when it reads them, and the constants that they are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.char_varchar import char_length
from bayou.protocol.sql_text import quoted_name
from bayou.spark.jvm import merge as catalyst

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from bayou.protocol.schema import StructField
    from bayou.spark.jvm.bridge import JavaObject, Jvm

_PADS: Final = "spark.sql.readSideCharPadding"
_AS_TEXT: Final = "spark.sql.legacy.charVarcharAsString"


def padded(
    jvm: Jvm,
    spark: SparkSession,
    plan: JavaObject,
    columns: Sequence[tuple[StructField, str]],
    others: Sequence[str],
    settings: Mapping[str, str],
) -> JavaObject:
    """A plan of stored rows with the values of its char columns as a query has them; itself where there are none.

    Args:
        jvm: the bridge.
        spark: the session.
        plan: the plan.
        columns: the table's columns, each with its name in the plan.
        others: the plan's further columns.
        settings: the session's settings.
    """
    lengths = {name: length for field, name in columns if (length := char_length(field)) is not None}
    pads = settings.get(_PADS, "true").lower() == "true" and settings.get(_AS_TEXT, "false").lower() != "true"
    if not (lengths and pads):
        return plan
    made = []
    for name in (*(name for _, name in columns), *others):
        column, length = F.col(quoted_name(name)), lengths.get(name)
        if length is not None:
            column = F.when(F.length(column) < length, F.rpad(column, length, " ")).otherwise(column).alias(name)
        made.append(column)
    return catalyst.plan_of(catalyst.frame_of(jvm, spark, plan).select(*made))
