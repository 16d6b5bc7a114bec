# SPDX-License-Identifier: Apache-2.0
"""Look values up in sorted arrays by Java's binary search in generated code, without a Python function.

The arrays stay in the JVM: they come from the only row of a query, and enter another query as literals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (everybody's name for it)

from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.core.bulk import Bulk
from bayou.spark.jvm.core.callbacks import Block
from bayou.spark.jvm.relations.relation import executed_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm

_TYPES: Final = "org.apache.spark.sql.types"
_EXPRESSIONS: Final = "org.apache.spark.sql.catalyst.expressions"
_CLASSES: Final = {"int": "[I", "long": "[J", "double": "[D", "object": "[Ljava.lang.Object;"}
"""Java's classes of arrays."""
_ARRAYS: Final = {
    pa.int32(): (Bulk.ints, "IntegerType"),
    pa.int64(): (Bulk.longs, "LongType"),
    pa.float64(): (Bulk.doubles, "DoubleType"),
}
"""How to transfer arrays into the JVM, and Spark's types of their elements."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Values in ascending order, for one group after the other.

    Attributes:
        kind: their type in Java: `int`, `long`, `double` or `object`.
        values: the array, in the JVM.
        ends: for each group the position after its last value.
    """

    kind: str
    values: JavaObject
    ends: pa.Array

    @property
    def starts(self) -> pa.Array:
        """For each group the position of its first value."""
        return pa.concat_arrays([pa.array([0], pa.int32()), self.ends])[: len(self.ends)]


def bounds_of(jvm: Jvm, frame: DataFrame, kinds: Sequence[str]) -> list[Bounds]:
    """Return the bounds in the only row of a query. It has two columns for each: the values, and the group sizes as a string."""
    query = frame._jdf.queryExecution()  # noqa: SLF001  (the bridge)
    block = Block(jvm, lambda: executed_plan(frame).executeCollect())
    jvm.call(
        jvm.module("org.apache.spark.sql.execution.SQLExecution"), "withNewExecutionId", query, jvm.some("bayou bounds"), block
    )
    (row,) = block.result
    bounds = []
    for number, kind in enumerate(kinds):
        sizes = [int(size) for size in str(row.getUTF8String(2 * number + 1).toString()).split(",")]
        ends = pc.cumulative_sum(pa.array(sizes, pa.int32()))
        bounds.append(Bounds(kind, _java_array(jvm, row.getArray(2 * number), kind), ends))
    return bounds


def _java_array(jvm: Jvm, values: JavaObject, kind: str) -> JavaObject:
    if kind == "object":
        return values.toObjectArray(jvm.module(f"{_TYPES}.StringType"))
    return getattr(values, f"to{kind.capitalize()}Array")()


def looked_up(jvm: Jvm, values: pa.Array, place: Column) -> Column:
    """Return the number at a position of an array.

    Args:
        values: the numbers, int32, int64 or float64, without NULL.
        place: the position, from 0 on. NULL and positions outside the array give NULL.
    """
    make, kind = _ARRAYS[values.type]
    data = jvm.static(f"{_EXPRESSIONS}.UnsafeArrayData").fromPrimitiveArray(make(Bulk.of(jvm), values))
    of = jvm.static(f"{_TYPES}.ArrayType")(jvm.module(f"{_TYPES}.{kind}"), False)
    return F.get(nodes.column(jvm, jvm.static(f"{_EXPRESSIONS}.Literal")(data, of)), place)


def rank(jvm: Jvm, spark: SparkSession, bounds: Bounds, group: Column, value: Column) -> Column:
    """Return how many bounds of a group, given by number, are less than or equal to a value; NULL for NULL."""
    first = looked_up(jvm, bounds.starts, group)
    position = _searched(jvm, spark, bounds.values, _CLASSES[bounds.kind], [first, looked_up(jvm, bounds.ends, group), value])
    return F.abs(F.bitwise_not(position)) - first  # the search returns -n - 1 for a missing value with the position n


def place_in(jvm: Jvm, spark: SparkSession, sorted_values: pa.Array, value: Column) -> Column:
    """Return the position of a value in an ascending int64 array, or a negative number."""
    return _searched(jvm, spark, Bulk.of(jvm).longs(sorted_values), _CLASSES["long"], [value])


def _searched(jvm: Jvm, spark: SparkSession, array: JavaObject, of: str, arguments: list[Column]) -> Column:
    kind = jvm.static("java.lang.Class").forName(of, False, jvm.loader)
    literal = jvm.static(f"{_EXPRESSIONS}.Literal")(array, jvm.static(f"{_TYPES}.ObjectType")(kind))
    inputs = jvm.seq([literal, *(nodes.expression(jvm, spark, argument) for argument in arguments)])
    call = jvm.java_class(f"{_EXPRESSIONS}.objects.StaticInvoke")
    arrays = jvm.static("java.lang.Class").forName("java.util.Arrays", False, jvm.loader)
    return nodes.column(jvm, jvm.construct(call, arrays, jvm.module(f"{_TYPES}.IntegerType"), "binarySearch", inputs))


@dataclass(frozen=True, slots=True)
class NativeLookups:
    """The searches of this module on one session: see `spark.backend.Lookups`."""

    jvm: Jvm
    spark: SparkSession

    def bounds_of(self, frame: DataFrame, kinds: Sequence[str]) -> list[Bounds]:
        """Return the bounds in the only row of a query."""
        return bounds_of(self.jvm, frame, kinds)

    def looked_up(self, values: pa.Array, place: Column) -> Column:
        """Return the number at a position of an array."""
        return looked_up(self.jvm, values, place)

    def rank(self, bounds: Bounds, group: Column, value: Column) -> Column:
        """Return how many bounds of a group are less than or equal to a value; NULL for NULL."""
        return rank(self.jvm, self.spark, bounds, group, value)

    def place_in(self, sorted_values: pa.Array, value: Column) -> Column:
        """Return the position of a value in an ascending int64 array, or a negative number."""
        return place_in(self.jvm, self.spark, sorted_values, value)
