# SPDX-License-Identifier: Apache-2.0
"""Record the columns of the DataFrames that `DeltaTable.toDF` returned, so that conditions and values can refer to them.

Spark identifies a column by an id, and each call of `toDF` returns a DataFrame with new ids. With this record, `table.toDF().id` in
a condition is a column of the table, as in delta-spark, no matter which call returned the DataFrame.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

from bayou.spark.jvm.relations import plans
from bayou.spark.jvm.relations.relation import analyzed_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructField, StructType
    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_MOST: Final = 64
"""The maximum number of recorded DataFrames, because a program may call `toDF` in a loop."""


class OwnFrames:
    """The columns of a table's DataFrames, the newest last. The DataFrames themselves are not kept."""

    def __init__(self) -> None:
        self._given: deque[tuple[JavaObject, StructType]] = deque(maxlen=_MOST)
        self._numbers: deque[tuple[int, StructType]] = deque(maxlen=_MOST)

    def add(self, frame: DataFrame, schema: StructType) -> None:
        """Record a DataFrame. Its columns are the fields of the schema, in the same order."""
        self._given.append((plans.output(analyzed_plan(frame)), schema))

    def add_number(self, frame: DataFrame, schema: StructType) -> None:
        """Record a DataFrame of Spark Connect, where columns name their DataFrame by a number."""
        self._numbers.append((cast("Any", frame)._plan._plan_id, schema))  # noqa: SLF001  (PySpark has no public name for it)

    def numbers(self, schema: StructType) -> frozenset[int]:
        """Return the numbers of the recorded DataFrames of Spark Connect that have only columns that the table still has."""
        fields = {each.name: each for each in schema.fields}
        return frozenset(
            number
            for number, of_frame in tuple(self._numbers)
            if of_frame is schema or all(_is_same(each, fields.get(each.name)) for each in of_frame.fields)
        )

    def columns(self, jvm: Jvm, schema: StructType) -> JavaObject | None:
        """Return the columns of the recorded DataFrames that the table still has, or None without any DataFrame.

        A column is left out if its name now belongs to another column, or if its type has changed.

        Returns:
            An `Object[]` with one Scala `Seq` for each DataFrame.
        """
        if not self._given:
            return None
        return jvm.objects([_same(jvm, output, schema_of_frame, schema) for output, schema_of_frame in tuple(self._given)])

    def dropped(self, jvm: Jvm, schema: StructType) -> dict[int, str]:
        """Return the names of the recorded columns that the table no longer has, by the ids of the columns."""
        fields = {each.name: each for each in schema.fields}
        return {
            plans.id_of(attribute): field.name
            for output, schema_of_frame in tuple(self._given)
            for field, attribute in zip(schema_of_frame.fields, jvm.list_of(output), strict=True)
            if not _is_same(field, fields.get(field.name))
        }


def _same(jvm: Jvm, output: JavaObject, schema_of_frame: StructType, schema: StructType) -> JavaObject:
    if schema_of_frame is schema or schema_of_frame == schema:
        return output
    fields = {each.name: each for each in schema.fields}  # a dictionary, because a table may have thousands of columns
    return plans.some_of(
        jvm, output, (number for number, each in enumerate(schema_of_frame.fields) if _is_same(each, fields.get(each.name)))
    )


def _is_same(old: StructField, new: StructField | None) -> bool:
    return new is not None and old.physical_name == new.physical_name and old.type == new.type
