# SPDX-License-Identifier: Apache-2.0
"""Searches in sorted arrays, which a `Backend` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


class Lookups(Protocol):
    """Searches in sorted arrays as columns, without a Python function."""

    def bounds_of(self, frame: DataFrame, kinds: Sequence[str]) -> list[Any]:
        """Return the bounds in the only row of a query: values in ascending order, for one group after the other.

        Args:
            frame: the query, with two columns for each: the values, and the group sizes as a string.
            kinds: the types of the values in Java: `int`, `long`, `double` or `object`.
        """
        ...

    def looked_up(self, values: pa.Array, place: Column) -> Column:
        """Return the number at a position of an array.

        Args:
            values: the numbers, int32, int64 or float64, without NULL.
            place: the position, from 0 on. NULL and positions outside the array give NULL.
        """
        ...

    def rank(self, bounds: Any, group: Column, value: Column) -> Column:
        """Return how many bounds of a group, given by number, are less than or equal to a value; NULL for NULL.

        Args:
            bounds: one of `bounds_of`.
        """
        ...

    def place_in(self, sorted_values: pa.Array, value: Column) -> Column:
        """Return the position of a value in an ascending int64 array, or a negative number."""
        ...
