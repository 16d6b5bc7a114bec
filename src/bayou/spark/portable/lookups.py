# SPDX-License-Identifier: Apache-2.0
"""Look values up in sorted arrays by a binary search of higher-order functions: see `spark.backend.Lookups`.

The arrays are in the request as JSON, which Spark parses once when it optimizes the query.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_TYPES: Final = {pa.int32(): "int", pa.int64(): "bigint", pa.float64(): "double"}


@dataclass(frozen=True, slots=True)
class PortableBounds:
    """Values in ascending order, for one group after the other.

    Attributes:
        kind: their type in Spark.
        texts: the values as strings.
        sizes: for each group the number of its values.
    """

    kind: str
    texts: Sequence[str]
    sizes: Sequence[int]


class PortableLookups:
    """Lookups by documented functions."""

    def bounds_of(self, frame: DataFrame, kinds: Sequence[str]) -> list[PortableBounds]:
        """Return the bounds in the only row of a query. See `Lookups`."""
        del kinds
        types = [_element(field.dataType) for field in frame.schema.fields[::2]]
        names = [F.col(name) for name in frame.columns]
        (row,) = frame.select(*(each.cast("array<string>") for each in names[::2]), *names[1::2]).collect()
        texts, sizes = row[: len(types)], row[len(types) :]
        return [
            PortableBounds(kind, values, [int(size) for size in counts.split(",")])
            for kind, values, counts in zip(types, texts, sizes, strict=True)
        ]

    def looked_up(self, values: pa.Array, place: Column) -> Column:
        """Return the number at a position of an array."""
        return F.get(_array(values.to_pylist(), _TYPES[values.type]), place)

    def rank(self, bounds: PortableBounds, group: Column, value: Column) -> Column:
        """Return how many bounds of a group, given by number, are less than or equal to a value; NULL for NULL."""
        values = _array(bounds.texts, "string")
        if bounds.kind != "string":
            values = values.cast(f"array<{bounds.kind}>")
        starts = _array([0, *accumulate(bounds.sizes)][:-1], "int")
        found = _count(values, value, max(bounds.sizes, default=0), F.get(starts, group), F.get(_array(bounds.sizes, "int"), group))
        return F.when(value.isNotNull(), found)

    def place_in(self, sorted_values: pa.Array, value: Column) -> Column:
        """Return the position of a value in an ascending int64 array, or a negative number."""
        values, count = _array(sorted_values.to_pylist(), "bigint"), len(sorted_values)
        place = _count(values, value, count, F.lit(0), F.lit(count)) - 1
        return F.when(F.get(values, place) == value, place).otherwise(F.lit(-1))


def _element(kind: Any) -> str:
    text = str(kind.elementType.simpleString())
    return "string" if text.startswith("string") else text


def _array(values: Sequence[Any], kind: str) -> Column:
    text = json.dumps(list(values), separators=(",", ":"), ensure_ascii=False)
    return F.from_json(F.lit(text), f"array<{kind}>", {"mode": "FAILFAST"})


def _count(values: Column, value: Column, most: int, start: Column, size: Column) -> Column:
    """Return how many of `size` ascending values, from the position `start` on, are less than or equal to a value.

    The search adds powers of two, the largest first. What it compares is in its state, so that Spark computes it once for each row.

    Args:
        most: the largest size of any row.
    """
    steps = F.array(*(F.lit(1 << bit) for bit in reversed(range(most.bit_length()))), F.lit(0))
    state = F.struct(F.lit(0).alias("n"), value.alias("value"), start.alias("start"), size.alias("size"))

    def further(found: Column, step: Column) -> Column:
        n = found["n"] + step
        is_in = (n <= found["size"]) & (F.get(values, found["start"] + n - F.lit(1)) <= found["value"])
        count = F.when(is_in, n).otherwise(found["n"])
        return F.struct(count.alias("n"), *(found[name].alias(name) for name in ("value", "start", "size")))

    return F.aggregate(steps, state, further, lambda found: found["n"])
