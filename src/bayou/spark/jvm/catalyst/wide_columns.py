# SPDX-License-Identifier: Apache-2.0
"""Process the columns of wide tables in bulk: select them by conditions, project them, and put them into statements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame

from bayou.spark.jvm.catalyst.expression_list import ADAPTER, ExpressionList, Own
from bayou.spark.jvm.core import nodes
from bayou.spark.jvm.relations.relation import analyzed_plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from bayou.spark.jvm.core.bridge import JavaObject, Jvm


class ChosenColumns:
    """Columns whose values depend on conditions. Expressions are passed once and used for many columns."""

    def __init__(self, jvm: Jvm, spark: SparkSession) -> None:
        self._jvm = jvm
        self._spark = spark
        self._lists: list[ExpressionList | Column] = []
        self._starts: dict[int, int] = {}
        self._size = 0
        self._places: list[list[int]] = []
        self._names: list[str] = []

    def given(self, column: Column) -> int:
        """Add an expression, and return its position."""
        return self._add(column, 1)

    def place(self, expressions: Any, number: int) -> int:
        """Return the position of an expression of an `ExpressionList`, which is added once."""
        if id(expressions) not in self._starts:
            self._starts[id(expressions)] = self._add(expressions, len(expressions))
        return self._starts[id(expressions)] + number

    def _add(self, given: ExpressionList | Column, size: int) -> int:
        self._lists.append(given)
        self._size += size
        return self._size - size

    def add(self, name: str, value: int, branches: Iterable[tuple[int, int]] = ()) -> None:
        """Add a column.

        Args:
            branches: positions of conditions and of their values. The first true condition decides.
        """
        self._places.append([*(place for pair in branches for place in pair), value])
        self._names.append(name)

    def selected(self, frame: DataFrame, more: Sequence[Column] = ()) -> DataFrame:
        """Return a DataFrame with these columns, and further ones after them."""
        java_items = self._jvm.static("java.util.ArrayList")()
        for item in self._lists:
            if isinstance(item, Column):
                java_items.add(nodes.expression(self._jvm, self._spark, item))
            else:
                java_items.addAll(item.java)
        made = self._jvm.static(ADAPTER).chosen(json.dumps(self._places), java_items, json.dumps(self._names))
        for column in more:
            made.add(nodes.expression(self._jvm, self._spark, column))
        plan = analyzed_plan(frame)
        return ExpressionList(self._jvm, made).selected(self._spark, plan)


def select(jvm: Jvm, frame: DataFrame, items: Sequence[Any]) -> DataFrame:
    """Return columns of a DataFrame.

    Args:
        items: named columns: SQL of bayou or of a table (see `own_column`), names in tuples of one, or PySpark's columns.
    """
    plan = analyzed_plan(frame)
    return projected(jvm, frame.sparkSession, plan, items)


def projected(jvm: Jvm, spark: SparkSession, plan: JavaObject, items: Sequence[Any]) -> DataFrame:
    """Return columns of a plan, like `select`."""
    expressions = [Own(item) if isinstance(item, str) else item for item in items]
    return ExpressionList.made(jvm, spark, expressions).selected(spark, plan)


def aliased_values(jvm: Jvm, columns: JavaObject) -> ExpressionList:
    """Return the resolved values of columns that are all aliases, as from `ExpressionList.aliased`."""
    return ExpressionList(jvm, jvm.static(ADAPTER).children(columns))


def condition_of(jvm: Jvm, values: ExpressionList) -> JavaObject:
    """Return a condition that contains some values, so that Spark resolves them together."""
    return jvm.static(ADAPTER).conditionOf(values.java)


def values_in(jvm: Jvm, condition: JavaObject) -> ExpressionList:
    """Return the values in the resolved form of `condition_of`."""
    return ExpressionList(jvm, jvm.static(ADAPTER).valuesIn(condition))


def to_themselves(jvm: Jvm, names: ExpressionList) -> JavaObject:
    """Return assignments of columns to themselves: a Scala `Seq`."""
    return jvm.static(ADAPTER).toThemselves(names.java)


def sides_of(jvm: Jvm, assignments: JavaObject) -> tuple[ExpressionList, ExpressionList]:
    """Return the columns and the values of a Scala `Seq` of assignments."""
    made = jvm.static(ADAPTER)
    return ExpressionList(jvm, made.keys(assignments)), ExpressionList(jvm, made.values(assignments))
