# SPDX-License-Identifier: Apache-2.0
"""The DataFrames that a `DeltaTable` has given of itself, by the ids of their columns.

So `table.toDF().id` is a column of the table wherever `table` is asked for something, as with delta-spark.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from bayou.spark.jvm.catalyst import merge as catalyst

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructField, StructType
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_MOST: Final = 64
"""How many DataFrames are remembered: each is the ids of its columns and no more, and a program may ask for one in a loop."""


class OwnFrames:
    """The columns of a table's DataFrames, newest last."""

    def __init__(self) -> None:
        self._given: deque[tuple[JavaObject, StructType]] = deque(maxlen=_MOST)

    def add(self, frame: DataFrame, schema: StructType) -> None:
        """Remembers a DataFrame of the table.

        Args:
            frame: the DataFrame: its columns are the table's, in their order.
        """
        self._given.append((catalyst.plan_of(frame).output(), schema))

    def columns(self, jvm: Jvm, schema: StructType) -> JavaObject | None:
        """The columns of these DataFrames that are the table's still: an `Object[]` of Scala `Seq`s, one for each; None for none.

        Another column may have the name since, and a struct other fields in the places of those before.
        """
        if not self._given:
            return None
        return jvm.objects([_same(jvm, output, before, schema) for output, before in tuple(self._given)])

    def gone(self, jvm: Jvm, schema: StructType) -> dict[int, str]:
        """Those columns of these DataFrames that are not the table's any more: their names by their ids."""
        known = {each.name: each for each in schema.fields}
        return {
            attribute.exprId().id(): field.name
            for output, before in tuple(self._given)
            for field, attribute in zip(before.fields, jvm.list_of(output), strict=True)
            if not _is_same(field, known.get(field.name))
        }


def _same(jvm: Jvm, output: JavaObject, before: StructType, schema: StructType) -> JavaObject:
    if before is schema or before == schema:
        return output
    known = {each.name: each for each in schema.fields}  # a table may have thousands
    return jvm.seq(output.apply(number) for number, each in enumerate(before.fields) if _is_same(each, known.get(each.name)))


def _is_same(old: StructField, new: StructField | None) -> bool:
    return new is not None and old.physical_name == new.physical_name and old.type == new.type
