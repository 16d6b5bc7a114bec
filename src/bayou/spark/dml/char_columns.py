# SPDX-License-Identifier: Apache-2.0
"""Values declared as CHAR(n): Spark pads them when it reads them, in columns and inside of structs, arrays and maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.protocol.char_varchar import type_with_chars
from bayou.protocol.sql_text import quoted_name
from bayou.spark.jvm import merge as catalyst
from bayou.spark.jvm.casts import padded_chars

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
        columns: the table's columns, which are the first ones of the plan, each with its name there.
        others: the plan's further columns.
        settings: the session's settings.
    """
    declared = [type_with_chars(field) for field, _ in columns]
    pads = settings.get(_PADS, "true").lower() == "true" and settings.get(_AS_TEXT, "false").lower() != "true"
    if not pads or not any(declared):
        return plan
    made = [
        F.col(quoted_name(name)) if kind is None else padded_chars(jvm, plan, number, kind).alias(name)
        for number, ((_, name), kind) in enumerate(zip(columns, declared, strict=True))
    ]
    further = (F.col(quoted_name(name)) for name in others)
    return catalyst.plan_of(catalyst.frame_of(jvm, spark, plan).select(*made, *further))
