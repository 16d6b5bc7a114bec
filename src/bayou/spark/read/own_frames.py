# SPDX-License-Identifier: Apache-2.0
"""Remember the DataFrames that `DeltaTable.toDF` returned, by the ids of their columns.

Each call returns a new DataFrame. With this, `table.toDF().id` is a column of the table in its conditions and values, as in
delta-spark, whichever of the DataFrames it comes from.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from bayou.spark.jvm.catalyst import merge as catalyst
from bayou.spark.jvm.relations import plans

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructField, StructType
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_MOST: Final = 64
"""The number of DataFrames to remember: a program may call `toDF` in a loop. Of each, only the ids of its columns are kept."""


class OwnFrames:
    """The columns of a table's DataFrames. The newest is last."""

    def __init__(self) -> None:
        self._given: deque[tuple[JavaObject, StructType]] = deque(maxlen=_MOST)

    def add(self, frame: DataFrame, schema: StructType) -> None:
        """Remember a DataFrame whose columns are those of the schema, in the same order."""
        self._given.append((plans.output(catalyst.plan_of(frame)), schema))

    def columns(self, jvm: Jvm, schema: StructType) -> JavaObject | None:
        """Return the columns of these DataFrames that the table still has: an `Object[]` of one Scala `Seq` for each; or None.

        A column is left out if its name now belongs to another column, or if its type has changed.
        """
        if not self._given:
            return None
        return jvm.objects([_same(jvm, output, before, schema) for output, before in tuple(self._given)])

    def dropped(self, jvm: Jvm, schema: StructType) -> dict[int, str]:
        """Return the names of the columns of these DataFrames that the table no longer has, by the ids of the columns."""
        known = {each.name: each for each in schema.fields}
        return {
            plans.id_of(attribute): field.name
            for output, before in tuple(self._given)
            for field, attribute in zip(before.fields, jvm.list_of(output), strict=True)
            if not _is_same(field, known.get(field.name))
        }


def _same(jvm: Jvm, output: JavaObject, before: StructType, schema: StructType) -> JavaObject:
    if before is schema or before == schema:
        return output
    known = {each.name: each for each in schema.fields}  # a table may have thousands
    return plans.some_of(jvm, output, (number for number, each in enumerate(before.fields) if _is_same(each, known.get(each.name))))


def _is_same(old: StructField, new: StructField | None) -> bool:
    return new is not None and old.physical_name == new.physical_name and old.type == new.type
