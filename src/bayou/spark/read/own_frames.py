# SPDX-License-Identifier: Apache-2.0
"""Record the columns of the DataFrames that `DeltaTable.toDF` returned, so that conditions and values can refer to them.

Spark identifies a column by an id, and each call of `toDF` returns a DataFrame with new ids. With this record, `table.toDF().id` in
a condition is a column of the table, as in delta-spark, no matter which call returned the DataFrame.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bayou.protocol.types.schema import StructType

_MOST: Final = 64
"""The maximum number of recorded DataFrames, because a program may call `toDF` in a loop."""


class OwnFrames:
    """The columns of a table's DataFrames, the newest last. The DataFrames themselves are not kept."""

    def __init__(self) -> None:
        self._given: deque[tuple[Any, StructType]] = deque(maxlen=_MOST)

    def add(self, output: Any, schema: StructType) -> None:
        """Record a DataFrame by its columns with their ids. They are the fields of the schema, in the same order."""
        self._given.append((output, schema))

    def all(self) -> tuple[tuple[Any, StructType], ...]:
        """Return the columns of each recorded DataFrame, and their fields."""
        return tuple(self._given)
