# SPDX-License-Identifier: Apache-2.0
"""Record the columns of the DataFrames that `DeltaTable.toDF` returned, so that conditions and values can refer to them.

Spark identifies a column by an id, and each call of `toDF` returns a DataFrame with new ids. With this record, `table.toDF().id` in
a condition is a column of the table, as in delta-spark, no matter which call returned the DataFrame.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from bayou.protocol.types.schema import StructField, StructType

_MOST: Final = 64
"""The maximum number of recorded DataFrames, because a program may call `toDF` in a loop."""


class OwnFrames:
    """The columns of a table's DataFrames, the newest last. The DataFrames themselves are not kept."""

    def __init__(self) -> None:
        self._given: deque[tuple[Any, StructType]] = deque(maxlen=_MOST)
        self._numbers: deque[tuple[int, StructType]] = deque(maxlen=_MOST)

    def add(self, output: Any, schema: StructType) -> None:
        """Record a DataFrame by its columns with their ids. They are the fields of the schema, in the same order."""
        self._given.append((output, schema))

    def all(self) -> tuple[tuple[Any, StructType], ...]:
        """Return the columns of each recorded DataFrame, and their fields."""
        return tuple(self._given)

    def add_number(self, frame: DataFrame, schema: StructType) -> None:
        """Record a DataFrame of Spark Connect, where columns name their DataFrame by a number."""
        self._numbers.append((cast("Any", frame)._plan._plan_id, schema))  # noqa: SLF001  (PySpark has no public name for it)

    def numbers(self, schema: StructType) -> frozenset[int]:
        """Return the numbers of the recorded DataFrames of Spark Connect that have only columns that the table still has."""
        fields = {each.name: each for each in schema.fields}
        return frozenset(
            number
            for number, of_frame in tuple(self._numbers)
            if of_frame is schema or all(is_same_column(each, fields.get(each.name)) for each in of_frame.fields)
        )


def is_same_column(old: StructField, new: StructField | None) -> bool:
    """Whether a table still has a column of a recorded DataFrame, with the same type."""
    return new is not None and old.physical_name == new.physical_name and old.type == new.type
